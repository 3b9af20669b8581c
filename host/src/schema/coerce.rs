//! JSON values as the types of fields, as leniently as pydantic: numbers in strings, words for booleans, integral floats.

use serde_json::{Number, Value};

use super::fault::Fault;

/// Text: only a string.
pub fn text(value: &Value) -> Result<String, Fault> {
    value.as_str().map(str::to_owned).ok_or_else(|| Fault::new("string_type", "Input should be a valid string"))
}

/// A whole number between `min` and the largest `i64`.
pub fn integer(value: &Value, min: i64) -> Result<i64, Fault> {
    let number = whole(value)?;
    if number < i128::from(min) {
        return Err(at_least("greater_than_equal", "greater than or equal to", "ge", &min.to_string()));
    }
    i64::try_from(number).map_err(|_| at_least("less_than_equal", "less than or equal to", "le", &i64::MAX.to_string()))
}

/// A whole number above 0.
pub fn positive(value: &Value) -> Result<i64, Fault> {
    match whole(value)? {
        ..=0 => Err(at_least("greater_than", "greater than", "gt", "0")),
        _ => integer(value, 1),
    }
}

/// A number from `min` to `max`, both included.
pub fn float(value: &Value, min: f64, max: f64) -> Result<f64, Fault> {
    let number = real(value)?;
    // Written so that a NaN, which a string can spell, is out of range.
    if number.is_nan() || number < min {
        return Err(at_least("greater_than_equal", "greater than or equal to", "ge", &min.to_string()));
    }
    if number > max {
        return Err(at_least("less_than_equal", "less than or equal to", "le", &max.to_string()));
    }
    Ok(number)
}

/// A boolean, 0 or 1, or a word for one in any case.
pub fn flag(value: &Value) -> Result<bool, Fault> {
    let word = match value {
        Value::Bool(flag) => return Ok(*flag),
        Value::Number(number) if number.as_f64() == Some(1.0) => return Ok(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => return Ok(false),
        Value::String(word) => word.to_ascii_lowercase(),
        Value::Number(_) => String::new(),
        _ => return Err(Fault::new("bool_type", "Input should be a valid boolean")),
    };
    match word.as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Ok(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Ok(false),
        _ => Err(Fault::new("bool_parsing", "Input should be a valid boolean, unable to interpret input")),
    }
}

/// One of a few strings, compared exactly.
pub fn choice(value: &Value, choices: &[&str]) -> Result<String, Fault> {
    let chosen = value.as_str().filter(|text| choices.contains(text));
    chosen.map(str::to_owned).ok_or_else(|| {
        let listed = listed(choices);
        Fault::new("literal_error", format!("Input should be {listed}")).with(format!("'expected': \"{listed}\""))
    })
}

/// `'a', 'b' or 'c'`
pub fn listed(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("'{choice}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn at_least(kind: &'static str, words: &str, key: &str, bound: &str) -> Fault {
    Fault::new(kind, format!("Input should be {words} {bound}")).with(format!("'{key}': {bound}"))
}

/// Any whole number.
pub fn whole(value: &Value) -> Result<i128, Fault> {
    match value {
        Value::Bool(flag) => Ok(i128::from(*flag)),
        Value::Number(number) => whole_number(number),
        Value::String(text) => whole_text(text),
        _ => Err(Fault::new("int_type", "Input should be a valid integer")),
    }
}

fn whole_number(number: &Number) -> Result<i128, Fault> {
    if let Some(whole) = number.as_i128() {
        return Ok(whole);
    }
    match number.as_f64() {
        // A number that is none of the 64-bit integers came as a float, which rounds: just past the ends it would become one of them.
        Some(float) if float.fract() == 0.0 && float <= i64::MIN as f64 => Ok(i128::from(i64::MIN) - 1),
        Some(float) if float.fract() == 0.0 => Ok(float as i128),
        _ => Err(Fault::new("int_from_float", "Input should be a valid integer, got a number with a fractional part")),
    }
}

fn whole_text(text: &str) -> Result<i128, Fault> {
    let digits = text.trim();
    let digits = match digits.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => digits,
    };
    let fault = || Fault::new("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
    ungrouped(digits).and_then(|digits| digits.parse().ok()).ok_or_else(fault)
}

/// A number without the underscores that group its digits: each has to stand between two of them, as in Python.
fn ungrouped(number: &str) -> Option<String> {
    let bytes = number.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut marks = number.match_indices('_').map(|(at, _)| at);
    marks.all(|at| is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1))).then(|| number.replace('_', ""))
}

