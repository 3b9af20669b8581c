//! What an operator sees: the log, the metrics, the traces, and how far a load has come.

mod logs;
pub mod metrics;
mod progress;
pub mod trace;

pub use logs::{LogFormat, LogSettings, log_texts, shown_text, start};
pub use progress::{LoadProgress, Silent, progress};
