//! The rows that the talker reads before it speaks, and the text that it reads while it does.
//!
//! Every row is a text vector plus, from the tags on, a codec vector. Which of them is decided here, without tensors.

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// What a speech starts from, as tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// A user's turn with the instruction, or nothing.
    pub instruction: Vec<u32>,
    /// The head of the assistant's turn.
    pub role: Vec<u32>,
    /// The text to speak; not empty.
    pub text: Vec<u32>,
    /// The text of the reference; empty unless its codes are continued.
    pub reference_text: Vec<u32>,
    /// Frames of the reference that are continued; 0 for none.
    pub reference_frames: usize,
    /// The language's tag; none when the model is to find out.
    pub language: Option<u32>,
    /// Whose voice.
    pub speaker: Speaker,
    /// Whether all of the text is read before the first frame.
    pub reads_ahead: bool,
}

/// Whose voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaker {
    /// None: the model finds one, by instruction.
    None,
    /// A row of the codec table.
    Known(u32),
    /// A vector that comes with the prompt.
    Vector,
}

/// The codec half of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Nothing.
    None,
    /// A row of the codec table.
    Id(u32),
    /// The speaker's vector.
    Speaker,
    /// A frame of the reference: the sum of its codes' vectors.
    Frame(usize),
}

/// A row: a text token and a codec half.
pub type Row = (u32, Code);

/// All rows, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Read at once.
    pub rows: Vec<Row>,
    /// Read one with each frame; after them, padding.
    pub trailing: Vec<u32>,
}

impl Layout {
    /// Lays out a script.
    pub fn new(script: &Script, config: &Config) -> Self {
        let mut rows: Vec<Row> = script.instruction.iter().chain(&script.role).map(|id| (*id, Code::None)).collect();
        rows.extend(tags(script, config));
        let (body, trailing) = match (script.reference_frames > 0, script.reads_ahead) {
            (true, ahead) => continued(script, config, ahead),
            (false, true) => ahead(script, config),
            (false, false) => alongside(script, config),
        };
        rows.extend(body);
        Self { rows, trailing }
    }
}

/// Language, speaker and the pad before the first code, under padding and, last, the text's beginning.
fn tags(script: &Script, config: &Config) -> Vec<Row> {
    let talker = &config.talker_config;
    let mut codes = match script.language {
        Some(language) => vec![talker.codec_think_id, talker.codec_think_bos_id, language, talker.codec_think_eos_id],
        None => vec![talker.codec_nothink_id, talker.codec_think_bos_id, talker.codec_think_eos_id],
    }
    .into_iter()
    .map(Code::Id)
    .collect::<Vec<_>>();
    match script.speaker {
        Speaker::None => {}
        Speaker::Known(id) => codes.push(Code::Id(id)),
        Speaker::Vector => codes.push(Code::Speaker),
    }
    let mut rows: Vec<Row> = codes.into_iter().map(|code| (config.tts_pad_token_id, code)).collect();
    rows.push((config.tts_bos_token_id, Code::Id(talker.codec_pad_id)));
    rows
}

/// One token of the text now, one with each frame, then its end.
fn alongside(script: &Script, config: &Config) -> (Vec<Row>, Vec<u32>) {
    let bos = Code::Id(config.talker_config.codec_bos_id);
    let rows = script.text.first().map(|id| (*id, bos)).into_iter().collect();
    let rest = script.text.iter().skip(1).copied().chain([config.tts_eos_token_id]);
    (rows, rest.collect())
}

/// The whole text and its end over padding, then the first code's place.
fn ahead(script: &Script, config: &Config) -> (Vec<Row>, Vec<u32>) {
    let talker = &config.talker_config;
    let text = script.text.iter().copied().chain([config.tts_eos_token_id]);
    let mut rows: Vec<Row> = text.map(|id| (id, Code::Id(talker.codec_pad_id))).collect();
    rows.push((config.tts_pad_token_id, Code::Id(talker.codec_bos_id)));
    (rows, vec![config.tts_pad_token_id])
}

/// The texts of reference and speech, and the reference's frames: one after the other, or laid over each other.
fn continued(script: &Script, config: &Config, reads_ahead: bool) -> (Vec<Row>, Vec<u32>) {
    let talker = &config.talker_config;
    let pad = config.tts_pad_token_id;
    let text: Vec<u32> = script.reference_text.iter().chain(&script.text).copied().chain([config.tts_eos_token_id]).collect();
    let codes: Vec<Code> = std::iter::once(Code::Id(talker.codec_bos_id)).chain((0..script.reference_frames).map(Code::Frame)).collect();
    if reads_ahead {
        let over_text = text.into_iter().map(|id| (id, Code::Id(talker.codec_pad_id)));
        return (over_text.chain(codes.into_iter().map(|code| (pad, code))).collect(), vec![pad]);
    }
    let trailing = match text.get(codes.len()..) {
        Some(rest) if !rest.is_empty() => rest.to_vec(),
        _ => vec![pad],
    };
    let text = text.into_iter().chain(std::iter::repeat(pad));
    (text.zip(codes).collect(), trailing)
}
