//! omni-host: a text-to-speech server with the OpenAI-compatible speech API and one plugin a model family.
//!
//! [`http`] and [`cli`] are the faces, [`engine`] admits and schedules, [`plugin`] finds and loads families, [`checkpoint`]
//! compares and makes their files, [`config`] reads deploy files, [`schema`] checks a request against its family, [`audio`] writes the
//! formats, [`mod@reference`] reads the clips that voices are cloned from, [`text`] cleans what is to be spoken, [`observe`] tells people
//! what goes on.

pub mod audio;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod engine;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod http;
pub mod observe;
pub mod plugin;
pub mod reference;
pub mod schema;
pub mod text;
pub mod voices;
