//! `stream: true` or `stream_format: "sse"`: server-sent events with base64 audio.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::stream;
use omni_plugin_api::{FinishReason, Usage};
use serde::Serialize;

use super::ascii::escaped;
use super::headers;
use super::pieces::Pieces;
use super::record::Record;
use crate::audio::Format;
use crate::engine::Finish;
use crate::http::error::ApiError;

const CONTENT_TYPE: &str = "text/event-stream; charset=utf-8";

/// The answer: a delta a piece, then one `done` or one `error`.
pub fn answer(pieces: Pieces, format: Format, record: Record) -> Response {
    let head = pieces.head().clone();
    let body = stream::unfold(Some((pieces, record)), move |state| async move {
        let (mut pieces, mut record) = state?;
        let (event, next) = match pieces.next(&mut record).await {
            Some(Ok(piece)) => (delta(&piece, format), Some((pieces, record))),
            Some(Err(error)) => (failure(&error), None),
            None => (done(pieces.head().usage, pieces.finish()), None),
        };
        Some((Ok::<_, Infallible>(event), next))
    });
    let mut response = Response::new(Body::from_stream(body));
    headers::add_common(&mut response, &head, CONTENT_TYPE);
    headers::add_stream(response.headers_mut());
    response
}

#[derive(Serialize)]
struct Delta<'a> {
    r#type: &'static str,
    audio: &'a str,
    response_format: &'static str,
}

#[derive(Serialize)]
struct Done {
    r#type: &'static str,
    usage: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'static str>,
}

/// Counts of tokens, as every JSON answer tells them.
#[derive(Serialize)]
pub(super) struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    input_token_details: Details,
}

impl Tokens {
    /// The counts of a request.
    pub(super) fn new(usage: Usage, generated: u64) -> Self {
        let input_tokens = usage.text_tokens + usage.audio_tokens;
        let input_token_details = Details { text_tokens: usage.text_tokens, audio_tokens: usage.audio_tokens };
        Self { input_tokens, output_tokens: generated, total_tokens: input_tokens + generated, input_token_details }
    }
}

#[derive(Serialize)]
struct Details {
    text_tokens: u64,
    audio_tokens: u64,
}

#[derive(Serialize)]
struct Failure<'a> {
    r#type: &'static str,
    error: Reason<'a>,
}

#[derive(Serialize)]
struct Reason<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'static str>,
    code: u16,
    partial_audio: bool,
    action: &'static str,
}

fn delta(piece: &[u8], format: Format) -> Bytes {
    let r#type = "speech.audio.delta";
    event(r#type, &Delta { r#type, audio: &BASE64.encode(piece), response_format: format.name() })
}

/// The end; the reason is told only where the text was not spoken to its end.
fn done(usage: Usage, finish: Option<Finish>) -> Bytes {
    let r#type = "speech.audio.done";
    let generated = finish.map_or(0, |finish| finish.generated);
    let usage = Tokens::new(usage, generated);
    let finish_reason = finish.map(|finish| finish.reason).filter(|reason| *reason != FinishReason::Stop).map(headers::reason);
    event(r#type, &Done { r#type, usage, finish_reason })
}

/// A failure always comes after audio: before it, the answer has the error's own status.
fn failure(error: &ApiError) -> Bytes {
    let r#type = "speech.audio.error";
    let error = Reason { message: error.message(), r#type: "server_error", param: None, code: 500, partial_audio: true, action: "discard" };
    event(r#type, &Failure { r#type, error })
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    // None of the structs here can fail to become JSON; an empty object would be told apart by any client.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
    Bytes::from(format!("event: {name}\ndata: {}\n\n", escaped(&json)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn events_have_the_documented_text() {
        let wanted =
            "event: speech.audio.delta\ndata: {\"type\":\"speech.audio.delta\",\"audio\":\"AAH/\",\"response_format\":\"pcm\"}\n\n";
        assert_eq!(delta(&[0, 1, 255], Format::Pcm), wanted);
        let usage = Usage { text_tokens: 3, audio_tokens: 4 };
        let wanted = "event: speech.audio.done\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":7,\"output_tokens\":5,\
                      \"total_tokens\":12,\"input_token_details\":{\"text_tokens\":3,\"audio_tokens\":4}}}\n\n";
        assert_eq!(done(usage, Some(Finish { reason: FinishReason::Stop, generated: 5 })), wanted);
        let cut = done(usage, Some(Finish { reason: FinishReason::Length, generated: 5 }));
        assert!(String::from_utf8_lossy(&cut).contains("\"finish_reason\":\"length\""));
    }

    /// The document of an event of this name, which has two lines and an empty one.
    fn document(name: &str, event: &[u8]) -> Value {
        let text = std::str::from_utf8(event).expect("text");
        let data = text.strip_prefix(&format!("event: {name}\ndata: ")).and_then(|rest| rest.strip_suffix("\n\n")).expect("an event");
        assert!(data.is_ascii() && !data.contains(['\n', '\r']), "{data}");
        serde_json::from_str(data).expect("JSON")
    }

    proptest! {
        #[test]
        fn any_piece_comes_back_from_its_event(piece in prop::collection::vec(any::<u8>(), 0..3000)) {
            let event = document("speech.audio.delta", &delta(&piece, Format::Mp3));
            let audio = event["audio"].as_str().expect("audio is text");
            prop_assert!(audio.len().is_multiple_of(4));
            prop_assert_eq!(BASE64.decode(audio).expect("base64"), piece);
        }

        #[test]
        fn pieces_cut_anywhere_are_decoded_one_by_one_and_join(audio in prop::collection::vec(any::<u8>(), 1..3000), len in 1_usize..700) {
            let decoded = |piece: &[u8]| {
                let event = document("speech.audio.delta", &delta(piece, Format::Pcm));
                BASE64.decode(event["audio"].as_str().expect("audio is text")).expect("base64")
            };
            prop_assert_eq!(audio.chunks(len).flat_map(decoded).collect::<Vec<u8>>(), audio);
        }

        #[test]
        fn any_message_stays_on_its_line(message: String) {
            let error = ApiError::failed(&message);
            prop_assert_eq!(&document("speech.audio.error", &failure(&error))["error"]["message"], error.message());
        }
    }

    #[test]
    fn an_error_event_is_ascii() {
        let text = String::from_utf8_lossy(&failure(&ApiError::failed("kaputt: ü 😀"))).into_owned();
        assert!(text.is_ascii() && text.contains("\\u00fc \\ud83d\\ude00"), "{text}");
        assert!(text.contains("\"partial_audio\":true,\"action\":\"discard\""), "{text}");
    }
}
