//! The two stages. A stage owns what changes: one slot a sequence, and nothing that outlives the sequence in it.

mod code2wav;
mod memory;
mod recorded;
mod slots;
mod speaking;
mod talker;

pub use code2wav::Code2Wav;
pub use slots::Slots;
pub use talker::{Frames, PAGE, TalkerRoom, TalkerStage};
