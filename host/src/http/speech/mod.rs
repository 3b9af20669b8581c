//! `POST /v1/audio/speech`

mod ascii;
pub mod batch;
pub(crate) mod body;
mod cloning;
mod endpoint;
mod fields;
pub mod find;
mod form;
pub mod headers;
mod pieces;
mod raw;
mod record;
mod references;
mod rich_input;
mod sse;
mod stored;
pub(crate) mod text;
pub(crate) mod validate;
pub mod voice;
mod whole;
pub mod words;

pub use body::parse;
pub use endpoint::{create, receive};
pub use form::{Delivery, SpeechForm};
pub use pieces::{Pieces, first_audio, next_audio};
pub use record::Record;
pub use validate::{Accepted, accept};
pub use whole::{Clip, collect, spoken};
