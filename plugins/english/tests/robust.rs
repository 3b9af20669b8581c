//! Whatever comes in: no panic, only the model's alphabet, no word lost, no text that takes its square in time.

mod common;

use std::time::{Duration, Instant};

use common::english;
use omni_english::{MAX_PHONEMES, ReadError, Unit};
use proptest::prelude::*;

const ALPHABET: &str =
    ";:,.!?—…\"()“” \u{303}ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ";

fn holds(text: &str) {
    let reading = match english().read(text) {
        Ok(reading) => reading,
        Err(ReadError::NothingToSpeak | ReadError::OnlyForeign { .. }) => return,
    };
    for unit in &reading.units {
        if let Unit::Speech { phonemes, text: words } = unit {
            assert!(phonemes.chars().all(|c| ALPHABET.contains(c)), "{phonemes:?}");
            assert!(phonemes.chars().count() <= MAX_PHONEMES, "{}", phonemes.chars().count());
            assert!(phonemes.chars().any(|c| !" ˈˌː.,!?;:—…\"()“”".contains(c)), "{phonemes:?} for {words:?}");
        }
    }
    assert!(reading.warnings.iter().all(|warning| warning.is_ascii() && !warning.contains('\n')));
}

/// Pieces that meet the rules, glued without regard.
fn written() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[0-9]{1,9}",
        "[.,:;/$%€°'\"()<>&@#+=*~^_|-]{1,3}",
        "[A-Za-z]{1,8}",
        "[IVXLCDM]{1,4}",
        Just(" ".to_owned()),
        prop::sample::select(vec![
            "Dr.",
            "No.",
            "p.m.",
            "U.S.",
            "km/h",
            "World War",
            "http://",
            "www.",
            ".com",
            "½",
            "…",
            "’",
            "—",
            "\u{301}",
            "é",
            "ﬁ",
            "K",
            "İ",
            "ß",
            "👋🏽",
            "<break",
            "/>",
            "time=\"1s\"",
            "&amp;",
            "梨",
            "π",
            "٣",
            "Ⅳ",
            "\u{200D}",
            "\n",
            "ing",
            "'s",
            "s'",
            "ed",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_mixture_of_written_things_is_read(text in written()) {
        holds(&text);
    }

    #[test]
    fn every_plain_word_makes_a_sound(words in prop::collection::vec("[a-z]{2,12}", 1..12)) {
        let text = words.join(" ");
        let reading = english().read(&text).expect("letters only");
        prop_assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
        let spoken: usize = reading.units.iter().map(|unit| match unit {
            Unit::Speech { phonemes, .. } => phonemes.split(' ').filter(|word| word.chars().any(char::is_alphabetic)).count(),
            Unit::Pause(_) => 0,
        }).sum();
        prop_assert!(spoken >= words.len(), "{spoken} of {}", words.len());
    }
}

#[test]
fn texts_that_once_looked_dangerous() {
    let texts = [
        "aéing",
        "éing s",
        "İs",
        "ſs",
        "ǆ",
        "K's",
        "ß'",
        "'",
        "''s",
        "-",
        "--'s",
        "n't",
        "'ll",
        "s'",
        "x'",
        "éed",
        "日本's",
        "a\u{301}\u{301}'s",
        "<",
        "</",
        "<a",
        "<a b=",
        "<break time=",
        "&#x110000;",
        "&#xD800;",
        "&;",
        "$.",
        "$,",
        "1,",
        ".1.",
        "1..2",
        "1:",
        ":1",
        "0/0",
        "1/0",
        "99999999999999999999",
        "99999999999999999999th",
        "18446744073709551616",
        "4294967296:99",
        "0.0.0.0.0",
        "IIIIIIIIIIIIIIIIIIII",
        "MMMMMMMMMMMMMMMMMMMMMMMM",
        "World War MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
        "()()()",
        "“”“”",
        "[](",
        "![]()",
        "http://",
        "www.",
        "@",
        "#",
        "\u{E000}AB",
        "\u{E000}",
        "ﷺ",
        "\u{1F1FA}\u{1F1F8}",
        "e\u{301}",
        "\u{FFFD}",
        "\u{10FFFF}",
    ];
    texts.iter().for_each(|text| holds(text));
}

#[test]
fn time_grows_with_length_and_no_faster() {
    let seeds = [
        "a",
        "a. ",
        "a.B",
        "<a ",
        "<!-- <b> ",
        "&a",
        "1",
        "1,",
        "1-",
        "a\n",
        "\"'",
        "http://a.b/",
        "$5",
        "II ",
        "(",
        "@a.",
        "word ",
        "é",
        "Dr. A ",
    ];
    for seed in seeds {
        let took = |bytes: usize| {
            let text = seed.repeat(bytes / seed.len());
            let start = Instant::now();
            holds(&text);
            start.elapsed()
        };
        let (short, long) = (took(20_000), took(200_000));
        assert!(long < short * 40 + Duration::from_millis(400), "{seed:?}: {short:?}, then {long:?}");
    }
}
