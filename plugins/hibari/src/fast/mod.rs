//! Hand-written forms of what takes the time, over plain rows: the element-wise parts are loops that vectorise, matrix products stay
//! Burn's, and the decoder works on pieces of a sequence with its state carried. Tested against the plain modules of [`crate::nn`], whose
//! matrices they share.
//!
//! Nothing here fuses a multiply with an add or sums in an order that depends on the machine, so apart from the matrix products the
//! results are the same bits on every processor, whatever vector width is used.

pub mod conv;
pub mod convnext;
pub mod decoder;
pub mod math;
pub mod prosody;
pub mod rows;
pub mod tail;
pub mod tensor;
pub mod text_encoder;
pub mod transformer;
