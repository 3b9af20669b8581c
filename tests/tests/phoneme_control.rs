//! The recogniser hears phonemes and not luck: the voice's own phonemes are understood, the same ones shuffled are not.
//!
//! This goes below the server, to the model itself, since no request can ask for phonemes.

use hibari::{Acoustic, Oov};
use omni_english::{English, Unit};
use omni_tests::asr;
use omni_tests::sentences::SENTENCES;
use omni_tests::wav::Wav;
use omni_tests::words::{self, ErrorCount};

const RATE_HZ: u32 = 24_000;

struct Voice {
    acoustic: Acoustic,
    english: English,
}

impl Voice {
    fn new() -> Self {
        let oov = Oov::embedded().expect("the embedded weights load");
        let english = English::new(Box::new(move |word| oov.spell(word)));
        Self { acoustic: Acoustic::embedded().expect("the embedded weights load"), english }
    }

    fn phonemes(&self, sentence: &str) -> String {
        let reading = self.english.read(sentence).expect("a sentence can be read");
        let speech = |unit| match unit {
            Unit::Speech { phonemes, .. } => Some(phonemes),
            Unit::Pause(_) => None,
        };
        reading.units.into_iter().filter_map(speech).collect::<Vec<_>>().join(" ")
    }

    fn speak(&self, phonemes: &str) -> Wav {
        let utterance = self.acoustic.encode(&self.acoustic.vocab().ids(phonemes), 1.0).expect("phonemes of the vocabulary");
        let vocoder = self.acoustic.vocoder();
        let mut samples = Vec::new();
        vocoder.decode(&mut vocoder.start(1, 1), &utterance.frames, true, &mut samples);
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| ((sample * 32_767.0) as i16).to_le_bytes()).collect();
        Wav::from_pcm(&bytes, RATE_HZ).expect("whole samples")
    }

    /// Words wrong when each sentence's phonemes are spoken after `change`.
    fn errors(&self, change: impl Fn(String) -> String) -> f64 {
        let mut total = ErrorCount::default();
        for sentence in &SENTENCES[..8] {
            let heard = asr::transcript(&self.speak(&change(self.phonemes(sentence))));
            total += ErrorCount::between(&words::fold(sentence), &words::fold(&heard));
        }
        total.rate()
    }
}

/// The same phonemes in an order that a fixed generator draws.
fn shuffled(phonemes: String) -> String {
    let mut symbols: Vec<char> = phonemes.chars().collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for last in (1..symbols.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        symbols.swap(last, (state >> 33) as usize % (last + 1));
    }
    symbols.into_iter().collect()
}

#[test]
fn shuffled_phonemes_are_not_understood_and_the_same_in_order_are() {
    let voice = Voice::new();
    let in_order = voice.errors(|phonemes| phonemes);
    assert!(in_order <= 0.08, "{:.0} % of the words are wrong", in_order * 100.0);
    let out_of_order = voice.errors(shuffled);
    assert!(out_of_order >= 0.8, "only {:.0} % of the words are wrong", out_of_order * 100.0);
}
