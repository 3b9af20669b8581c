//! Burn modules that model families share.
