//! Chunks that arrived for a sequence and were not fed yet.

use std::collections::VecDeque;

use omni_plugin_api::Data;

/// Chunks in order, and whether the last one is among them.
#[derive(Debug, Default)]
pub struct Inbox {
    chunks: VecDeque<Data>,
    units: usize,
    has_last: bool,
}

/// What is fed at once.
#[derive(Debug, PartialEq)]
pub struct Meal {
    /// The chunks as one; none when only the end is told.
    pub data: Option<Data>,
    /// Whether nothing follows.
    pub last: bool,
    /// Chunks in it.
    pub chunks: usize,
    /// Units in it.
    pub units: usize,
}

impl Inbox {
    /// Takes a chunk in.
    pub fn push(&mut self, chunk: Option<Data>, last: bool) {
        if let Some(chunk) = chunk {
            self.units += chunk.units();
            self.chunks.push_back(chunk);
        }
        self.has_last |= last;
    }

    /// Units that wait.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Whether nothing will come any more.
    pub fn has_last(&self) -> bool {
        self.has_last
    }

    /// Whether there is anything to feed.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && !self.has_last
    }

    /// Takes chunks out until they hold `target` units; a chunk is never split. Past that only what fits into `most`.
    pub fn take(&mut self, target: usize, most: usize) -> Meal {
        let mut meal = Meal { data: None, last: false, chunks: 0, units: 0 };
        while let Some(next) = self.chunks.front() {
            let next_units = next.units();
            let is_enough = meal.chunks > 0 && meal.units >= target;
            if is_enough && meal.units.saturating_add(next_units) > most {
                break;
            }
            if meal.data.as_ref().is_some_and(|data| !can_join(data, next)) {
                break;
            }
            let Some(next) = self.chunks.pop_front() else { break };
            match &mut meal.data {
                Some(data) => join(data, next),
                None => meal.data = Some(next),
            }
            meal.chunks += 1;
            meal.units += next_units;
            self.units -= next_units;
        }
        meal.last = self.has_last && self.chunks.is_empty();
        meal
    }
}

/// Whether two chunks make one. Handles are ids of their own.
fn can_join(left: &Data, right: &Data) -> bool {
    match (left, right) {
        (Data::Codes { codebooks: left, .. }, Data::Codes { codebooks: right, .. }) => left == right,
        (Data::Tokens(_), Data::Tokens(_)) => true,
        (Data::Latents { patch, width, .. }, Data::Latents { patch: other_patch, width: other_width, .. }) => {
            (patch, width) == (other_patch, other_width)
        }
        (Data::Pcm { channels: left, .. }, Data::Pcm { channels: right, .. }) => left == right,
        _ => false,
    }
}

fn join(left: &mut Data, right: Data) {
    match (left, right) {
        (Data::Codes { codes, .. }, Data::Codes { codes: more, .. }) => codes.extend(more),
        (Data::Tokens(tokens), Data::Tokens(more)) => tokens.extend(more),
        (Data::Latents { values, .. }, Data::Latents { values: more, .. }) => values.extend(more),
        (Data::Pcm { samples, .. }, Data::Pcm { samples: more, .. }) => samples.extend(more),
        // `can_join` was asked first.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(codes: &[i32]) -> Option<Data> {
        Some(Data::Codes { codes: codes.to_vec(), codebooks: 2 })
    }

    #[test]
    fn chunks_are_fed_as_one_up_to_what_was_asked_and_what_fits() {
        let mut inbox = Inbox::default();
        for frame in 0..6 {
            inbox.push(codes(&[frame, -frame]), false);
        }
        assert_eq!(inbox.take(2, 0), Meal { data: codes(&[0, 0, 1, -1]), last: false, chunks: 2, units: 2 });
        assert_eq!(inbox.take(1, 3).units, 3, "what waits goes along");
        inbox.push(None, true);
        assert_eq!(inbox.take(25, 25), Meal { data: codes(&[5, -5]), last: true, chunks: 1, units: 1 });
        assert_eq!(inbox.units(), 0);
    }

    #[test]
    fn an_end_without_data_is_a_meal_and_handles_stay_apart() {
        let mut inbox = Inbox::default();
        assert!(inbox.is_empty());
        inbox.push(None, true);
        assert_eq!(inbox.take(5, 5), Meal { data: None, last: true, chunks: 0, units: 0 });
        let mut handles = Inbox::default();
        handles.push(Some(Data::Handle { id: 1, units: 3 }), false);
        handles.push(Some(Data::Handle { id: 2, units: 4 }), true);
        assert_eq!((handles.take(25, 25).units, handles.take(25, 25).last), (3, true));
    }

    #[test]
    fn a_large_chunk_is_never_split() {
        let mut inbox = Inbox::default();
        inbox.push(Some(Data::Tokens(vec![7; 40])), false);
        inbox.push(Some(Data::Tokens(vec![8; 2])), false);
        assert_eq!(inbox.take(1, 10).units, 40);
        assert_eq!(inbox.units(), 2);
    }
}
