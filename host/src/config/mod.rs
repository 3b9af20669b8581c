//! The configuration: deploy files, variables and flags, merged into a validated plan in which every value knows its origin.
//!
//! [`Given`] is the door: flags, variables and what is known of the machine, to one [`Plan`] a family. On the way a file becomes a tree
//! of values with their places, interpolations are replaced, it is laid over its base, the platform's section and
//! what was typed are laid over it, and the result is checked. [`fit`] tells whether plans fit a machine, [`Report`] shows them.

mod checkpoint;
mod chunks;
mod connectors;
mod deploy;
mod devices;
mod environment;
mod error;
mod expression;
mod finding;
mod fit;
mod flags;
mod interpolate;
mod keys;
mod layer;
mod load;
mod machine;
mod merge;
mod near;
mod node;
mod origin;
mod overrides;
mod packaged;
mod plan;
mod report;
mod resolve;
mod sampling;
pub mod select;
mod size;
mod source;
mod stage_flags;
mod stage_plan;
mod typed;
mod unknown;
mod yaml;

pub use checkpoint::Checkpoint;
pub use chunks::{Adaptive, ChunkPolicy, FirstChunk, Growth};
pub use devices::device_name;
pub use environment::{Environment, RegistrationPolicy};
pub use error::{ConfigError, ConfigErrorKind};
pub use finding::{Finding, FindingKind};
pub use fit::{FitRow, Load, StageNeeds, fit};
pub use flags::{ConfigArgs, Scoped};
pub use load::Given;
pub use machine::{DeviceMemory, Machine};
pub use origin::{Origin, Setting};
pub use packaged::packaged_names;
pub use plan::{Plan, StagePlan};
pub use report::{Report, Row, StageReport};
pub use sampling::SamplingPlan;
pub(crate) use size::parse as parse_bytes;
pub use source::Source;
pub use stage_flags::{StageFlag, extract_stage_flags};

#[cfg(test)]
mod tests;
