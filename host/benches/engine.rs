//! What the engine costs, and what its ways to cut a stream into chunks do at rising load.
//!
//! The first and the last table run the engine's own workers under a moved time, so they tell what the host's code takes, or what listeners
//! would hear, on stages that take what the head of a table says. The middle part serves a thousand streams of the template family in this
//! process; it needs `libsine.so` beside the build (`cargo build --workspace`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use omni_host::engine::chunks::{ChunkRules, FirstChunk, Growth};
use omni_host::engine::simulation::{Cost, Course, Manner, ModelledStage, Outcome, Scenario, Script, Visit, run};
use omni_host::engine::{Deployment, Deployments, Engine, EngineSettings, Pacing, Prospect, StageSettings};
use omni_host::observe::Silent;
use omni_host::plugin::PluginSpec;
use omni_plugin_api::{Device, SpeechRequest, StageLimits, Voice};
use serde_json::json;

/// Streams that are served at once.
const STREAMS: usize = 1_000;

fn main() {
    overhead();
    policies();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(thousand());
    runtime.shutdown_background();
}

fn stage(slots: usize, step_units: usize, cost: Cost) -> ModelledStage {
    let limits = StageLimits { slots, batch: slots, first_units: 1, step_units, ..StageLimits::default() };
    ModelledStage { limits, cost }
}

fn visit(at: Duration, speaker: u32, frames: u32) -> Visit {
    let script = Script { speaker, frames, prompt_tokens: 40, fails_at: None, breaks_at: None };
    Visit { at, script, is_whole: false, manner: Manner::Eager, timeout: None }
}

fn simulated(scenario: Scenario) -> Course {
    run(scenario).expect("the model's stages open")
}

/// Stages that take nothing: all that is left is the engine's own work. A step is what the stages' workers do; a frame has the listeners' part
/// and the simulation's in it as well.
fn overhead() {
    println!("host work, stages that take no time\n{:>10} {:>12} {:>12} {:>12}", "sequences", "steps", "us a step", "us a frame");
    for sequences in [1_u32, 8, 64] {
        let frames = 64_000 / sequences.max(8);
        let stages = [stage(64, 1, Cost::default()), stage(64, 25, Cost::default())];
        let visits = (0..sequences).map(|speaker| visit(Duration::ZERO, speaker, frames)).collect();
        // One thread does it all; what others do on this machine meanwhile does not count.
        let before = processor_time();
        let course = simulated(Scenario { stages, max_queue: 64, visits, ..Scenario::default() });
        let micros = processor_time().saturating_sub(before).as_secs_f64() * 1e6;
        let (steps, made) = (course.steps.iter().sum::<usize>(), f64::from(frames * sequences));
        let worked = course.worked.as_secs_f64() * 1e6;
        println!("{sequences:>10} {steps:>12} {:>12.2} {:>12.2}", worked / steps as f64, micros / made);
    }
}

/// First audio and gaps of 200 visits of 8 s of speech that come evenly, so many a second.
fn policies() {
    println!("\nchunk policies: talker 12 ms a step and 0.25 ms a row, codec 2 ms, 0.4 ms a row and 0.08 ms a frame");
    println!(
        "{:>6} {:>24} {:>14} {:>14} {:>12} {:>12} {:>10}",
        "rps", "policy", "first p50 ms", "first p95 ms", "gap p95 ms", "gap max ms", "gapless %"
    );
    let policies = [
        ("1 then 25", Growth::Ramp(vec![1]), Some(FirstChunk::Units(1))),
        ("ramp 4 4 8 16 25", Growth::Ramp(vec![4, 4, 8, 16]), None),
        ("ramp 1 2 4 8 16 25", Growth::Ramp(vec![1, 2, 4, 8, 16]), None),
        ("by slack", Growth::Slack, None),
    ];
    for rate in [1.0, 4.0, 8.0, 12.0, 16.0] {
        for (name, growth, first) in &policies {
            let course = load(rate, ChunkRules { first: *first, steady: vec![25], growth: growth.clone() });
            print_row(rate, name, &course);
        }
    }
}

