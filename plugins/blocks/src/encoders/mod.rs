//! Speaker and audio encoders, one shot.

pub mod ecapa;
pub mod seanet;

pub use ecapa::{Ecapa, EcapaConfig, EcapaConfigError, TooShort};
