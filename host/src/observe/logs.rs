//! The log: structured events on standard error, and in a file if one is named, as text or as JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use super::progress;
use super::trace::Traces;

/// Characters of a spoken text that are logged; none unless an operator asked for them.
static SHOWN_CHARS: OnceLock<usize> = OnceLock::new();

/// From now on texts are logged, so many characters of each.
pub fn log_texts(chars: usize) {
    // The first choice stays.
    let _ = SHOWN_CHARS.set(chars);
}

/// What may be logged of a text.
pub fn shown_text(text: &str) -> Option<String> {
    SHOWN_CHARS.get().map(|chars| text.chars().take(*chars).collect())
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What a log is made of.
pub struct LogSettings<'a> {
    /// How lines look.
    pub format: LogFormat,
    /// What is logged where `RUST_LOG` does not say.
    pub level: &'a str,
    /// A file that lines are added to, besides standard error.
    pub file: Option<&'a Path>,
    /// Where spans go.
    pub traces: Option<&'a Traces>,
}

impl<'a> LogSettings<'a> {
    /// Lines for people, on standard error.
    pub fn text(level: &'a str) -> Self {
        Self { format: LogFormat::Text, level, file: None, traces: None }
    }
}

/// Starts logging. A second call does nothing.
///
/// # Errors
/// When the file cannot be opened.
pub fn start(settings: &LogSettings<'_>) -> Result<(), String> {
    let file = settings.file.map(open).transpose()?;
    let to_file = file.map(|file| lines(settings, Arc::new(file), false));
    let to_terminal = lines(settings, AboveBars, io::stderr().is_terminal());
    #[cfg(feature = "otel")]
    let spans = super::trace::layer(settings.traces);
    #[cfg(not(feature = "otel"))]
    let spans = tracing_subscriber::layer::Identity::new();
    let started = Registry::default().with(to_terminal).with(to_file).with(spans).try_init();
    // Only a second start fails, and then the first one's log goes on.
    drop(started);
    Ok(())
}

fn open(path: &Path) -> Result<File, String> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| format!("the log file '{}' cannot be written: {error}", path.display()))
}

/// Lines into one writer.
fn lines<S, W>(settings: &LogSettings<'_>, writer: W, has_colours: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(settings.level));
    let lines = fmt::layer().with_writer(writer);
    match settings.format {
        LogFormat::Text => lines.with_ansi(has_colours).with_target(false).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_ansi(false).with_filter(filter).boxed(),
    }
}

/// Writes to standard error without tearing the progress bars that may be drawn there.
struct AboveBars;

impl<'a> MakeWriter<'a> for AboveBars {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for AboveBars {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        progress::above_bars(|| io::stderr().lock().write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
