//! The slots of a stage: fixed places, each with the state of one sequence.

use omni_plugin_api::{PluginError, SeqId};

/// A fixed number of places.
#[derive(Debug)]
pub struct Slots<T> {
    places: Vec<Option<(SeqId, T)>>,
}

impl<T> Slots<T> {
    /// `count` empty places.
    pub fn new(count: usize) -> Self {
        Self { places: (0..count).map(|_| None).collect() }
    }

    /// Says where there is room, or that there is none.
    pub fn check_room(&self) -> Result<usize, PluginError> {
        let free = self.places.iter().position(Option::is_none);
        free.ok_or_else(|| PluginError::exhausted(format!("all {} slots of the stage are taken", self.places.len())))
    }

    /// Gives a sequence a place and says which.
    pub fn admit(&mut self, seq: SeqId, state: T) -> Result<usize, PluginError> {
        let place = self.check_room()?;
        self.places[place] = Some((seq, state));
        Ok(place)
    }

    /// The place of a sequence.
    pub fn place(&self, seq: SeqId) -> Result<usize, PluginError> {
        let place = self.places.iter().position(|place| place.as_ref().is_some_and(|(owner, _)| *owner == seq));
        place.ok_or_else(|| PluginError::internal(format!("sequence {seq} was not admitted")))
    }

    /// The state of a sequence.
    pub fn get(&self, seq: SeqId) -> Result<&T, PluginError> {
        let place = self.place(seq)?;
        self.places[place].as_ref().map(|(_, state)| state).ok_or_else(|| PluginError::internal("the slot is empty"))
    }

    /// The state of a sequence.
    pub fn get_mut(&mut self, seq: SeqId) -> Result<&mut T, PluginError> {
        let place = self.place(seq)?;
        self.places[place].as_mut().map(|(_, state)| state).ok_or_else(|| PluginError::internal("the slot is empty"))
    }

    /// Frees the place of a sequence and gives back its state.
    pub fn release(&mut self, seq: SeqId) -> Option<T> {
        let place = self.place(seq).ok()?;
        self.places[place].take().map(|(_, state)| state)
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn a_released_place_is_given_again_and_a_full_stage_says_so() {
        let mut slots = Slots::new(2);
        assert_eq!((slots.admit(1, "one"), slots.admit(2, "two")), (Ok(0), Ok(1)));
        assert!(slots.admit(3, "three").is_err());
        assert_eq!(slots.release(1), Some("one"));
        assert_eq!(slots.admit(3, "three"), Ok(0));
        assert_eq!(slots.get_mut(3).ok(), Some(&mut "three"));
        assert!(slots.get_mut(1).is_err());
    }
}
