//! Uploads of voices, as browsers and the OpenAI packages send them.

use std::io::Cursor;

use serde_json::Value;
use ureq::http::Method;

use crate::base64;
use crate::http::{self, Answer};
use crate::server::Server;

/// The endpoint.
pub const VOICES: &str = "/v1/audio/voices";
const BOUNDARY: &str = "a-boundary-that-no-clip-holds";

/// A multipart form.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<u8>);

impl Form {
    /// A form with the two parts that every upload needs.
    pub fn of(name: &str) -> Self {
        Self::default().text("name", name).text("consent", "consent-1")
    }

    /// With a text.
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.extend_from_slice(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").as_bytes());
        self
    }

    /// With a file, and with its kind if one is given.
    pub fn file(mut self, name: &str, file: &str, kind: Option<&str>, bytes: &[u8]) -> Self {
        let kind = kind.map_or(String::new(), |kind| format!("\r\nContent-Type: {kind}"));
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"{kind}\r\n\r\n");
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(bytes);
        self.0.extend_from_slice(b"\r\n");
        self
    }

    /// With a clip in a WAV file.
    pub fn clip(self, wav: &[u8]) -> Self {
        self.file("audio_sample", "clip.wav", Some("audio/wav"), wav)
    }

    /// The whole body.
    pub fn body(mut self) -> Vec<u8> {
        self.0.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        self.0
    }

    /// Its content type.
    pub fn kind() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    /// Sends it.
    pub fn send(self, server: &Server) -> Answer {
        http::send(Method::POST, &server.url(VOICES), &[("content-type", &Self::kind())], &self.body())
    }
}

/// Deletes a voice by its name in a path.
pub fn delete(server: &Server, name: &str) -> Answer {
    http::send(Method::DELETE, &server.url(&format!("{VOICES}/{name}")), &[], b"")
}

/// The listing.
pub fn listing(server: &Server) -> Value {
    http::get(&server.url(VOICES)).json()
}

/// A tone in a WAV file of 16 bits, mono.
///
/// # Panics
/// When memory cannot be written to.
pub fn tone(frequency_hz: f64, seconds: f64, rate_hz: u32) -> Vec<u8> {
    let phase = |at: u32| std::f64::consts::TAU * frequency_hz * f64::from(at) / f64::from(rate_hz);
    clip_of((0..(seconds * f64::from(rate_hz)) as u32).map(|at| (phase(at).sin() * 12_000.0) as i16), rate_hz)
}

/// Samples in a WAV file of 16 bits, mono.
///
/// # Panics
/// When memory cannot be written to.
pub fn clip_of(samples: impl IntoIterator<Item = i16>, rate_hz: u32) -> Vec<u8> {
    let spec = hound::WavSpec { channels: 1, sample_rate: rate_hz, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut bytes, spec).expect("a header in memory");
    samples.into_iter().for_each(|sample| writer.write_sample(sample).expect("a sample in memory"));
    writer.finalize().expect("the sizes are written");
    bytes.into_inner()
}

/// A WAV file as a `data:` URL.
pub fn data_url(wav: &[u8]) -> String {
    format!("data:audio/wav;base64,{}", base64::encode(wav))
}
