//! Where a clip is, and whether it may be fetched from there.

mod file;
mod guard;
mod locator;
mod redirect;
mod settings;
mod web;

pub use file::open;
pub use locator::Locator;
pub use settings::SourceSettings;
pub use web::Download;
