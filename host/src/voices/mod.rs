//! Voices that were uploaded or prepared: how they are named, kept, found and mixed.
//!
//! ```text
//! VoiceStore (folder, memory, object store) ─ file ─ Voices: index, register, find, remove ─ HTTP
//!                                             precomputed: custom_voice_dir ────────────────┘
//! ```

mod error;
mod file;
mod header;
mod index;
pub mod mime;
pub mod mix;
mod name;
mod open;
pub mod precomputed;
mod record;
mod registry;
mod scan;
mod store;
mod watch;

pub use error::VoiceError;
pub use file::{FileError, MAX_FILE_BYTES, SPEAKER_EMBEDDING, read, write};
pub use index::Entry;
pub use name::{MAX_CHARS, NameError, VoiceName, key_of, look_alike};
pub use open::{open_store, settings};
pub use record::{NewVoice, Record, Sample, Source, VECTOR_MIME};
pub use registry::{Forget, Rules, Voices, file_of};
#[cfg(feature = "object-store")]
pub use store::ObjectVoices;
pub use store::{Content, DAMAGED, EXTENSION, Listed, LocalStore, MemoryStore, Put, StoreError, VoiceStore};
pub use watch::watch;
