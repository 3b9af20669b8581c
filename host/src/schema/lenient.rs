//! Values as their property's type, by the rules of every other field. What cannot be read stays as it is and fails validation.

use serde_json::{Value, json};

use super::coerce;

/// Reads a value as `property` wants it.
pub fn read(property: &Value, value: Value) -> Value {
    let allows = |name: &str| match property.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    let read = if allows("string") {
        None
    } else if allows("integer") {
        integer(&value)
    } else if allows("number") {
        number(&value)
    } else if allows("boolean") {
        coerce::flag(&value).ok().map(Value::from)
    } else {
        None
    };
    read.unwrap_or(value)
}

/// A whole number, as far as JSON's 64 bits reach.
fn integer(value: &Value) -> Option<Value> {
    let whole = coerce::whole(value).ok()?;
    i64::try_from(whole).map(Value::from).or_else(|_| u64::try_from(whole).map(Value::from)).ok()
}

/// A number. One that is a number already keeps its spelling, and what JSON has no number for stays text.
fn number(value: &Value) -> Option<Value> {
    if value.is_number() {
        return None;
    }
    coerce::real(value).ok().filter(|number| number.is_finite()).map(|number| json!(number))
}
