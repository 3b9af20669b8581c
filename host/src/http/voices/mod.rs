//! `/v1/audio/voices`: listing, uploading and deleting.

mod delete;
mod embedding;
pub(crate) mod form;
mod list;
mod room;
pub(crate) mod upload;
mod urlencoded;

pub use delete::remove;
pub use list::{list, objects};
pub use room::UploadRoom;
pub use upload::create;
