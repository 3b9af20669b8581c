//! The states of many streams, stepped together in any company and reset alone.

use burn::tensor::{Device, Int, Tensor};

/// Why a set of slots cannot be stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// No such slot.
    #[error("slot {slot} does not exist: there are {slots}")]
    Unknown {
        /// The slot asked for.
        slot: usize,
        /// How many there are.
        slots: usize,
    },
    /// A slot is named twice in one step.
    #[error("slot {0} is named twice in one step")]
    Twice(usize),
}

/// One state a slot. A slot that was never used or was reset holds nothing, so nothing can leak out of it.
#[derive(Debug)]
pub struct Slots {
    states: Vec<Option<Tensor<2>>>,
    /// Units of input each stream has taken.
    taken: Vec<i64>,
    /// The state at the start of a stream: zeros `[1, values]`.
    fresh: Tensor<2>,
}

impl Slots {
    /// `count` slots of `width` values each.
    pub fn new(count: usize, width: usize, device: &Device) -> Self {
        Self { states: vec![None; count], taken: vec![0; count], fresh: Tensor::zeros([1, width], device) }
    }

    /// How many slots there are.
    pub fn count(&self) -> usize {
        self.states.len()
    }

    /// Begins a new stream in a slot.
    pub fn reset(&mut self, slot: usize) -> Result<(), SlotError> {
        self.check(&[slot])?;
        self.states[slot] = None;
        self.taken[slot] = 0;
        Ok(())
    }

    /// Units of input the streams have taken so far.
    pub fn taken(&self, slots: &[usize]) -> Result<Vec<i64>, SlotError> {
        self.check(slots)?;
        Ok(slots.iter().map(|slot| self.taken[*slot]).collect())
    }

    /// The states of these slots, `[slots, values]`.
    pub fn gather(&self, slots: &[usize]) -> Result<Tensor<2>, SlotError> {
        self.check(slots)?;
        Ok(Tensor::cat(slots.iter().map(|slot| self.states[*slot].clone().unwrap_or_else(|| self.fresh.clone())).collect(), 0))
    }

    /// Keeps the states `[slots, values]` after `units` more units of input.
    pub fn scatter(&mut self, slots: &[usize], states: Tensor<2>, units: usize) -> Result<(), SlotError> {
        self.check(slots)?;
        for (row, slot) in slots.iter().enumerate() {
            self.states[*slot] = Some(row_of(&states, row, slots.len()));
            self.taken[*slot] += units as i64;
        }
        Ok(())
    }

    fn check(&self, slots: &[usize]) -> Result<(), SlotError> {
        for (at, slot) in slots.iter().enumerate() {
            if *slot >= self.count() {
                return Err(SlotError::Unknown { slot: *slot, slots: self.count() });
            }
            if slots[..at].contains(slot) {
                return Err(SlotError::Twice(*slot));
            }
        }
        Ok(())
    }
}

/// A copy of one row: a view would keep the rows of all its neighbours alive.
fn row_of(states: &Tensor<2>, row: usize, rows: usize) -> Tensor<2> {
    if rows == 1 {
        return states.clone();
    }
    let index = Tensor::<1, Int>::from_data([row as i32], &states.device());
    states.clone().select(0, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::TensorData;

    fn slots() -> Slots {
        Slots::new(3, 2, &Device::flex())
    }

    fn rows(values: &[f32]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len() / 2, 2]), &Device::flex())
    }

    fn read(slots: &Slots, which: &[usize]) -> Vec<f32> {
        slots.gather(which).expect("known slots").into_data().try_to_vec().expect("f32")
    }

    #[test]
    fn states_follow_their_slots() {
        let mut slots = slots();
        slots.scatter(&[2, 0], rows(&[1.0, 2.0, 3.0, 4.0]), 5).expect("known slots");
        assert_eq!(read(&slots, &[0, 1, 2]), [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
        assert_eq!(slots.taken(&[0, 1]), Ok(vec![5, 0]));
    }

    #[test]
    fn a_reset_slot_holds_nothing_of_what_was_in_it() {
        let mut slots = slots();
        slots.scatter(&[0, 1], rows(&[f32::NAN, f32::NAN, 1.0, 1.0]), 1).expect("known slots");
        slots.reset(0).expect("a known slot");
        assert_eq!(read(&slots, &[0, 1]), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(slots.taken(&[0]), Ok(vec![0]));
    }

    #[test]
    fn wrong_slots_are_named() {
        let mut slots = slots();
        assert_eq!(slots.reset(3), Err(SlotError::Unknown { slot: 3, slots: 3 }));
        assert_eq!(slots.gather(&[1, 1]).err(), Some(SlotError::Twice(1)));
    }
}
