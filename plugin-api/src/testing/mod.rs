//! What a plugin author tests with: a family run in process, without a host.
//!
//! ```ignore
//! let rig = Rig::open(&MyFamily, &ModelSource::BuiltIn)?;
//! let pcm = rig.speak(&SpeechRequest::new("hello"))?;
//! assert_streamed_equals_whole(&rig, &SpeechRequest::new("hello"), &[1, 3, 7, 25], 1e-5);
//! assert_batch_equals_single(&rig, &requests, 1e-5);
//! ```

mod agreement;
mod driver;

pub use agreement::{assert_batch_equals_single, assert_slots_are_clean, assert_streamed_equals_whole};
pub use driver::{Rig, Spoken};
