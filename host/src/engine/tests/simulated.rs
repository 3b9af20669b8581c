//! The engine's own workers under a time of their own: whoever comes, whatever they do and whatever fails, nothing is lost, mixed up or
//! left behind, and nobody is put off for ever.

use std::time::Duration;

use omni_plugin_api::{Device, StageLimits};
use proptest::prelude::*;

use crate::engine::chunks::{Adaptive, ChunkRules, FirstChunk, Growth};
use crate::engine::simulation::{Cost, Course, Listener, Manner, ModelledStage, Outcome, Scenario, Script, Visit, run};
use crate::engine::{SpeechError, StageSettings};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn course(scenario: Scenario) -> Course {
    run(scenario).expect("the model's stages open")
}

/// A visit of so many frames that does nothing special.
fn visit(at_ms: u64, speaker: u32, frames: u32) -> Visit {
    let script = Script { speaker, frames, prompt_tokens: 20, fails_at: None, breaks_at: None };
    Visit { at: ms(at_ms), script, is_whole: false, manner: Manner::Eager, timeout: None }
}

fn stages(slots: usize, talker: Cost, codec: Cost) -> [ModelledStage; 2] {
    let limits = |step_units| StageLimits { slots, batch: slots, first_units: 1, step_units, ..StageLimits::default() };
    [ModelledStage { limits: limits(1), cost: talker }, ModelledStage { limits: limits(25), cost: codec }]
}

/// A talker and a codec that speak 64 streams with ease.
fn quick() -> [ModelledStage; 2] {
    let talker = Cost { step_us: 6_000, row_us: 100, unit_us: 0, token_us: 50 };
    stages(64, talker, Cost { step_us: 1_500, row_us: 100, unit_us: 30, token_us: 0 })
}

fn underruns(course: &Course) -> Vec<Duration> {
    course.listeners.iter().map(|listener| listener.underrun).collect()
}

prop_compose! {
    fn any_cost()(step_us in 100_u64..20_000, row_us in 0_u64..3_000, unit_us in 0_u64..2_000, token_us in 0_u64..300) -> Cost {
        Cost { step_us, row_us, unit_us, token_us }
    }
}

prop_compose! {
    fn any_stage(is_talker: bool)(
        slots in 1_usize..7, batch in 1_usize..7, cost in any_cost(), kv in prop_oneof![Just(0_u64), 120_u64..600],
        longest in prop_oneof![Just(0_u64), 60_u64..200], units in (1_usize..4, 1_usize..26), prefill_tokens in 0_usize..200,
    ) -> ModelledStage {
        let (first_units, step_units) = if is_talker { (1, 1) } else { units };
        let kv_tokens = if is_talker { kv } else { 0 };
        let limits = StageLimits {
            slots, batch, first_units, step_units, kv_tokens, max_seq_tokens: longest, prefill_tokens, ..StageLimits::default()
        };
        ModelledStage { limits, cost }
    }
}

fn any_rules() -> impl Strategy<Value = ChunkRules> {
    let first = prop_oneof![Just(None), (0_usize..30).prop_map(|units| Some(FirstChunk::Units(units))), Just(Some(FirstChunk::FromLoad))];
    let adaptive = Adaptive { min_units: 2, margin_ms: 50.0, divisor: 15.0, min_growth: 2 };
    let ramp = prop::collection::vec(1_usize..30, 0..4).prop_map(Growth::Ramp);
    let growth = prop_oneof![Just(Growth::Slack), Just(Growth::Adaptive(adaptive)), ramp];
    (first, prop::collection::vec(1_usize..40, 0..3), growth).prop_map(|(first, steady, growth)| ChunkRules { first, steady, growth })
}

prop_compose! {
    fn any_settings()(
        replicas in 1_usize..4, window in 0_usize..5, waits_for_all in prop::bool::weighted(0.2), chunks in any_rules(),
        max_seqs in prop_oneof![Just(None), (1_usize..5).prop_map(Some)],
    ) -> StageSettings {
        StageSettings { devices: vec![Device::Cpu; replicas], window: Some(window), waits_for_all, chunks, max_seqs, ..StageSettings::default() }
    }
}

fn any_manner() -> impl Strategy<Value = Manner> {
    prop_oneof![
        4 => Just(Manner::Eager),
        1 => (1_u64..400).prop_map(|pause| Manner::Slow(ms(pause))),
        1 => (0_usize..4).prop_map(Manner::Stalls),
        2 => (0_u64..3_000).prop_map(|after| Manner::Leaves(ms(after))),
    ]
}

