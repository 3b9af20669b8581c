//! What a validator found, in the words that clients of the API know.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Dotted path of the field, empty for the body itself.
    pub place: String,
    /// Name of the kind of fault, such as `greater_than_equal`.
    pub kind: &'static str,
    /// One sentence.
    pub text: String,
    /// The value at fault.
    pub value: Value,
}

impl Problem {
    /// Translates an error of the validator.
    pub fn of(error: &ValidationError<'_>) -> Self {
        let mut place = error.instance_path().to_string().trim_start_matches('/').replace('/', ".");
        let (kind, text) = words(error);
        if let ValidationErrorKind::Required { property } = error.kind() {
            let name = property.as_str().unwrap_or_default();
            place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        }
        Self { place, kind, text, value: error.instance().clone().into_owned() }
    }
}

/// The kind and the sentence of an error; those the API has no words for keep the validator's.
fn words(error: &ValidationError<'_>) -> (&'static str, String) {
    use ValidationErrorKind as Kind;
    match error.kind() {
        Kind::Minimum { limit } => ("greater_than_equal", format!("Input should be greater than or equal to {}", plain(limit))),
        Kind::Maximum { limit } => ("less_than_equal", format!("Input should be less than or equal to {}", plain(limit))),
        Kind::ExclusiveMinimum { limit } => ("greater_than", format!("Input should be greater than {}", plain(limit))),
        Kind::ExclusiveMaximum { limit } => ("less_than", format!("Input should be less than {}", plain(limit))),
        Kind::MinLength { limit } => ("string_too_short", format!("String should have at least {limit} characters")),
        Kind::MaxLength { limit } => ("string_too_long", format!("String should have at most {limit} characters")),
        Kind::MinItems { limit } => ("too_short", format!("List should have at least {limit} items after validation")),
        Kind::MaxItems { limit } => ("too_long", format!("List should have at most {limit} items after validation")),
        Kind::Required { .. } => ("missing", "Field required".to_owned()),
        Kind::Enum { options } => ("literal_error", format!("Input should be {}", alternatives(options))),
        Kind::Type { kind } => of_type(kind),
        _ => ("value_error", error.to_string().chars().take(300).collect()),
    }
}

/// A number without a needless fraction.
fn plain(limit: &Value) -> String {
    match limit.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
        _ => limit.to_string(),
    }
}

/// `'a', 'b' or 'c'`.
fn alternatives(options: &Value) -> String {
    let quoted = |option: &Value| option.as_str().map_or_else(|| option.to_string(), |text| format!("'{text}'"));
    let mut names: Vec<String> = options.as_array().into_iter().flatten().map(quoted).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        Some(only) => only,
        None => "nothing".to_owned(),
    }
}

fn of_type(kind: &TypeKind) -> (&'static str, String) {
    let allowed = match kind {
        TypeKind::Single(only) => only.to_string(),
        TypeKind::Multiple(several) => several.iter().map(|kind| kind.to_string()).find(|kind| kind != "null").unwrap_or_default(),
    };
    let (kind, name) = match allowed.as_str() {
        "number" => ("float_type", "number"),
        "integer" => ("int_type", "integer"),
        "boolean" => ("bool_type", "boolean"),
        "string" => ("string_type", "string"),
        "array" => ("list_type", "list"),
        "object" => ("dict_type", "dictionary"),
        _ => ("none_required", "null"),
    };
    (kind, format!("Input should be a valid {name}"))
}
