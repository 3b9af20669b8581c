//! What the acoustic stage hands to the vocoder: one row a half frame of 12.5 ms, `[n, 1, 131]`.
//!
//! A row is what [`crate::acoustic::Utterance`] holds of a half frame, and a mark that says where sentences end and which rows are
//! silence. The marks travel with the rows, so chunks may be cut or joined on the way.

use crate::acoustic::{FRAME_WIDTH, Utterance};

/// Values a row.
pub const WIDTH: usize = FRAME_WIDTH + 1;

/// The mark of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A half frame of a sentence.
    Inside,
    /// The last half frame of a sentence.
    End,
    /// A half frame of silence.
    Pause,
}

impl Mark {
    /// The mark of a row.
    pub fn of(row: &[f32]) -> Self {
        match row.last() {
            Some(1.0) => Mark::End,
            Some(2.0) => Mark::Pause,
            _ => Mark::Inside,
        }
    }

    fn value(self) -> f32 {
        match self {
            Mark::Inside => 0.0,
            Mark::End => 1.0,
            Mark::Pause => 2.0,
        }
    }
}

/// The rows of a sentence.
pub fn of_utterance(utterance: &Utterance) -> Vec<f32> {
    let last = utterance.len().saturating_sub(1);
    let mut rows = Vec::with_capacity(utterance.len() * WIDTH);
    for (i, frame) in utterance.frames.chunks_exact(FRAME_WIDTH).enumerate() {
        rows.extend_from_slice(frame);
        rows.push(if i == last { Mark::End } else { Mark::Inside }.value());
    }
    rows
}

/// The rows of a pause.
pub fn of_pause(half_frames: usize) -> Vec<f32> {
    let mut rows = vec![0.0; half_frames * WIDTH];
    rows.iter_mut().skip(FRAME_WIDTH).step_by(WIDTH).for_each(|mark| *mark = Mark::Pause.value());
    rows
}
