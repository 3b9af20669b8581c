//! The unit that is being sent.

use omni_plugin_api::FinishReason;

use super::sounding::{Sound, Sounding};
use super::utterance::{Ready, Unit, Work};
use crate::http::error::ApiError;
use crate::http::state::App;

/// A unit on its way to the client.
pub struct Speaking {
    /// The unit.
    pub unit: Unit,
    /// Bytes that were sent.
    pub sent_bytes: usize,
    /// Whether its `audio.start` was sent.
    pub is_started: bool,
    /// Whether it was given to the engine before its turn, when a refusal is not final.
    was_ahead: bool,
    stage: Stage,
}

enum Stage {
    Waiting(Work),
    Sounding(Box<Sounding>),
}

/// What comes next of a unit.
pub enum Progress {
    /// Its first audio, or why there is none.
    Ready(Result<Ready, ApiError>),
    /// More audio.
    Sound(Sound),
    /// A failure after audio.
    Failed(ApiError),
    /// Nothing: it is complete.
    Complete(Option<FinishReason>),
}

impl Speaking {
    /// Turns to a unit.
    pub fn new(mut unit: Unit, app: &App) -> Self {
        let was_ahead = unit.is_begun();
        let stage = Stage::Waiting(unit.work(app));
        Self { unit, sent_bytes: 0, is_started: false, was_ahead, stage }
    }

    /// Waits for what comes next. Giving up the wait loses nothing.
    pub async fn next(&mut self) -> Progress {
        match &mut self.stage {
            Stage::Waiting(work) => Progress::Ready(work.await),
            Stage::Sounding(sounding) => match sounding.next().await {
                Some(Ok(sound)) => Progress::Sound(sound),
                Some(Err(error)) => Progress::Failed(error),
                None => Progress::Complete(sounding.reason()),
            },
        }
    }

    /// From now on its audio comes.
    pub fn sounds(&mut self, sounding: Box<Sounding>) {
        self.stage = Stage::Sounding(sounding);
    }

    /// Gives it to the engine again if it was refused for want of a place while it was not its turn; says whether it did.
    pub fn tries_again(&mut self, error: &ApiError, app: &App) -> bool {
        let may_try = self.was_ahead && error.status() == http::StatusCode::TOO_MANY_REQUESTS;
        if may_try {
            self.was_ahead = false;
            self.stage = Stage::Waiting(self.unit.work(app));
        }
        may_try
    }
}