/// `misfortune`: how often a script fails, or breaks its stage.
fn any_visit(misfortune: f64) -> impl Strategy<Value = Visit> {
    let fault = move || (0.0..1.0, 0_u32..20).prop_map(move |(luck, frame)| (luck < misfortune).then_some(frame));
    let script = (1_u32..60, 1_u64..180, fault(), fault());
    (0_u64..2_000, script, any::<bool>(), any_manner(), prop::option::weighted(0.1, 1_u64..4_000)).prop_map(
        |(at, (frames, prompt_tokens, fails_at, breaks_at), is_whole, manner, timeout)| Visit {
            at: ms(at),
            script: Script { speaker: 0, frames, prompt_tokens, fails_at, breaks_at },
            is_whole,
            manner,
            timeout: timeout.map(ms),
        },
    )
}

fn numbered(mut visits: Vec<Visit>) -> Vec<Visit> {
    (1..).zip(&mut visits).for_each(|(number, visit)| visit.script.speaker = number);
    visits
}

fn any_scenario(misfortune: f64) -> impl Strategy<Value = Scenario> {
    let stages = (any_stage(true), any_stage(false)).prop_map(|(talker, codec)| [talker, codec]);
    let settings = prop::collection::vec(any_settings(), 2);
    let visits = prop::collection::vec(any_visit(misfortune), 1..24).prop_map(numbered);
    let death = (0_u64..3_000, 0_usize..2, 0_usize..3).prop_map(|(at, stage, replica)| (ms(at), stage, replica));
    let deaths = prop::collection::vec(death, 0..if misfortune > 0.0 { 3 } else { 1 });
    (stages, settings, visits, deaths, 0_usize..20).prop_map(|(stages, settings, visits, deaths, max_queue)| Scenario {
        stages,
        settings,
        max_queue,
        visits,
        deaths,
    })
}

