//! The request schemas of families: compiled once at load, asked for every request.
//!
//! A plugin is not trusted to validate. What its schema says is checked here, in the words that clients of the API know.

pub mod coerce;
mod fault;
mod lenient;
mod problem;

use jsonschema::Validator;
use serde_json::{Map, Value};

pub use fault::Fault;
pub use problem::Problem;

/// A family's compiled request schema.
pub struct RequestSchema {
    validator: Validator,
    properties: Map<String, Value>,
}

impl RequestSchema {
    /// Compiles a schema; references to other documents are not followed.
    ///
    /// # Errors
    ///
    /// One sentence about what is wrong with the schema.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(schema).map_err(|error| format!("states a request schema that is none: {error}"))?;
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Self { validator, properties })
    }

    /// Whether the schema has this field.
    pub fn knows(&self, field: &str) -> bool {
        self.properties.contains_key(field)
    }

    /// The fields of a request that the schema knows, read by the rules of [`coerce`] as all others are: a number may come as a string.
    pub fn known(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let known = |(name, value): (String, Value)| {
            let property = self.properties.get(&name)?;
            let value = lenient::read(property, value);
            Some((name, value))
        };
        fields.into_iter().filter_map(known).collect()
    }

    /// What is wrong with the fields, each problem with its place.
    pub fn problems(&self, fields: &Map<String, Value>) -> Vec<Problem> {
        let fields = Value::Object(fields.clone());
        self.validator.iter_errors(&fields).map(|error| Problem::of(&error)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> RequestSchema {
        let schema = json!({
            "type": "object",
            "properties": {
                "pitch_hz": {"type": ["number", "null"], "minimum": 20.0, "maximum": 4000},
                "count": {"type": "integer", "exclusiveMinimum": 0},
                "loud": {"type": "boolean"},
                "mood": {"enum": ["glad", "sad", "calm"]},
                "tags": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 2}
            },
            "required": ["count"]
        });
        RequestSchema::compile(&schema).expect("the schema is one")
    }

    /// The fields as read, and the first problem as `place: text`.
    fn check(fields: Value) -> (Value, Option<String>) {
        let Value::Object(fields) = fields else { panic!("the table holds objects") };
        let known = schema().known(fields);
        let problem = schema().problems(&known).into_iter().next().map(|problem| format!("{}: {}", problem.place, problem.fault.text));
        (Value::Object(known), problem)
    }

    #[test]
    fn values_are_read_as_those_of_all_other_fields_and_unknown_fields_are_left_out() {
        let (known, problem) = check(json!({"count": "3", "pitch_hz": "440", "loud": "yes", "who": "knows"}));
        assert_eq!(known, json!({"count": 3, "pitch_hz": 440.0, "loud": true}));
        assert_eq!(problem, None);
        for (field, sent, read) in [
            ("count", json!(3.0), json!(3)),
            ("count", json!(true), json!(1)),
            ("count", json!(" 1_000 "), json!(1000)),
            ("count", json!("7.00"), json!(7)),
            ("count", json!(u64::MAX), json!(u64::MAX)),
            ("pitch_hz", json!(440), json!(440)),
            ("pitch_hz", json!(null), json!(null)),
            ("pitch_hz", json!(" 4.4e2 "), json!(440.0)),
            ("pitch_hz", json!("1_00.5"), json!(100.5)),
            ("loud", json!(1.0), json!(true)),
            ("loud", json!("OFF"), json!(false)),
        ] {
            let mut fields = json!({"count": 1});
            fields[field] = sent.clone();
            let (known, problem) = check(fields);
            assert_eq!((&known[field], problem), (&read, None), "{field}: {sent}");
        }
    }

    #[test]
    fn a_problem_says_where_and_what_in_the_words_of_the_api() {
        let rows = [
            (json!({"count": 1, "pitch_hz": 5}), "pitch_hz: Input should be greater than or equal to 20"),
            (json!({"count": 1, "pitch_hz": true}), "pitch_hz: Input should be greater than or equal to 20"),
            (json!({"count": 1, "pitch_hz": 5000}), "pitch_hz: Input should be less than or equal to 4000"),
            (json!({"count": 1, "pitch_hz": "high"}), "pitch_hz: Input should be a valid number, unable to parse string as a number"),
            (json!({"count": 1, "pitch_hz": "nan"}), "pitch_hz: Input should be a valid number"),
            (json!({"count": 1, "pitch_hz": []}), "pitch_hz: Input should be a valid number"),
            (json!({"count": 0}), "count: Input should be greater than 0"),
            (json!({"count": 1.5}), "count: Input should be a valid integer, got a number with a fractional part"),
            (json!({"count": "1.5"}), "count: Input should be a valid integer, unable to parse string as an integer"),
            (json!({"count": {}}), "count: Input should be a valid integer"),
            (json!({"count": 1, "loud": "perhaps"}), "loud: Input should be a valid boolean, unable to interpret input"),
            (json!({"count": 1, "loud": 2}), "loud: Input should be a valid boolean, unable to interpret input"),
            (json!({"count": 1, "mood": "odd"}), "mood: Input should be 'glad', 'sad' or 'calm'"),
            (json!({"count": 1, "tags": 5}), "tags: Input should be a valid list"),
            (json!({"count": 1, "tags": [5]}), "tags.0: Input should be a valid string"),
            (json!({"count": 1, "tags": ["ab", "c"]}), "tags.1: String should have at least 2 characters"),
            (json!({"count": 1, "tags": ["ab", "cd", "ef"]}), "tags: List should have at most 2 items after validation, not 3"),
            (json!({}), "count: Field required"),
        ];
        for (fields, expected) in rows {
            assert_eq!(check(fields.clone()).1.as_deref(), Some(expected), "{fields}");
        }
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        assert!(RequestSchema::compile(&json!({"type": "thing"})).is_err());
        assert!(RequestSchema::compile(&json!({"$ref": "https://example.org/schema.json"})).is_err());
    }
}
