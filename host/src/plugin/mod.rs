//! Plugins: which file a name means, loading it, and what the host does for it.

mod detect;
mod discover;
mod hub;
mod library;
mod limited;
mod search;
mod services;
mod spec;

pub use detect::{DetectError, detect, installed};
pub(crate) use discover::check_audio;
pub use discover::{DiscoverError, Discovered, discover};
pub use hub::{Hub, HubError};
pub use limited::{Overrun, limited};
pub use search::{list, search_path};
pub use services::ModelServices;
pub use spec::PluginSpec;
