//! What a server is protected by: keys and limits, and what those it turns away are told.

mod keys;
mod limits;
