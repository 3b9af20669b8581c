//! The sampler: an ordered list of operations on logits, a draw, and noise that depends on nothing but its key.
//!
//! The order is the family's, as data; the numbers are the request's. [`Chain::draw`] is the plain form, on the host, row by row;
//! [`DeviceSettings::draw`] is the same for a batch that stays on its device.

mod chain;
mod device;
mod history;
mod noise;

pub use chain::{Chain, DrawError, Op, Settings};
pub use device::{DeviceSettings, Lane, NUMBERS, mark, signed_seed};
pub use history::History;
pub use noise::NoiseKey;
