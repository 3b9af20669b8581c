//! What a step has made for the stages behind: one message for each replica, however many sequences were in the step.

use std::sync::Arc;

use omni_plugin_api::Data;

use super::Command;
use crate::engine::job::Job;
use crate::engine::replica::Replica;

/// A chunk of one sequence on its way to the stage behind.
pub struct Parcel {
    /// Whose.
    pub job: Arc<Job>,
    /// The chunk, absent when the stage before ended without more.
    pub chunk: Option<Data>,
    /// Whether nothing follows.
    pub last: bool,
}

/// Parcels by the replica they go to.
#[derive(Default)]
pub struct Outbox(Vec<(Arc<Replica>, Vec<Parcel>)>);

impl Outbox {
    /// Puts a parcel beside those that go the same way.
    pub fn put(&mut self, replica: Arc<Replica>, parcel: Parcel) {
        match self.0.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &replica)) {
            Some((_, parcels)) => parcels.push(parcel),
            None => self.0.push((replica, vec![parcel])),
        }
    }

    /// Sends all of them.
    pub fn send(&mut self) {
        for (replica, parcels) in self.0.drain(..) {
            replica.send(Command::Feed(parcels));
        }
    }
}
