//! The audio of one request, as its caller receives it.

use std::sync::Arc;

use super::admission::Place;
use super::job::{Job, JobEnds, Piece};
use super::pipeline::Pipeline;
use super::{Finish, SpeechError, SpeechHead};

/// A stream of audio. Dropping it cancels the request within one step.
pub struct SpeechStream {
    /// What was known before the first sample.
    pub head: SpeechHead,
    job: Arc<Job>,
    ends: JobEnds,
    pipeline: Arc<Pipeline>,
    has_audio: bool,
    finish: Option<Finish>,
    place: Arc<Place>,
    /// Length of the text in characters.
    characters: usize,
}

/// What a stream is made of.
pub(super) struct StreamParts {
    pub head: SpeechHead,
    pub job: Arc<Job>,
    pub ends: JobEnds,
    pub pipeline: Arc<Pipeline>,
    pub place: Arc<Place>,
    pub characters: usize,
}

impl SpeechStream {
    pub(super) fn new(parts: StreamParts) -> Self {
        let StreamParts { head, job, ends, pipeline, place, characters } = parts;
        Self { head, job, ends, pipeline, has_audio: false, finish: None, place, characters }
    }

    /// The next piece of interleaved samples, `None` at the end. After an error nothing follows.
    pub async fn next(&mut self) -> Option<Result<Vec<f32>, SpeechError>> {
        if self.finish.is_some() {
            return None;
        }
        let piece = self.receive().await;
        match piece {
            Ok(Piece::Audio(samples)) => {
                self.has_audio = true;
                Some(Ok(samples))
            }
            Ok(Piece::Done(finish)) => {
                self.finish = Some(finish);
                self.place.note_spoken(self.characters, self.job.emitted());
                self.job.measures.finished(finish);
                let silent = SpeechError::failed("TTS model did not produce audio output.");
                if self.has_audio { None } else { Some(Err(silent)) }
            }
            Err(error) => {
                self.finish = Some(self.job.finish());
                self.job.measures.failed(&error);
                Some(Err(error))
            }
        }
    }

    /// How it ended, once it has.
    pub fn finish(&self) -> Option<Finish> {
        self.finish
    }

    async fn receive(&mut self) -> Result<Piece, SpeechError> {
        let piece = tokio::select! {
            biased;
            Ok(error) = &mut self.ends.failure => return Err(error),
            piece = self.ends.output.recv() => piece,
        };
        if let Some(Piece::Audio(_)) = piece
            && self.job.took()
        {
            self.pipeline.wake_last(&self.job);
        }
        piece.ok_or_else(|| SpeechError::failed("the model's last stage ended without a word"))
    }
}

impl Drop for SpeechStream {
    fn drop(&mut self) {
        self.job.cancel();
        self.job.measures.left();
        self.pipeline.forget(self.job.seq);
    }
}
