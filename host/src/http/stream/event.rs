//! The server's messages.

use omni_plugin_api::FinishReason;
use serde::Serialize;

use super::protocol::Refusal;
use super::sounding::Chunk;
use crate::http::error::ApiError;
use crate::http::speech::headers;

/// Where a unit stands in a session; both counts begin at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Place {
    /// Which utterance.
    pub utterance_index: u64,
    /// Which unit of it.
    pub sentence_index: u64,
}

/// A message to the client.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum Event {
    /// A unit begins.
    #[serde(rename = "audio.start")]
    Start {
        /// Which one.
        #[serde(flatten)]
        place: Place,
        /// Its text.
        sentence_text: String,
        /// The format of its audio.
        format: &'static str,
        /// The rate of its audio; left out only where no model could be found.
        #[serde(skip_serializing_if = "Option::is_none")]
        sample_rate: Option<u32>,
        /// Whether its audio comes in chunks, the last of which tells when its words are spoken.
        #[serde(skip_serializing_if = "is_false")]
        word_timestamps: bool,
        /// What of it could not be spoken.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// Audio of a unit, or the times of its words.
    #[serde(rename = "audio.chunk")]
    Chunk {
        /// Which one.
        #[serde(flatten)]
        place: Place,
        /// The audio.
        #[serde(flatten)]
        chunk: Chunk,
    },
    /// A unit has ended.
    #[serde(rename = "audio.done")]
    Done(UnitDone),
    /// An utterance has ended.
    #[serde(rename = "session.done")]
    UtteranceDone {
        /// Which one.
        utterance_index: u64,
        /// Its units, failed ones too.
        total_sentences: u64,
        /// Whether the client cancelled it.
        #[serde(skip_serializing_if = "is_false")]
        cancelled: bool,
    },
    /// Something was refused or has failed.
    #[serde(rename = "error")]
    Error(Failure),
}

/// How a unit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnitDone {
    /// Which one.
    #[serde(flatten)]
    pub place: Place,
    /// Bytes of audio that were sent.
    pub total_bytes: usize,
    /// Whether it failed.
    pub error: bool,
    /// Whether the client cancelled it.
    #[serde(skip_serializing_if = "is_false")]
    pub cancelled: bool,
    /// Why it ended, where that was not the end of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<&'static str>,
}

impl UnitDone {
    /// The end of a unit that was spoken to its end.
    pub fn whole(place: Place, total_bytes: usize) -> Self {
        Self { place, total_bytes, error: false, cancelled: false, finish_reason: None }
    }

    /// The same with the reason for which the model stopped.
    pub fn because(self, reason: Option<FinishReason>) -> Self {
        Self { finish_reason: reason.filter(|reason| *reason != FinishReason::Stop).map(headers::reason), ..self }
    }
}

/// What was refused or has failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Failure {
    /// The sentence for a person.
    pub message: String,
    /// The status that the speech endpoint would have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// Seconds after which to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
    /// Whether audio of the unit had been sent already.
    #[serde(skip_serializing_if = "is_false")]
    pub partial_audio: bool,
    /// What to do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
}

impl Failure {
    /// A failure of which only the words are told.
    pub fn told(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The failure of a unit of which so many bytes had been sent.
    pub fn of_unit(place: Place, error: &ApiError, sent_bytes: usize) -> Self {
        let detail = error.message();
        let detail = detail.strip_prefix("Speech generation failed: ").unwrap_or(detail);
        let Place { utterance_index, sentence_index } = place;
        let partial_audio = sent_bytes > 0;
        Self {
            message: format!("Generation failed for utterance {utterance_index}, sentence {sentence_index}: {detail}"),
            code: Some(error.status().as_u16()),
            param: error.param().map(str::to_owned),
            retry_after_s: error.retry_after_s(),
            partial_audio,
            action: partial_audio.then_some("discard"),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::told(refusal.to_string())
    }
}

impl Event {
    /// The text of its frame.
    pub fn json(&self) -> String {
        // Nothing here can fail to become JSON; an empty object would be told apart by any client.
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::SpeechError;
    use serde_json::{Value, json};

    const PLACE: Place = Place { utterance_index: 1, sentence_index: 2 };

    fn sent(event: &Event) -> Value {
        serde_json::from_str(&event.json()).expect("JSON")
    }

    #[test]
    fn events_have_the_documented_members() {
        let start = Event::Start {
            place: PLACE,
            sentence_text: "é".to_owned(),
            format: "pcm",
            sample_rate: Some(44_100),
            word_timestamps: false,
            warnings: Vec::new(),
        };
        let wanted = json!({"type": "audio.start", "utterance_index": 1, "sentence_index": 2, "sentence_text": "é", "format": "pcm",
                            "sample_rate": 44_100});
        assert_eq!(sent(&start), wanted);
        let done = Event::Done(UnitDone::whole(PLACE, 7).because(Some(FinishReason::Stop)));
        let wanted = json!({"type": "audio.done", "utterance_index": 1, "sentence_index": 2, "total_bytes": 7, "error": false});
        assert_eq!(sent(&done), wanted);
        let cut = sent(&Event::Done(UnitDone::whole(PLACE, 7).because(Some(FinishReason::Length))));
        assert_eq!(cut["finish_reason"], "length");
        let done = Event::UtteranceDone { utterance_index: 1, total_sentences: 3, cancelled: false };
        assert_eq!(sent(&done), json!({"type": "session.done", "utterance_index": 1, "total_sentences": 3}));
        let error = Event::Error(Failure::from(Refusal::NotJson));
        assert_eq!(sent(&error), json!({"type": "error", "message": "Invalid JSON message"}));
    }

    #[test]
    fn the_failure_of_a_unit_names_it_and_says_whether_its_audio_is_worth_keeping() {
        let full = Failure::of_unit(PLACE, &SpeechError::Overloaded { retry_after_s: 3 }.into(), 0);
        let wanted = json!({"type": "error", "code": 429, "retry_after_s": 3,
            "message": "Generation failed for utterance 1, sentence 2: the queue is full; try again in 3 s"});
        assert_eq!(sent(&Event::Error(full)), wanted);
        let broken = Failure::of_unit(PLACE, &ApiError::failed("it broke"), 2);
        let wanted = json!({"type": "error", "code": 500, "partial_audio": true, "action": "discard",
            "message": "Generation failed for utterance 1, sentence 2: it broke"});
        assert_eq!(sent(&Event::Error(broken)), wanted);
        assert_eq!(Failure::of_unit(PLACE, &ApiError::invalid("voice", "no"), 0).param.as_deref(), Some("voice"));
    }
}
