//! What is wrong with a value, in the words of the API.

/// What is wrong with a value, before it is said where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The reference's name of the kind of fault, such as `float_type`.
    pub kind: &'static str,
    /// The sentence for a person.
    pub text: String,
    /// A member of `ctx`, already in Python notation.
    pub context: Option<String>,
}

impl Fault {
    /// A fault without context.
    pub fn new(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), context: None }
    }

    /// The same with a member of `ctx`.
    pub fn with(mut self, context: String) -> Self {
        self.context = Some(context);
        self
    }

    /// A rule of the schema's own code was broken.
    pub fn rule(text: &str) -> Self {
        Self::new("value_error", format!("Value error, {text}"))
    }
}
