//! The form of an upload, from multipart or from an urlencoded body.

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use bytes::Bytes;
use http::header;
use http::request::Parts;
use serde_json::Value;

use super::urlencoded;
use crate::http::error::ApiError;
use crate::http::validation::Faults;
use crate::schema::Fault;

/// Most parts of a form.
const MAX_PARTS: usize = 64;
/// Longest name of a file that is kept, in characters.
const MAX_FILE_NAME: usize = 255;

/// A file of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct UploadedFile {
    /// What the client calls it.
    pub name: String,
    /// What kind of file the client says it is.
    pub kind: Option<String>,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The form, its texts as they came. What is empty is absent.
#[derive(Debug, Default, PartialEq)]
pub struct UploadForm {
    /// What the voice is to be called.
    pub name: Option<String>,
    /// The id of its speaker's consent.
    pub consent: Option<String>,
    /// A clip.
    pub audio_sample: Option<UploadedFile>,
    /// A speaker's vector as JSON.
    pub speaker_embedding: Option<String>,
    /// A mixture of voices.
    pub mix: Option<String>,
    /// What is said in the clip.
    pub ref_text: Option<String>,
    /// A sentence about the speaker.
    pub speaker_description: Option<String>,
}

/// A part as it came.
enum Part {
    Text(String),
    File(UploadedFile),
}

impl UploadForm {
    /// Reads a body. One of another kind is a form without parts.
    pub async fn read(head: &Parts, body: Vec<u8>) -> Result<Self, ApiError> {
        let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.trim_start().to_ascii_lowercase();
        let parts = match kind {
            kind if kind.starts_with("multipart/form-data") => multipart(head, body).await?,
            kind if kind.starts_with("application/x-www-form-urlencoded") => {
                urlencoded::parse(&body).into_iter().map(|(name, value)| (name, Part::Text(value))).collect()
            }
            _ => Vec::new(),
        };
        Self::of(parts)
    }

    /// Of several parts of one name the last counts.
    fn of(parts: Vec<(String, Part)>) -> Result<Self, ApiError> {
        let (mut form, mut faults) = (Self::default(), Faults::default());
        for (name, part) in parts {
            let place = match name.as_str() {
                "name" => &mut form.name,
                "consent" => &mut form.consent,
                "speaker_embedding" => &mut form.speaker_embedding,
                "mix" => &mut form.mix,
                "ref_text" => &mut form.ref_text,
                "speaker_description" => &mut form.speaker_description,
                "audio_sample" => {
                    form.audio_sample = file(part, &mut faults);
                    continue;
                }
                _ => continue,
            };
            *place = text(&name, part, &mut faults);
        }
        let required = [("name", form.name.is_none()), ("consent", form.consent.is_none())];
        for (field, _) in required.into_iter().filter(|(_, is_missing)| *is_missing) {
            faults.add(Some(field), &Fault::new("missing", "Field required"), &Value::Null);
        }
        faults.into_result().map(|()| form)
    }
}

fn text(field: &str, part: Part, faults: &mut Faults) -> Option<String> {
    match part {
        Part::Text(text) => Some(text).filter(|text| !text.is_empty()),
        Part::File(file) => {
            faults.add(Some(field), &Fault::new("string_type", "Input should be a valid string"), &Value::from(file.name));
            None
        }
    }
}

fn file(part: Part, faults: &mut Faults) -> Option<UploadedFile> {
    match part {
        // What a page sends when no file was chosen.
        Part::File(file) if file.name.is_empty() && file.bytes.is_empty() => None,
        Part::File(file) => Some(file),
        Part::Text(text) if text.is_empty() => None,
        Part::Text(text) => {
            faults.add(Some("audio_sample"), &Fault::rule("Expected UploadFile, received: <class 'str'>"), &Value::from(text));
            None
        }
    }
}

