//! Plugins: which file a name means, loading it, and what the host does for it.

mod discover;
mod library;
mod limited;
mod search;
mod services;
mod spec;

pub(crate) use discover::check_audio;
pub use discover::{DiscoverError, Discovered, discover};
pub use limited::{Overrun, limited};
pub use search::{list, search_path};
pub use services::ModelServices;
pub use spec::PluginSpec;
