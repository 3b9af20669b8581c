//! Who asks and listens in a simulation, and what came of it.

use std::time::Duration;

use futures_util::FutureExt;
use omni_plugin_api::FinishReason;

use super::model::{Script, frames};
use crate::engine::{SpeechError, SpeechStream};

/// Length of a frame.
const FRAME: Duration = Duration::from_millis(80);

/// A request of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// When it comes.
    pub at: Duration,
    /// What it wants spoken.
    pub script: Script,
    /// Nobody listens before all of it is made.
    pub is_whole: bool,
    /// How it listens.
    pub manner: Manner,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// How somebody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Takes everything at once.
    Eager,
    /// Takes a piece, then nothing for so long.
    Slow(Duration),
    /// Takes nothing any more after so many pieces.
    Stalls(usize),
    /// Leaves so long after it came.
    Leaves(Duration),
}

/// How a visit ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It did not end.
    Pending,
    /// All of it was heard.
    Done,
    /// It was not let in.
    Refused,
    /// It failed.
    Failed(SpeechError),
    /// It left.
    Left,
}

/// A visit and what came of it.
pub struct Listener {
    /// The visit.
    pub visit: Visit,
    /// How it ended.
    pub outcome: Outcome,
    /// From coming to the first audio.
    pub first_audio: Option<Duration>,
    /// Frames that were heard.
    pub heard: u32,
    /// Pieces that they came in, in frames.
    pub pieces: Vec<usize>,
    /// The longest that playback at real time would have stood still.
    pub underrun: Duration,
    /// Whether the speech was cut at a limit.
    pub was_cut: bool,
    /// What was wrong with what was heard.
    pub complaint: Option<String>,
    pub(super) stream: Option<SpeechStream>,
    pub(super) next_read: Duration,
    first_at: Duration,
    has_given_in: bool,
}

impl Listener {
    /// Somebody who has not come yet.
    pub fn new(visit: Visit) -> Self {
        Self {
            visit,
            outcome: Outcome::Pending,
            first_audio: None,
            heard: 0,
            pieces: Vec::new(),
            underrun: Duration::ZERO,
            was_cut: false,
            complaint: None,
            stream: None,
            next_read: Duration::ZERO,
            first_at: Duration::ZERO,
            has_given_in: false,
        }
    }

    /// Takes what is there. Whether anything was taken.
    pub(super) fn read(&mut self, now: Duration) -> bool {
        let mut has_read = false;
        while self.wants_more(now) {
            let Some(stream) = &mut self.stream else { break };
            let Some(next) = stream.next().now_or_never() else { break };
            has_read = true;
            match next {
                Some(Ok(samples)) => self.hear(&samples, now),
                Some(Err(error)) => self.end(Outcome::Failed(error)),
                None => self.end(Outcome::Done),
            }
        }
        has_read
    }

    fn wants_more(&self, now: Duration) -> bool {
        let is_willing = match self.visit.manner {
            Manner::Eager | Manner::Leaves(_) => true,
            Manner::Slow(_) => now >= self.next_read,
            Manner::Stalls(pieces) => self.has_given_in || self.pieces.len() < pieces,
        };
        self.stream.is_some() && is_willing
    }

    fn hear(&mut self, samples: &[f32], now: Duration) {
        if self.first_audio.is_none() {
            self.first_audio = Some(now.saturating_sub(self.visit.at));
            self.first_at = now;
        }
        let played = now.saturating_sub(self.first_at);
        self.underrun = self.underrun.max(played.saturating_sub(FRAME * self.heard));
        let frames = frames(samples);
        self.pieces.push(frames.len());
        for frame in frames {
            let expected = (self.heard, self.visit.script.speaker);
            if frame != expected && self.complaint.is_none() {
                self.complaint = Some(format!("expected frame {expected:?}, heard {frame:?}"));
            }
            self.heard += 1;
        }
        if let Manner::Slow(pause) = self.visit.manner {
            self.next_read = now + pause;
        }
    }

    /// Looks, after all, what has become of a stream that it had stopped to read.
    pub(super) fn look(&mut self, now: Duration) {
        self.has_given_in = true;
        self.read(now);
    }

    pub(super) fn end(&mut self, outcome: Outcome) {
        let finish = self.stream.as_ref().and_then(SpeechStream::finish);
        self.was_cut = finish.is_some_and(|finish| finish.reason == FinishReason::Length);
        if outcome == Outcome::Done && self.heard != self.visit.script.frames && !self.was_cut {
            self.complaint = Some(format!("ended after {} of {} frames", self.heard, self.visit.script.frames));
        }
        self.outcome = outcome;
        self.stream = None;
    }
}
