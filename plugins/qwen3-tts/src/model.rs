//! A loaded model: its voices, its prompts, its references, its stages.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{DType, Device, Tensor, TensorData};
use omni_blocks::codecs::qwen12hz::Decoder;
use omni_plugin_api::{
    Extent, Model, ModelInfo, NamedTensor, Placement, PluginError, Prepared, ReferenceAudio, Services, SpeechRequest, Stage, StageWish,
    Stepwise, Usage, Voice, VoiceInfo,
};

use crate::config::Config;
use crate::family::SAMPLE_RATE_HZ;
use crate::generation::Generation;
use crate::layout::{Layout, Script};
use crate::load::{Cloning, Files, Weights, loud_frames};
use crate::nn::Talker;
use crate::prompt::{Conditioning, Speech};
use crate::request::{Defaults, Qwen3Request};
use crate::stages::{Code2Wav, Frames, PAGE, TalkerRoom, TalkerStage};
use crate::text::Reader;
use crate::voice::{Asked, LONGEST_INSTRUCTION, MOST_FRAMES, ask};

/// Most positions of one sequence: as many frames as may be asked for, and as much prompt again.
const LONGEST: usize = 2 * MOST_FRAMES as usize;
/// Positions of a sequence of ordinary length: a prompt, and more than a minute of speech.
const ORDINARY: usize = 1024;
/// Frames that a text may take when the request sets no limit: this many, and [`FRAMES_A_TOKEN`] for each of its tokens.
const LEAST_BUDGET: u64 = 192;
/// Almost a second a token: several times what slow speech takes.
const FRAMES_A_TOKEN: u64 = 12;
/// Shortest recording that shows a voice, in samples.
const SHORTEST_REFERENCE: usize = 1024;
/// Samples of silence whose codes are barred: eight seconds, since they go on changing for a while.
const SILENCE: usize = 8 * SAMPLE_RATE_HZ as usize;

/// The model. It is shared by all threads and never changes after it was loaded; what changes belongs to a stage.
pub struct Qwen3Model {
    config: Arc<Config>,
    generation: Generation,
    reader: Reader,
    files: Files,
    weights: Arc<Weights>,
    /// What replicas on other devices than their stage's work with.
    talkers: Copies<Weights>,
    decoders: Copies<Decoder>,
    /// Where the stages are, and what the operator asks of them.
    placement: Placement,
    /// Frames at the start of a speech that may not be silence, where only a speaker's vector says how to speak.
    loud_frames: u32,
    services: Services,
}

/// What was brought to devices when the first replica there was opened.
struct Copies<T>(Mutex<Vec<(omni_plugin_api::Device, Arc<T>)>>);

impl<T> Copies<T> {
    fn on(&self, device: omni_plugin_api::Device, load: impl FnOnce() -> Result<T, PluginError>) -> Result<Arc<T>, PluginError> {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, copy)) = copies.iter().find(|(there, _)| *there == device) {
            return Ok(Arc::clone(copy));
        }
        let copy = Arc::new(load()?);
        copies.push((device, Arc::clone(&copy)));
        Ok(copy)
    }
}

impl Qwen3Model {
    /// Loads a checkpoint directory.
    pub fn open(directory: &Path, placement: &Placement, services: &Services) -> Result<Self, PluginError> {
        let config = Config::open(directory)?;
        let generation = Generation::open(directory)?;
        let reader = Reader::open(directory).map_err(|error| PluginError::checkpoint(error.to_string()))?;
        let files = Files::open(directory, &config)?;
        let weights = Weights::load(&files, &config, placement, context(&config), services)?;
        Ok(Self {
            config: Arc::new(config),
            generation,
            reader,
            files,
            weights: Arc::new(weights),
            talkers: Copies(Mutex::default()),
            decoders: Copies(Mutex::default()),
            placement: placement.clone(),
            loud_frames: loud_frames(placement)?,
            services: services.clone(),
        })
    }

    /// A replica of the talker where these weights are.
    fn talker(&self, weights: Arc<Weights>) -> Result<Box<dyn Stage>, PluginError> {
        let wish = self.placement.wish(0);
        let room = room(&self.config, &wish, &weights);
        let is_plain = wish.is_eager || weights.device == Device::flex();
        let frames = if is_plain { Frames::Plain } else { Frames::Recorded };
        let mut stage = TalkerStage::new(weights, Arc::clone(&self.config), room, frames, self.services.clone());
        stage.warm(&self.services)?;
        Ok(Stepwise::boxed(stage))
    }

    /// A replica of the codec where this decoder is.
    fn code2wav(&self, decoder: Arc<Decoder>) -> Result<Box<dyn Stage>, PluginError> {
        let device = decoder.device();
        let mut stage = Code2Wav::new(decoder, slots(&self.placement.wish(1), &device));
        if device != Device::flex() {
            stage.warm(&self.services)?;
        }
        Ok(Stepwise::boxed(stage))
    }

