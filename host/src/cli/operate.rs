//! Options of `serve` for those who operate it: keys, logs, metrics, traces, and what the reference knows and we need not.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, variables};
use crate::http::{Guard, NamedKey, Secret};
use crate::observe::trace::Traces;
use crate::observe::{self, LogFormat, LogSettings};

/// Variables that hold a key, the first one that is set counts.
const KEY_VARIABLES: [&str; 2] = ["OMNI_HOST_API_KEY", "VLLM_API_KEY"];

/// Who may use the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// Key that clients have to send as `authorization: Bearer KEY`; may be given several times. Other users of this machine can read
    /// it there: --api-key-file or the variable OMNI_HOST_API_KEY or VLLM_API_KEY hide it better
    #[arg(long, value_name = "KEY")]
    api_key: Vec<Secret>,
    /// File of keys, one a line, with a name in front if there are two words on it
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Let models and voices be listed without a key
    #[arg(long)]
    public_listing: bool,
    /// Requests that each key may make in a minute; past them clients get 429
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate_limit: Option<u32>,
}

impl AccessArgs {
    /// The guard of the server's door.
    pub fn guard(&self) -> Result<Guard, Failure> {
        let failed = |error: crate::http::KeyError| Failure(error.to_string());
        let numbered = |(index, key): (usize, &Secret)| NamedKey::numbered(index + 1, key.clone());
        let mut keys: Vec<NamedKey> = self.api_key.iter().enumerate().map(numbered).collect::<Result<_, _>>().map_err(failed)?;
        if let Some(path) = &self.api_key_file {
            keys.extend(NamedKey::read_file(path).map_err(failed)?);
        }
        if keys.is_empty()
            && let Some(key) = key_of_environment()
        {
            keys.push(NamedKey::numbered(1, key).map_err(failed)?);
        }
        Guard::new(keys, self.rate_limit, self.public_listing).map_err(failed)
    }
}

fn key_of_environment() -> Option<Secret> {
    KEY_VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|key| !key.is_empty())).map(Secret::new)
}

/// What is told of the server while it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Logs, metrics and traces")]
pub struct ObserveArgs {
    /// How log lines look
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
    /// File that log lines are added to, besides standard error
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Log the texts that are spoken
    #[arg(long)]
    enable_log_requests: bool,
    /// Characters of such a text, at most
    #[arg(long, value_name = "N", requires = "enable_log_requests")]
    max_log_len: Option<usize>,
    /// Measure nothing: /metrics stays empty
    #[arg(long)]
    disable_log_stats: bool,
    /// URL that spans are sent to, as OTLP in protobuf over HTTP, in place of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
    #[arg(long, value_name = "URL")]
    otlp_traces_endpoint: Option<String>,
}

impl ObserveArgs {
    /// Starts logs, metrics and traces.
    pub fn start(&self) -> Result<Option<Traces>, Failure> {
        let traces = Traces::start(self.otlp_traces_endpoint.as_deref()).map_err(Failure)?;
        let (format, file) = (self.log_format, self.log_file.as_deref());
        observe::start(&LogSettings { format, level: "info", file, traces: traces.as_ref() }).map_err(Failure)?;
        if !self.disable_log_stats {
            observe::metrics::start().map_err(Failure)?;
        }
        if self.enable_log_requests {
            observe::log_texts(self.max_log_len.unwrap_or(usize::MAX));
        }
        Ok(traces)
    }
}

/// Options of the reference that are taken and change nothing, so that its command lines work.
#[derive(Debug, Default, Args)]
pub struct ReferenceArgs {
    #[arg(long, hide = true)]
    omni: bool,
    #[arg(long, hide = true)]
    log_stats: bool,
    #[arg(long, hide = true, value_name = "FILE")]
    strategy_config: Option<String>,
    #[arg(long, hide = true, value_name = "SECONDS")]
    batch_timeout: Option<String>,
    #[arg(long, hide = true, value_name = "BYTES")]
    shm_threshold_bytes: Option<String>,
    #[arg(long, hide = true)]
    enable_ar_profiler: bool,
    #[arg(long, hide = true)]
    enable_orch_monitor: bool,
    #[arg(long, hide = true)]
    enable_request_id_headers: bool,
    #[arg(long, hide = true, value_name = "NAME")]
    worker_backend: Option<String>,
    #[arg(long, hide = true, value_name = "N")]
    replica_id: Option<String>,
    #[arg(long, hide = true, value_name = "NAME")]
    omni_lb_policy: Option<String>,
    #[arg(long, hide = true, value_name = "SECONDS")]
    omni_heartbeat_timeout: Option<String>,
    #[arg(long, hide = true, value_name = "LEVEL")]
    uvicorn_log_level: Option<String>,
    #[arg(long, hide = true)]
    disable_uvicorn_access_log: bool,
}

impl ReferenceArgs {
    /// Says of each option that was given why it does nothing, and of each variable.
    pub fn tell(&self) {
        for (_, option, reason) in self.reasons().into_iter().filter(|(is_given, ..)| *is_given) {
            tracing::info!(option, reason, "the option has no effect here");
        }
        let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for variable in variables::unread(variables) {
            tracing::warn!(
                variable,
                "no flag of serve has the name of this variable, so nobody reads it; `omni-host serve --help` lists them"
            );
        }
    }

    fn reasons(&self) -> [(bool, &'static str, &'static str); 11] {
        [
            (self.strategy_config.is_some(), "--strategy-config", "a stage is not split over processes; give it replicas instead"),
            (self.batch_timeout.is_some(), "--batch-timeout", "a batch is whoever is there at each step; nobody waits for company"),
            (self.shm_threshold_bytes.is_some(), "--shm-threshold-bytes", "stages are threads of one process and share no files"),
            (self.enable_ar_profiler, "--enable-ar-profiler", "the time of every step is in the metrics"),
            (self.enable_orch_monitor, "--enable-orch-monitor", "there is no orchestrator; queues and steps are in the metrics"),
            (self.worker_backend.is_some(), "--worker-backend", "all workers are threads of this process"),
            (self.replica_id.is_some(), "--replica-id", "all replicas run in this process"),
            (self.omni_lb_policy.is_some(), "--omni-lb-policy", "a request goes to the replica with the least work"),
            (self.omni_heartbeat_timeout.is_some(), "--omni-heartbeat-timeout", "--watchdog-secs does that"),
            (self.uvicorn_log_level.is_some(), "--uvicorn-log-level", "RUST_LOG does that"),
            (self.disable_uvicorn_access_log, "--disable-uvicorn-access-log", "RUST_LOG=omni_host::http::access=warn does that"),
        ]
    }
}
