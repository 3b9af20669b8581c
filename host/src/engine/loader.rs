//! The models of a host: loading them, finding one, draining all.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use omni_plugin_api::{FamilyInfo, ModelSource, PluginError, Services, contain};
use tokio::sync::Notify;

use super::admission::{Admission, DoorLimits};
use super::align::Aligner;
use super::clock::Clock;
use super::job::Jobs;
use super::pipeline::{Pipeline, PipelineParts};
use super::served::ServedParts;
use super::settings::EngineSettings;
use super::{Deployment, Deployments, Loading, ModelState, ModelStatus, Prospect, Served, SpeechError, Undecided, measures};
use crate::observe::LoadProgress;
use crate::plugin::{Discovered, ModelServices, Overrun, PluginSpec, check_audio, discover, limited};
use crate::schema::RequestSchema;
use crate::voices::precomputed::{self, Precomputed};

/// Seconds a client is told to wait while models load or the host drains.
const RETRY_S: u64 = 5;

/// The models of a host. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    settings: EngineSettings,
    models: Mutex<Vec<Entry>>,
    draining: AtomicBool,
    changed: Notify,
}

/// A model in command-line order.
struct Entry {
    loading: Loading,
    served: Option<Arc<Served>>,
}

/// A library that may be loaded.
struct Candidate {
    loading: Loading,
    spec: PluginSpec,
    found: Discovered,
    id: String,
}

/// Why no model answers to a name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FindError {
    /// Nobody is called that.
    #[error("the model `{0}` does not exist")]
    UnknownModel(String),
    /// It exists and cannot speak now.
    #[error(transparent)]
    NotReady(SpeechError),
}

impl Engine {
    /// An engine without models.
    pub fn new(settings: EngineSettings) -> Self {
        let (models, draining, changed) = (Mutex::new(Vec::new()), AtomicBool::new(false), Notify::new());
        Self(Arc::new(Inner { settings, models, draining, changed }))
    }

    /// What finds the words of a clip.
    pub fn aligner(&self) -> Option<&Arc<dyn Aligner>> {
        self.0.settings.aligner.as_ref()
    }

    fn models(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.0.models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to load each plugin as it likes and returns at once; none asks for the built-in voice.
    pub fn load(&self, plugins: Vec<PluginSpec>, progress: Arc<dyn LoadProgress>) {
        self.load_as(plugins, progress, Box::new(Undecided));
    }

    /// Starts to load each plugin as `deployments` decides.
    ///
    /// Libraries are opened one after the other, so that of two with one family name the first on the command line wins; models load
    /// side by side.
    pub fn load_as(&self, plugins: Vec<PluginSpec>, progress: Arc<dyn LoadProgress>, deployments: Box<dyn Deployments>) {
        let plugins = if plugins.is_empty() { vec![PluginSpec::default()] } else { plugins };
        let start = |spec: PluginSpec| (Loading::new(spec.label(), Arc::clone(&progress)), spec);
        let loads: Vec<(Loading, PluginSpec)> = plugins.into_iter().map(start).collect();
        self.models().extend(loads.iter().map(|(loading, _)| Entry { loading: loading.clone(), served: None }));
        let engine = self.clone();
        self.spawn("loader", &loads.first().map(|(loading, _)| loading.clone()), move || engine.load_all(loads, &*deployments));
    }

    /// Spawns a thread of the loader; a machine that has none left fails the load.
    fn spawn(&self, name: &str, loading: &Option<Loading>, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work)
            && let Some(loading) = loading
        {
            self.end(loading, Err(format!("no thread to load it on: {error}")));
        }
    }

    /// Opens every library, decides about all of them, then loads each.
    fn load_all(&self, loads: Vec<(Loading, PluginSpec)>, deployments: &dyn Deployments) {
        let candidates = self.open_libraries(loads);
        let prospect = |Candidate { found, spec, .. }: &Candidate| Prospect { info: found.info.clone(), checkpoint: spec.model.clone() };
        let models: Vec<Prospect> = candidates.iter().map(prospect).collect();
        let decided = contain("the configuration", || deployments.decide(&models).map_err(PluginError::internal));
        match decided {
            Ok(decisions) => {
                for (candidate, deployment) in candidates.into_iter().zip(decisions) {
                    let (engine, loading) = (self.clone(), candidate.loading.clone());
                    self.spawn(&format!("load {}", candidate.id), &Some(loading), move || engine.open_one(candidate, deployment));
                }
            }
            Err(error) => {
                for candidate in candidates {
                    self.end(&candidate.loading, Err(error.message.clone()));
                }
            }
        }
    }

