//! The engine: models, the threads of their stages, admission, and the streams of audio that come out.
//!
//! A request takes a place (`admission`), is prepared by its model off the async threads (`served`), becomes a `job`, and then
//! belongs to the stage threads (`stage`). One thread owns one stage replica; between two stages data goes straight from thread to
//! thread, bounded by credits, and from the last one to the caller through a bounded ring. Nothing polls: a thread that can do nothing
//! sleeps in its command queue, and whoever frees room wakes it.

mod admission;
mod deploy;
mod job;
mod loader;
mod measures;
mod pipeline;
mod served;
mod speech;
mod stage;
mod status;
mod stream;
mod watchdog;

pub use admission::Place;
pub use deploy::{Deployment, Deployments, StageSettings, Undecided};
pub use job::Jobs;
pub use loader::{Engine, EngineSettings, FindError};
pub use served::Served;
pub use speech::{Finish, SpeechError, SpeechHead};
pub use status::{Loading, ModelState, ModelStatus};
pub use stream::SpeechStream;
pub use watchdog::Pulse;

#[cfg(test)]
mod tests;
