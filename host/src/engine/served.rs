//! A model that can speak.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use omni_plugin_api::{
    ErrorKind, FamilyInfo, Model, ModelInfo, ModelSource, NamedTensor, PluginError, Prepared, ReferenceAudio, SpeechRequest, Voice,
    VoiceInfo, contain,
};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::admission::{Admission, Place};
use super::align::Aligner;
use super::job::{Job, JobParts, Pacing};
use super::measures::{Arrival, ModelMeasures};
use super::pipeline::Pipeline;
use super::stream::StreamParts;
use super::watchdog::Pulse;
use super::{SpeechError, SpeechHead, SpeechStream, VoiceAliases};
use crate::reference::Clip;
use crate::schema::RequestSchema;
use crate::voices::key_of;
use crate::voices::precomputed::Precomputed;

/// A loaded model behind its door.
pub struct Served {
    /// What requests call it, as it is listed.
    pub id: String,
    /// All that requests may call it.
    names: Vec<String>,
    /// Its family.
    pub info: FamilyInfo,
    /// What it says of itself.
    pub model: ModelInfo,
    /// Its family's request schema, compiled.
    pub schema: RequestSchema,
    /// The plugin's file; `None` for the built-in voice.
    pub file: Option<PathBuf>,
    /// Which build of the plugin it is.
    pub build: String,
    /// Where its weights came from.
    pub source: ModelSource,
    /// When it was loaded, in seconds since 1970.
    pub created: u64,
    /// Voices that were prepared for it.
    prepared: Vec<Arc<Precomputed>>,
    /// Other names of its voices.
    pub aliases: Arc<VoiceAliases>,
    /// What the operator set for requests that do not say, by its names in a deploy file.
    pub defaults: Map<String, Value>,
    /// What finds the words of a clip, where there is such a thing.
    pub aligner: Option<Arc<dyn Aligner>>,
    pipeline: Arc<Pipeline>,
    admission: Arc<Admission>,
    measures: ModelMeasures,
    /// Calls of the model at once: they are work for processors and there are only so many.
    preparing: Arc<Semaphore>,
    /// How long a request may take, in the queue and after it.
    request_timeout: Option<Duration>,
}

/// What a served model is made of.
pub struct ServedParts {
    /// Its stages at work.
    pub pipeline: Arc<Pipeline>,
    /// Its door.
    pub admission: Arc<Admission>,
    /// Its family's request schema.
    pub schema: RequestSchema,
    /// The plugin's file.
    pub file: Option<PathBuf>,
    /// The plugin's build.
    pub build: String,
    /// Where its weights came from.
    pub source: ModelSource,
    /// How long a request may take, in the queue and after it.
    pub request_timeout: Option<Duration>,
    /// Voices that were prepared for it.
    pub prepared: Vec<Precomputed>,
    /// Other names of voices.
    pub aliases: Arc<VoiceAliases>,
    /// What finds the words of a clip.
    pub aligner: Option<Arc<dyn Aligner>>,
    /// What requests may call it beside its listed name.
    pub names: Vec<String>,
    /// What the operator set for requests that do not say.
    pub defaults: Map<String, Value>,
}

impl Served {
    /// Puts the parts together.
    pub(super) fn new(parts: ServedParts) -> Self {
        let ServedParts { pipeline, admission, schema, file, build, source, request_timeout, prepared, aliases, aligner, names, defaults } =
            parts;
        let prepared = prepared.into_iter().map(Arc::new).collect();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (id, info, model) = (pipeline.id.clone(), pipeline.info.clone(), pipeline.model.info());
        let preparing = Arc::new(Semaphore::new(processors));
        let measures = ModelMeasures::new(&id, info.stages.len(), model.sample_rate_hz, info.channels);
        Self {
            id,
            names,
            info,
            model,
            schema,
            file,
            build,
            source,
            created,
            prepared,
            aliases,
            defaults,
            aligner,
            pipeline,
            admission,
            measures,
            preparing,
            request_timeout,
        }
    }

    /// Whether a request that names this model means it.
    pub fn answers_to(&self, name: &str) -> bool {
        self.id == name || self.names.iter().any(|other| other == name)
    }

