//! Values as their property's type, where that is plain: what cannot be read stays as it is and fails validation.

use serde_json::{Value, json};

/// Words for true and false, compared without regard to case.
const TRUE: [&str; 6] = ["true", "1", "yes", "on", "t", "y"];
const FALSE: [&str; 6] = ["false", "0", "no", "off", "f", "n"];

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
        boolean(&value)
    } else {
        None
    };
    read.unwrap_or(value)
}

fn number(value: &Value) -> Option<Value> {
    let number: f64 = value.as_str()?.trim().parse().ok()?;
    number.is_finite().then(|| json!(number))
}

fn integer(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from),
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15)?;
            Some(Value::from(number as i64))
        }
        Value::Bool(flag) => Some(Value::from(i64::from(*flag))),
        _ => None,
    }
}

fn boolean(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let word = text.to_lowercase();
            let is = |words: [&str; 6]| words.contains(&word.as_str());
            is(TRUE).then_some(true).or(is(FALSE).then_some(false)).map(Value::from)
        }
        Value::Number(number) => {
            [(0, false), (1, true)].iter().find(|(code, _)| number.as_i64() == Some(*code)).map(|(_, flag)| Value::from(*flag))
        }
        _ => None,
    }
}
