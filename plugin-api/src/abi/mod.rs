//! The stable ABI: the only place that names `abi_stable`.
//!
//! Inside a plugin, [`export`] puts an author's [`crate::Family`] behind C-compatible objects, with every entry contained against
//! panics. Inside the host, [`load`] checks a library and `import` makes a [`crate::Family`] of those objects again. What crosses is
//! JSON text, plain arrays and integers; nothing of a tensor library does. Leaving `abi_stable` costs this folder.

// The derive macros of abi_stable 0.11 expand to code that newer lints and our documentation rule do not like.
#![allow(missing_docs, non_local_definitions, non_camel_case_types, clippy::all)]

mod difference;
pub mod export;
mod import;
mod load;
mod objects;
mod values;

#[doc(hidden)]
pub use abi_stable::library::LibHeader;
pub use load::{LoadError, load};
pub use objects::PluginRootRef;

/// The symbol under which a plugin exports its header; [`crate::export_family`] writes it as a literal, a test compares.
pub const EXPORTED_SYMBOL: &str = abi_stable::library::ROOT_MODULE_LOADER_NAME;

#[cfg(test)]
mod layout_test;
