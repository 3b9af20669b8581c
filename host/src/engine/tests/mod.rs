//! The engine with a family that does what the text tells it to.

mod double;
mod faults;
mod flow;
mod simulated;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use omni_plugin_api::{Family, ModelSource, Placement, Services, SpeechRequest, Voice};

use self::double::{Counters, Double};
use super::admission::{Admission, DoorLimits};
use super::clock::Clock;
use super::pipeline::{Patience, Pipeline, PipelineParts};
use super::served::ServedParts;
use super::{Jobs, Loading, Pacing, Served, SpeechError, SpeechStream, StageSettings};
use crate::observe::Silent;
use crate::schema::RequestSchema;

/// Limits that no test waits for in vain.
pub const PATIENCE: Patience = Patience {
    call: Duration::from_secs(3),
    open_stage: Duration::from_secs(30),
    reopen: Duration::from_secs(600),
    slow_reader: Duration::from_secs(600),
};

/// A served double with short patience.
pub struct House {
    pub served: Arc<Served>,
    pub counters: Arc<Counters>,
    pub loading: Loading,
}

impl House {
    /// A house with so many places to wait.
    pub fn new(max_queue: usize) -> Self {
        Self::with(max_queue, Vec::new())
    }

    /// The same with settings for the stages.
    pub fn with(max_queue: usize, settings: Vec<StageSettings>) -> Self {
        Self::build(max_queue, settings, PATIENCE, None)
    }

    /// A house whose requests may take so long.
    pub fn in_a_hurry(request_timeout: Duration) -> Self {
        Self::build(4, Vec::new(), PATIENCE, Some(request_timeout))
    }

    /// A house whose patience is another.
    pub fn with_patience(settings: Vec<StageSettings>, patience: Patience) -> Self {
        Self::build(16, settings, patience, None)
    }

    fn build(max_queue: usize, settings: Vec<StageSettings>, patience: Patience, request_timeout: Option<Duration>) -> Self {
        let counters = Arc::new(Counters::default());
        let family = Double(Arc::clone(&counters));
        let loading = Loading::new("double", Arc::new(Silent));
        let model = family.open(&ModelSource::BuiltIn, &Placement::default(), Services::silent()).expect("the double opens");
        let parts = PipelineParts {
            model,
            info: family.describe(),
            id: "double".to_owned(),
            jobs: Arc::new(Jobs::default()),
            loading: loading.clone(),
            patience,
            placement: Placement::default(),
            settings,
            clock: Clock::machine(),
        };
        let pipeline = Pipeline::start(parts).expect("the double's stages open");
        let admission = Admission::new(DoorLimits { running: pipeline.slots(), waiting: max_queue, promised_s: None });
        let schema = RequestSchema::compile(&family.describe().request_schema).expect("the double states a schema");
        let (file, build, source) = (None, String::new(), ModelSource::BuiltIn);
        let (prepared, aliases, aligner, defaults) = (Vec::new(), Arc::default(), None, Default::default());
        let served = ServedParts {
            pipeline,
            admission,
            schema,
            file,
            build,
            source,
            request_timeout,
            prepared,
            aliases,
            aligner,
            names: Vec::new(),
            defaults,
        };
        Self { served: Arc::new(Served::new(served)), counters, loading }
    }

    pub async fn start(&self, text: &str) -> Result<SpeechStream, SpeechError> {
        self.served.speak(SpeechRequest::new(text), Voice::default(), Pacing::default()).await
    }

    /// The whole audio of a text.
    pub async fn speak(&self, text: &str) -> Result<Vec<f32>, SpeechError> {
        let mut stream = self.start(text).await?;
        let mut samples = Vec::new();
        while let Some(piece) = stream.next().await {
            samples.extend(piece?);
        }
        Ok(samples)
    }

    /// Waits until a condition holds; panics when it does not within ten seconds.
    pub async fn until(&self, what: &str, holds: impl Fn(&Counters) -> bool) {
        for _ in 0..1_000 {
            if holds(&self.counters) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what} did not come true: {:?}", self.counters);
    }

    /// Waits until every slot of both stages is free.
    pub async fn until_free(&self) {
        self.until("a free house", |counters| counters.held.load(Ordering::SeqCst) == 0).await;
    }
}

/// The error text of an outcome that must be a failure.
pub fn failure(outcome: Result<Vec<f32>, SpeechError>) -> String {
    match outcome {
        Err(SpeechError::Failed { message, .. }) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}
