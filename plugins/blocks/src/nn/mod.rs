//! The decoder block and its parts.
