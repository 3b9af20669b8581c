//! The 16-bit samples alone.

use super::encoder::{Codec, EncodeError};
use crate::audio::pcm;

/// Has no state: each sample is two bytes.
pub struct Pcm;

impl Codec for Pcm {
    fn header(&mut self, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        pcm::append(samples, out);
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Ok(())
    }
}
