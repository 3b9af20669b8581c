//! `POST /v1/audio/speech`

pub mod batch;
mod body;
pub(super) mod coerce;
mod endpoint;
mod fields;
mod form;
pub mod headers;
mod pieces;
mod raw;
mod record;
mod references;
mod sse;
mod text;
mod validate;
pub mod voice;
mod whole;

pub use endpoint::create;
pub use form::{Delivery, SpeechForm};
pub use pieces::Pieces;
pub use record::Record;
pub use validate::{Accepted, accept};
pub use whole::{Clip, collect};
