//! The decoder block and its parts.
//!
//! | axis | meaning |
//! |---|---|
//! | R | rows of the batch, one sequence each |
//! | T, S | positions that are computed, positions that are seen |
//! | d | width |
//! | Hq, Hkv, D | query heads, key and value heads, width of a head |

mod attention;
mod block;
mod embedding;
mod frame;
mod mlp;
mod norm;
mod proj;
mod rope;
mod stack;

pub use attention::{Attention, AttentionConfig};
pub use block::{Block, BlockConfig};
pub use embedding::Table;
pub use frame::{FrameDecoder, Pick};
pub use mlp::{Act, Mlp, MlpConfig};
pub use norm::{Norm, NormConfig, NormKind};
pub use proj::Proj;
pub(crate) use proj::is_host;
pub use rope::{Angles, RopeTable, frequencies};
pub use stack::{Stack, StackConfig};
