//! Text to notes: one note a word, as long as the word, with rests between. The place of a family's tokenizer.

use omni_plugin_api::PluginError;
use serde::{Deserialize, Serialize};

/// A note or a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How long, in code frames.
    pub frames: u32,
    /// Whether it sounds; a rest does not.
    pub sounds: bool,
}

/// A text as notes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Note and rest in turn, ending with a rest.
    pub notes: Vec<Note>,
    /// Letters and digits of the text.
    pub characters: u64,
}

impl Score {
    /// Reads a text: a letter or digit is a frame of its word's note, a space a frame of rest, a mark at the end of a word three more.
    /// `speed` shortens both. Refuses a text without a letter or digit.
    pub fn read(text: &str, speed: f32) -> Result<Self, PluginError> {
        let mut score = Self::default();
        let mut clock = Clock { speed: f64::from(speed), units: 0, frames: 0 };
        for word in text.split_whitespace() {
            let letters = word.chars().filter(|char| char.is_alphanumeric()).count() as u64;
            if letters > 0 {
                score.characters += letters;
                score.notes.push(Note { frames: clock.advance(letters), sounds: true });
                score.notes.push(Note { frames: clock.advance(rest_after(word)), sounds: false });
            }
        }
        if score.notes.is_empty() {
            return Err(PluginError::invalid("input", "input has nothing to speak: it holds no letter and no digit"));
        }
        Ok(score)
    }

    /// Length in code frames.
    pub fn frames(&self) -> u64 {
        self.notes.iter().map(|note| u64::from(note.frames)).sum()
    }
}

fn rest_after(word: &str) -> u64 {
    if word.ends_with(['.', ',', ';', ':', '!', '?', '…', '。', '、', '！', '？']) { 4 } else { 1 }
}

/// Turns units of text into whole frames without losing what is rounded off.
struct Clock {
    speed: f64,
    units: u64,
    frames: u64,
}

impl Clock {
    /// Frames from here to `units` further on.
    fn advance(&mut self, units: u64) -> u32 {
        self.units += units;
        let end = (self.units as f64 / self.speed).ceil() as u64;
        let frames = end - self.frames;
        self.frames = end;
        u32::try_from(frames).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_notes_and_spaces_rests() {
        let score = Score::read("Hi there, you.", 1.0).expect("a text with letters");
        let lengths: Vec<(u32, bool)> = score.notes.iter().map(|note| (note.frames, note.sounds)).collect();
        assert_eq!(lengths, [(2, true), (1, false), (5, true), (4, false), (3, true), (4, false)]);
        assert_eq!((score.characters, score.frames()), (10, 19));
    }

    #[test]
    fn speed_divides_the_length() {
        let text = "the quick brown fox jumps over the lazy dog";
        let frames = |speed| Score::read(text, speed).expect("a text with letters").frames();
        assert_eq!(frames(0.5), 2 * frames(1.0));
        assert_eq!(frames(4.0), frames(1.0).div_ceil(4));
    }

    #[test]
    fn a_text_without_letter_or_digit_is_refused_and_the_field_named() {
        for text in ["", "...", "😀 — !"] {
            let error = Score::read(text, 1.0).expect_err("nothing to speak");
            assert_eq!(error.field.as_deref(), Some("input"), "{text}");
        }
        assert!(Score::read("你好 7", 1.0).is_ok());
    }
}
