//! What is refused, in the words of the documentation.

use serde_json::json;

use crate::support::{refused, server};

const LANGUAGES: &str =
    "Auto, Beijing_Dialect, Chinese, English, French, German, Italian, Japanese, Korean, Portuguese, Russian, Sichuan_Dialect, Spanish";
const SPEAKERS: &str = "aiden, dylan, eric, ono_anna, ryan, serena, sohee, uncle_fu, vivian";

#[test]
fn a_task_of_another_checkpoint() {
    let says = |has: &str, wants: &str| {
        format!(
            "Qwen3-TTS {has} checkpoint does not support task_type='{wants}'. Use task_type='{has}' or load the matching {wants} checkpoint."
        )
    };
    for (variant, has, wants) in [
        ("custom_voice", "CustomVoice", "VoiceDesign"),
        ("custom_voice", "CustomVoice", "Base"),
        ("voice_design", "VoiceDesign", "CustomVoice"),
        ("base", "Base", "CustomVoice"),
    ] {
        refused(server(variant), &json!({"input": "Hi.", "task_type": wants}), &says(has, wants));
    }
    // A reference asks for Base by itself, and nothing at all for CustomVoice.
    refused(server("custom_voice"), &json!({"input": "Hi.", "ref_text": "Hi."}), &says("CustomVoice", "Base"));
    refused(server("base"), &json!({"input": "Hi."}), &says("Base", "CustomVoice"));
}

#[test]
fn text_that_is_blank() {
    for variant in ["custom_voice", "voice_design", "base"] {
        refused(
            server(variant),
            &json!({"input": " \n\t ", "instructions": "Low.", "task_type": task(variant)}),
            "Input text cannot be empty",
        );
    }
}

fn task(variant: &str) -> &'static str {
    match variant {
        "custom_voice" => "CustomVoice",
        "voice_design" => "VoiceDesign",
        _ => "Base",
    }
}

#[test]
fn a_language_or_a_voice_that_is_not_there() {
    let server = server("custom_voice");
    for (asked, shown) in [("klingon", "Klingon"), ("zh", "Zh")] {
        refused(server, &json!({"input": "Hi.", "language": asked}), &format!("Invalid language '{shown}'. Supported: {LANGUAGES}"));
    }
    refused(server, &json!({"input": "Hi.", "voice": "Nobody"}), &format!("Invalid voice 'nobody'. Supported: {SPEAKERS}"));
}

#[test]
fn fields_of_base_on_another_checkpoint() {
    let design = |fields: serde_json::Value| {
        let mut request = json!({"input": "Hi.", "task_type": "VoiceDesign", "instructions": "Low."});
        fields.as_object().expect("fields").iter().for_each(|(name, value)| request[name] = value.clone());
        request
    };
    let server = server("voice_design");
    refused(server, &design(json!({"ref_text": "Hi."})), "'ref_text' is only valid for Base task");
    refused(server, &design(json!({"x_vector_only_mode": false})), "'x_vector_only_mode' is only valid for Base task");
}

#[test]
fn instructions_that_are_missing_or_too_long() {
    let missing = "VoiceDesign task requires 'instructions' to describe the voice";
    refused(server("voice_design"), &json!({"input": "Hi.", "task_type": "VoiceDesign"}), missing);
    refused(server("voice_design"), &json!({"input": "Hi.", "task_type": "VoiceDesign", "instructions": "  "}), missing);
    let long = json!({"input": "Hi.", "instructions": "a".repeat(501)});
    refused(server("custom_voice"), &long, "Instructions too long (max 500 characters)");
}

#[test]
fn more_frames_than_there_can_be() {
    refused(server("custom_voice"), &json!({"input": "Hi.", "max_new_tokens": 4097}), "max_new_tokens cannot exceed 4096");
}
