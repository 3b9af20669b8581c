//! `omni-host serve`

use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::api::ApiArgs;
use super::deploy::Deploy;
use super::media::MediaArgs;
use super::models::ModelArgs;
use super::operate::{AccessArgs, ObserveArgs, ReferenceArgs};
use super::signals::Signals;
use super::{EDGE_THREADS, Failure, Outcome, heap, output};
use crate::config::{ConfigArgs, StageFlag};
use crate::engine::{Engine, EngineSettings, ModelState, Prospect};
use crate::http::{self, App, Guard, Limits, ROUTES};
use crate::observe;
use crate::plugin::{PluginSpec, discover};
use crate::reference::References;
use crate::voices;

const EXAMPLES: &str = "\
Examples:
  omni-host serve
  omni-host serve --host 0.0.0.0 --port 80 --log-format json
  omni-host serve --plugin plugins/libqwen3_tts.so --model /models/Qwen3-TTS-12Hz-1.7B-Base
  omni-host serve --plugin hibari --plugin qwen3_tts=Qwen/Qwen3-TTS-12Hz-1.7B-Base

  curl http://127.0.0.1:8091/v1/audio/speech -H 'content-type: application/json' \\
       -d '{\"input\": \"hello\"}' -o hello.wav

SIGTERM and SIGINT end the server in order: requests that run are finished, new ones get 503. A second signal ends it at once.
RUST_LOG sets what is logged, for example RUST_LOG=debug.
Every flag that takes a value can be a variable, TTS_ before its name: TTS_PORT=80 for --port 80. A flag wins over its variable.";

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", env = "TTS_HOST")]
    host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8091, env = "TTS_PORT")]
    port: u16,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    media: MediaArgs,
    /// The checkpoint of the only --plugin: a directory, or a model id of the local hub cache
    #[arg(long, value_name = "DIR|ID")]
    model: Option<String>,
    /// Where uploaded voices are kept: a folder, s3://BUCKET/PREFIX, or memory: for none; SPEAKER_SAMPLES_DIR without it
    #[arg(long, value_name = "PLACE")]
    voices: Option<String>,
    #[command(flatten)]
    api: ApiArgs,
    /// Requests a model lets wait beyond those it works on; past them clients get 429
    #[arg(long, value_name = "N", default_value_t = 64)]
    max_queue: usize,
    /// Seconds of speech that the requests inside a model may want together, as far as their texts tell; past them clients get 429. 0 for no
    /// limit
    #[arg(long, value_name = "SECONDS", default_value_t = 14_400)]
    max_queued_audio_secs: u64,
    /// Seconds a request may take, waiting and speaking; past them it ends with 504, or with an error event. 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    request_timeout_secs: u64,
    /// Seconds a client may leave audio that was made for it alone before its request is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    slow_client_secs: u64,
    /// Seconds a plugin may work without a sign of life before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    watchdog_secs: u64,
    /// Seconds a replica that failed stays closed before it is opened again; each time in a row twice as long
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    reopen_secs: u64,
    /// Seconds running requests get to finish when the server is asked to end
    #[arg(long, visible_alias = "shutdown-timeout", value_name = "SECONDS", default_value_t = 30)]
    drain_secs: u64,
    /// Threads that pass requests and audio on; what computes has threads of its own
    #[arg(long, visible_alias = "api-server-count", value_name = "N", default_value_t = EDGE_THREADS, value_parser = edge_threads)]
    edge_threads: usize,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    reference: ReferenceArgs,
}

fn edge_threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| (1..=64).contains(threads)).ok_or_else(|| "a number from 1 to 64".to_owned())
}

/// Serves until a signal comes, or until it is certain that no model can be loaded.
pub fn run(args: &ServeArgs, stage_flags: Vec<StageFlag>) -> Outcome {
    let traces = args.observe.start()?;
    args.reference.tell();
    let outcome = run_observed(args, stage_flags);
    if let Some(traces) = traces {
        traces.finish();
    }
    outcome
}