/// The parts of a multipart body.
async fn multipart(head: &Parts, body: Vec<u8>) -> Result<Vec<(String, Part)>, ApiError> {
    let mut request = Request::new(Body::from(body));
    if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
        request.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    // The body was bounded where it was read.
    DefaultBodyLimit::disable().apply(&mut request);
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|error| broken(&error.body_text()))?;
    let mut parts = Vec::new();
    while let Some(field) = multipart.next_field().await.map_err(|error| broken(&error.body_text()))? {
        if parts.len() >= MAX_PARTS {
            return Err(broken(&format!("it has more than {MAX_PARTS} parts")));
        }
        let Some(name) = field.name().map(str::to_owned) else { continue };
        let (file_name, kind) = (field.file_name().map(str::to_owned), field.content_type().map(str::to_owned));
        let bytes = field.bytes().await.map_err(|error| broken(&error.body_text()))?;
        let is_file = file_name.is_some() || (kind.is_some() && name == "audio_sample");
        let part = if is_file {
            let file_name = file_name.unwrap_or_default().chars().take(MAX_FILE_NAME).collect();
            Part::File(UploadedFile { name: file_name, kind, bytes })
        } else {
            let text = std::str::from_utf8(&bytes).map_err(|_| broken(&format!("the part '{name:.40}' is not UTF-8")))?;
            Part::Text(text.to_owned())
        };
        parts.push((name, part));
    }
    Ok(parts)
}

fn broken(reason: &str) -> ApiError {
    ApiError::malformed(Some("body".to_owned()), format!("There was an error parsing the body: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(kind: &str, body: &str) -> Result<UploadForm, ApiError> {
        let request = http::Request::builder().header(header::CONTENT_TYPE, kind).body(()).expect("a request");
        UploadForm::read(&request.into_parts().0, body.as_bytes().to_vec()).await
    }

    fn part(head: &str, content: &str) -> String {
        format!("--x\r\ncontent-disposition: form-data; {head}\r\n\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn both_encodings_give_a_form() {
        let file = "name=\"audio_sample\"; filename=\"a.wav\"\r\ncontent-type: audio/wav";
        let body = [part("name=\"name\"", "Anne"), part("name=\"consent\"", "c"), part(file, "RIFF"), part("name=\"type\"", "x")].concat();
        let form = read("multipart/form-data; boundary=x", &(body + "--x--\r\n")).await.expect("a form");
        let file = UploadedFile { name: "a.wav".to_owned(), kind: Some("audio/wav".to_owned()), bytes: Bytes::from_static(b"RIFF") };
        assert_eq!((form.name.as_deref(), form.consent.as_deref(), form.audio_sample), (Some("Anne"), Some("c"), Some(file)));
        let form = read("application/x-www-form-urlencoded", "name=a&name=b&consent=c&speaker_embedding=%5B1%5D").await.expect("a form");
        assert_eq!((form.name.as_deref(), form.speaker_embedding.as_deref()), (Some("b"), Some("[1]")));
    }

    #[tokio::test]
    async fn what_is_missing_or_of_the_wrong_kind_is_named() {
        let multi = "multipart/form-data; boundary=x";
        for (kind, body, param, said) in [
            ("application/json", "{}".to_owned(), "body.name", "2 validation errors"),
            (multi, part("name=\"name\"", "a") + "--x--", "body.consent", "Field required"),
            (multi, part("name=\"consent\"", "a") + &part("name=\"name\"", "") + "--x--", "body.name", "Field required"),
            (multi, part("name=\"name\"; filename=\"f\"", "a") + "--x--", "body.name", "valid string"),
            (multi, part("name=\"audio_sample\"", "text") + "--x--", "body.audio_sample", "Expected UploadFile"),
            (multi, "--x\r\n".to_owned(), "body", "parsing the body"),
            ("multipart/form-data", String::new(), "body", "parsing the body"),
        ] {
            let error = read(kind, &body).await.expect_err("it is refused");
            assert_eq!((error.status().as_u16(), error.param()), (400, Some(param)), "{error}");
            assert!(error.message().contains(said), "{error}");
        }
        let many: String = (0..=MAX_PARTS).map(|_| part("name=\"n\"", "")).collect();
        assert!(read(multi, &(many + "--x--")).await.expect_err("too many").message().contains("more than 64 parts"));
    }
}
