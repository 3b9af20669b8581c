//! A voice that was learnt from a reference: what is kept of it, and how the model reads it back.

use omni_plugin_api::{NamedTensor, PluginError, ReferenceAudio, TensorValues, Voice};

use crate::{CODEBOOKS, Frame, pitch};

/// Name of the speaker's vector, `f32 [2]`: the note it speaks around (as MIDI counts, 69 is 440 Hz) and its amplitude from 0 to 1. Both
/// numbers are such that a mixture of two vectors is a voice between the two.
pub const SPEAKER_EMBEDDING: &str = "speaker_embedding";
/// Numbers in the speaker's vector.
pub const SPEAKER_DIM: usize = 2;
/// Name of the reference's code frames, `i32 [frames, 2]`. They are there when a transcript says what is spoken in them, and then the
/// speech follows their melody.
pub const REFERENCE_CODES: &str = "ref_code";

/// Notes that can be spoken around: 8 Hz to 12.5 kHz.
const NOTES: std::ops::RangeInclusive<f32> = 0.0..=127.0;

/// A voice that was learnt.
#[derive(Debug, Clone, PartialEq)]
pub struct Speaker {
    /// Pitch to speak around, in Hz.
    pub pitch_hz: f32,
    /// Amplitude of a note, 0 to 1.
    pub amplitude: f32,
    /// Steps of pitch between each frame of the reference and its middle; empty without a transcript.
    pub melody: Vec<i32>,
}

/// Learns a voice: what the host stores, caches and hands back with a request.
pub fn learn(reference: &ReferenceAudio) -> Result<Vec<NamedTensor>, PluginError> {
    let frames = pitch::frames(&reference.samples);
    let voiced: Vec<Frame> = frames.iter().copied().filter(|frame| frame.loudness > 0).collect();
    let (Some(pitch), Some(loudness)) = (middle(&voiced, |frame| frame.pitch), middle(&voiced, |frame| frame.loudness)) else {
        return Err(PluginError::invalid("ref_audio", "no pitch can be heard in the reference audio"));
    };
    let voice = Frame { pitch, loudness };
    let vector = vec![voice.note(), voice.amplitude()];
    let mut tensors = vec![NamedTensor::f32(SPEAKER_EMBEDDING, vec![SPEAKER_DIM], vector)];
    if reference.transcript.is_some() {
        let codes: Vec<i32> = frames.iter().flat_map(|frame| [frame.pitch, frame.loudness]).collect();
        tensors.push(NamedTensor::i32(REFERENCE_CODES, vec![frames.len(), CODEBOOKS], codes));
    }
    Ok(tensors)
}

/// The median of a code.
fn middle(frames: &[Frame], code: impl Fn(&Frame) -> i32) -> Option<i32> {
    let mut codes: Vec<i32> = frames.iter().map(code).collect();
    codes.sort_unstable();
    codes.get(codes.len() / 2).copied()
}

impl Speaker {
    /// Reads back what `learn` made, or a vector that a client gave; none for a built-in voice.
    pub fn of(voice: &Voice) -> Result<Option<Self>, PluginError> {
        let Some(vector) = voice.tensors.iter().find(|tensor| tensor.name == SPEAKER_EMBEDDING) else { return Ok(None) };
        let TensorValues::F32(values) = &vector.values else { return Err(wrong("it holds whole numbers")) };
        let [note, amplitude] = values[..] else {
            return Err(wrong(&format!(
                "speaker_embedding has {} dimensions; expected {SPEAKER_DIM} for the loaded sine model",
                values.len()
            )));
        };
        if !NOTES.contains(&note) || !(0.0..=1.0).contains(&amplitude) {
            return Err(wrong(&format!("expected a note of 0 to 127 and an amplitude of 0 to 1, found {note} and {amplitude}")));
        }
        let melody = voice.tensors.iter().find(|tensor| tensor.name == REFERENCE_CODES).map(melody).transpose()?;
        Ok(Some(Self { pitch_hz: Frame::frequency_of(note), amplitude, melody: melody.unwrap_or_default() }))
    }
}

fn wrong(message: &str) -> PluginError {
    PluginError::invalid(SPEAKER_EMBEDDING, message)
}

/// The melody of a reference's code frames; a pause holds the middle.
fn melody(tensor: &NamedTensor) -> Result<Vec<i32>, PluginError> {
    let TensorValues::I32(codes) = &tensor.values else { return Err(wrong("the reference codes are no whole numbers")) };
    let frames: Vec<Frame> = codes.chunks_exact(CODEBOOKS).map(|codes| Frame { pitch: codes[0], loudness: codes[1] }).collect();
    let voiced: Vec<Frame> = frames.iter().copied().filter(|frame| frame.loudness > 0).collect();
    let around = middle(&voiced, |frame| frame.pitch).unwrap_or_default();
    Ok(frames.iter().map(|frame| if frame.loudness > 0 { frame.pitch.saturating_sub(around) } else { 0 }).collect())
}

/// Code frames of a reference that become part of the prompt, for usage.
pub fn reference_frames(voice: &Voice) -> u64 {
    let codes = voice.tensors.iter().find(|tensor| tensor.name == REFERENCE_CODES);
    codes.map_or(0, |codes| (codes.values.len() / CODEBOOKS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FRAME_LEN, SAMPLE_RATE_HZ};
    use std::f32::consts::TAU;

    fn clip(pitch_hz: f32, transcript: Option<&str>) -> ReferenceAudio {
        let samples = (0..10 * FRAME_LEN).map(|at| 0.5 * (TAU * pitch_hz * at as f32 / SAMPLE_RATE_HZ as f32).sin()).collect();
        ReferenceAudio { samples, sample_rate_hz: SAMPLE_RATE_HZ, transcript: transcript.map(str::to_owned) }
    }

    fn voice(tensors: Vec<NamedTensor>) -> Voice {
        Voice { tensors, ..Voice::default() }
    }

    #[test]
    fn what_was_learnt_is_read_back() {
        let tensors = learn(&clip(330.0, Some("la"))).expect("a tone");
        assert_eq!(reference_frames(&voice(tensors.clone())), 10);
        let speaker = Speaker::of(&voice(tensors)).expect("a voice").expect("a learnt one");
        assert!((speaker.pitch_hz / 330.0 - 1.0).abs() < 0.02 && (speaker.amplitude - 0.5).abs() < 0.02, "{speaker:?}");
        assert_eq!(speaker.melody.len(), 10);
        assert_eq!(learn(&clip(330.0, None)).expect("a tone").len(), 1, "without a transcript there is only the vector");
        assert_eq!(Speaker::of(&Voice::default()).expect("a built-in voice"), None);
    }

    #[test]
    fn what_is_no_voice_is_refused_and_the_field_named() {
        for values in [vec![60.0], vec![60.0, 0.5, 1.0], vec![-1.0, 0.5], vec![60.0, 2.0], vec![f32::NAN, 0.5]] {
            let tensor = NamedTensor::f32(SPEAKER_EMBEDDING, vec![values.len()], values);
            let error = Speaker::of(&voice(vec![tensor])).expect_err("it is refused");
            assert_eq!(error.field.as_deref(), Some("speaker_embedding"));
        }
        let silence = ReferenceAudio { samples: vec![0.0; 48_000], ..clip(1.0, None) };
        assert_eq!(learn(&silence).expect_err("it is refused").field.as_deref(), Some("ref_audio"));
    }
}
