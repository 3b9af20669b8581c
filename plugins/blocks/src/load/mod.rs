//! Checkpoints: mapped files, shard indices, names and shapes checked, tensors put on a device.
//!
//! Reading goes in three steps, so that a wrong checkpoint is refused before any device memory is touched: [`Checkpoint::open`] maps the
//! files and trusts nothing in their headers, [`Manifest::check`] compares every name and shape with what the family expects, and
//! [`Reader`] converts, checks that values are finite, and uploads.

mod checkpoint;
mod convert;
mod error;
mod manifest;
mod mapped;
mod reader;

pub use checkpoint::{Checkpoint, RawTensor};
pub use error::{Fault, LoadError};
pub use manifest::{Manifest, Tally};
pub use reader::{Progress, Reader};
