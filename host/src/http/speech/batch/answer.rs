//! The answer: `{"id", "results": [...], "total", "succeeded", "failed", "usage"}`, results in the order of the items.
//!
//! A result is `{"index", "status": "success", "audio_data", "media_type", "response_format", "sample_rate", "finish_reason", "usage"}`,
//! with `warnings` where not all of the text was spoken and `word_timestamps` where they were asked for and found, or `{"index", "status": "error", "error", "error_details"}`, where `error` is the
//! sentence and `error_details` is the `error` of the envelope that the same request gets alone.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use omni_plugin_api::Usage;
use serde::Serialize;
use serde_json::Value;

use crate::audio::Format;
use crate::engine::align::WordTime;
use crate::http::error::ApiError;
use crate::http::speech::sse::Tokens;
use crate::http::speech::{Clip, headers};

/// The result of an item, already as text: of its audio only the base64 is left.
#[derive(Debug)]
pub struct Entry {
    /// Which item.
    pub index: usize,
    json: Vec<u8>,
    counts: Option<(Usage, u64)>,
}

#[derive(Serialize)]
struct Success<'a> {
    index: usize,
    status: &'static str,
    media_type: &'static str,
    response_format: &'static str,
    sample_rate: u32,
    finish_reason: &'static str,
    usage: Tokens,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    word_timestamps: Option<&'a [WordTime]>,
    audio_data: &'a str,
}

#[derive(Serialize)]
struct Failure<'a> {
    index: usize,
    status: &'static str,
    error: &'a str,
    error_details: Value,
}

#[derive(Serialize)]
struct Totals {
    total: usize,
    succeeded: usize,
    failed: usize,
    usage: Tokens,
}

impl Entry {
    /// The result of an item.
    pub fn new(index: usize, outcome: Result<(Clip, Format), ApiError>) -> Self {
        match outcome {
            Ok((clip, format)) => Self::success(index, &clip, format),
            Err(error) => {
                error.count();
                Self::failure(index, &error)
            }
        }
    }

    fn success(index: usize, clip: &Clip, format: Format) -> Self {
        let audio = BASE64.encode(&clip.bytes);
        let counts = (clip.head.usage, clip.finish.generated);
        let success = Success {
            index,
            status: "success",
            media_type: format.content_type(),
            response_format: format.name(),
            sample_rate: clip.head.sample_rate_hz,
            finish_reason: headers::reason(clip.finish.reason),
            usage: Tokens::new(counts.0, counts.1),
            warnings: &clip.head.warnings,
            word_timestamps: clip.words.as_deref(),
            audio_data: &audio,
        };
        Self { index, json: json(&success, audio.len()), counts: Some(counts) }
    }

    fn failure(index: usize, error: &ApiError) -> Self {
        let error_details = error.body()["error"].take();
        let failure = Failure { index, status: "error", error: error.message(), error_details };
        Self { index, json: json(&failure, 0), counts: None }
    }
}

/// The text of a struct, in memory of about its size.
fn json(value: &impl Serialize, audio_len: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(audio_len + 1024);
    // None of the structs here can fail to become JSON; a broken document would be told apart by any client.
    drop(serde_json::to_writer(&mut text, value));
    text
}

/// The answer of a batch. Its audio is sent as it lies, without a second copy.
pub fn answer(mut entries: Vec<Entry>) -> Response {
    entries.sort_unstable_by_key(|entry| entry.index);
    let totals = json(&totals(&entries), 0);
    let mut parts = vec![Bytes::from(format!("{{\"id\":\"speech-batch-{:016x}\",\"results\":[", fastrand::u64(..)))];
    for (at, entry) in entries.into_iter().enumerate() {
        parts.extend((at > 0).then_some(Bytes::from_static(b",")));
        parts.push(Bytes::from(entry.json));
    }
    // The totals go on in the object that the first part began.
    parts.push(Bytes::from([b"],", &totals[1..]].concat()));
    let len: usize = parts.iter().map(Bytes::len).sum();
    let mut response = Response::new(Body::from_stream(stream::iter(parts.into_iter().map(Ok::<_, Infallible>))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(len));
    response
}

fn totals(entries: &[Entry]) -> Totals {
    let spoken = entries.iter().filter_map(|entry| entry.counts);
    let (succeeded, usage, generated) = spoken.fold((0, Usage::default(), 0), |(count, sum, generated), (usage, more)| {
        let text_tokens = sum.text_tokens + usage.text_tokens;
        let audio_tokens = sum.audio_tokens + usage.audio_tokens;
        (count + 1, Usage { text_tokens, audio_tokens }, generated + more)
    });
    Totals { total: entries.len(), succeeded, failed: entries.len() - succeeded, usage: Tokens::new(usage, generated) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Finish, SpeechHead};
    use http_body_util::BodyExt;
    use omni_plugin_api::FinishReason;
    use serde_json::json;

    fn clip(bytes: &[u8]) -> Clip {
        let usage = Usage { text_tokens: 3, audio_tokens: 1 };
        let head = SpeechHead { sample_rate_hz: 8000, channels: 1, usage, warnings: Vec::new() };
        Clip {
            head,
            finish: Finish { reason: FinishReason::Stop, generated: 5 },
            samples: bytes.len() / 2,
            bytes: bytes.to_vec(),
            words: None,
        }
    }

    async fn document(entries: Vec<Entry>) -> Value {
        let (parts, body) = answer(entries).into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        assert_eq!(parts.headers["content-length"], bytes.len().to_string().as_str());
        serde_json::from_slice(&bytes).expect("a JSON document")
    }

    #[tokio::test]
    async fn results_are_in_order_and_summed_up() {
        let refusal = ApiError::invalid("voice", "who is \"it\"?");
        let audio = |index, bytes: &[u8]| Entry::new(index, Ok((clip(bytes), Format::Pcm)));
        let document = document(vec![audio(2, &[0, 1]), Entry::new(1, Err(refusal.clone())), audio(0, &[255, 255])]).await;
        let usage = |times: u64| {
            let details = json!({"text_tokens": 3 * times, "audio_tokens": times});
            json!({"input_tokens": 4 * times, "output_tokens": 5 * times, "total_tokens": 9 * times, "input_token_details": details})
        };
        let first = json!({"index": 0, "status": "success", "audio_data": "//8=", "media_type": "audio/pcm", "response_format": "pcm",
                           "sample_rate": 8000, "finish_reason": "stop", "usage": usage(1)});
        assert_eq!(document["results"][0], first);
        let second = json!({"index": 1, "status": "error", "error": "who is \"it\"?", "error_details": refusal.body()["error"]});
        assert_eq!(document["results"][1], second);
        assert_eq!(document["results"][2]["audio_data"], "AAE=");
        assert_eq!((&document["total"], &document["succeeded"], &document["failed"]), (&json!(3), &json!(2), &json!(1)));
        assert_eq!(document["usage"], usage(2));
        let id = document["id"].as_str().and_then(|id| id.strip_prefix("speech-batch-")).expect("an id");
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
}
