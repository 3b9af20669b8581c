//! A family with no weights: it speaks a tone that follows the text.
//!
//! It is the template for a new family: copy it, then replace one file at a time. It is also the double for every test that needs a
//! plugin and no speech. `docs/write-a-family-plugin.md` goes through it.
//!
//! | file | what it holds |
//! |---|---|
//! | [`family`](crate::SineFamily) | what the host must know before anything is loaded |
//! | [`model`](crate::SineModel) | what a loaded model is: its voices, its prompt, its stages |
//! | [`request`](crate::SineRequest) | the request fields that only this family knows |
//! | [`speaker`](crate::Speaker) | a voice that was learnt from a reference, and what is kept of it |
//! | [`pitch`] | what can be heard in a reference, the place of a speaker encoder |
//! | [`score`](crate::Score) | text to notes, the place of a tokenizer |
//! | [`stages::talker`] | prompt to code frames, the place of a language model |
//! | [`stages::codec`] | code frames to audio, the place of a codec's decoder |

mod codes;
mod family;
mod model;
mod noise;
pub mod pitch;
mod request;
mod score;
mod speaker;
pub mod stages;

pub use codes::{CODEBOOKS, FRAME_LEN, FRAME_RATE_HZ, Frame, SAMPLE_RATE_HZ};
pub use family::SineFamily;
pub use model::{SineModel, Utterance};
pub use noise::noise;
pub use request::SineRequest;
pub use score::{Note, Score};
pub use speaker::{REFERENCE_CODES, SPEAKER_DIM, SPEAKER_EMBEDDING, Speaker};

omni_plugin_api::export_family!(SineFamily);