    /// A prepared voice by its name, in any case.
    pub fn prepared(&self, name: &str) -> Option<&Arc<Precomputed>> {
        let key = key_of(name);
        self.prepared.iter().find(|voice| voice.key() == key)
    }

    /// The names of its voices, built in and prepared.
    pub fn own_voices(&self) -> impl Iterator<Item = &str> {
        let built_in = self.model.voices.iter().map(|voice| voice.name.as_str());
        built_in.chain(self.prepared.iter().map(|voice| voice.name.as_str()))
    }

    /// Its voices, built in and prepared, as it lists them.
    pub fn voices(&self) -> Vec<VoiceInfo> {
        let prepared = self.prepared.iter().map(|voice| VoiceInfo {
            name: voice.name.clone(),
            languages: Vec::new(),
            description: voice.description.clone().unwrap_or_default(),
        });
        self.model.voices.iter().cloned().chain(prepared).collect()
    }

    /// A built-in voice by its name, in any case.
    pub fn voice(&self, name: &str) -> Option<&VoiceInfo> {
        let name = name.to_lowercase();
        self.model.voices.iter().find(|voice| voice.name.to_lowercase() == name)
    }

    /// Takes a place, prepares and starts a request. Dropping the future or the stream gives everything back.
    pub async fn speak(self: &Arc<Self>, request: SpeechRequest, voice: Voice, pacing: Pacing) -> Result<SpeechStream, SpeechError> {
        let place = self.enter()?;
        self.speak_at(place, request, voice, pacing).await
    }

    /// Takes a place, at which requests may be spoken one after the other.
    pub fn enter(&self) -> Result<Arc<Place>, SpeechError> {
        self.admission.enter().map(Arc::new)
    }

    /// Takes a place as soon as there is one.
    pub async fn enter_in_turn(&self) -> Arc<Place> {
        Arc::new(self.admission.enter_in_turn().await)
    }

    /// Prepares and starts a request at a place. Dropping the future or the stream gives everything back but the place, which is given
    /// back with the last hold on it.
    pub async fn speak_at(
        self: &Arc<Self>,
        place: Arc<Place>,
        request: SpeechRequest,
        voice: Voice,
        pacing: Pacing,
    ) -> Result<SpeechStream, SpeechError> {
        let arrival = Arrival::now();
        self.pipeline.check_healthy()?;
        let (longest_s, characters) = (longest_audio_s(&request), request.input.chars().count());
        place.promise(characters)?;
        let deadline = self.request_timeout.map(|timeout| self.pipeline.clock.now() + timeout);
        let prepared = self.prepare(request, voice).await?;
        let measures = self.measures.begin(arrival, prepared.usage, prepared.warnings.len());
        let (job, ends) = Job::new(JobParts {
            seq: Pipeline::next_seq(),
            prompt: prepared.prompt,
            extent: prepared.extent,
            pacing,
            stages: self.info.stages.len(),
            longest_s,
            deadline,
            place: Arc::downgrade(&place),
            clock: self.pipeline.clock.clone(),
            measures,
        });
        let head = SpeechHead {
            sample_rate_hz: self.model.sample_rate_hz,
            channels: self.info.channels,
            usage: prepared.usage,
            warnings: prepared.warnings,
        };
        let pipeline = Arc::clone(&self.pipeline);
        let stream = SpeechStream::new(StreamParts { head, job: Arc::clone(&job), ends, pipeline, place, characters });
        self.pipeline.begin(&job).inspect_err(|error| job.measures.failed(error))?;
        Ok(stream)
    }

    /// Requests that can hold a slot at once.
    pub fn slots(&self) -> usize {
        self.admission.slots()
    }

    /// Requests that hold a slot.
    pub fn running(&self) -> usize {
        self.admission.running()
    }

    /// Requests that were let in so far.
    pub fn entered(&self) -> u64 {
        self.admission.entered()
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.admission.waiting()
    }

    /// What each stage replica is doing.
    pub fn pulses(&self) -> Vec<Pulse> {
        self.pipeline.pulses()
    }

