//! The talker as Burn modules.

mod prompt;
mod sampling;
mod talker;

pub use prompt::{PromptRows, TextTable};
pub use sampling::{Barred, Row, RowError};
pub use talker::{Frame, Talker};
