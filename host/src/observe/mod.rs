//! What an operator sees: the log, and how far a load has come.

mod logs;
mod progress;

pub use logs::{LogFormat, start};
pub use progress::{LoadProgress, Silent, progress};
