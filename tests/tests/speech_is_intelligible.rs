//! The embedded voice is understood: sentences go through the server and come back from a recogniser.

use omni_tests::asr;
use omni_tests::sentences::SENTENCES;
use omni_tests::server::Server;
use omni_tests::speech;
use omni_tests::words::{self, ErrorCount};

/// The rate measured over these sentences is 2 to 3 %, part of it the recogniser's own.
const MOST_ERRORS: f64 = 0.05;
/// What is no language is not recognised: near 100 %.
const LEAST_ERRORS_OF_NONSENSE: f64 = 0.6;

#[test]
fn twenty_sentences_are_recognised_word_for_word() {
    let (errors, shown) = recognise(&SENTENCES, str::to_owned);
    assert!(errors.rate() <= MOST_ERRORS, "{} of {} words wrong:\n{shown}", errors.wrong, errors.of);
}

/// Without this the gate could be passing for another reason than the speech. `phoneme_control` does the same one step nearer to the
/// model.
#[test]
fn the_same_sentences_with_their_letters_out_of_order_are_not_recognised() {
    let (errors, shown) = recognise(&SENTENCES[..8], out_of_order);
    assert!(errors.rate() >= LEAST_ERRORS_OF_NONSENSE, "{} of {} words wrong only:\n{shown}", errors.wrong, errors.of);
}

/// Speaks what `change` makes of each sentence and compares what is heard with the sentence itself.
fn recognise(sentences: &[&str], change: impl Fn(&str) -> String) -> (ErrorCount, String) {
    let mut total = ErrorCount::default();
    let mut shown = String::new();
    for sentence in sentences {
        let heard = asr::transcript(&speech::speak(Server::shared(), &change(sentence)));
        let errors = ErrorCount::between(&words::fold(sentence), &words::fold(&heard));
        total += errors;
        shown += &format!("{} wrong: {sentence} | {heard}\n", errors.wrong);
    }
    (total, shown)
}

/// The sentence backwards, letter by letter.
fn out_of_order(sentence: &str) -> String {
    sentence.to_lowercase().chars().rev().filter(|letter| letter.is_alphabetic() || *letter == ' ').collect()
}
