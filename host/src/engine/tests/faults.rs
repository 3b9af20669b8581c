//! Whatever a plugin does, its own requests fail with a reason and the engine goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use omni_plugin_api::Device;

use super::{House, PATIENCE, SpeechError, StageSettings, failure};
use crate::engine::ModelState;
use crate::engine::pipeline::Patience;

#[tokio::test]
async fn one_sequence_fails_and_the_others_go_on() {
    let house = House::new(4);
    let (bad, good) = tokio::join!(house.speak("frames=40 fail-at=7"), house.speak("frames=40"));
    assert!(failure(bad).contains("as told"));
    assert!(good.is_ok());
    house.until_free().await;
    assert_eq!(house.counters.opened.load(Ordering::SeqCst), 2, "no stage was opened anew");
}

#[tokio::test]
async fn data_that_cannot_be_fails_its_own_sequence_with_a_reason() {
    let house = House::new(4);
    let cases = [
        ("frames=9 wrong-kind-at=2", "gave Tokens where it declares Codes"),
        ("frames=9 malformed-at=2", "does not fill its shape"),
        ("frames=9 nan-at=2", "not finite"),
    ];
    for (text, reason) in cases {
        let (bad, good) = tokio::join!(house.speak(text), house.speak("frames=20"));
        let message = failure(bad);
        assert!(message.contains(reason), "{text}: {message}");
        assert!(good.is_ok(), "{text} harmed another request: {good:?}");
    }
    house.until_free().await;
}

#[tokio::test]
async fn a_stage_that_panics_lies_or_floods_is_opened_anew() {
    for (text, reason) in
        [("panic-at=3", "panicked in step: as told at frame 3"), ("lie-at=3", "does not hold"), ("flood-at=3", "more than")]
    {
        let house = House::new(4);
        let message = failure(house.speak(&format!("frames=9 {text}")).await);
        assert!(message.contains(reason), "{text}: {message}");
        assert!(message.contains("plugin 'double'"), "{message}");
        assert!(house.speak("frames=9").await.is_ok(), "{text} left the stage broken");
        assert_eq!(house.counters.opened.load(Ordering::SeqCst), 3);
    }
}

/// A house of which a replica that failed is closed for so long.
fn house_that_reopens_after(reopen: Duration, settings: Vec<StageSettings>) -> House {
    House::with_patience(settings, Patience { reopen, ..PATIENCE })
}

/// The message of an outcome that must be a refusal for now.
fn unavailable(outcome: Result<Vec<f32>, SpeechError>) -> String {
    match outcome {
        Err(SpeechError::Unavailable { message, .. }) => message,
        other => panic!("expected to be refused for now, got {other:?}"),
    }
}

#[tokio::test]
async fn three_faults_in_a_row_close_the_only_replica_and_a_success_between_them_does_not() {
    let house = house_that_reopens_after(Duration::from_secs(600), Vec::new());
    for _ in 0..2 {
        failure(house.speak("frames=9 panic-at=1").await);
        failure(house.speak("frames=9 panic-at=1").await);
        assert!(house.speak("frames=2").await.is_ok());
    }
    for _ in 0..3 {
        failure(house.speak("frames=9 panic-at=1").await);
    }
    assert!(unavailable(house.speak("frames=2").await).contains("unhealthy: too many faults in a row"));
    assert!(matches!(house.loading.status().state, ModelState::Unhealthy(_)));
    assert!(house.served.has_room().is_err());
    let pulses = house.served.pulses();
    assert!(matches!(&pulses[0].closed, Some(reason) if reason.contains("panicked in step")), "{pulses:?}");
    assert_eq!(pulses[1].closed, None);
}

