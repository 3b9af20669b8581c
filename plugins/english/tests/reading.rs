//! Phonemes, pauses, warnings and refusals.

mod common;

use common::{english, phonemes};
use omni_english::{MAX_PHONEMES, ReadError, Unit};

fn same(a: &str, b: &str) {
    assert_eq!(phonemes(a), phonemes(b), "{a}\n{b}");
}

#[test]
fn figures_sound_like_their_words() {
    same(
        "The depot holds 4,628 crates and 998 pallets, worth $87,040.01; 73 million more are due.",
        "The depot holds four thousand six hundred twenty eight crates and nine hundred ninety eight pallets, worth eighty \
         seven thousand forty dollars and one cent; seventy three million more are due.",
    );
    same(
        "Mr. Hale's World War II medal, dated 1906, sold for $700.",
        "Mister Hale's World War Two medal, dated nineteen oh six, sold for seven hundred dollars.",
    );
}

#[test]
fn initials_are_named_and_acronyms_spoken() {
    assert_eq!(phonemes("The IRS and NATO asked us about US AI rules."), ["ði ˌIˌɑɹˈɛs ænd nˈATO ˈæskt ˌʌs əbˈWt jˌuˈɛs ˈAˌI ɹˈulz."]);
    assert_eq!(phonemes("He asked us."), ["hˌi ˈæskt ˌʌs."]);
    assert_eq!(phonemes("He asked US."), ["hˌi ˈæskt jˌuˈɛs."]);
}

#[test]
fn typographic_marks_sound_like_plain_ones() {
    same("We’ve said they haven’t, won’t and shouldn’t.", "We've said they haven't, won't and shouldn't.");
    same("“Yes,” she said – ‘fine’…", "\"Yes,\" she said – 'fine'...");
    same("We were nearly... Ruth is waiting, so...", "We were nearly… Ruth is waiting, so…");
}

#[test]
fn invisible_characters_change_nothing() {
    same(
        "The gate opens at 9:00\u{202F}AM and shuts at 5:30\u{A0}PM. The bank\u{200B} opens\u{FEFF} now, al\u{AD}ways.",
        "The gate opens at 9:00 AM and shuts at 5:30 PM. The bank opens now, always.",
    );
    same("n\0ul and\u{1} bell", "nul and bell");
}

#[test]
fn nothing_to_speak_is_said_so() {
    for text in ["", " ", "…", "—", "*", "()", ".", "😀🎉", "\0\u{200B}", "<speak></speak>", "\"'\"", "<break time=\"1s\"/>"] {
        assert_eq!(english().read(text), Err(ReadError::NothingToSpeak), "{text:?}");
    }
    assert_eq!(phonemes("8..."), ["ˈAt…"]);
    assert_eq!(phonemes("9"), ["nˈIn."]);
}

#[test]
fn drawn_out_words_are_bounded() {
    assert_eq!(phonemes(&format!("HEY{}{}", "Y".repeat(29), "!".repeat(22))), ["hˈA!"]);
    assert_eq!(phonemes(&format!("RAW{}", "R".repeat(1500))), ["ˈrawr."]);
    assert_eq!(phonemes("That is sooo cooool"), phonemes("That is so cool"));
}

#[test]
fn tags_are_silent_and_breaks_are_kept() {
    assert_eq!(phonemes("<speak>Wait here. <break time=\"500ms\"/> Now go.</speak>"), ["wˈAt hˈɪɹ.", "[500]", "nˈW ɡˌO."]);
    assert_eq!(phonemes("5 > 3")[0], phonemes("five greater than three")[0]);
}

#[test]
fn other_scripts_are_refused_or_reported() {
    let only = english().read("梨子").expect_err("no Latin letter");
    assert_eq!(only, ReadError::OnlyForeign { scripts: vec!["Han".to_owned()] });
    assert_eq!(only.to_string(), "the text is in Han script only and this voice speaks English");
    let mixed = english().read("the pear 梨子 is ripe").expect("Latin words");
    assert_eq!(mixed.warnings, ["2 characters in Han script were not spoken"]);
    same("the pear 梨子 is ripe", "the pear is ripe");
}

#[test]
fn unknown_words_go_to_the_speller() {
    assert_eq!(phonemes("My friend Vroklin met Zorvath at Qelm."), ["mˌI fɹˈɛnd ˈvroklin mˈɛt ˈzorvath æt ˈqelm."]);
    assert_eq!(phonemes("Vroklin's hat"), ["ˈvroklinz hˈæt."]);
    assert_eq!(phonemes("ZORVATHS"), ["ˈzorvaths."]);
}

#[test]
fn accents_are_letters() {
    same("a café, naïve, Zoë’s", "a cafe, naive, Zoe's");
    assert_eq!(phonemes("Dvořák"), ["ˈdvok."]);
}

#[test]
fn compounds_run_together() {
    assert_eq!(phonemes("well-known"), ["wˌɛlnˈOn."]);
    assert_eq!(phonemes("iPhone"), ["ˈIfˌOn."]);
    assert_eq!(phonemes("OpenAI"), ["ˌOpᵊnˈAˌI."]);
}

#[test]
fn words_that_depend_on_their_neighbours() {
    assert_eq!(phonemes("the apple, the pear"), ["ði ˈæpᵊl, ðə pˈɛɹ."]);
    assert_eq!(phonemes("They live to use it."), ["ðˌA lˈɪv tə jˈuz ɪt."]);
    assert_eq!(phonemes("No use, a live show."), ["nˈO jˈus, ɐ lˈIv ʃˈO."]);
}

#[test]
fn long_sentences_are_split_and_nothing_is_lost() {
    let text = "the baker left the oven open and the miller left the gate open and a grey horse walked through the square ".repeat(12);
    let reading = english().read(&text).expect("words");
    let mut words = String::new();
    for unit in &reading.units {
        let Unit::Speech { phonemes, text } = unit else { panic!("no pause was asked for") };
        let length = phonemes.chars().count();
        assert!((MAX_PHONEMES / 3..=MAX_PHONEMES).contains(&length), "{length}");
        words += &format!("{} ", text.trim_end_matches(['.', ',']));
    }
    assert_eq!(words.trim(), text.trim());
}

#[test]
fn splits_fall_on_marks_first() {
    let text = format!("{}word, and {}end.", "some words more ".repeat(14), "other things here ".repeat(14));
    let reading = english().read(&text).expect("words");
    assert_eq!(reading.units.len(), 2);
    assert!(matches!(&reading.units[0], Unit::Speech { text, .. } if text.ends_with("word,")));
}

#[test]
fn one_endless_word_is_spoken_in_pieces() {
    let word = "abcdefghij".repeat(300);
    let reading = english().read(&word).expect("letters");
    assert!(reading.units.len() > 5);
    assert!(reading.warnings.is_empty());
}
