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
//! | [`score`](crate::Score) | text to notes, the place of a tokenizer |
//! | [`stages::talker`] | prompt to code frames, the place of a language model |
//! | [`stages::codec`] | code frames to audio, the place of a codec's decoder |

mod codes;
mod family;
mod model;
mod noise;
mod request;
mod score;
pub mod stages;

pub use codes::{CODEBOOKS, FRAME_LEN, FRAME_RATE_HZ, Frame, SAMPLE_RATE_HZ};
pub use family::SineFamily;
pub use model::{SineModel, Utterance};
pub use noise::noise;
pub use request::SineRequest;
pub use score::{Note, Score};

omni_plugin_api::export_family!(SineFamily);