/// Any number, infinite ones and NaN among them.
pub fn real(value: &Value) -> Result<f64, Fault> {
    match value {
        Value::Bool(flag) => Ok(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64().ok_or_else(|| Fault::new("float_type", "Input should be a valid number")),
        Value::String(text) => real_text(text),
        _ => Err(Fault::new("float_type", "Input should be a valid number")),
    }
}

fn real_text(text: &str) -> Result<f64, Fault> {
    let fault = || Fault::new("float_parsing", "Input should be a valid number, unable to parse string as a number");
    ungrouped(text.trim()).and_then(|number| number.parse().ok()).ok_or_else(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers() {
        for (sent, wanted) in [
            (json!(8000.0), 8000),
            (json!("7"), 7),
            (json!(" +7.00 "), 7),
            (json!(true), 1),
            (json!("1_0"), 10),
            (json!(i64::MIN), i64::MIN),
        ] {
            assert_eq!(integer(&sent, i64::MIN), Ok(wanted), "{sent}");
        }
        for (sent, kind) in [
            (json!(1.5), "int_from_float"),
            (json!("1.5"), "int_parsing"),
            (json!("lucky"), "int_parsing"),
            (json!(""), "int_parsing"),
            (json!("_1"), "int_parsing"),
            (json!("1_"), "int_parsing"),
            (json!("1__0"), "int_parsing"),
            (json!("-_1"), "int_parsing"),
            (json!([1]), "int_type"),
            (json!(null), "int_type"),
            (json!(i64::MAX as u64 + 1), "less_than_equal"),
            (json!(1e300), "less_than_equal"),
            (json!(-1e300), "greater_than_equal"),
        ] {
            assert_eq!(integer(&sent, i64::MIN).expect_err("it is refused").kind, kind, "{sent}");
        }
        assert_eq!(positive(&json!(0)).expect_err("it is refused").text, "Input should be greater than 0");
        assert_eq!(positive(&json!("8000")), Ok(8000));
    }

    #[test]
    fn numbers() {
        for (sent, wanted) in [(json!(1), 1.0), (json!("0.5"), 0.5), (json!(true), 1.0), (json!(0.25), 0.25), (json!(4), 4.0)] {
            assert_eq!(float(&sent, 0.25, 4.0), Ok(wanted), "{sent}");
        }
        for (sent, text) in [
            (json!(0.24), "Input should be greater than or equal to 0.25"),
            (json!("nan"), "Input should be greater than or equal to 0.25"),
            (json!(false), "Input should be greater than or equal to 0.25"),
            (json!("inf"), "Input should be less than or equal to 4"),
            (json!(4.01), "Input should be less than or equal to 4"),
            (json!("fast"), "Input should be a valid number, unable to parse string as a number"),
            (json!([1.0]), "Input should be a valid number"),
        ] {
            assert_eq!(float(&sent, 0.25, 4.0).expect_err("it is refused").text, text, "{sent}");
        }
    }

    #[test]
    fn booleans() {
        for sent in [json!(true), json!(1), json!(1.0), json!("TRUE"), json!("yes"), json!("on"), json!("t"), json!("Y"), json!("1")] {
            assert_eq!(flag(&sent), Ok(true), "{sent}");
        }
        for sent in [json!(false), json!(0), json!("False"), json!("no"), json!("off"), json!("f"), json!("n"), json!("0")] {
            assert_eq!(flag(&sent), Ok(false), "{sent}");
        }
        for sent in [json!("maybe"), json!(2), json!(0.5), json!(null), json!([]), json!({})] {
            assert!(flag(&sent).is_err(), "{sent}");
        }
    }

    #[test]
    fn choices_are_exact_and_listed() {
        let refusal = choice(&json!("WAV"), &["wav", "pcm"]).expect_err("it is refused");
        assert_eq!(refusal.text, "Input should be 'wav' or 'pcm'");
        assert_eq!(choice(&json!("pcm"), &["wav", "pcm"]), Ok("pcm".to_owned()));
        assert_eq!((listed(&["a"]), listed(&["a", "b", "c"])), ("'a'".to_owned(), "'a', 'b' or 'c'".to_owned()));
        assert!(choice(&json!(null), &["wav"]).is_err());
    }
}
