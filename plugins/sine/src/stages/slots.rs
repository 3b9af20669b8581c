//! The slots of a stage: row `n` of a batch belongs to the sequence in slot `n`.

use omni_plugin_api::{PluginError, SeqId};

/// A fixed number of places, each with the state of one sequence.
#[derive(Debug)]
pub struct Slots<T> {
    places: Vec<Option<(SeqId, T)>>,
}

impl<T> Slots<T> {
    /// `count` empty places.
    pub fn new(count: usize) -> Self {
        Self { places: (0..count).map(|_| None).collect() }
    }

    /// Gives a sequence a place.
    pub fn admit(&mut self, seq: SeqId, state: T) -> Result<(), PluginError> {
        let free = self.places.iter_mut().find(|place| place.is_none());
        let place = free.ok_or_else(|| PluginError::exhausted("every slot of the stage is taken"))?;
        *place = Some((seq, state));
        Ok(())
    }

    /// The state of a sequence.
    pub fn get_mut(&mut self, seq: SeqId) -> Result<&mut T, PluginError> {
        let mut states = self.places.iter_mut().flatten().filter(|(owner, _)| *owner == seq).map(|(_, state)| state);
        states.next().ok_or_else(|| PluginError::internal(format!("sequence {seq} was not admitted")))
    }

    /// Frees the place of a sequence; its state goes with it.
    pub fn release(&mut self, seq: SeqId) {
        if let Some(place) = self.places.iter_mut().find(|place| place.as_ref().is_some_and(|(owner, _)| *owner == seq)) {
            *place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn a_released_place_is_given_again_and_a_full_stage_says_so() {
        let mut slots = Slots::new(2);
        slots.admit(1, "one").expect("a free place");
        slots.admit(2, "two").expect("a free place");
        assert!(slots.admit(3, "three").is_err());
        slots.release(1);
        slots.admit(3, "three").expect("the place of 1");
        assert_eq!(slots.get_mut(3).ok(), Some(&mut "three"));
        assert!(slots.get_mut(1).is_err());
    }
}
