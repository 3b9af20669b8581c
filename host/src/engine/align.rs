//! When each word of a clip is spoken.

use std::fmt;

use serde::Serialize;

/// A clip, and what is said in it.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    /// Samples of all channels, interleaved.
    pub samples: &'a [f32],
    /// Their rate.
    pub sample_rate_hz: u32,
    /// Channels.
    pub channels: u16,
    /// The text.
    pub text: &'a str,
    /// Its language, where the request names one.
    pub language: Option<&'a str>,
}

/// A word and when it is spoken, in milliseconds from the start of its clip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordTime {
    /// The word.
    pub word: String,
    /// Where it begins.
    pub start_ms: u64,
    /// Where it ends.
    pub end_ms: u64,
}

/// Finds the words of a text in its speech.
pub trait Aligner: fmt::Debug + Send + Sync {
    /// The words in the order in which they are spoken; none for silence. It may take its time: it is called where blocking is allowed.
    ///
    /// # Errors
    ///
    /// One sentence about why the words cannot be found, for the log.
    fn align(&self, spoken: &Spoken<'_>) -> Result<Vec<WordTime>, String>;
}

impl Spoken<'_> {
    /// The length of the clip.
    pub fn millis(&self) -> u64 {
        let frames = self.samples.len() as u64 / u64::from(self.channels.max(1));
        millis(frames, self.sample_rate_hz)
    }
}

/// How long so many samples of a channel last, rounded.
pub fn millis(frames: u64, sample_rate_hz: u32) -> u64 {
    let rate = u64::from(sample_rate_hz.max(1));
    (frames.saturating_mul(1000) + rate / 2) / rate
}

/// Words as they may be told: within the clip, each ending after it begins and none beginning before the last one has ended.
pub fn tidy(words: Vec<WordTime>, clip_ms: u64) -> Vec<WordTime> {
    let mut last_end = 0;
    let tidied = words.into_iter().map(|word| {
        let start_ms = word.start_ms.clamp(last_end, clip_ms.max(last_end));
        let end_ms = word.end_ms.clamp(start_ms, clip_ms.max(start_ms));
        last_end = end_ms;
        WordTime { word: word.word, start_ms, end_ms }
    });
    tidied.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_rounded() {
        for (frames, rate, wanted) in [(0, 24_000, 0), (24_000, 24_000, 1000), (11, 24_000, 0), (12, 24_000, 1), (1, 0, 1000)] {
            assert_eq!(millis(frames, rate), wanted, "{frames} at {rate}");
        }
        let spoken = Spoken { samples: &[0.0; 48], sample_rate_hz: 8000, channels: 2, text: "", language: None };
        assert_eq!(spoken.millis(), 3);
    }

    proptest! {
        #[test]
        fn tidy_words_lie_within_the_clip_and_one_after_the_other(times in prop::collection::vec((0_u64..500, 0_u64..500), 0..20), clip_ms in 0_u64..400) {
            let words: Vec<WordTime> = times.into_iter().map(|(start_ms, end_ms)| WordTime { word: "a".to_owned(), start_ms, end_ms }).collect();
            let tidied = tidy(words.clone(), clip_ms);
            prop_assert_eq!(tidied.len(), words.len());
            prop_assert!(tidied.iter().all(|word| word.start_ms <= word.end_ms && word.end_ms <= clip_ms));
            prop_assert!(tidied.windows(2).all(|pair| pair[0].end_ms <= pair[1].start_ms));
            prop_assert_eq!(&tidy(tidied.clone(), clip_ms), &tidied);
        }
    }
}
