//! `/v1/audio/voices`: listing, uploading and deleting.

mod delete;
mod embedding;
mod form;
mod list;
mod room;
mod upload;
mod urlencoded;

pub use delete::remove;
pub use list::{list, objects};
pub use room::UploadRoom;
pub use upload::create;