    /// The tokens of a speech.
    fn script(&self, input: &str, asked: &Asked, reads_ahead: bool) -> Result<Script, PluginError> {
        let unreadable = |error: omni_blocks::text::TextError| PluginError::internal(error.to_string());
        let text = self.reader.speech(input).map_err(unreadable)?;
        if text.is_empty() {
            return Err(PluginError::invalid("input", "Input text cannot be empty"));
        }
        let instruction = asked.instruction.as_deref().map(|text| self.reader.instruction(text)).transpose().map_err(unreadable)?;
        let reference = asked.reference_text.as_deref().map(|text| self.reader.speech(text)).transpose().map_err(unreadable)?;
        let codes = asked.conditioning.codes.as_ref().map_or(0, Vec::len);
        Ok(Script {
            instruction: instruction.unwrap_or_default(),
            role: self.reader.role().map_err(unreadable)?,
            text,
            reference_text: reference.unwrap_or_default(),
            reference_frames: codes / self.config.talker_config.num_code_groups,
            language: asked.language,
            speaker: asked.speaker,
            reads_ahead,
        })
    }

    /// Frames that a speech may take: asked for, or from the length of its text and no more than the operator allows; never more than there
    /// are positions.
    fn budget(&self, script: &Script, asked: Option<u64>, most: Option<u64>) -> Result<usize, PluginError> {
        let by_text = (FRAMES_A_TOKEN * script.text.len() as u64).clamp(LEAST_BUDGET, MOST_FRAMES).min(most.unwrap_or(MOST_FRAMES));
        let frames = usize::try_from(asked.unwrap_or(by_text)).unwrap_or(usize::MAX);
        let (rows, context) = (Layout::new(script, &self.config).rows.len(), context(&self.config));
        let left = context.saturating_sub(rows);
        if left == 0 || asked.is_some() && frames > left {
            let message = format!("the text takes {rows} positions and leaves {left} of the model's {context} for speech; make it shorter");
            return Err(PluginError::invalid("input", message));
        }
        Ok(frames.min(left))
    }
}

/// What a sequence takes of the cache: whole pages, for its prompt, its frames and the token that ends them.
fn extent(rows: usize, max_frames: usize) -> Extent {
    let positions = (rows + max_frames + 1).next_multiple_of(PAGE);
    Extent { prompt_tokens: rows as u64, max_new_tokens: (positions - rows) as u64 }
}

/// Positions of one sequence.
fn context(config: &Config) -> usize {
    config.talker_config.decoder.max_position_embeddings.min(LONGEST)
}

/// Slots of a stage when the operator does not say: on an accelerator many, on the processor a few.
fn slots(wish: &StageWish, device: &Device) -> usize {
    wish.sequences.unwrap_or(if *device == Device::flex() { 16 } else { 64 }).max(1)
}

/// How much a talker holds: what the operator gives it, else one sequence of any length or all slots with sequences of ordinary length.
fn room(config: &Config, wish: &StageWish, weights: &Weights) -> TalkerRoom {
    let slots = slots(wish, &weights.device);
    let each = Talker::kv_shape(&config.talker_config).bytes_per_position(weights.dtype);
    let given = wish.kv_bytes.map(|bytes| usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX));
    let most = wish.sequence_tokens.map_or(usize::MAX, |tokens| slots.saturating_mul(usize::try_from(tokens).unwrap_or(usize::MAX)));
    let wanted = context(config).max(slots * ORDINARY).min(most);
    TalkerRoom { slots, positions: given.unwrap_or(wanted).max(PAGE) }
}

impl Model for Qwen3Model {
    fn info(&self) -> ModelInfo {
        let voice = |name: &str| VoiceInfo { name: name.into(), languages: Vec::new(), description: String::new() };
        ModelInfo {
            voices: self.config.talker_config.spk_id.names().map(voice).collect(),
            sample_rate_hz: SAMPLE_RATE_HZ,
            max_model_len: Some(context(&self.config) as u64),
            speaker_embedding_dim: self.weights.cloning.as_ref().map(|_| self.config.talker_config.decoder.hidden_size as u32),
        }
    }

