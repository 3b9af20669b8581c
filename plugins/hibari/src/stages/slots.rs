//! The sequences a stage holds.

use std::collections::HashMap;

use omni_plugin_api::{PluginError, SeqId};

/// Sequences that may be in a stage at once.
pub const SLOTS: usize = 64;

/// One state a sequence, at most [`SLOTS`] of them.
#[derive(Debug)]
pub struct Slots<T>(HashMap<SeqId, T>);

impl<T> Slots<T> {
    /// Holds none.
    pub fn new() -> Self {
        Self(HashMap::new())
    }

    /// Takes a sequence in.
    pub fn admit(&mut self, seq: SeqId, state: T) -> Result<(), PluginError> {
        if self.0.len() >= SLOTS {
            return Err(PluginError::exhausted(format!("all {SLOTS} slots of the stage are taken")));
        }
        self.0.insert(seq, state);
        Ok(())
    }

    /// The state of a sequence.
    pub fn get_mut(&mut self, seq: SeqId) -> Result<&mut T, PluginError> {
        self.0.get_mut(&seq).ok_or_else(|| PluginError::internal(format!("sequence {seq} was not admitted")))
    }

    /// Lets a sequence go; its state goes with it.
    pub fn release(&mut self, seq: SeqId) {
        self.0.remove(&seq);
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}
