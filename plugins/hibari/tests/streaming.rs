//! Any cut of an utterance sounds like the whole, and threads may share a voice.

mod common;

use common::{Golden, gap};
use hibari::acoustic::FRAME_WIDTH;
use hibari::{Acoustic, Utterance, Vocoder};

fn voice() -> Acoustic {
    Acoustic::embedded().expect("the embedded weights load")
}

fn sentence(voice: &Acoustic) -> Utterance {
    voice.encode(&Golden::open("sentence").ids(), 1.0).expect("golden ids are valid")
}

/// Speaks an utterance in pieces of these sizes, over and over, then ends it with an empty last piece.
fn in_pieces(vocoder: &Vocoder, utterance: &Utterance, sizes: &[usize]) -> Vec<f32> {
    let (mut state, mut out, mut rest) = (vocoder.start(1, 0), Vec::new(), utterance.frames.as_slice());
    for size in sizes.iter().cycle() {
        let (now, later) = rest.split_at((size * FRAME_WIDTH).min(rest.len()));
        vocoder.decode(&mut state, now, false, &mut out);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    vocoder.decode(&mut state, &[], true, &mut out);
    out
}

fn whole(vocoder: &Vocoder, utterance: &Utterance) -> Vec<f32> {
    let (mut state, mut out) = (vocoder.start(1, 0), Vec::new());
    vocoder.decode(&mut state, &utterance.frames, true, &mut out);
    out
}

fn to_pcm(wave: &[f32]) -> Vec<i16> {
    wave.iter().map(|sample| (sample.clamp(-1.0, 1.0) * 32767.0).round() as i16).collect()
}

#[test]
fn any_cut_sounds_like_the_whole() {
    let voice = voice();
    let utterance = sentence(&voice);
    let expected = whole(voice.vocoder(), &utterance);
    for sizes in [&[1][..], &[5], &[7, 1, 30], &[24, 40, 80], &[29], &[64], &[100], &[1000]] {
        let streamed = in_pieces(voice.vocoder(), &utterance, sizes);
        let error = gap(&streamed, &expected);
        println!("{sizes:?}: {error:.1e}, equal bits: {}", streamed == expected);
        assert!(error <= 1e-5, "{sizes:?}: {error}");
        let steps = to_pcm(&streamed).into_iter().zip(to_pcm(&expected));
        assert!(steps.map(|(left, right)| left.abs_diff(right)).max() <= Some(1), "{sizes:?}");
    }
}

#[test]
fn utterances_shorter_than_the_context_are_spoken() {
    let voice = voice();
    let sentence = sentence(&voice);
    for length in [0, 1, 2, 3, 5, 28] {
        let utterance = Utterance { frames: sentence.frames[..length * FRAME_WIDTH].to_vec(), durations: Vec::new() };
        let expected = whole(voice.vocoder(), &utterance);
        assert_eq!(expected.len(), length * 300);
        assert!(expected.iter().all(|sample| sample.is_finite()));
        if length > 0 {
            assert!(gap(&in_pieces(voice.vocoder(), &utterance, &[1]), &expected) <= 1e-5, "{length}");
        }
    }
}

#[test]
fn a_seed_decides_the_noise() {
    let voice = voice();
    let utterance = sentence(&voice);
    let speak = |seed, unit| {
        let (mut state, mut out) = (voice.vocoder().start(seed, unit), Vec::new());
        voice.vocoder().decode(&mut state, &utterance.frames, true, &mut out);
        out
    };
    assert_eq!(speak(5, 0), speak(5, 0));
    assert_ne!(speak(5, 0), speak(6, 0));
    assert_ne!(speak(5, 0), speak(5, 1));
}

#[test]
fn the_first_audio_needs_few_frames() {
    let voice = voice();
    let utterance = sentence(&voice);
    let (mut state, mut out) = (voice.vocoder().start(1, 0), Vec::new());
    voice.vocoder().decode(&mut state, &utterance.frames[..40 * FRAME_WIDTH], false, &mut out);
    assert_eq!(out.len(), 11 * 300);
}

#[test]
fn two_threads_share_a_voice() {
    let voice = voice();
    let utterance = sentence(&voice);
    let expected = whole(voice.vocoder(), &utterance);
    std::thread::scope(|scope| {
        let decoding = scope.spawn(|| whole(voice.vocoder(), &utterance));
        let encoding = scope.spawn(|| sentence(&voice));
        assert_eq!(decoding.join().expect("decodes"), expected);
        assert_eq!(encoding.join().expect("encodes"), utterance);
    });
}

#[test]
fn bad_ids_and_speeds_are_refused() {
    let voice = voice();
    let refused = |ids: &[u8], speed| voice.encode(ids, speed).expect_err("refused").to_string();
    assert_eq!(refused(&[], 1.0), "there are no phonemes to speak");
    assert_eq!(refused(&[0, 178, 0], 1.0), "phoneme id 178 is out of range, expected less than 178");
    assert_eq!(refused(&[0, 50, 0], 5.0), "speed 5 is out of range, expected 0.25 to 4");
    assert_eq!(refused(&[0, 50, 0], f32::NAN), "speed NaN is out of range, expected 0.25 to 4");
}
