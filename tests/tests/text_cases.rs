//! How texts are read: numbers, initials, marks, markup, scripts. Each text was once read wrongly by some server.

use std::thread;

use omni_tests::asr::{self, hear};
use omni_tests::checks::{self, Baseline, lasts, same_reading};
use omni_tests::server::Server;
use omni_tests::sound;
use omni_tests::speech::{self, RATE, request, speak};
use omni_tests::wav::Wav;
use omni_tests::words::{self, ErrorCount, assert_heard, assert_heard_only, assert_not_heard};

fn server() -> &'static Server {
    Server::shared()
}

#[test]
fn large_numbers_and_money_are_read_in_full() {
    same_reading(
        server(),
        "The depot holds 4,628 crates and 998 pallets, worth $87,040.01; 73 million more are due.",
        "The depot holds four thousand six hundred twenty eight crates and nine hundred ninety eight pallets, worth eighty seven thousand \
         forty dollars and one cent; seventy three million more are due.",
    );
}

#[test]
fn titles_wars_years_and_prices_are_read_as_people_do() {
    same_reading(
        server(),
        "Mr. Hale's World War II medal, dated 1906, sold for $700.",
        "Mister Hale's World War Two medal, dated nineteen oh six, sold for seven hundred dollars.",
    );
}

#[test]
fn phone_numbers_hours_negatives_and_dates_are_read() {
    let heard = hear(&speak(server(), "Ring 202-555-0143 at 4:00; it was -7 on 2023/11/02."));
    assert_heard(&heard, "ring 2 0 2 5 5 5 0 1 4 3");
    assert_heard(&heard, "four o'clock minus seven");
    assert_heard(&heard, "it was minus seven on november");
    assert!(heard.iter().any(|word| word == "november"), "the date is not read as one: {heard:?}");
    assert_not_heard(&heard, "slash dash hyphen");
}

#[test]
fn initials_are_spelled_acronyms_are_words_and_the_pronoun_stays() {
    assert_heard(&hear(&speak(server(), "The IRS and NATO asked us about US AI rules.")), "the IRS and NATO asked us about US AI rules");
    let (pronoun, country) = (speak(server(), "He asked us.").seconds(), speak(server(), "He asked US.").seconds());
    assert!((pronoun - country).abs() >= 0.1, "the pronoun and the country are read alike: {pronoun:.2} s, {country:.2} s");
}

#[test]
fn curly_apostrophes_equal_straight_ones() {
    let curly = speech::wav_bytes(server(), &request("We’ve said they haven’t, won’t and shouldn’t."));
    let straight = speech::wav_bytes(server(), &request("We've said they haven't, won't and shouldn't."));
    assert!(curly == straight, "the bodies differ");
}

#[test]
fn marks_alone_are_refused_and_digits_alone_are_spoken() {
    for marks in ["…", "—", "*", "()", "."] {
        checks::error(&speech::ask(server(), &request(marks)), 400, "input");
    }
    same_reading(server(), "8...", "Eight...");
    same_reading(server(), "9", "Nine");
}

#[test]
fn short_texts_are_whole_and_hold_nothing_of_other_requests() {
    let madam = speak(server(), "good day madam");
    assert_heard_only(&hear(&madam), "good day madam");
    for short in [&madam, &speak(server(), "Hi"), &speak(server(), "OK")] {
        lasts(short, 0.5, 1.9);
    }
    let first_after_start = speech::wav_bytes(&Server::start(), &request("good day"));
    for _ in 0..5 {
        assert!(speech::wav_bytes(server(), &request("good day")) == first_after_start, "the same request has another answer");
    }
}

#[test]
fn drawn_out_letters_and_marks_stay_in_proportion() {
    let server = Server::start();
    let baseline = Baseline::of(&server);
    lasts(&speak(&server, &format!("HEY{}{}", "Y".repeat(29), "!".repeat(22))), 0.3, 4.0);
    let long = speech::ask(&server, &request(&format!("RAW{}", "R".repeat(1500))));
    match long.status {
        200 => lasts(&Wav::read(&long.body).expect("a good file"), 0.3, 10.0),
        _ => drop(checks::error(&long, 400, "input")),
    }
    baseline.check(&server);
}

