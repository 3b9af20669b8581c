//! A sequence in the talker.

use std::sync::Arc;

use burn::tensor::Tensor;
use omni_blocks::kv::KvRow;
use omni_blocks::sample::History;
use omni_plugin_api::FinishReason;

use crate::nn::{Barred, Frame, PromptRows, Row};
use crate::prompt::Speech;

/// Frames with the same first code after which nothing new is to be expected: five seconds of one sound, or of silence.
const LONGEST_RUN: usize = 63;

/// What a sequence needs from one step to the next.
pub struct Speaking {
    /// Where its keys and values are.
    pub kv: KvRow,
    /// What its draws depend on.
    pub row: Row,
    /// Rows of the prompt, `[1, T, width]`, and how many were read.
    prompt: Tensor<3>,
    read: usize,
    trailing: Tensor<2>,
    /// The newest frame, to be read next.
    pub newest: Option<Frame>,
    run: usize,
    max_frames: usize,
    /// Whether the cap is nobody's wish.
    must_end: bool,
}

/// How a sequence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Reason(FinishReason),
    /// It did not end within the frames that its text may take.
    Incomplete,
}

impl Speaking {
    /// A sequence whose prompt was not read yet.
    /// `silence` are the first codes of silence.
    pub fn new(speech: &Speech, rows: PromptRows, kv: KvRow, silence: &Arc<[u32]>) -> Self {
        let barred = (speech.loud_frames > 0).then(|| Barred { codes: Arc::clone(silence), frames: speech.loud_frames });
        Self {
            kv,
            row: Row { first: speech.first, rest: speech.rest, seed: speech.seed, frame: 0, history: History::default(), barred },
            prompt: rows.rows,
            read: 0,
            trailing: rows.trailing,
            newest: None,
            run: 0,
            max_frames: speech.max_frames,
            must_end: speech.must_end,
        }
    }

    /// The next rows of the prompt, at most `most`; nothing once all were given.
    pub fn next_rows(&mut self, most: usize) -> Option<Tensor<3>> {
        let left = self.unread();
        (left > 0).then(|| {
            let count = left.min(most);
            let rows = self.prompt.clone().narrow(1, self.read, count);
            self.read += count;
            rows
        })
    }

    /// Rows of the prompt that were not given yet.
    pub fn unread(&self) -> usize {
        self.prompt.dims()[1] - self.read
    }

    /// The text that goes with the newest frame, `[1, width]`.
    pub fn text(&self) -> Tensor<2> {
        let last = self.trailing.dims()[0] - 1;
        let newest = (self.row.frame as usize).saturating_sub(1);
        self.trailing.clone().narrow(0, newest.min(last), 1)
    }

    /// Takes a new frame in; says how the sequence ended, if it did.
    pub fn take(&mut self, frame: Frame) -> Option<End> {
        let first = frame.first().copied().unwrap_or(0);
        let repeats = self.newest.as_ref().is_some_and(|newest| newest.first() == Some(&first));
        self.run = if repeats { self.run + 1 } else { 1 };
        self.row.history.push(first);
        self.row.frame += 1;
        self.newest = Some(frame);
        self.end()
    }

    fn end(&self) -> Option<End> {
        let is_stuck = self.run >= LONGEST_RUN;
        let is_full = self.frames() >= self.max_frames;
        match (is_stuck || is_full, self.must_end) {
            (false, _) => None,
            (true, false) => Some(End::Reason(FinishReason::Length)),
            (true, true) => Some(End::Incomplete),
        }
    }

    /// Frames made.
    pub fn frames(&self) -> usize {
        self.row.frame as usize
    }

    /// Most frames it may make.
    pub fn max_frames(&self) -> usize {
        self.max_frames
    }
}
