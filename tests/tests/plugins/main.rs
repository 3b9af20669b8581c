//! Plugins from their files: several in one host, those that misbehave, those that are refused, and one written by a stranger.

mod author;
mod hostile;
mod refused;
mod support;
mod together;
