//! The two stages. A stage owns what changes: one slot a sequence, and nothing that outlives the sequence in it.

pub mod codec;
pub mod slots;
pub mod talker;

pub use codec::Codec;
pub use slots::Slots;
pub use talker::Talker;
