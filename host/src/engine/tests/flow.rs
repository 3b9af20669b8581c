//! Audio flows: whole, in order, side by side, no further ahead than its reader, and not at all once that has left.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::double::{FRAME, sample};
use super::{House, SpeechError, StageSettings, failure};
use crate::engine::chunks::{ChunkRules, Growth};

/// What `frames=N` sounds like.
fn expected(frames: usize) -> Vec<f32> {
    (0..frames).flat_map(|index| vec![sample(index, index as i32); FRAME]).collect()
}

#[tokio::test]
async fn a_request_is_spoken_whole_and_in_order() {
    let house = House::new(4);
    let mut stream = house.start("frames=37").await.expect("the house is empty");
    let mut samples = Vec::new();
    while let Some(piece) = stream.next().await {
        samples.extend(piece.expect("the double does as told"));
    }
    assert_eq!(samples, expected(37));
    assert_eq!(stream.finish().map(|finish| finish.generated), Some(37));
    assert!(stream.next().await.is_none());
    drop(stream);
    house.until_free().await;
}

#[tokio::test]
async fn a_stage_works_on_the_thread_that_opened_it_also_when_opened_again() {
    let house = House::new(4);
    assert_eq!(house.speak("frames=5").await, Ok(expected(5)));
    failure(house.speak("frames=9 panic-at=1").await);
    assert_eq!(house.speak("frames=5").await, Ok(expected(5)));
    assert!(house.counters.opened.load(Ordering::SeqCst) > 2, "the stage that panicked was not opened again");
    assert_eq!(house.counters.strayed.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_sound_as_alone_and_share_steps() {
    let house = std::sync::Arc::new(House::new(64));
    let speak = |frames: usize| {
        let house = std::sync::Arc::clone(&house);
        tokio::spawn(async move { house.speak(&format!("frames={frames}")).await })
    };
    let tasks: Vec<_> = (20..60).map(|frames| (frames, speak(frames))).collect();
    for (frames, task) in tasks {
        let samples = task.await.expect("the task lives").expect("there is room for all");
        assert_eq!(samples, expected(frames));
    }
    assert!(house.counters.largest_batch.load(Ordering::SeqCst) > 1, "requests were never stepped together");
    house.until_free().await;
}

#[tokio::test]
async fn a_reader_that_stops_holds_its_own_request_back_and_no_other() {
    let house = House::new(4);
    let mut slow = house.start("frames=3000").await.expect("the house is empty");
    slow.next().await.expect("there is audio").expect("the double does as told");
    assert_eq!(house.speak("frames=30").await, Ok(expected(30)));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let made = house.counters.frames_made.load(Ordering::SeqCst) - 30;
    assert!(made < 60, "{made} frames were made for a reader that took one");
    let mut samples = FRAME;
    while let Some(piece) = slow.next().await {
        samples += piece.expect("it goes on where it stopped").len();
    }
    assert_eq!(samples, 3000 * FRAME);
}

#[tokio::test]
async fn a_reader_that_leaves_frees_both_stages() {
    let house = House::new(4);
    for round in 0..20 {
        let mut stream = house.start("frames=100000").await.expect("there is room");
        for _ in 0..round % 3 {
            stream.next().await.expect("there is audio").expect("the double does as told");
        }
        drop(stream);
    }
    house.until_free().await;
    let steps = house.counters.talker_steps.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(house.counters.talker_steps.load(Ordering::SeqCst), steps, "a stage steps although nobody listens");
    assert_eq!((house.served.running(), house.served.waiting()), (0, 0));
}

#[tokio::test]
async fn past_the_queue_a_request_is_told_when_to_come_back() {
    let house = House::new(2);
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(house.start("frames=100000").await.expect("eight run and two wait"));
    }
    assert!(matches!(house.start("frames=1").await, Err(SpeechError::Overloaded { retry_after_s: 1.. })));
    assert!(house.served.has_room().is_err());
    held.pop();
    assert!(house.served.has_room().is_ok(), "a place that was left is free again");
    held.clear();
    assert_eq!(house.speak("frames=3").await, Ok(expected(3)));
}

#[tokio::test]
async fn a_request_without_audio_is_a_failure_and_never_an_empty_success() {
    let house = House::new(2);
    assert_eq!(failure(house.speak("frames=0").await), "TTS model did not produce audio output.");
    assert_eq!(house.speak("frames=1").await, Ok(expected(1)));
}

#[tokio::test]
async fn waiting_for_an_idle_house_ends_with_its_last_request() {
    let house = House::new(2);
    let mut stream = house.start("frames=50").await.expect("the house is empty");
    assert!(tokio::time::timeout(Duration::from_millis(50), house.served.idle()).await.is_err());
    while let Some(piece) = stream.next().await {
        piece.expect("the double does as told");
    }
    drop(stream);
    tokio::time::timeout(Duration::from_secs(5), house.served.idle()).await.expect("nobody is inside");
}

#[tokio::test]
async fn settings_narrow_slots_and_size_the_first_steps() {
    let talker = StageSettings { max_seqs: Some(1), ..StageSettings::default() };
    let chunks = ChunkRules { growth: Growth::Ramp(vec![1, 3]), steady: vec![4], first: None };
    let codec = StageSettings { chunks, ..StageSettings::default() };
    let house = House::with(4, vec![talker, codec]);
    let (left, right) = tokio::join!(house.speak("frames=12"), house.speak("frames=9"));
    assert_eq!((left, right), (Ok(expected(12)), Ok(expected(9))));
    assert_eq!(house.counters.largest_batch.load(Ordering::SeqCst), 1, "one slot holds one sequence");
}

#[tokio::test]
async fn a_stage_that_waits_for_all_starts_when_the_one_in_front_has_finished() {
    let codec = StageSettings { waits_for_all: true, ..StageSettings::default() };
    let house = House::with(4, vec![StageSettings::default(), codec]);
    let mut stream = house.start("frames=300").await.expect("the house is empty");
    stream.next().await.expect("there is audio").expect("the double does as told");
    assert_eq!(house.counters.frames_made.load(Ordering::SeqCst), 300, "audio came before the last frame was made");
    drop(stream);
    assert_eq!(house.speak("frames=20").await, Ok(expected(20)));
}
