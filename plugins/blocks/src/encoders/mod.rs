//! Speaker and audio encoders, one shot.