    /// The libraries that open and have names of their own.
    fn open_libraries(&self, loads: Vec<(Loading, PluginSpec)>) -> Vec<Candidate> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut candidates = Vec::new();
        for (loading, spec) in loads {
            let found = discover(&spec).map_err(|error| error.to_string());
            let accepted = found.and_then(|found| {
                check_source(&spec, &found)?;
                let id = model_id(&spec, &found.info.name);
                take_names(&mut taken, &spec, &found, &id)?;
                Ok((found, id))
            });
            match accepted {
                Ok((found, id)) => {
                    loading.rename(&id);
                    candidates.push(Candidate { loading, spec, found, id });
                }
                Err(reason) => self.end(&loading, Err(reason)),
            }
        }
        candidates
    }

    /// Loads one model within the time limit. A load that hangs keeps its thread and loses its place.
    fn open_one(&self, candidate: Candidate, deployment: Deployment) {
        let limit = self.0.settings.load_timeout;
        let (engine, loading, id, begun) = (self.clone(), candidate.loading.clone(), candidate.id.clone(), Instant::now());
        let opened = limited("open model", limit, move || engine.open_model(candidate, deployment));
        let outcome = match opened {
            Ok(served) => served.map_err(|error| error.message),
            Err(Overrun::TimedOut) => Err(format!("it did not load within {} s", limit.as_secs_f32())),
            Err(overrun) => Err(overrun.to_string()),
        };
        measures::load_ended(&id, begun.elapsed(), outcome.is_ok());
        if outcome.is_err() {
            loading.cancel();
        }
        self.end(&loading, outcome);
    }

    fn open_model(&self, candidate: Candidate, deployment: Deployment) -> Result<Served, PluginError> {
        let Candidate { loading, spec, found, id } = candidate;
        let Discovered { family, info, file, build } = found;
        let source = spec.model.clone().map_or(ModelSource::BuiltIn, ModelSource::Directory);
        let jobs = Arc::new(Jobs::default());
        let services = Services::new(ModelServices::new(id.clone(), Arc::clone(&jobs), loading.clone()));
        let schema = RequestSchema::compile(&info.request_schema).map_err(|reason| PluginError::internal(format!("it {reason}")))?;
        loading.update("loading", 0, 0);
        let model = contain("open", || family.open(&source, &deployment.placement, services))?;
        let stated = contain("info", || Ok(model.info()))?;
        check_audio(stated.sample_rate_hz, info.channels).map_err(|reason| PluginError::internal(format!("it {reason}")))?;
        let prepared = prepared_voices(deployment.custom_voice_dir.as_deref(), &info, stated.speaker_embedding_dim);
        let Deployment { placement, stages: settings, defaults, .. } = deployment;
        let (patience, clock) = (self.0.settings.patience(), Clock::machine());
        let pipeline = Pipeline::start(PipelineParts { model, info, id, jobs, loading, patience, placement, settings, clock })?;
        let EngineSettings { max_queue: waiting, max_promised, request_timeout, .. } = self.0.settings;
        let promised_s = max_promised.map(|most| most.as_secs_f64());
        let admission = Admission::new(DoorLimits { running: pipeline.slots(), waiting, promised_s });
        let (aliases, aligner) = (Arc::clone(&self.0.settings.aliases), self.0.settings.aligner.clone());
        let parts = ServedParts {
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
            names: spec.names,
            defaults,
        };
        Ok(Served::new(parts))
    }

    /// Ends a load and lets those who wait look again.
    fn end(&self, loading: &Loading, outcome: Result<Served, String>) {
        let (served, outcome) = match outcome {
            Ok(served) => (Some(Arc::new(served)), Ok(())),
            Err(reason) => (None, Err(reason)),
        };
        if let Some(entry) = self.models().iter_mut().find(|entry| entry.loading.is(loading)) {
            entry.served = served;
        }
        loading.end(outcome);
        self.0.changed.notify_waiters();
    }

    /// Waits until no model is loading any more.
    pub async fn loaded(&self) {
        loop {
            let changed = self.0.changed.notified();
            if !self.status().iter().any(|status| matches!(status.state, ModelState::Loading { .. })) {
                return;
            }
            changed.await;
        }
    }

    /// The state of every model, in command-line order.
    pub fn status(&self) -> Vec<ModelStatus> {
        self.models().iter().map(|entry| entry.loading.status()).collect()
    }

    /// Every model that was loaded, in command-line order.
    pub fn served(&self) -> Vec<Arc<Served>> {
        self.models().iter().filter_map(|entry| entry.served.clone()).collect()
    }

    /// The model of a name; without one, the first that speaks.
    pub fn find(&self, model: Option<&str>) -> Result<Arc<Served>, FindError> {
        if self.is_draining() {
            return Err(FindError::NotReady(draining()));
        }
        let wanted = model.filter(|model| !model.is_empty());
        let served = self.served();
        let found = match wanted {
            Some(wanted) => served.iter().find(|served| served.answers_to(wanted)),
            None => served.iter().find(|served| served.has_room().is_ok()).or(served.first()),
        };
        match found {
            Some(found) => Ok(Arc::clone(found)),
            None => Err(self.why_not_found(wanted)),
        }
    }

    /// Unknown, or not ready: a load that is under way may still bring the name.
    fn why_not_found(&self, wanted: Option<&str>) -> FindError {
        let status = self.status();
        let is_known = |wanted: &str| status.iter().any(|status| status.model == wanted);
        let is_loading = status.iter().any(|status| matches!(status.state, ModelState::Loading { .. }));
        match wanted {
            Some(wanted) if !is_known(wanted) && !is_loading => FindError::UnknownModel(wanted.to_owned()),
            Some(wanted) if is_known(wanted) => FindError::NotReady(self.why_not(Some(wanted))),
            _ => FindError::NotReady(self.why_not(None)),
        }
    }

    /// Why a model, or all of them, cannot speak.
    fn why_not(&self, wanted: Option<&str>) -> SpeechError {
        let status = self.status();
        let mut relevant = status.iter().filter(|status| wanted.is_none_or(|wanted| status.model == wanted));
        let message = match relevant.next() {
            Some(ModelStatus { model, state: ModelState::Failed(reason), .. }) => format!("the model '{model}' did not load: {reason}"),
            Some(ModelStatus { model, .. }) => format!("the model '{model}' is loading"),
            None => "no model is loaded".to_owned(),
        };
        SpeechError::Unavailable { message, retry_after_s: RETRY_S }
    }

    /// Whether a request would find a place with some model, looked at before its body is read.
    pub fn has_room(&self) -> Result<(), SpeechError> {
        if self.is_draining() {
            return Err(draining());
        }
        let mut refusal = self.why_not(None);
        for served in self.served() {
            match served.has_room() {
                Ok(()) => return Ok(()),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    /// Whether the host takes no new requests.
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Takes no new requests and waits for those inside, at most `deadline`. Whether all ended in time.
    pub async fn drain(&self, deadline: Duration) -> bool {
        self.0.draining.store(true, Ordering::Release);
        let served = self.served();
        let all_idle = async {
            for model in &served {
                model.idle().await;
            }
        };
        tokio::time::timeout(deadline, all_idle).await.is_ok()
    }
}

/// The voices that were prepared for a model; what cannot be used of them is told and left out.
fn prepared_voices(folder: Option<&Path>, info: &FamilyInfo, embedding_dim: Option<u32>) -> Vec<Precomputed> {
    let Some(folder) = folder else { return Vec::new() };
    if !info.abilities.clones {
        tracing::warn!(family = info.name, folder = %folder.display(), "custom_voice_dir is not used: the family speaks with its own voices only");
        return Vec::new();
    }
    let loaded = precomputed::load(folder, &info.name, embedding_dim);
    for reason in &loaded.skipped {
        tracing::warn!(family = info.name, reason, "a prepared voice is not used");
    }
    tracing::info!(family = info.name, voices = loaded.voices.len(), folder = %folder.display(), "prepared voices");
    loaded.voices
}

fn draining() -> SpeechError {
    SpeechError::Unavailable { message: "the server is shutting down".to_owned(), retry_after_s: RETRY_S }
}

/// What a model is called: as was chosen, else its checkpoint's folder, or its family when it has none.
fn model_id(spec: &PluginSpec, family: &str) -> String {
    let folder = spec.model.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let chosen = spec.names.first().map(String::as_str);
    chosen.or(folder).unwrap_or(family).to_owned()
}

/// A family and a model id that are in use, and by which plugin.
struct Taken {
    family: String,
    id: String,
    by: String,
}

/// Refuses a second plugin of one family name or one model id.
fn take_names(taken: &mut Vec<Taken>, spec: &PluginSpec, found: &Discovered, id: &str) -> Result<(), String> {
    let family = &found.info.name;
    for Taken { family: other, id: other_id, by } in taken.iter() {
        if other == family {
            return Err(format!("'{}' holds the family '{family}', which '{by}' has brought already", spec.label()));
        }
        if other_id == id {
            return Err(format!("'{}' would be called '{id}' like the model of '{by}'", spec.label()));
        }
    }
    taken.push(Taken { family: family.clone(), id: id.to_owned(), by: spec.label().to_owned() });
    Ok(())
}

/// Refuses a checkpoint for a family that carries its weights, and none for one that does not.
fn check_source(spec: &PluginSpec, found: &Discovered) -> Result<(), String> {
    let name = &found.info.name;
    match &spec.model {
        None if !found.info.checkpoints.is_empty() => Err(format!("the family '{name}' needs a checkpoint: --plugin {}=DIR", spec.label())),
        Some(model) if found.info.checkpoints.is_empty() => {
            Err(format!("the family '{name}' carries its own weights and takes no checkpoint ('{}')", model.display()))
        }
        Some(model) if !model.is_dir() => Err(format!("'{}' is not a checkpoint directory", model.display())),
        _ => Ok(()),
    }
}
