//! One unit at work in the engine: accepted, given its place and prepared like a request of its own, on a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;
use tracing::Instrument;

use super::config::Config;
use super::sounding::Sounding;
use crate::http::error::ApiError;
use crate::http::speech::words::Alignment;
use crate::http::speech::{Accepted, Clip, Delivery, Pieces, Record, SpeechForm, accept, collect};
use crate::http::state::App;

/// A piece of text to be spoken in one go.
pub struct Unit {
    text: String,
    chars: usize,
    config: Arc<Config>,
    work: Option<Work>,
}

impl Unit {
    /// A unit that nothing was done about yet.
    pub fn new(text: String, config: Arc<Config>) -> Self {
        Self { chars: text.chars().count(), text, config, work: None }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Characters of its text.
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// How it is to be spoken.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether the engine has been given it.
    pub fn is_begun(&self) -> bool {
        self.work.is_some()
    }

    /// Gives it to the engine, unless that was done already or it cannot be spoken.
    pub fn begin(&mut self, app: &App) {
        if self.work.is_none() && self.config.obstacle(app.engine()).is_none() {
            self.work = Some(Work::begin(app.clone(), Arc::clone(&self.config), &self.text));
        }
    }

    /// The work on it, for whoever is to wait for it.
    pub fn work(&mut self, app: &App) -> Work {
        self.work.take().unwrap_or_else(|| Work::begin(app.clone(), Arc::clone(&self.config), &self.text))
    }
}

/// Audio that exists: all of it, or its beginning.
pub enum Ready {
    /// All of it.
    Whole(Clip),
    /// Its first piece at least.
    Stream(Box<Sounding>),
}

/// Work on a unit. Dropping it gives everything back to the engine within one step.
pub struct Work(JoinHandle<Result<Ready, ApiError>>);

impl Work {
    fn begin(app: App, config: Arc<Config>, text: &str) -> Self {
        let form = config.request(text);
        Self(tokio::spawn(async move { make_ready(&app, &config, form).await }.in_current_span()))
    }
}

impl Future for Work {
    type Output = Result<Ready, ApiError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|ended| ended.unwrap_or_else(|_| Err(ApiError::panicked())))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn make_ready(app: &App, config: &Config, form: SpeechForm) -> Result<Ready, ApiError> {
    let accepted = accept(app, form).await?;
    let mut record = Record::new(&accepted);
    match first_audio(app, &accepted, &mut record).await {
        Ok(First::Whole(clip)) => {
            record.made(clip.samples);
            record.done();
            Ok(Ready::Whole(clip))
        }
        Ok(First::Stream(pieces)) => {
            let aligner = app.engine().aligner().filter(|_| config.word_timestamps).cloned();
            let words = aligner.map(|aligner| Alignment::new(aligner, accepted.request.input, config.language()));
            Ok(Ready::Stream(Box::new(Sounding::new(pieces, record, words))))
        }
        Err(error) => {
            record.failed(error.message());
            Err(error)
        }
    }
}

enum First {
    Whole(Clip),
    Stream(Pieces),
}

async fn first_audio(app: &App, accepted: &Accepted, record: &mut Record) -> Result<First, ApiError> {
    let stream = accepted.speak(app).await?;
    record.warned(&stream.head.warnings);
    match accepted.delivery {
        Delivery::Whole => Ok(First::Whole(collect(stream, accepted.wanted, None).await?)),
        Delivery::Raw | Delivery::Events => Ok(First::Stream(Pieces::begin(stream, accepted.wanted, app.closing(), record).await?)),
    }
}
