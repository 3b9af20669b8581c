//! The speech endpoint: formats, headers, seeds, streams.

use std::io::Cursor;

use omni_tests::checks::lasts;
use omni_tests::sentences::long_text;
use omni_tests::server::Server;
use omni_tests::sound;
use omni_tests::speech::{self, RATE, Stream, ask, request, request_with, speak, speak_request, wav_bytes};
use omni_tests::wav::{HEADER_BYTES, Wav};
use serde_json::json;

const TEXT: &str = "The juice of lemons makes fine punch.";
const THREE_SENTENCES: &str = "The first sentence is here. The second one follows it. The third is the last.";

fn server() -> &'static Server {
    Server::shared()
}

#[test]
fn a_complete_file_has_true_sizes_and_other_readers_agree() {
    let file = wav_bytes(server(), &request(TEXT));
    let wav = Wav::read(&file).expect("true sizes");
    assert_eq!((wav.rate, wav.channels), (RATE, 1));
    let mut reader = hound::WavReader::new(Cursor::new(&file)).expect("another reader opens it");
    let samples: Vec<i16> = reader.samples().collect::<Result<_, _>>().expect("it reads every sample");
    assert_eq!(samples, wav.samples);
    assert!(sound::level_dbfs(&wav.samples) > -40.0, "the speech is not audible");
    sound::check_edges(&wav).expect("clean edges");
}

#[test]
fn raw_samples_are_the_file_without_its_header() {
    let file = wav_bytes(server(), &request(TEXT));
    let answer = ask(server(), &request_with(TEXT, &json!({"response_format": "pcm"})));
    speech::check_good(&answer, "audio/pcm");
    assert!(answer.body == file[HEADER_BYTES..], "the samples differ");
}

#[test]
fn a_file_is_what_comes_when_no_format_is_asked_for() {
    let answer = ask(server(), &json!({"input": TEXT, "seed": speech::SEED}));
    speech::check_good(&answer, "audio/wav");
    assert!(answer.body == wav_bytes(server(), &request(TEXT)), "the default is another file");
}

#[test]
fn model_and_voice_may_be_named_in_every_form() {
    let plain = wav_bytes(server(), &request(TEXT));
    for named in [
        json!({"model": "hibari", "voice": "heart"}),
        json!({"voice": "Heart"}),
        json!({"voice": {"id": "heart"}}),
        json!({"voice": "default"}),
        json!({"speaker": "heart"}),
    ] {
        assert!(wav_bytes(server(), &request_with(TEXT, &named)) == plain, "{named} gives other sound");
    }
}

#[test]
fn a_seed_gives_the_same_sound_again_and_another_seed_other_sound() {
    let with_seed = |seed: i64| speak_request(server(), &request_with(TEXT, &json!({"seed": seed})));
    let first = with_seed(1);
    assert!(first == with_seed(1), "the same seed gives other sound");
    assert!(first != with_seed(2), "another seed gives the same sound");
    assert!(with_seed(i64::MIN) != with_seed(i64::MAX), "the ends of the range are one seed");
}

#[test]
fn speed_changes_the_length() {
    let length = |speed: f64| speak_request(server(), &request_with(TEXT, &json!({"speed": speed}))).seconds();
    let (slow, plain, fast) = (length(0.5), length(1.0), length(2.0));
    assert!((1.4..=2.2).contains(&(slow / plain)), "half speed takes {slow:.2} s against {plain:.2} s");
    assert!((1.4..=2.2).contains(&(plain / fast)), "double speed takes {fast:.2} s against {plain:.2} s");
    for speed in [0.25, 4.0] {
        assert!(length(speed) > 0.0);
    }
}

#[test]
fn a_stream_joined_is_the_complete_body() {
    for text in [TEXT, THREE_SENTENCES] {
        let pieces = speech::check_stream_is_whole(server(), text);
        assert!(pieces >= text.matches('.').count(), "{pieces} pieces for {text}");
    }
}

#[test]
fn a_streamed_file_has_one_header_in_a_piece_of_its_own_and_open_sizes() {
    let pieces = Stream::open(server(), &request(THREE_SENTENCES)).pieces();
    assert_eq!(pieces[0].len(), HEADER_BYTES);
    let stream = pieces.concat();
    let headers = stream.windows(4).filter(|window| window == b"RIFF").count();
    assert_eq!(headers, 1);
    let wav = Wav::read_stream(&stream).expect("a header with open sizes");
    assert!(wav.samples == speak(server(), THREE_SENTENCES).samples, "stream and file differ");
    let pauses = sound::pauses(&wav, 300);
    assert_eq!(pauses.len(), 2, "a pause between sentences");
    // Where sentences meet there is silence as at the ends, and no click.
    let middles = pauses.iter().map(|pause| (pause.from + pause.to) / 2);
    let bounds: Vec<usize> = [0].into_iter().chain(middles).chain([wav.samples.len()]).collect();
    for bounds in bounds.windows(2) {
        let sentence = Wav { samples: wav.samples[bounds[0]..bounds[1]].to_vec(), ..wav };
        sound::check_edges(&sentence).expect("clean edges");
    }
}

#[test]
fn every_piece_of_a_stream_holds_whole_samples() {
    let mut stream = Stream::open(server(), &request_with(THREE_SENTENCES, &json!({"response_format": "pcm"})));
    assert_eq!(stream.head.header("content-type"), Some("audio/pcm"));
    assert!(stream.head.header("x-request-id").is_some());
    let pieces = stream.pieces();
    assert!(pieces.iter().all(|piece| piece.len() % 2 == 0), "{:?}", pieces.iter().map(Vec::len).collect::<Vec<_>>());
}

#[test]
fn a_stream_asks_proxies_to_pass_it_on_at_once() {
    let mut stream = Stream::open(server(), &request(TEXT));
    assert_eq!(stream.head.header("cache-control"), Some("no-store"));
    assert_eq!(stream.head.header("x-accel-buffering"), Some("no"));
    stream.pieces();
}

/// Measured by the server's own work, not by the clock: had it made everything before it sent anything, all work would be done.
#[test]
fn the_first_sound_is_sent_while_most_of_the_work_is_still_to_do() {
    let server = Server::start();
    speak(&server, TEXT);
    let before = server.cpu_ticks();
    let mut stream = Stream::open(&server, &request_with(&long_text(70), &json!({"response_format": "pcm"})));
    let first = stream.next_piece().expect("a first piece");
    let at_first_sound = server.cpu_ticks() - before;
    let rest = stream.pieces().concat();
    let in_all = server.cpu_ticks() - before;
    assert!(first.len() * 10 < rest.len(), "the first piece holds {} of {} bytes", first.len(), first.len() + rest.len());
    assert!(in_all >= 20, "too little work to tell: {in_all} ticks");
    assert!(at_first_sound * 2 < in_all, "{at_first_sound} of {in_all} ticks of work were done before the first sound");
}

#[test]
fn a_cold_start_speaks_the_first_request_like_any_other() {
    let fresh = Server::start();
    assert!(speak(&fresh, TEXT) == speak(server(), TEXT), "the first request after a start has other sound");
}

#[test]
fn emoji_and_markup_around_words_change_nothing_that_is_heard() {
    let (decorated, plain) = (speak(server(), "Good morning 😀 everyone. 🎉"), speak(server(), "Good morning everyone."));
    lasts(&decorated, plain.seconds() * 0.9, plain.seconds() * 1.1);
}
