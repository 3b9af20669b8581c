//! A checkpoint directory onto its devices.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::{DType, Device};
use omni_blocks::codecs::qwen12hz::{self, Decoder, Encoder};
use omni_blocks::device::work;
use omni_blocks::encoders::{Ecapa, EcapaConfig};
use omni_blocks::load::{Checkpoint, LoadError, Progress, Reader};
use omni_blocks::signal::{MelFrontEnd, MelSpec};
use omni_plugin_api::{FloatType, Placement, PluginError, Services};

use crate::config::Config;
use crate::family::SAMPLE_RATE_HZ;
use crate::manifest;
use crate::nn::{Talker, TextTable};
use crate::task::Task;

/// What the stages and the prompts of a model share.
pub struct Weights {
    /// Frames out of rows.
    pub talker: Talker,
    /// Rows out of text.
    pub text: TextTable,
    /// Samples out of frames.
    pub decoder: Arc<Decoder>,
    /// What makes a voice of a recording; Base only.
    pub cloning: Option<Cloning>,
    /// First codes of silence, where somebody wants to do without them.
    pub silence: Arc<[u32]>,
    /// Where the talker is.
    pub device: Device,
    /// What its matrices are made of.
    pub dtype: DType,
}

/// What makes a voice of a recording.
pub struct Cloning {
    /// Recording to codes.
    pub encoder: Encoder,
    /// Recording to the spectrum that the speaker's vector is made of.
    pub mel: MelFrontEnd,
    /// Spectrum to the speaker's vector.
    pub speaker: Ecapa,
}

/// The codec's folder inside a checkpoint.
const CODEC: &str = "speech_tokenizer";
/// The stem of every file of weights.
const STEM: &str = "model";

/// A checkpoint's files, checked against what the family reads of them.
pub struct Files {
    main: Arc<Checkpoint>,
    codec: Checkpoint,
    codec_config: qwen12hz::Config,
}

impl Files {
    /// Opens a checkpoint directory.
    pub fn open(directory: &Path, config: &Config) -> Result<Self, PluginError> {
        let main = Arc::new(Checkpoint::open(directory, STEM).map_err(refuse)?);
        let codec = Checkpoint::open(&directory.join(CODEC), STEM).map_err(refuse)?;
        let codec_config = codec_config(&directory.join(CODEC))?;
        check_codec(config, &codec_config)?;
        manifest::main(config, speaker(config)?).check(&main).map_err(refuse)?;
        manifest::codec(&codec_config).check(&codec).map_err(refuse)?;
        Ok(Self { main, codec, codec_config })
    }

    fn check_finite(&self) -> Result<(), LoadError> {
        self.main.check_finite().and_then(|()| self.codec.check_finite())
    }
}

impl Weights {
    /// Loads the talker for `positions` positions onto the first stage's device, the decoder onto the second's.
    pub fn load(files: &Files, config: &Config, placement: &Placement, positions: usize, services: &Services) -> Result<Self, PluginError> {
        let (device, codec_device) = (device(placement.device(0))?, device(placement.device(1))?);
        let (dtype, speaker) = (dtype(placement.wish(0).dtype, &device)?, speaker(config)?);
        if placement.wish(1).dtype.is_some_and(|wish| wish != FloatType::F32) {
            services.warn("code2wav runs in float32: its activation functions lose the sound in 16 bits");
        }
        let (done, total) = (Cell::new(0), files.main.bytes() + files.codec.bytes());
        let progress = |bytes: u64| {
            services.progress("weights", bytes.min(total), total);
            !services.is_cancelled(None)
        };
        files.main.read_ahead();
        files.codec.read_ahead();
        let readers = Readers { files, progress: &progress, done: &done };
        let load = || {
            let (talker, text) = readers.talker(config, positions, &device, dtype)?;
            let decoder = Arc::new(readers.decoder(&codec_device)?);
            let cloning = speaker.map(|speaker| readers.cloning(&device, speaker)).transpose()?;
            Ok((talker, text, decoder, cloning))
        };
        // A value that is no number is told first: it may be why something else failed.
        let (looked, loaded) = std::thread::scope(|scope| {
            let looking = scope.spawn(|| files.check_finite());
            let loaded = load();
            (looking.join(), loaded)
        });
        looked.map_err(|_| PluginError::internal("the thread that looks at the values broke off"))?.map_err(refuse)?;
        let (talker, text, decoder, cloning) = loaded.map_err(refuse)?;
        let silence = match &cloning {
            Some(cloning) if loud_frames(placement)? > 0 => cloning.silence()?,
            _ => Arc::default(),
        };
        Ok(Self { talker, text, decoder, cloning, silence, device, dtype })
    }

    /// The same talker on another device, in the same type where that has a say in it.
    pub fn talker_on(
        &self,
        other: omni_plugin_api::Device,
        files: &Files,
        config: &Config,
        placement: &Placement,
        positions: usize,
    ) -> Result<Self, PluginError> {
        let device = device(other)?;
        let dtype = dtype(placement.wish(0).dtype, &device)?;
        let readers = Readers { files, progress: &|_| true, done: &Cell::new(0) };
        let (talker, text) = readers.talker(config, positions, &device, dtype).map_err(refuse)?;
        Ok(Self { talker, text, decoder: Arc::clone(&self.decoder), cloning: None, silence: Arc::clone(&self.silence), device, dtype })
    }

