//! A batch after its schema.

use serde_json::{Map, Value};

use super::merge::{given, known};
use crate::http::error::ApiError;
use crate::http::speech::SpeechForm;
use crate::http::speech::references;
use crate::http::validation::Faults;
use crate::schema::Fault;

/// The list of items.
const ITEMS: &str = "items";

/// A batch whose fields have their types.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The model of every item that names none.
    pub model: Option<String>,
    /// What is said for all items.
    pub defaults: Map<String, Value>,
    /// What each item says itself.
    pub items: Vec<Map<String, Value>>,
}

impl Batch {
    /// Reads a body, or tells all that is wrong with it.
    pub fn read(mut body: Map<String, Value>, max_items: usize) -> Result<Self, ApiError> {
        let mut faults = Faults::default();
        let members = body.len();
        let list = list(body.remove(ITEMS), members, &mut faults);
        let count = list.len();
        let items = if count > max_items { Vec::new() } else { items(list, &mut faults) };
        let (model, defaults) = defaults(body, &mut faults);
        faults.into_result()?;
        if count > max_items {
            let message = format!("Batch contains {count} items, exceeding the maximum of {max_items}.");
            return Err(ApiError::malformed(Some(format!("body.{ITEMS}")), message));
        }
        Ok(Self { model, defaults, items })
    }
}

fn list(items: Option<Value>, members: usize, faults: &mut Faults) -> Vec<Value> {
    match items {
        Some(Value::Array(items)) if !items.is_empty() => return items,
        Some(empty @ Value::Array(_)) => {
            let fault = Fault::new("too_short", "List should have at least 1 item after validation, not 0");
            faults.add(Some(ITEMS), &fault, &empty);
        }
        Some(other) => faults.add(Some(ITEMS), &Fault::new("list_type", "Input should be a valid list"), &other),
        None => faults.add_to_object(Some(ITEMS), &Fault::new("missing", "Field required"), members),
    }
    Vec::new()
}

fn items(list: Vec<Value>, faults: &mut Faults) -> Vec<Map<String, Value>> {
    let numbered = list.into_iter().enumerate();
    let items = numbered.filter_map(|(index, item)| {
        faults.within(Some((ITEMS, index)));
        read_item(item, faults)
    });
    let items = items.collect();
    faults.within(None);
    items
}

fn read_item(item: Value, faults: &mut Faults) -> Option<Map<String, Value>> {
    let Value::Object(item) = item else {
        let text = "Input should be a valid dictionary or object to extract fields from";
        faults.add(None, &Fault::new("model_attributes_type", text), &item);
        return None;
    };
    let mut item = known(item);
    item.retain(|field, value| field == "input" || !value.is_null());
    check(item.clone(), faults);
    Some(item)
}

/// The model, and the fields that stand for all items.
fn defaults(body: Map<String, Value>, faults: &mut Faults) -> (Option<String>, Map<String, Value>) {
    let mut body = known(body);
    // The text is each item's own; here one stands in for it.
    body.insert("input".to_owned(), Value::from("-"));
    let model = check(body.clone(), faults).and_then(|form| form.model);
    let mut defaults = given(body);
    defaults.retain(|field, _| field != "input" && field != "model");
    // What is wrong with them was told by the check.
    drop(references::rewrite(&mut defaults));
    (model, defaults)
}

fn check(fields: Map<String, Value>, faults: &mut Faults) -> Option<SpeechForm> {
    if let Err(error) = references::check_clip(&fields) {
        faults.add(Some("ref_audio"), &Fault::new("string_type", error.message()), &fields["ref_audio"]);
    }
    SpeechForm::check(fields, faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Batch, ApiError> {
        Batch::read(body.as_object().cloned().expect("an object"), 32)
    }

    #[test]
    fn a_batch_is_its_model_its_defaults_and_its_items() {
        let body = json!({
            "model": "m", "input": "ignored", "speed": null, "voice": "v", "stream": "perhaps",
            "references": [{"audio_path": "a", "text": "t"}], "items": [{"input": "a", "speed": null, "stream": 7}, {"input": "b", "seed": 5}],
        });
        let batch = read(body).expect("a batch");
        assert_eq!(batch.model.as_deref(), Some("m"));
        assert_eq!(Value::Object(batch.defaults), json!({"voice": "v", "ref_audio": "a", "ref_text": "t"}));
        assert_eq!(json!(batch.items), json!([{"input": "a"}, {"input": "b", "seed": 5}]));
    }

    #[test]
    fn a_fault_names_its_place() {
        for (body, param, text) in [
            (json!({}), "body.items", "Field required"),
            (json!({"items": null}), "body.items", "valid list"),
            (json!({"items": {}}), "body.items", "valid list"),
            (json!({"items": []}), "body.items", "List should have at least 1 item after validation, not 0"),
            (json!({"items": ["a"]}), "body.items.0", "valid dictionary"),
            (json!({"items": [{"input": "a"}, {}]}), "body.items.1.input", "Field required"),
            (json!({"items": [{"input": null}]}), "body.items.0.input", "valid string"),
            (json!({"items": [{"input": "a", "speed": 9}]}), "body.items.0.speed", "less than or equal to 4"),
            (json!({"items": [{"input": "a", "ref_audio": 5}]}), "body.items.0.ref_audio", "string or list of strings"),
            (json!({"items": [{"input": "a", "references": []}]}), "body.items.0", "non-empty array"),
            (json!({"items": [{"input": "a"}], "speed": 9}), "body.speed", "less than or equal to 4"),
            (json!({"items": [{"input": "a"}], "response_format": null}), "body.response_format", "'wav'"),
            (json!({"items": [{"input": "a"}], "references": [1]}), "body", "must be an object"),
            (json!({"items": [{"input": 1}], "speed": 9}), "body.items.0.input", "2 validation errors"),
            (json!({"items": vec![json!({"input": "a"}); 33]}), "body.items", "Batch contains 33 items, exceeding the maximum of 32."),
            (json!({"items": vec![json!({}); 33], "speed": 9}), "body.speed", "1 validation error"),
        ] {
            let error = read(body.clone()).expect_err("it is refused").body()["error"].take();
            assert_eq!((&error["param"], &error["type"], &error["code"]), (&json!(param), &json!("Bad Request"), &json!(400)), "{body}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(text)), "{error}");
        }
        assert!(read(json!({"items": vec![json!({"input": "a"}); 32]})).is_ok());
    }
}