#[test]
fn a_countdown_is_read_number_by_number() {
    let text = "10. 9. 8. 7. 6. 5. 4. 3. 2. 1. Lift off.";
    let clip = speak(server(), text);
    assert_heard_only(&hear(&clip), "ten nine eight seven six five four three two one lift off");
    lasts(&clip, 6.0, 14.0);
    speech::check_stream_is_whole(server(), text);
}

#[test]
fn markup_is_structure_and_is_not_read_out() {
    let text =
        "# Packing list\n\n- **Rope**, two lengths\n- *Warm* gloves\n\nRun `ls -l`, then see [the map](https://www.example.com/a/b).";
    let heard = hear(&speak(server(), text));
    assert_heard(&heard, "packing list rope two lengths warm gloves run");
    assert_heard(&heard, "then see the map");
    assert_not_heard(&heard, "hash hashtag pound asterisk star backtick bracket example dot slash");
}

#[test]
fn an_ellipsis_is_a_pause_however_it_is_typed() {
    let [dots, sign] =
        ["We were nearly... Ruth is waiting, so...", "We were nearly… Ruth is waiting, so…"].map(|text| speak(server(), text));
    for clip in [&dots, &sign] {
        assert_pause_after(clip, "nearly", 250);
        sound::check_edges(clip).expect("clean edges");
    }
    let difference = (dots.seconds() - sign.seconds()).abs();
    assert!(difference <= 0.03 * dots.seconds(), "the spellings differ by {difference:.2} s");
}

#[test]
fn a_sentence_ends_at_etc_but_not_at_a_title() {
    let text = "Bring rope, tape, etc. Whether it is steel (or brass) does not matter. Dr. Lin of Acme Inc. agrees, e.g. on cost.";
    let clip = speak(server(), text);
    assert_heard(&hear(&clip), "whether it is steel or brass does not matter");
    assert_pause_after(&clip, "cetera", 250);
    let before_pauses = words_before_pauses(&clip, 260);
    let inside = before_pauses.iter().find(|(word, _)| word == "doctor" || word == "incorporated");
    assert_eq!(inside, None, "a pause inside a sentence");
}

#[test]
fn a_break_is_a_pause_and_tags_are_not_read_out() {
    let clip = speak(server(), "<speak>Wait here. <break time=\"500ms\"/> Now go.</speak>");
    let heard = hear(&clip);
    assert_heard(&heard, "wait here now go");
    assert_not_heard(&heard, "less greater speak break milliseconds slash equals");
    assert_pause_after(&clip, "here", 500);
}

#[test]
fn unicode_spaces_are_spaces_and_invisible_marks_are_nothing() {
    let odd = "The gate opens at 9:00\u{202F}AM and shuts at 5:30\u{A0}PM. The bank\u{200B} opens\u{FEFF} now, al\u{AD}ways.";
    let plain = "The gate opens at 9:00 AM and shuts at 5:30 PM. The bank opens now, always.";
    assert!(speak(server(), odd) == speak(server(), plain), "the readings differ");
}

#[test]
fn a_script_the_voice_cannot_read_is_refused_or_its_loss_is_shown() {
    let refused = checks::error(&speech::ask(server(), &request("梨子")), 400, "input");
    assert!(refused.contains("Han") && refused.contains("English"), "script and language are not named: {refused}");

    let mixed = speech::ask(server(), &request("the pear 梨子 is ripe"));
    speech::check_good(&mixed, "audio/wav");
    assert!(mixed.header("x-text-warnings").is_some_and(|warning| !warning.is_empty()), "no sign of the loss: {:?}", mixed.headers);
    let (clip, plain) = (Wav::read(&mixed.body).expect("a good file"), speak(server(), "the pear is ripe"));
    let ratio = clip.seconds() / plain.seconds();
    assert!((0.9..=1.1).contains(&ratio), "{ratio:.2} of the length without the foreign word");
    assert_heard_only(&hear(&clip), "the pear is ripe");
}