    /// The decoder on another device.
    pub fn decoder_on(other: omni_plugin_api::Device, files: &Files) -> Result<Decoder, PluginError> {
        Readers { files, progress: &|_| true, done: &Cell::new(0) }.decoder(&device(other)?).map_err(refuse)
    }
}

/// Frames at the start of a speech that may not be silence, where only a speaker's vector says how to speak: `silence_ban_frames`.
pub fn loud_frames(placement: &Placement) -> Result<u32, PluginError> {
    const KEY: &str = "silence_ban_frames";
    let wish = placement.wish(0);
    let Some(value) = wish.settings.get(KEY) else { return Ok(0) };
    let frames = value.as_u64().and_then(|frames| u32::try_from(frames).ok());
    frames.ok_or_else(|| PluginError::checkpoint(format!("{KEY}: expected a number of frames, found {value}")))
}

fn refuse(error: LoadError) -> PluginError {
    PluginError::checkpoint(error.to_string())
}

/// The speaker encoder's settings, where the checkpoint has one.
fn speaker(config: &Config) -> Result<Option<&EcapaConfig>, PluginError> {
    (config.task()? == Task::Base).then(|| config.speaker()).transpose()
}

/// Both files and how far their reading is.
///
/// Each part is read as work of its own: a model that is heard may have to record meanwhile, and waits for one part, not for all.
struct Readers<'a> {
    files: &'a Files,
    progress: &'a Progress<'a>,
    done: &'a Cell<u64>,
}

impl<'a> Readers<'a> {
    fn talker(&self, config: &Config, positions: usize, device: &'a Device, dtype: DType) -> Result<(Talker, TextTable), LoadError> {
        let _working = work();
        let reader = Reader::new(&self.files.main, device, dtype, self.progress, self.done);
        let text = TextTable::load(&reader, &self.files.main, &config.talker_config)?;
        Ok((Talker::load(&reader, config, positions)?, text))
    }

    fn decoder(&self, device: &'a Device) -> Result<Decoder, LoadError> {
        let _working = work();
        let reader = Reader::new(&self.files.codec, device, DType::F32, self.progress, self.done);
        Decoder::load(&reader, &self.files.codec_config.decoder_config)
    }

    /// Quantisers and spectra are exact on every device.
    fn cloning(&self, device: &'a Device, spec: &EcapaConfig) -> Result<Cloning, LoadError> {
        let _working = work();
        let encoder = Reader::new(&self.files.codec, device, DType::F32, self.progress, self.done);
        let main = Reader::new(&self.files.main, device, DType::F32, self.progress, self.done);
        Ok(Cloning {
            encoder: Encoder::load(&encoder, &self.files.codec_config, false)?,
            mel: MelFrontEnd::new(MelSpec::speaker_24k()),
            speaker: Ecapa::load(&main.part("speaker_encoder"), spec)?,
        })
    }
}

/// The talker's frames must be the codec's.
fn check_codec(config: &Config, codec: &qwen12hz::Config) -> Result<(), PluginError> {
    let talker = &config.talker_config;
    let (made, taken) = (
        (talker.num_code_groups, talker.code_predictor_config.vocab_size),
        (codec.decoder_config.num_quantizers, codec.decoder_config.codebook_size),
    );
    if made == taken && codec.output_sample_rate == SAMPLE_RATE_HZ && codec.input_sample_rate == SAMPLE_RATE_HZ {
        return Ok(());
    }
    let rate = codec.output_sample_rate;
    Err(PluginError::checkpoint(format!(
        "the talker makes {} codebooks of {} codes for {SAMPLE_RATE_HZ} Hz, the codec takes {} of {} and gives {rate} Hz",
        made.0, made.1, taken.0, taken.1
    )))
}

fn codec_config(directory: &Path) -> Result<qwen12hz::Config, PluginError> {
    let path = directory.join("config.json");
    let wrong = |reason: String| PluginError::checkpoint(format!("'{}' cannot be used: {reason}", path.display()));
    let text = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    qwen12hz::Config::from_json(&text).map_err(|error| wrong(error.to_string()))
}

/// What the talker's matrices are made of: `f32` is fastest on the processor, `bf16` half as large.
fn dtype(wish: Option<FloatType>, device: &Device) -> Result<DType, PluginError> {
    match wish {
        Some(FloatType::F32) => Ok(DType::F32),
        Some(FloatType::BF16) => Ok(DType::BF16),
        Some(FloatType::F16) => Err(PluginError::checkpoint(
            "dtype: float16 cannot hold the activations of Qwen3-TTS; choose bfloat16 or float32 for the talker",
        )),
        None if *device == Device::flex() => Ok(DType::F32),
        None => Ok(DType::BF16),
    }
}

/// The device that the host chose.
pub fn device(of: omni_plugin_api::Device) -> Result<Device, PluginError> {
    match of {
        omni_plugin_api::Device::Cpu => Ok(Device::flex()),
        omni_plugin_api::Device::Cuda(index) => cuda(index),
    }
}

#[cfg(feature = "cuda")]
fn cuda(index: u32) -> Result<Device, PluginError> {
    Ok(omni_blocks::device::cuda(index as usize))
}

#[cfg(not(feature = "cuda"))]
fn cuda(index: u32) -> Result<Device, PluginError> {
    Err(PluginError::checkpoint(format!(
        "this build of the plugin has no CUDA: it cannot run on cuda:{index}; place its stages on the cpu"
    )))
}
