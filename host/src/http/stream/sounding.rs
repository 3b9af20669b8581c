//! The audio of a unit on its way: frames of samples, or chunks that the times of its words come along with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use omni_plugin_api::FinishReason;
use serde::Serialize;
use tokio::task::JoinHandle;

use crate::audio::encode::Shape;
use crate::audio::pcm;
use crate::engine::SpeechHead;
use crate::engine::align::{WordTime, millis};
use crate::http::error::ApiError;
use crate::http::speech::words::Alignment;
use crate::http::speech::{Pieces, Record};

/// Audio as it is sent.
#[derive(Debug)]
pub enum Sound {
    /// A binary frame.
    Frame(Bytes),
    /// A message.
    Chunk(Chunk),
}

/// Audio within JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chunk {
    chunk_id: u64,
    chunk_start_ms: u64,
    chunk_end_ms: u64,
    sample_rate: u32,
    audio_b64: String,
    /// Of the last chunk, which holds no audio: the words of the unit; null where they were not found. Of others null.
    timestamps: Option<Vec<WordTime>>,
    /// Bytes of its audio.
    #[serde(skip)]
    pub bytes: usize,
}

/// A unit that sounds.
pub struct Sounding {
    pieces: Pieces,
    record: Record,
    chunks: Option<Chunks>,
}

impl Sounding {
    /// The audio of a unit that has begun, in chunks where its words are to be found.
    pub fn new(pieces: Pieces, record: Record, words: Option<Alignment>) -> Self {
        let shape = Shape { sample_rate_hz: pieces.head().sample_rate_hz, channels: pieces.head().channels };
        let chunks = words.map(|words| Chunks::new(shape, words));
        Self { pieces, record, chunks }
    }

    /// What was known before the first sample.
    pub fn head(&self) -> &SpeechHead {
        self.pieces.head()
    }

    /// Why it ended, after the end.
    pub fn reason(&self) -> Option<FinishReason> {
        self.pieces.finish().map(|finish| finish.reason)
    }

    /// The next audio; none at the end. Giving up the wait loses nothing.
    pub async fn next(&mut self) -> Option<Result<Sound, ApiError>> {
        let piece = self.pieces.next(&mut self.record).await;
        match (piece, &mut self.chunks) {
            (Some(Ok(piece)), None) => Some(Ok(Sound::Frame(piece))),
            (Some(Ok(piece)), Some(chunks)) => Some(Ok(Sound::Chunk(chunks.take(&piece)))),
            (Some(Err(error)), _) => Some(Err(error)),
            (None, Some(chunks)) => chunks.last().await.map(|chunk| Ok(Sound::Chunk(chunk))),
            (None, None) => None,
        }
    }
}

/// Counts the chunks of a unit and keeps its samples until its words are found.
struct Chunks {
    shape: Shape,
    count: u64,
    audio: Vec<u8>,
    search: Search,
}

enum Search {
    Due(Alignment),
    Running(JoinHandle<Option<Vec<WordTime>>>),
    Over,
}

impl Chunks {
    fn new(shape: Shape, words: Alignment) -> Self {
        Self { shape, count: 0, audio: Vec::new(), search: Search::Due(words) }
    }

    /// Where the audio that was taken so far ends.
    fn millis(&self) -> u64 {
        let frame_bytes = pcm::SAMPLE_BYTES * usize::from(self.shape.channels.max(1));
        millis((self.audio.len() / frame_bytes) as u64, self.shape.sample_rate_hz)
    }

    fn chunk(&mut self, start_ms: u64, end_ms: u64, audio: &[u8], timestamps: Option<Vec<WordTime>>) -> Chunk {
        let chunk_id = self.count;
        self.count += 1;
        let sample_rate = self.shape.sample_rate_hz;
        let (audio_b64, bytes) = (BASE64.encode(audio), audio.len());
        Chunk { chunk_id, chunk_start_ms: start_ms, chunk_end_ms: end_ms, sample_rate, audio_b64, timestamps, bytes }
    }

    fn take(&mut self, piece: &[u8]) -> Chunk {
        let start_ms = self.millis();
        self.audio.extend_from_slice(piece);
        let end_ms = self.millis();
        self.chunk(start_ms, end_ms, piece, None)
    }

    /// The chunk with the words, once. Giving up the wait loses nothing.
    async fn last(&mut self) -> Option<Chunk> {
        let end_ms = self.millis();
        if let Search::Due(words) = &self.search {
            self.search = Search::Running(tokio::spawn(words.clone().find(pcm::samples(&self.audio), self.shape)));
        }
        let Search::Running(running) = &mut self.search else { return None };
        // A search that was lost found nothing.
        let words = running.await.unwrap_or_default();
        self.search = Search::Over;
        Some(self.chunk(0, end_ms, &[], words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::align::{Aligner, Spoken};
    use serde_json::json;
    use std::sync::Arc;

    /// Finds one word, as long as the clip, or nothing.
    #[derive(Debug)]
    struct Double(bool);

    impl Aligner for Double {
        fn align(&self, spoken: &Spoken<'_>) -> Result<Vec<WordTime>, String> {
            let word = WordTime { word: spoken.text.to_owned(), start_ms: 1, end_ms: 99_999 };
            if self.0 { Ok(vec![word]) } else { Err("no words".to_owned()) }
        }
    }

    fn chunks(finds: bool) -> Chunks {
        let words = Alignment::new(Arc::new(Double(finds)), "hello".to_owned(), None);
        Chunks::new(Shape { sample_rate_hz: 8000, channels: 1 }, words)
    }

    #[tokio::test]
    async fn chunks_are_counted_on_the_clock_of_their_unit_and_the_last_has_the_words() {
        let mut chunks = chunks(true);
        let chunk = |id: u64, start: u64, end: u64, audio: &str| json!({"chunk_id": id, "chunk_start_ms": start, "chunk_end_ms": end, "sample_rate": 8000, "audio_b64": audio, "timestamps": null});
        assert_eq!(json!(chunks.take(&[0; 16])), chunk(0, 0, 1, "AAAAAAAAAAAAAAAAAAAAAA=="));
        assert_eq!(json!(chunks.take(&[0; 32])), chunk(1, 1, 3, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
        let mut last = chunk(2, 0, 3, "");
        last["timestamps"] = json!([{"word": "hello", "start_ms": 1, "end_ms": 3}]);
        assert_eq!(chunks.last().await.map(|chunk| json!(chunk)), Some(last));
        assert_eq!(chunks.last().await, None);
    }

    #[tokio::test]
    async fn words_that_are_not_found_are_null() {
        let mut chunks = chunks(false);
        chunks.take(&[0; 16]);
        assert_eq!(chunks.last().await.map(|chunk| json!(chunk)["timestamps"].clone()), Some(json!(null)));
    }
}