fn run_observed(args: &ServeArgs, stage_flags: Vec<StageFlag>) -> Outcome {
    let plugins = args.models.resolve(args.model.as_deref())?;
    let deploy = Deploy::new(args.config.clone(), stage_flags);
    if args.config.print_config {
        return print_config(&plugins, &deploy);
    }
    let guard = args.access.guard()?;
    let runtime = super::runtime(args.edge_threads)?;
    let outcome = runtime.block_on(serve(args, plugins, deploy, guard));
    // A plugin that hangs in a call must not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: &ServeArgs, plugins: Vec<PluginSpec>, deploy: Deploy, guard: Guard) -> Outcome {
    let media = args.media.settings(|name| std::env::var(name).ok())?;
    let settings = settings(args)?;
    let mut signals = Signals::catch()?;
    let listener = bind(&args.host, args.port).await?;
    announce(&listener, &guard)?;
    let engine = Engine::new(settings);
    let started = Instant::now();
    engine.load_as(plugins, observe::progress(), Box::new(deploy));
    let app = super::stored::app(args.voices.as_deref(), engine.clone(), References::new(media), args.api.settings()).await?;
    voices::watch(app.voices()).map_err(|error| Failure(format!("no thread to watch the voices on: {error}")))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let stopping = async {
        // The sender is dropped only when this function returns, which is a stop as well.
        drop(stopped.await);
    };
    let server = tokio::spawn(http::run(listener, http::router(app.clone(), guard), args.limits, stopping));
    let upkeep = tokio::spawn(upkeep(engine.clone()));
    let outcome = tokio::select! {
        failure = no_model(&engine, started) => Err(failure),
        signal = signals.next() => {
            drain(&app, signal, signals, Duration::from_secs(args.drain_secs)).await;
            Ok(())
        }
    };
    drop(stop);
    upkeep.abort();
    server.await.map_err(|error| Failure(format!("the server failed: {error}")))?;
    outcome
}

/// What is done now and then for as long as the server runs.
async fn upkeep(engine: Engine) {
    tokio::join!(observe::metrics::upkeep(), heap::upkeep(&engine));
}

/// Shows what the plugins would be served with.
fn print_config(plugins: &[PluginSpec], deploy: &Deploy) -> Outcome {
    let built_in = [PluginSpec::default()];
    let plugins = if plugins.is_empty() { &built_in } else { plugins };
    let found = plugins.iter().map(|spec| discover(spec).map(|found| Prospect { info: found.info, checkpoint: spec.model.clone() }));
    let models: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| Failure(error.to_string()))?;
    output::print(&deploy.report(&models).map_err(Failure)?)
}

fn settings(args: &ServeArgs) -> Result<EngineSettings, Failure> {
    let unless_zero = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
    Ok(EngineSettings {
        max_queue: args.max_queue,
        max_promised: unless_zero(args.max_queued_audio_secs),
        request_timeout: unless_zero(args.request_timeout_secs),
        slow_client: Duration::from_secs(args.slow_client_secs),
        watchdog: Duration::from_secs(args.watchdog_secs),
        load_timeout: args.config.init_timeout(),
        stage_timeout: args.config.stage_init_timeout(),
        reopen: Duration::from_secs(args.reopen_secs),
        aliases: args.api.aliases()?,
        aligner: None,
    })
}

async fn bind(host: &str, port: u16) -> Result<TcpListener, Failure> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    TcpListener::bind((bare, port)).await.map_err(|error| {
        Failure(match error.kind() {
            io::ErrorKind::AddrInUse => format!("port {port} of {host} is in use by another program; choose another with --port"),
            io::ErrorKind::PermissionDenied => format!("port {port} of {host} needs more rights; choose one above 1023 with --port"),
            _ => format!("cannot listen on {host} port {port}: {error}"),
        })
    })
}

/// Says where the server listens, for people and for programs that started it with port 0.
fn announce(listener: &TcpListener, guard: &Guard) -> Outcome {
    let address = listener.local_addr().map_err(|error| Failure(format!("the address of the server is unknown: {error}")))?;
    for route in ROUTES {
        tracing::debug!(methods = route.methods, path = route.path, about = route.about, "route");
    }
    let paths: Vec<&str> = ROUTES.iter().map(|route| route.path).collect();
    tracing::info!(%address, api_keys = guard.keys(), routes = paths.join(" "), "listening");
    output::print(&format!("listening on http://{address}"))
}

/// Completes when every load has ended and no model can speak.
async fn no_model(engine: &Engine, started: Instant) -> Failure {
    engine.loaded().await;
    let mut reasons = Vec::new();
    let mut models = 0;
    for status in engine.status() {
        match status.state {
            ModelState::Failed(reason) => reasons.push(format!("  {}: {}", status.model, reason.replace('\n', "\n    "))),
            _ => models += 1,
        }
    }
    if models > 0 {
        tracing::info!(models, failed = reasons.len(), ms = started.elapsed().as_millis() as u64, "ready");
        std::future::pending::<()>().await;
    }
    Failure(format!("no model could be loaded\n{}", reasons.join("\n")))
}

/// Finishes what runs; a second signal ends the process on the spot.
async fn drain(app: &App, signal: i32, mut signals: Signals, deadline: Duration) {
    tracing::info!(signal, deadline_s = deadline.as_secs(), "ending: running requests are finished, new ones refused");
    tokio::spawn(async move {
        let signal = signals.next().await;
        std::process::exit(128 + signal);
    });
    if app.drain(deadline).await {
        tracing::info!("ended in order");
    } else {
        tracing::warn!(deadline_s = deadline.as_secs(), "requests still ran at the deadline and were ended");
    }
}
