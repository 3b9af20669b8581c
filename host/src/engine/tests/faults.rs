//! Whatever a plugin does, its own requests fail with a reason and the engine goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{House, SpeechError, failure};
use crate::engine::ModelState;

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

#[tokio::test]
async fn three_faults_in_a_row_end_the_model_and_a_success_between_them_does_not() {
    let house = House::new(4);
    for _ in 0..2 {
        failure(house.speak("frames=9 panic-at=1").await);
        failure(house.speak("frames=9 panic-at=1").await);
        assert!(house.speak("frames=2").await.is_ok());
    }
    for _ in 0..3 {
        failure(house.speak("frames=9 panic-at=1").await);
    }
    let refused = house.speak("frames=2").await;
    assert!(matches!(&refused, Err(SpeechError::Unavailable { message, .. }) if message.contains("unhealthy")), "{refused:?}");
    assert!(matches!(house.loading.status().state, ModelState::Unhealthy(_)));
    assert!(house.served.has_room().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_hangs_fails_everyone_inside_and_ends_the_model() {
    let house = Arc::new(House::new(4));
    let other = tokio::spawn({
        let house = Arc::clone(&house);
        async move { house.speak("frames=1000000").await }
    });
    let message = failure(house.speak("frames=9 hang-at=3").await);
    assert!(message.contains("did not return from step of stage 'talker'"), "{message}");
    failure(other.await.expect("the task lives"));
    assert!(matches!(house.start("frames=1").await, Err(SpeechError::Unavailable { .. })));
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
