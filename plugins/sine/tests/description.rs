//! What the family says of itself: clients and documents depend on it.

use omni_plugin_api::{Family, Model, ModelSource, Placement, PluginError, Services, SpeechRequest, Voice};
use serde_json::json;
use sine::SineFamily;

fn model() -> Box<dyn Model> {
    SineFamily.open(&ModelSource::BuiltIn, &Placement::default(), Services::silent()).expect("sine opens")
}

fn prepare(text: &str) -> Result<u64, PluginError> {
    model().prepare(&SpeechRequest::new(text), &Voice::default()).map(|prepared| prepared.usage.text_tokens)
}

#[test]
fn the_schema_is_the_documented_one() {
    let schema = SineFamily.describe().request_schema;
    let fields = &schema["properties"];
    assert_eq!(fields["pitch_hz"]["minimum"], json!(20.0));
    assert_eq!(fields["pitch_hz"]["maximum"], json!(4000.0));
    assert_eq!(fields["loudness"]["maximum"], json!(1.0));
    assert_eq!(fields["max_new_tokens"]["minimum"], json!(1));
    assert_eq!(fields["pace"]["type"], json!(["number", "null"]));
    assert_eq!(fields.as_object().map(serde_json::Map::len), Some(4), "{schema:#}");
    assert_eq!(schema.get("required"), None, "every field is optional");
    for (name, field) in fields.as_object().into_iter().flatten() {
        assert!(field["description"].is_string(), "{name} is not described");
    }
}

#[test]
fn the_name_is_the_name_of_the_library() {
    let info = SineFamily.describe();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("sine", env!("CARGO_PKG_VERSION")));
    assert_eq!(model().info().sample_rate_hz, info.sample_rate_hz);
}

#[test]
fn usage_counts_letters_and_a_text_without_any_is_the_clients_mistake() {
    assert_eq!(prepare("Hello, you 2!").ok(), Some(9));
    let error = prepare("?!").expect_err("nothing to speak");
    assert_eq!(error.field.as_deref(), Some("input"));
}

#[test]
fn a_model_directory_is_refused_with_its_name() {
    let source = ModelSource::Directory("/models/none".into());
    let error = SineFamily.open(&source, &Placement::default(), Services::silent()).err().expect("sine has no weights");
    assert!(error.message.contains("/models/none"), "{error}");
}