#[tokio::test]
async fn a_closed_replica_is_opened_again_and_the_model_is_healthy_again() {
    let house = house_that_reopens_after(Duration::from_millis(20), Vec::new());
    for _ in 0..3 {
        failure(house.speak("frames=9 panic-at=1").await);
    }
    house.until("a third opening of the talker", |counters| counters.opened.load(Ordering::SeqCst) >= 5).await;
    for _ in 0..1_000 {
        if house.served.has_room().is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(house.speak("frames=9").await.is_ok());
    assert_eq!(house.loading.status().state, ModelState::Ready);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_hangs_fails_everyone_inside_and_closes_the_replica() {
    let house = Arc::new(house_that_reopens_after(Duration::from_secs(600), Vec::new()));
    let other = tokio::spawn({
        let house = Arc::clone(&house);
        async move { house.speak("frames=1000000").await }
    });
    let message = unavailable(house.speak("frames=9 hang-at=3").await);
    assert!(message.contains("did not return from step of stage 'talker'"), "{message}");
    unavailable(other.await.expect("the task lives"));
    assert!(matches!(house.start("frames=1").await, Err(SpeechError::Unavailable { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_replica_of_two_hangs_and_the_other_goes_on() {
    let two = StageSettings { devices: vec![Device::Cpu; 2], ..StageSettings::default() };
    let house = Arc::new(house_that_reopens_after(Duration::from_millis(20), vec![two.clone(), two]));
    assert_eq!(house.counters.opened.load(Ordering::SeqCst), 4, "two replicas of two stages");
    let hung = tokio::spawn({
        let house = Arc::clone(&house);
        async move { house.speak("frames=9 hang-at=3").await }
    });
    house.until("a hanging step", |counters| counters.frames_made.load(Ordering::SeqCst) >= 3).await;
    for _ in 0..5 {
        assert!(house.speak("frames=30").await.is_ok(), "a request was given to the replica that has more to do");
    }
    unavailable(hung.await.expect("the task lives"));
    assert!(house.served.has_room().is_ok(), "the other replica works");
    house.until("the replica is opened again", |counters| counters.opened.load(Ordering::SeqCst) >= 5).await;
    assert!(house.speak("frames=30").await.is_ok());
}

/// Waits until the talker is closed for a reason that tells of this call.
async fn until_closed_in(house: &House, call: &str) {
    for _ in 0..1_000 {
        if house.served.pulses()[0].closed.as_ref().is_some_and(|reason| reason.contains(&format!("did not return from {call}"))) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody noticed that {call} hangs: {:?}", house.served.pulses());
}

#[tokio::test]
async fn a_hang_is_noticed_where_no_request_waits_for_it() {
    let house = house_that_reopens_after(Duration::from_secs(600), Vec::new());
    let mut stream = house.start("frames=100000 hang-in-release=1").await.expect("the house is empty");
    stream.next().await.expect("there is audio").expect("the double does as told");
    drop(stream);
    until_closed_in(&house, "release").await;

    let house = house_that_reopens_after(Duration::from_secs(600), Vec::new());
    house.counters.hangs_in_open.store(true, Ordering::SeqCst);
    failure(house.speak("frames=9 panic-at=1").await);
    until_closed_in(&house, "open_stage").await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended_and_says_so() {
    let house = House::in_a_hurry(Duration::from_millis(50));
    let outcome = house.speak("frames=9 silent-from=4").await;
    assert!(matches!(outcome, Err(SpeechError::TimedOut { .. })), "{outcome:?}");
    house.until_free().await;
    assert!(house.speak("frames=3").await.is_ok());
}

#[tokio::test]
async fn a_reader_that_stalls_for_too_long_loses_its_request_and_its_place() {
    let house = House::with_patience(Vec::new(), Patience { slow_reader: Duration::from_millis(50), ..PATIENCE });
    let mut stalled = house.start("frames=100000").await.expect("the house is empty");
    stalled.next().await.expect("there is audio").expect("the double does as told");
    house.until_free().await;
    assert_eq!(house.served.running(), 0, "its place is free although it is still held");
    let mut last = stalled.next().await;
    while let Some(Ok(_)) = last {
        last = stalled.next().await;
    }
    assert!(matches!(last, Some(Err(SpeechError::Failed { message, .. })) if message.contains("took no audio")));
    assert!(house.speak("frames=3").await.is_ok());
}

#[tokio::test]
async fn a_sequence_that_is_stepped_without_a_word_fails() {
    let house = House::new(4);
    let message = failure(house.speak("frames=9 silent-from=4").await);
    assert!(message.contains("made no progress"), "{message}");
    assert!(house.speak("frames=3").await.is_ok());
}

#[tokio::test]
async fn prepare_may_refuse_panic_and_hang() {
    let house = House::new(4);
    let refused = house.speak("refuse").await;
    assert_eq!(refused, Err(SpeechError::Invalid { field: Some("input".into()), message: "this text is refused".into() }));
    assert!(failure(house.speak("panic in prepare").await).contains("panicked in prepare: as told"));
    assert!(house.speak("frames=3").await.is_ok(), "a panic in prepare concerns its own request only");
    assert!(failure(house.speak("hang in prepare").await).contains("did not return from prepare"));
    assert!(matches!(house.start("frames=1").await, Err(SpeechError::Unavailable { .. })));
}

#[tokio::test]
async fn a_stage_without_room_refuses_for_now() {
    let house = House::new(4);
    assert!(matches!(house.speak("frames=3 refuse-slot=1").await, Err(SpeechError::Unavailable { .. })));
    assert!(house.speak("frames=3").await.is_ok());
    house.until_free().await;
}
