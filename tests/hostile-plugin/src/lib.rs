//! A plugin that misbehaves on demand: what the host must survive, in one family named `hostile`.
//!
//! What goes wrong while it loads is told by its file's name or the environment variable `OMNI_HOSTILE`, see [`LoadMischief`]; what
//! goes wrong in a request by words in its text, see [`Mischief`]. Any other text is spoken as half a second of a quiet tone.

mod family;
mod mischief;
mod model;
mod stage;

pub use family::HostileFamily;
pub use mischief::{LoadMischief, Mischief};

omni_plugin_api::export_family!(HostileFamily);