    fn prepare(&self, request: &SpeechRequest, voice: &Voice) -> Result<Prepared, PluginError> {
        let fields = Qwen3Request::of(request)?;
        let defaults = Defaults::of(request)?;
        let asked = ask(&fields, voice, &self.config, self.placement.wish(0).instruction_chars.unwrap_or(LONGEST_INSTRUCTION))?;
        let is_clone = self.weights.cloning.is_some();
        let script = self.script(&request.input, &asked, fields.non_streaming_mode.unwrap_or(!is_clone))?;
        let usage =
            Usage { text_tokens: (script.text.len() + script.instruction.len()) as u64, audio_tokens: script.reference_frames as u64 };
        let sampling = fields.extra_params.unwrap_or_default().or(defaults.sampling);
        let rows = Layout::new(&script, &self.config).rows.len();
        let max_frames = self.budget(&script, fields.max_new_tokens, defaults.max_tokens)?;
        let least = defaults.min_tokens.map(|least| least.min(u32::try_from(max_frames).unwrap_or(u32::MAX)));
        let speech = Speech {
            max_frames,
            script,
            first: self.generation.first(&sampling, least),
            rest: self.generation.rest(&sampling),
            seed: request.seed,
            must_end: is_clone && fields.max_new_tokens.is_none(),
            loud_frames: if is_clone && asked.conditioning.codes.is_none() { self.loud_frames } else { 0 },
        };
        let prompt = speech.prompt(asked.conditioning, self.config.talker_config.num_code_groups)?;
        Ok(Prepared { prompt, usage, extent: extent(rows, max_frames), ..Prepared::default() })
    }

    fn encode_reference(&self, reference: &ReferenceAudio) -> Result<Vec<NamedTensor>, PluginError> {
        let Some(cloning) = &self.weights.cloning else {
            return Err(PluginError::unsupported("this checkpoint cannot speak with a reference voice: only a Base checkpoint can"));
        };
        if reference.sample_rate_hz != SAMPLE_RATE_HZ {
            let found = reference.sample_rate_hz;
            return Err(PluginError::internal(format!("the reference came at {found} Hz, expected {SAMPLE_RATE_HZ}")));
        }
        let conditioning = cloning.condition(&reference.samples, &self.weights.device)?;
        Ok(conditioning.tensors(self.config.talker_config.num_code_groups))
    }

    fn open_stage(&self, index: usize) -> Result<Box<dyn Stage>, PluginError> {
        match index {
            0 => self.talker(Arc::clone(&self.weights)),
            1 => self.code2wav(Arc::clone(&self.weights.decoder)),
            _ => Err(no_stage(index)),
        }
    }

    fn open_stage_on(&self, index: usize, device: omni_plugin_api::Device) -> Result<Box<dyn Stage>, PluginError> {
        let (files, config, placement) = (&self.files, &self.config, &self.placement);
        match index {
            0 => self.talker(self.talkers.on(device, || self.weights.talker_on(device, files, config, placement, context(config)))?),
            1 => self.code2wav(self.decoders.on(device, || Weights::decoder_on(device, files))?),
            _ => Err(no_stage(index)),
        }
    }
}

fn no_stage(index: usize) -> PluginError {
    PluginError::internal(format!("qwen3_tts has 2 stages, asked for number {index}"))
}

impl Cloning {
    /// The first codes that the encoder has for silence, ascending.
    pub fn silence(&self) -> Result<Arc<[u32]>, PluginError> {
        let _working = omni_blocks::device::work();
        let failed = |error: String| PluginError::internal(format!("silence cannot be encoded: {error}"));
        let codes = self.encoder.encode(&vec![0.0; SILENCE]).ok_or_else(|| failed("it is too short".to_owned()))?;
        let [_, codebooks] = codes.dims();
        let codes = codes.try_into_vec_as::<i32>().map_err(|error| failed(error.to_string()))?;
        let first: BTreeSet<u32> = codes.chunks(codebooks).filter_map(|frame| u32::try_from(*frame.first()?).ok()).collect();
        Ok(first.into_iter().collect())
    }

    /// What a voice carries: the speaker's vector and the codes of a recording at the codec's rate.
    pub fn condition(&self, samples: &[f32], device: &Device) -> Result<Conditioning, PluginError> {
        let too_short = || {
            let (found, least) = (samples.len(), SHORTEST_REFERENCE);
            PluginError::invalid("ref_audio", format!("the reference audio is too short: {found} samples, at least {least} are needed"))
        };
        if samples.len() < SHORTEST_REFERENCE {
            return Err(too_short());
        }
        let _working = omni_blocks::device::work();
        let failed = |error: String| PluginError::internal(format!("the device failed: {error}"));
        let codes = self.encoder.encode(samples).ok_or_else(too_short)?;
        let codes = codes.try_into_vec_as::<i32>().map_err(|error| failed(error.to_string()))?;
        let mel = self.mel.compute(samples).ok_or_else(too_short)?;
        let shape = [1, mel.len() / self.mel.spec().bands, self.mel.spec().bands];
        let mel = Tensor::<3>::from_data(TensorData::new(mel, shape), (device, DType::F32));
        let vector = self.speaker.forward(mel).map_err(|error| PluginError::invalid("ref_audio", error.to_string()))?;
        let embedding = vector.try_into_vec_as::<f32>().map_err(|error| failed(error.to_string()))?;
        Ok(Conditioning { embedding: Some(embedding), codes: Some(codes) })
    }
}
