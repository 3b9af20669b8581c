//! What a plugin reports when it cannot do what the host asked.

use serde::{Deserialize, Serialize};

/// Who is at fault, which decides the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request is wrong: 400, the message is shown to the client as it stands.
    Invalid,
    /// The family cannot do this at all, such as cloning: 400.
    Unsupported,
    /// The model's files are missing, damaged or of another family: the load fails.
    Checkpoint,
    /// Memory, slots or a device ran out: 503.
    Exhausted,
    /// The plugin failed: 500.
    Internal,
    /// The plugin panicked; the message is the panic's. Made by the boundary, never by an author.
    Panicked,
    /// The model did not come to the end of the text, so that its audio is incomplete: 500. Another seed may do better, and the host tries
    /// one where the client chose neither a seed nor a length and has not heard anything yet.
    Incomplete,
}

/// An error of a plugin: a kind to act on, the field at fault if there is one, and one sentence.
///
/// Messages are what a client or an operator reads: they say what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct PluginError {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// The request field at fault, as clients spell it (`input`, `voice`, `speed`).
    pub field: Option<String>,
    /// One sentence for a person.
    pub message: String,
}

impl PluginError {
    fn new(kind: ErrorKind, field: Option<&str>, message: impl Into<String>) -> Self {
        Self { kind, field: field.map(str::to_owned), message: message.into() }
    }

    /// A request field holds something this family refuses.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, Some(field), message)
    }

    /// The family lacks an ability that the request needs.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, None, message)
    }

    /// The model's files cannot be used.
    pub fn checkpoint(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Checkpoint, None, message)
    }

    /// A resource ran out.
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Exhausted, None, message)
    }

    /// Something inside the plugin went wrong.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, None, message)
    }

    /// The model did not come to the end of the text.
    pub fn incomplete(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Incomplete, None, message)
    }

    /// A panic was caught at the boundary.
    pub fn panicked(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Panicked, None, message)
    }
}

/// Runs a piece of plugin code and turns a panic into [`ErrorKind::Panicked`].
///
/// Every entry of a plugin goes through here: a panic that reached the C boundary would abort the whole host.
pub fn contain<T>(entry: &str, call: impl FnOnce() -> Result<T, PluginError>) -> Result<T, PluginError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(payload) => Err(PluginError::panicked(format!("panicked in {entry}: {}", panic_text(&*payload)))),
    }
}

/// The text of a panic's payload.
fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_the_entry() {
        let number = 7;
        let error = contain::<()>("step", || panic!("bad frame {number}")).expect_err("the closure panics");
        assert_eq!(error.kind, ErrorKind::Panicked);
        assert_eq!(error.message, "panicked in step: bad frame 7");
    }
}