#[test]
fn a_long_text_without_marks_is_read_to_its_end_at_one_level() {
    let text = include_str!("long_text_without_marks.txt").trim();
    let clip = speak(server(), text);
    lasts(&clip, 26.0, 38.0);
    let heard = hear_in_parts(&clip);
    let errors = ErrorCount::between(&words::fold(text), &heard);
    assert!(errors.rate() <= 0.1, "{} of {} words wrong: {heard:?}", errors.wrong, errors.of);
    assert_heard(&heard[heard.len().saturating_sub(8)..], "written about the new bridge");
    let quarter = clip.samples.len() / 4;
    let (first, last) = (sound::level_dbfs(&clip.samples[..quarter]), sound::level_dbfs(&clip.samples[3 * quarter..]));
    assert!((first - last).abs() <= 6.0, "the level goes from {first:.1} to {last:.1} dBFS");
    speech::check_stream_is_whole(server(), text);
}

#[test]
fn words_outside_the_lexicon_make_sound() {
    let answer = speech::ask(server(), &request("My friend Vroklin met Zorvath at Qelm."));
    speech::check_good(&answer, "audio/wav");
    assert_eq!(answer.header("x-text-warnings"), None, "a word was reported as dropped");
    let (with, without) = (Wav::read(&answer.body).expect("a good file").seconds(), speak(server(), "My friend met at.").seconds());
    assert!(with >= without + 0.7, "three names take {:.2} s", with - without);
}

#[test]
fn the_end_is_silent_whatever_the_last_mark() {
    for text in ["Ready", "Ready.", "Ready!", "Ready?", "Ready…"] {
        let clip = speak(server(), text);
        sound::check_edges(&clip).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        let tail = sound::tail_dbfs(&clip, 200);
        assert!(tail <= -60.0, "{text}: the last 200 ms are at {tail:.1} dBFS");
    }
}

#[test]
fn requests_at_the_same_time_have_the_answers_they_have_alone() {
    let texts = ["Parcel forty one is ready.", "Parcel seventy two is ready.", "Parcel nineteen is ready."];
    let alone = texts.map(|text| speech::wav_bytes(server(), &request(text)));
    let together = texts.map(|text| thread::spawn(move || speech::wav_bytes(server(), &request(text))));
    for (alone, together) in alone.iter().zip(together) {
        assert!(*alone == together.join().expect("an answer"), "another answer in company");
    }
}

/// Fails unless a pause of this length follows the word. Where a pause lies is told by recognising what comes before it.
fn assert_pause_after(clip: &Wav, word: &str, ms: usize) {
    let found = words_before_pauses(clip, 100);
    let long_enough = found.iter().any(|(before, length)| before == word && *length >= ms);
    assert!(long_enough, "no pause of {ms} ms after {word:?}: {found:?}");
}

/// Each pause of at least `min_ms`: the last word heard before it, and its length.
fn words_before_pauses(clip: &Wav, min_ms: usize) -> Vec<(String, usize)> {
    let before = |pause: &sound::Pause| hear(&clip.part(0, pause.from)).pop().unwrap_or_default();
    sound::pauses(clip, min_ms).iter().map(|pause| (before(pause), pause.ms)).collect()
}

/// The recogniser looks at 30 s at a time: a longer clip is cut in the pause nearest to its middle.
fn hear_in_parts(clip: &Wav) -> Vec<String> {
    assert_eq!(clip.rate, RATE);
    let middle = clip.samples.len() / 2;
    let pause = sound::pauses(clip, 30).into_iter().min_by_key(|pause| pause.from.abs_diff(middle)).expect("a pause between two words");
    let cut = pause.from.midpoint(pause.to);
    [clip.part(0, cut), clip.part(cut, clip.samples.len())].iter().flat_map(|part| words::fold(&asr::transcript(part))).collect()
}
