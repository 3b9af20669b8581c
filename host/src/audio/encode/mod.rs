//! Samples into the formats that clients ask for, whole or as they are made; one file a format.

#[cfg(feature = "aac")]
mod aac;
mod encoder;
mod flac;
mod mp3;
mod opus;
mod pcm;
mod planes;
#[cfg(test)]
mod testing;
mod wav;

pub use encoder::{EncodeError, Encoder, Length, Shape, open, whole};
