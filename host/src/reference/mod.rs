//! Reference audio: where a clip is, what may be fetched, what is in it, and what models made of it.
//!
//! ```text
//! locator ─ source ─ bytes ─ decode ─ Clip ─ Model::encode_reference ─ tensors ─ Features
//! ```
//!
//! [`References`] goes all the way; its parts are for those who need one alone.

mod budget;
mod clip;
mod decode;
mod error;
mod features;
mod profiles;
mod references;
mod source;
mod waveforms;

pub use clip::{Clip, ContentId, content_of};
pub use decode::{DecodeLimits, decode};
pub use error::ReferenceError;
pub use features::{DEFAULT_BYTES, FeatureKey, Features, Tensors};
pub use profiles::Profiles;
pub use references::{ReferenceSettings, References, refusal};
pub use source::SourceSettings;
