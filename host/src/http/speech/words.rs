//! Times of words: asked for by `word_timestamps`, found by the server's aligner once the audio is there, told in a header.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::ascii::escaped;
use crate::audio::encode::Shape;
use crate::engine::align::{Aligner, Spoken, WordTime, tidy};

/// The times of the words of a complete body.
pub const TIMES: HeaderName = HeaderName::from_static("x-word-timestamps");
/// Said instead where they do not fit.
pub const OMITTED: HeaderName = HeaderName::from_static("x-word-timestamps-omitted");
/// Longest value of the header.
const MAX_BYTES: usize = 4096;

/// What is needed to find the words of a request.
#[derive(Debug, Clone)]
pub struct Alignment {
    aligner: Arc<dyn Aligner>,
    text: String,
    language: Option<String>,
}

impl Alignment {
    /// How the words of this text are found.
    pub fn new(aligner: Arc<dyn Aligner>, text: String, language: Option<String>) -> Self {
        Self { aligner, text, language }
    }

    /// Finds the words of a clip; none where they cannot be found, which costs nothing else.
    pub async fn find(self, samples: Vec<f32>, shape: Shape) -> Option<Vec<WordTime>> {
        let work = tokio::task::spawn_blocking(move || {
            let Shape { sample_rate_hz, channels } = shape;
            let language = self.language.as_deref();
            let spoken = Spoken { samples: &samples, sample_rate_hz, channels, text: &self.text, language };
            let clip_ms = spoken.millis();
            self.aligner.align(&spoken).map(|words| tidy(words, clip_ms))
        });
        let found = work.await.unwrap_or_else(|lost| Err(format!("the aligner was lost: {lost}")));
        found.inspect_err(|reason| tracing::warn!(reason, "the words of a clip were not found")).ok()
    }
}

/// Tells the words of a complete body.
pub fn add(headers: &mut HeaderMap, words: &[WordTime]) {
    let json = json(words);
    if json.len() > MAX_BYTES {
        let told = format!("oversize; bytes={}; limit={MAX_BYTES}", json.len());
        headers.extend(HeaderValue::from_str(&told).ok().map(|value| (OMITTED, value)));
    } else {
        headers.extend(HeaderValue::from_str(&json).ok().map(|value| (TIMES, value)));
    }
}

/// `[{"word": "a", "start_ms": 0, "end_ms": 5}, …]`, in ASCII, spaced as the reference spaces it.
fn json(words: &[WordTime]) -> String {
    let told = words.iter().map(|WordTime { word, start_ms, end_ms }| {
        let word = escaped(&serde_json::Value::from(word.as_str()).to_string());
        format!("{{\"word\": {word}, \"start_ms\": {start_ms}, \"end_ms\": {end_ms}}}")
    });
    format!("[{}]", told.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(word: &str) -> WordTime {
        WordTime { word: word.to_owned(), start_ms: 0, end_ms: 5 }
    }

    fn told(words: &[WordTime]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        add(&mut headers, words);
        headers
    }

    #[test]
    fn words_are_a_line_of_ascii() {
        let wanted = r#"[{"word": "a\"b", "start_ms": 0, "end_ms": 5}, {"word": "\u00fc\ud83d\ude00\n", "start_ms": 0, "end_ms": 5}]"#;
        assert_eq!(told(&[word("a\"b"), word("ü😀\n")])[TIMES], wanted);
        assert_eq!(told(&[])[TIMES], "[]");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        // A word of one letter takes 41 bytes and 2 between two.
        assert!(told(&vec![word("a"); 95]).contains_key(TIMES));
        let headers = told(&vec![word("a"); 100]);
        assert_eq!(headers.get(TIMES), None);
        assert_eq!(headers[OMITTED], format!("oversize; bytes={}; limit=4096", 2 + 100 * 41 + 99 * 2).as_str());
    }
}