/// Whether a visit ended as it may when no stage fails as a whole.
fn is_fair(listener: &Listener) -> bool {
    let Visit { script, manner, timeout, .. } = &listener.visit;
    match &listener.outcome {
        Outcome::Done => script.fails_at.is_none_or(|at| at >= script.frames) || listener.was_cut,
        Outcome::Left => matches!(manner, Manner::Leaves(_)),
        Outcome::Refused => true,
        Outcome::Failed(SpeechError::Invalid { field, .. }) => field.as_deref() == Some("input"),
        Outcome::Failed(SpeechError::TimedOut { .. }) => timeout.is_some(),
        Outcome::Failed(SpeechError::Failed { message, .. }) if message.contains("took no audio") => matches!(manner, Manner::Stalls(_)),
        Outcome::Failed(SpeechError::Failed { message, .. }) => message.contains("failed, as told") && script.fails_at.is_some(),
        Outcome::Failed(_) | Outcome::Pending => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    /// Frames come once, in order and to whom they belong; slots and cache are counted exactly; who leaves is gone with the next step.
    #[test]
    fn nobody_is_lost_mixed_up_or_left_behind(scenario in any_scenario(0.0)) {
        let course = course(scenario.clone());
        prop_assert!(course.complaints.is_empty(), "{:?}", course.complaints);
        for listener in &course.listeners {
            prop_assert!(is_fair(listener), "{:?} ended as {:?}", listener.visit, listener.outcome);
        }
        let talkers = scenario.settings[0].devices.len();
        prop_assert!(talkers > 1 || course.is_first_come_first_served, "a newcomer was let in before an earlier one");
    }

    /// The same when sequences fail, stages break and replicas die: all of that has an end for everybody, and nothing leaks.
    #[test]
    fn faults_end_those_whom_they_hit_and_nothing_is_left_behind(scenario in any_scenario(0.15)) {
        let course = course(scenario);
        prop_assert!(course.complaints.is_empty(), "{:?}", course.complaints);
        prop_assert!(course.listeners.iter().all(|listener| listener.outcome != Outcome::Pending));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Up to what the stages can make in real time nobody's playback stands still, whenever the streams begin.
    #[test]
    fn no_listener_runs_dry_below_capacity(arrivals in prop::collection::vec(0_u64..4_000, 1..40)) {
        let visits = (0..).zip(&arrivals).map(|(speaker, at)| visit(*at, speaker, 100)).collect();
        let course = course(Scenario { stages: quick(), max_queue: 64, visits, ..Scenario::default() });
        prop_assert!(course.complaints.is_empty(), "{:?}", course.complaints);
        let worst = underruns(&course).into_iter().max().unwrap_or_default();
        prop_assert!(worst <= ms(20), "somebody heard {} ms of nothing", worst.as_millis());
    }
}

#[test]
fn a_step_from_one_frame_to_many_makes_a_gap_and_growth_by_slack_makes_none() {
    let slow = || stages(4, Cost { step_us: 40_000, ..Cost::default() }, Cost { step_us: 3_000, unit_us: 500, ..Cost::default() });
    let worst = |growth: Growth| {
        let chunks = ChunkRules { growth, steady: vec![25], first: None };
        let settings = vec![StageSettings::default(), StageSettings { chunks, ..StageSettings::default() }];
        let scenario = Scenario { stages: slow(), settings, max_queue: 4, visits: vec![visit(0, 1, 200)], ..Scenario::default() };
        underruns(&course(scenario)).into_iter().max().unwrap_or_default()
    };
    let jump = worst(Growth::Ramp(vec![1]));
    assert!((ms(800)..ms(1_000)).contains(&jump), "{jump:?}");
    assert!(worst(Growth::Slack) <= ms(10), "{:?}", worst(Growth::Slack));
}

#[test]
fn a_crowd_of_newcomers_with_long_prompts_does_not_make_others_run_dry() {
    let talker = Cost { step_us: 8_000, row_us: 100, unit_us: 0, token_us: 100 };
    let stages = stages(64, talker, Cost { step_us: 1_500, row_us: 100, unit_us: 30, token_us: 0 });
    let mut visits: Vec<Visit> = (0..4).map(|speaker| visit(0, speaker, 120)).collect();
    visits.extend((4..36).map(|speaker| {
        let mut late = visit(3_000, speaker, 30);
        late.script.prompt_tokens = 600;
        late
    }));
    let course = course(Scenario { stages, max_queue: 64, visits, ..Scenario::default() });
    assert_eq!(course.complaints, Vec::<String>::new());
    let worst = underruns(&course)[..4].iter().max().copied().unwrap_or_default();
    assert!(worst <= ms(80), "a listener heard {worst:?} of nothing");
    let waits = course.listeners[4..].iter().filter_map(|listener| listener.first_audio).max().unwrap_or_default();
    assert!(waits < ms(5_000), "a newcomer waited for {waits:?}");
}

#[test]
fn a_request_that_the_cache_can_never_hold_is_refused_and_one_that_must_wait_waits() {
    let mut stages = quick();
    stages[0].limits = StageLimits { kv_tokens: 300, max_seq_tokens: 200, ..stages[0].limits.clone() };
    let mut visits: Vec<Visit> = (0..6).map(|speaker| visit(0, speaker, 100)).collect();
    visits[3].script.prompt_tokens = 200;
    let course = course(Scenario { stages, max_queue: 64, visits, ..Scenario::default() });
    assert_eq!(course.complaints, Vec::<String>::new());
    let is_refused =
        |outcome: &Outcome| matches!(outcome, Outcome::Failed(SpeechError::Invalid { field, .. }) if field.as_deref() == Some("input"));
    let refused: Vec<bool> = course.listeners.iter().map(|listener| is_refused(&listener.outcome)).collect();
    assert_eq!(refused, [false, false, false, true, false, false]);
    let done = course.listeners.iter().filter(|listener| listener.outcome == Outcome::Done).count();
    assert_eq!(done, 5, "two fit at a time, and all come to their turn");
}

#[test]
fn a_replica_that_dies_takes_its_own_requests_with_it_and_comes_back() {
    let settings = vec![StageSettings { devices: vec![Device::Cpu; 2], ..StageSettings::default() }; 2];
    let mut visits: Vec<Visit> = (0..8).map(|speaker| visit(0, speaker, 100)).collect();
    visits.extend((8..16).map(|speaker| visit(20_000, speaker, 20)));
    let deaths = vec![(ms(300), 0, 1)];
    let course = course(Scenario { stages: quick(), settings, max_queue: 64, visits, deaths });
    assert_eq!(course.complaints, Vec::<String>::new());
    let died = |listener: &&Listener| matches!(&listener.outcome, Outcome::Failed(SpeechError::Unavailable { message, .. }) if message.contains("died"));
    assert_eq!(course.listeners[..8].iter().filter(died).count(), 4, "half of them were with it");
    assert_eq!(course.listeners.iter().filter(|listener| listener.outcome == Outcome::Done).count(), 12);
}
