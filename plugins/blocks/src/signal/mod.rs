//! Spectra and mel front ends.
