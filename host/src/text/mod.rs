//! Text before a family sees it.

pub mod clean;
pub mod segment;