fn load(rate: f64, chunks: ChunkRules) -> Course {
    let talker = Cost { step_us: 12_000, row_us: 250, unit_us: 0, token_us: 60 };
    let codec = Cost { step_us: 2_000, row_us: 400, unit_us: 80, token_us: 0 };
    let settings = vec![StageSettings::default(), StageSettings { chunks, ..StageSettings::default() }];
    let visits = (0..200).map(|number| visit(Duration::from_secs_f64(f64::from(number) / rate), number, 100)).collect();
    simulated(Scenario { stages: [stage(64, 1, talker), stage(64, 25, codec)], settings, max_queue: 1_000, visits, ..Scenario::default() })
}

fn print_row(rate: f64, name: &str, course: &Course) {
    let sorted = |mut times: Vec<Duration>| {
        times.sort();
        times
    };
    let first = sorted(course.listeners.iter().filter_map(|listener| listener.first_audio).collect());
    let gaps = sorted(course.listeners.iter().map(|listener| listener.underrun).collect());
    let at = |times: &[Duration], share: f64| {
        let index = (share * times.len().saturating_sub(1) as f64).round() as usize;
        times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    };
    let gapless = gaps.iter().filter(|gap| **gap <= Duration::from_millis(100)).count() as f64 * 100.0 / gaps.len().max(1) as f64;
    let done = course.listeners.iter().filter(|listener| listener.outcome == Outcome::Done).count();
    assert_eq!(done, course.listeners.len(), "somebody was not served");
    println!(
        "{rate:>6} {name:>24} {:>14.0} {:>14.0} {:>12.0} {:>12.0} {gapless:>10.0}",
        at(&first, 0.5),
        at(&first, 0.95),
        at(&gaps, 0.95),
        at(&gaps, 1.0)
    );
}

/// Sixteen replicas of each stage: a slot for everybody.
struct Wide;

impl Deployments for Wide {
    fn decide(&self, models: &[Prospect]) -> Result<Vec<Deployment>, String> {
        let wide = StageSettings { devices: vec![Device::Cpu; 16], ..StageSettings::default() };
        Ok(vec![Deployment { stages: vec![wide; 2], ..Deployment::default() }; models.len()])
    }
}

/// A thousand streams at once, their memory, and what the house takes when all have gone.
async fn thousand() {
    let Some(library) = sine() else { return println!("\nlibsine.so was not built; a thousand streams were not served") };
    let engine = Engine::new(EngineSettings { max_queue: STREAMS, ..EngineSettings::default() });
    let spec = PluginSpec::bare(Some(library.to_string_lossy().into_owned()));
    engine.load_as(vec![spec], Arc::new(Silent), Box::new(Wide));
    engine.loaded().await;
    let served = engine.find(None).expect("sine is loaded");
    let before = resident();
    let mut request = SpeechRequest::new("a text of some length that is spoken at the pace of a listener ".repeat(3));
    request.fields = json!({"pace": 1.0}).as_object().cloned().unwrap_or_default();
    let started = Instant::now();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(served.speak(request.clone(), Voice::default(), Pacing::default()).await.expect("there is room for all"));
    }
    for stream in &mut streams {
        stream.next().await.expect("there is audio").expect("a tone does not fail");
    }
    println!("\n{STREAMS} streams of one process: all speak after {:.2} s", started.elapsed().as_secs_f64());
    println!("memory: {:.1} MiB before, {:.1} MiB more with all of them", before / 1048576.0, (resident() - before) / 1048576.0);
    drop(streams);
    served.idle().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, idle) = (processor_time(), Duration::from_secs(10));
    tokio::time::sleep(idle).await;
    let share = processor_time().saturating_sub(before).as_secs_f64() / idle.as_secs_f64();
    println!("idle, 32 stage threads: {:.3} % of a processor", share * 100.0);
}

/// The template family's library, in the folder above the one that the bench runs in.
fn sine() -> Option<PathBuf> {
    let bench = std::env::current_exe().ok()?;
    bench.ancestors().skip(1).map(|folder| folder.join("libsine.so")).find(|file| file.is_file())
}

/// Bytes of memory in use.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN) * 1024.0
}

/// Processor time of all threads that live, to the nanosecond: a clock tick would be more than an idle process takes in ten seconds.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().map(Duration::from_nanos).ok()
    };
    threads.filter_map(spent).sum()
}
