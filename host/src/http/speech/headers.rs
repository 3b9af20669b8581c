//! Headers of audio answers.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use omni_plugin_api::{FinishReason, Usage};

use super::words;
use crate::engine::{Finish, SpeechHead};

const SAMPLE_RATE: HeaderName = HeaderName::from_static("x-sample-rate");
const WARNINGS: HeaderName = HeaderName::from_static("x-text-warnings");
const FINISH_REASON: HeaderName = HeaderName::from_static("x-finish-reason");
const INPUT_TOKENS: HeaderName = HeaderName::from_static("x-vllm-omni-input-tokens");
const OUTPUT_TOKENS: HeaderName = HeaderName::from_static("x-vllm-omni-output-tokens");
const TOTAL_TOKENS: HeaderName = HeaderName::from_static("x-vllm-omni-total-tokens");
const TEXT_TOKENS: HeaderName = HeaderName::from_static("x-vllm-omni-input-text-tokens");
const AUDIO_TOKENS: HeaderName = HeaderName::from_static("x-vllm-omni-input-audio-tokens");
/// Longest value of the warnings.
const MAX_WARNING_BYTES: usize = 1024;

/// Every header here, for scripts of other origins to read.
#[rustfmt::skip]
pub const ALL: [HeaderName; 10] = [
    SAMPLE_RATE, WARNINGS, FINISH_REASON, INPUT_TOKENS, OUTPUT_TOKENS, TOTAL_TOKENS, TEXT_TOKENS, AUDIO_TOKENS, words::TIMES, words::OMITTED,
];

/// What every audio answer carries.
pub fn add_common(response: &mut Response, head: &SpeechHead, content_type: &'static str) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(SAMPLE_RATE, HeaderValue::from(head.sample_rate_hz));
    if let Some(warnings) = warnings(&head.warnings) {
        headers.insert(WARNINGS, warnings);
    }
}

/// What a stream asks of caches and proxies: to pass it on at once.
pub fn add_stream(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
}

/// What a complete body can say, being made after the end.
pub fn add_usage(headers: &mut HeaderMap, usage: Usage, finish: Finish) {
    let input = usage.text_tokens + usage.audio_tokens;
    let counts = [
        (INPUT_TOKENS, input),
        (OUTPUT_TOKENS, finish.generated),
        (TOTAL_TOKENS, input + finish.generated),
        (TEXT_TOKENS, usage.text_tokens),
        (AUDIO_TOKENS, usage.audio_tokens),
    ];
    for (name, count) in counts {
        headers.insert(name, HeaderValue::from(count));
    }
    headers.insert(FINISH_REASON, HeaderValue::from_static(reason(finish.reason)));
}

/// The name of a reason.
pub fn reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
    }
}

/// Warnings as one line of printable ASCII.
fn warnings(warnings: &[String]) -> Option<HeaderValue> {
    if warnings.is_empty() {
        return None;
    }
    let printable = |letter: char| if letter.is_ascii() && !letter.is_ascii_control() { letter } else { '?' };
    let line: String = warnings.join("; ").chars().map(printable).take(MAX_WARNING_BYTES).collect();
    HeaderValue::from_str(line.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_one_short_ascii_line() {
        assert_eq!(warnings(&[]), None);
        let line = warnings(&["a\nb".to_owned(), "ü".to_owned()]).expect("a header");
        assert_eq!(line, "a?b; ?");
        assert_eq!(warnings(&["x".repeat(5000)]).expect("a header").len(), 1024);
    }
}
