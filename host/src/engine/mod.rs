//! The engine: models, the threads of their stages, admission, and the streams of audio that come out.
//!
//! A request takes a place (`admission`), is prepared by its model off the async threads (`served`), becomes a `job`, and then
//! belongs to the stage workers (`stage`). One thread owns one stage `replica`; between two stages data goes straight from thread to
//! thread, bounded by credits (`flow`), and from the last one to the caller through a bounded ring. Nothing polls: a thread that can do
//! nothing sleeps in its command queue, and whoever frees room wakes it.
//!
//! What is decided (`chunks`, `stage::schedule`) knows neither threads nor clocks; [`simulation`] runs the same workers under a time of its
//! own.

mod admission;
mod aliases;
pub mod align;
pub mod chunks;
mod clock;
mod deploy;
mod flow;
mod job;
mod loader;
mod measures;
mod pipeline;
mod replica;
mod served;
mod settings;
pub mod simulation;
mod speech;
mod stage;
mod status;
mod stream;
mod sync;
mod watchdog;

pub use admission::Place;
pub use aliases::{AliasError, VoiceAlias, VoiceAliases};
pub use deploy::{Deployment, Deployments, Prospect, StageSettings, Undecided};
pub use job::{Jobs, Pacing};
pub use loader::{Engine, FindError};
pub use served::Served;
pub use settings::EngineSettings;
pub use speech::{Finish, SpeechError, SpeechHead};
pub use status::{Loading, ModelState, ModelStatus};
pub use stream::SpeechStream;
pub use watchdog::Pulse;

#[cfg(test)]
mod tests;