    /// Whether a request would be let in now.
    pub fn has_room(&self) -> Result<(), SpeechError> {
        self.pipeline.check_healthy()?;
        self.admission.check()
    }

    /// Waits until no request is inside.
    pub async fn idle(&self) {
        self.admission.empty().await;
    }

    /// Runs the model's `prepare`.
    async fn prepare(self: &Arc<Self>, request: SpeechRequest, voice: Voice) -> Result<Prepared, SpeechError> {
        self.call("prepare", move |model| model.prepare(&request, &voice)).await
    }

    /// What the model makes of a clip, which is brought to the rate that it wants.
    pub async fn encode_reference(
        self: &Arc<Self>,
        clip: impl Into<Arc<Clip>>,
        transcript: Option<String>,
    ) -> Result<Vec<NamedTensor>, SpeechError> {
        self.pipeline.check_healthy()?;
        let (clip, sample_rate_hz) = (clip.into(), self.info.abilities.reference_rate_hz);
        let encode = move |model: &dyn Model| {
            let samples = clip.at(sample_rate_hz).map_err(|error| PluginError::invalid("ref_audio", error.to_string()))?;
            model.encode_reference(&ReferenceAudio { samples, sample_rate_hz, transcript })
        };
        let tensors = self.call("encode_reference", encode).await?;
        match tensors.iter().find(|tensor| !tensor.is_finite()) {
            Some(tensor) => Err(self.pipeline.failed(&format!("made a tensor '{}' of a reference that holds no numbers", tensor.name))),
            None => Ok(tensors),
        }
    }

    /// Runs a call of the model on a blocking thread, within the patience of the pipeline.
    async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        entry: &'static str,
        call: impl FnOnce(&dyn Model) -> Result<T, PluginError> + Send + 'static,
    ) -> Result<T, SpeechError> {
        let patience = self.pipeline.patience.call;
        let permit = match tokio::time::timeout(patience, Arc::clone(&self.preparing).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            // The semaphore is never closed; a full one for that long means that every call hangs.
            Ok(Err(_)) | Err(_) => return Err(self.call_hangs(entry)),
        };
        let pipeline = Arc::clone(&self.pipeline);
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            contain(entry, || call(&*pipeline.model))
        });
        match tokio::time::timeout(patience, work).await {
            Ok(Ok(outcome)) => outcome.map_err(|error| self.call_failed(entry, error)),
            Ok(Err(join)) => Err(self.pipeline.failed(&format!("lost its {entry}: {join}"))),
            Err(_) => Err(self.call_hangs(entry)),
        }
    }

    fn call_hangs(&self, entry: &str) -> SpeechError {
        let reason = format!("did not return from {entry} within {} s", self.pipeline.patience.call.as_secs_f32());
        self.pipeline.give_up(&reason);
        self.pipeline.failed(&reason)
    }

    fn call_failed(&self, entry: &str, error: PluginError) -> SpeechError {
        match error.kind {
            ErrorKind::Invalid | ErrorKind::Unsupported => SpeechError::Invalid { field: error.field, message: error.message },
            ErrorKind::Exhausted => SpeechError::Unavailable { message: error.message, retry_after_s: 1 },
            ErrorKind::Checkpoint | ErrorKind::Internal | ErrorKind::Panicked | ErrorKind::Incomplete => {
                tracing::error!(model = self.id, error = error.message, "{entry} failed");
                self.pipeline.failed(&error.message)
            }
        }
    }
}

/// Seconds of audio that a text can need at most: two a character, at its speed, and some for any text. Past that a model runs wild,
/// and its request is ended before it fills the memory.
fn longest_audio_s(request: &SpeechRequest) -> u64 {
    const FOR_ANY_TEXT_S: f64 = 60.0;
    const A_CHARACTER_S: f64 = 2.0;
    const LONGEST_S: f64 = 4.0 * 3600.0;
    let characters = request.input.chars().count() as f64;
    let seconds = FOR_ANY_TEXT_S + characters * A_CHARACTER_S / f64::from(request.speed).max(0.25);
    seconds.min(LONGEST_S) as u64
}

impl Drop for Served {
    fn drop(&mut self) {
        self.pipeline.stop();
    }
}
