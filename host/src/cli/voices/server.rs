//! Voices of a running server.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::Body;
use ureq::http::Response;

use super::{AddArgs, Failure, Outcome, Place, read, wav};
use crate::cli::remote::{agent, endpoint, reason};
use crate::voices::{Record, Sample, read as read_voice};

const VOICES: &str = "audio/voices";
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// Time for an upload to be decoded, or for a mixture to be made.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server.
pub struct Server {
    url: String,
}

impl Server {
    /// The server at a URL.
    pub fn new(server: &str) -> Self {
        Self { url: endpoint(server, VOICES) }
    }

    /// The document of an answer, or the reason in it.
    fn document(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Value, Failure> {
        let mut response = sent.map_err(|error| Failure(format!("no answer from {}: {error}", self.url)))?;
        if response.status() != 200 {
            return Err(Failure(format!("{} answered {}: {}", self.url, response.status().as_u16(), reason(&mut response))));
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string();
        let text = text.map_err(|error| Failure(format!("the answer of {} broke off: {error}", self.url)))?;
        serde_json::from_str(&text).map_err(|error| Failure(format!("{} did not answer with JSON: {error}", self.url)))
    }

    fn send(&self, form: Form) -> Result<String, Failure> {
        let request = agent().post(&self.url).config().timeout_global(Some(PATIENCE)).build();
        let sent = request.header("content-type", &form.kind()).send(form.body().as_slice());
        let answer = self.document(sent)?;
        Ok(answer["name"].as_str().unwrap_or_default().to_owned())
    }
}

impl Place for Server {
    fn list(&self) -> Result<Vec<Value>, Failure> {
        let listing = self.document(agent().get(&self.url).call())?;
        Ok(listing["uploaded_voices"].as_array().cloned().unwrap_or_default())
    }

    fn add(&self, args: &AddArgs) -> Result<String, Failure> {
        let bytes = read(&args.file)?;
        let form = Form::new().text("name", &args.name).text("consent", &args.consent);
        if args.file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
            return self.send(form.text("speaker_embedding", &String::from_utf8_lossy(&bytes)));
        }
        let form = form.optional("ref_text", args.ref_text.as_deref()).optional("speaker_description", args.description.as_deref());
        let name = args.file.file_name().unwrap_or_default().to_string_lossy();
        self.send(form.file(&name, &bytes))
    }

    fn remove(&self, name: &str) -> Outcome {
        self.document(agent().delete(&format!("{}/{}", self.url, escaped(name))).call()).map(drop)
    }

    fn export(&self, _: &str) -> Result<Vec<u8>, Failure> {
        Err(Failure("a server hands no voices out; export from its store with --voices".to_owned()))
    }

    fn import(&self, file: &[u8]) -> Result<String, Failure> {
        let (record, sample) = read_voice(file).map_err(|error| Failure(format!("the file cannot be used: {error}")))?;
        let Record { name, consent, ref_text, speaker_description, .. } = record;
        let consent = if consent.is_empty() { "given" } else { &consent };
        let form = Form::new().text("name", &name).text("consent", consent);
        match sample {
            Sample::Embedding(vector) => self.send(form.text("speaker_embedding", &json!(vector).to_string())),
            Sample::Audio(clip) => {
                let bytes = wav::write(&clip).ok_or_else(|| Failure(format!("voice '{name}' is too long")))?;
                let form = form.optional("ref_text", ref_text.as_deref()).optional("speaker_description", speaker_description.as_deref());
                self.send(form.file("clip.wav", &bytes))
            }
        }
    }

    fn mix(&self, mixture: &str, name: &str, consent: &str) -> Outcome {
        self.send(Form::new().text("name", name).text("consent", consent).text("mix", mixture)).map(drop)
    }
}

/// A multipart form.
struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    fn new() -> Self {
        Self { boundary: format!("omni-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)), body: Vec::new() }
    }

    fn part(mut self, head: &str, content: &[u8]) -> Self {
        self.body.extend_from_slice(format!("--{}\r\ncontent-disposition: form-data; {head}\r\n\r\n", self.boundary).as_bytes());
        self.body.extend_from_slice(content);
        self.body.extend_from_slice(b"\r\n");
        self
    }

    fn text(self, name: &str, value: &str) -> Self {
        self.part(&format!("name=\"{name}\""), value.as_bytes())
    }

    fn optional(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    fn file(self, name: &str, bytes: &[u8]) -> Self {
        let name: String = name.chars().filter(|letter| !letter.is_control() && *letter != '"' && *letter != '\\').collect();
        self.part(&format!("name=\"audio_sample\"; filename=\"{name}\"\r\ncontent-type: application/octet-stream"), bytes)
    }

    fn kind(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    fn body(mut self) -> Vec<u8> {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.body
    }
}

/// A name as a part of a path.
fn escaped(name: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    name.bytes().map(|byte| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a b/ü.x"), "a%20b%2F%C3%BC.x");
    }
}
