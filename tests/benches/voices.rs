//! Ten thousand stored voices: `cargo bench -p omni-tests --bench voices`.
//!
//! A real release binary on a folder of voices. Start is from spawning the process to the first 200 of `/ready`; a listing is all of them.

use std::path::Path;
use std::time::{Duration, Instant};

use omni_host::reference::Clip;
use omni_host::voices::{NewVoice, Sample, VoiceName, file_of, write};
use omni_tests::http;
use omni_tests::server::Server;
use omni_tests::upload::VOICES;

const STORED: usize = 10_000;
const ROUNDS: usize = 15;
/// Samples of a clip: a second at a low rate, so that the folder stays small.
const SAMPLES: usize = 2000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path());
    let place = folder.path().to_str().expect("a path");
    let starts = (0..5).map(|_| {
        let started = Instant::now();
        let server = Server::start_with(&["--voices", place]);
        (started.elapsed(), server)
    });
    let starts: Vec<Duration> = starts.map(|(time, _)| time).collect();
    report("start to ready with 10,000 voices", median(starts));
    let server = Server::start_with(&["--voices", place]);
    let listings = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        let answer = http::get(&server.url(VOICES));
        let time = started.elapsed();
        assert_eq!(answer.json()["uploaded_voices"].as_array().map(Vec::len), Some(STORED));
        time
    });
    report("listing of 10,000 voices", median(listings.collect()));
    println!("{:<58} {:>9.1} MB", "resident memory afterwards", server.rss_bytes() as f64 / 1e6);
}

/// Writes the files as a server does, without waiting for the disk each time.
fn store(folder: &Path) {
    for number in 0..STORED {
        let name = VoiceName::read(&format!("voice {number}")).expect("a name");
        let clip = Clip::new(vec![0.1; SAMPLES], 2000);
        let voice = NewVoice {
            consent: "consent".to_owned(),
            mime_type: "audio/wav".to_owned(),
            original_filename: "clip.wav".to_owned(),
            file_size: Some(4044),
            ref_text: Some("What is said in it.".to_owned()),
            speaker_description: None,
            sample: Sample::Audio(clip),
            name,
        };
        let file = file_of(voice.name.key());
        let (_, bytes) = write(&voice, 1_700_000_000 + number as u64, &file).expect("a file");
        std::fs::write(folder.join(file), bytes).expect("the file is written");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn report(what: &str, time: Duration) {
    println!("{what:<58} {:>9.1} ms", time.as_secs_f64() * 1e3);
}
