//! What a validator found, in the words that clients of the API know.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::coerce;
use super::fault::Fault;

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Dotted path of the field, empty for the body itself.
    pub place: String,
    /// What it is.
    pub fault: Fault,
    /// The value at fault.
    pub value: Value,
}

impl Problem {
    /// Translates an error of the validator.
    pub fn of(error: &ValidationError<'_>) -> Self {
        let mut place = error.instance_path().to_string().trim_start_matches('/').replace('/', ".");
        if let ValidationErrorKind::Required { property } = error.kind() {
            let name = property.as_str().unwrap_or_default();
            place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        }
        Self { place, fault: fault(error), value: error.instance().clone().into_owned() }
    }
}

/// An error in the words of the API; those it has no words for keep the validator's.
fn fault(error: &ValidationError<'_>) -> Fault {
    use ValidationErrorKind as Kind;
    let list = |bound: &str, limit: u64| format!("List should have {bound} {} after validation, not {}", many(limit, "item"), len(error));
    match error.kind() {
        Kind::Minimum { limit } => Fault::new("greater_than_equal", format!("Input should be greater than or equal to {}", plain(limit))),
        Kind::Maximum { limit } => Fault::new("less_than_equal", format!("Input should be less than or equal to {}", plain(limit))),
        Kind::ExclusiveMinimum { limit } => Fault::new("greater_than", format!("Input should be greater than {}", plain(limit))),
        Kind::ExclusiveMaximum { limit } => Fault::new("less_than", format!("Input should be less than {}", plain(limit))),
        Kind::MinLength { limit } => Fault::new("string_too_short", format!("String should have at least {}", many(*limit, "character"))),
        Kind::MaxLength { limit } => Fault::new("string_too_long", format!("String should have at most {}", many(*limit, "character"))),
        Kind::MinItems { limit } => Fault::new("too_short", list("at least", *limit)),
        Kind::MaxItems { limit } => Fault::new("too_long", list("at most", *limit)),
        Kind::Required { .. } => Fault::new("missing", "Field required"),
        Kind::Enum { options } => Fault::new("literal_error", format!("Input should be {}", alternatives(options))),
        Kind::Type { kind } => of_type(kind, error.instance()),
        _ => Fault::new("value_error", error.to_string().chars().take(300).collect::<String>()),
    }
}

/// `1 item`, `2 items`.
fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Items of the list that an error is about.
fn len(error: &ValidationError<'_>) -> usize {
    error.instance().as_array().map_or(0, Vec::len)
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

/// A value that is not of its type, in the words of the rule that could not read it.
fn of_type(kind: &TypeKind, value: &Value) -> Fault {
    let allowed = match kind {
        TypeKind::Single(only) => only.to_string(),
        TypeKind::Multiple(several) => several.iter().map(|kind| kind.to_string()).find(|kind| kind != "null").unwrap_or_default(),
    };
    let (unread, kind, name) = match allowed.as_str() {
        "number" => (coerce::real(value).err(), "float_type", "number"),
        "integer" => (coerce::whole(value).err(), "int_type", "integer"),
        "boolean" => (coerce::flag(value).err(), "bool_type", "boolean"),
        "string" => (coerce::text(value).err(), "string_type", "string"),
        "array" => (None, "list_type", "list"),
        "object" => (None, "dict_type", "dictionary"),
        _ => (None, "none_required", "null"),
    };
    unread.unwrap_or_else(|| Fault::new(kind, format!("Input should be a valid {name}")))
}
