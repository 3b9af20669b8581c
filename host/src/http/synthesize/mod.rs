//! `POST /synthesize`, `POST /synthesize/stream` and `GET /speakers`: the API of custom-voice servers, which hold a folder of speakers'
//! vectors and speak with them.
//!
//! A request is `{"text", "speaker", "language", "instruct", …}`: other names of `input`, `voice` and `instructions`, and every other field
//! of the speech endpoint as well. `/synthesize` answers with a complete WAV file, or what `response_format` asks for; `/synthesize/stream`
//! with samples as they are made, 32-bit floats in little-endian order. Errors are those of the speech endpoint.

mod body;
mod stream;
mod whole;

pub use stream::create as create_stream;
pub use whole::{create, speakers};
