//! Support for the black-box tests: the real binary on a real socket, real clients, a real recogniser.
//!
//! Nothing here knows the server's code. A test starts [`server::Server`], speaks to it with [`http`] or [`raw`], takes the answer
//! apart with [`wav`] and [`sound`], and has it recognised by [`asr`] and compared by [`words`].

pub mod artifacts;
pub mod asr;
pub mod base64;
pub mod checks;
pub mod http;
pub mod lock;
pub mod metrics;
pub mod node;
pub mod numbers;
pub mod page;
pub mod process;
pub mod python;
pub mod raw;
pub mod recording;
pub mod s3;
pub mod sentences;
pub mod server;
pub mod sound;
pub mod speech;
pub mod upload;
pub mod wav;
pub mod websocket;
pub mod words;
