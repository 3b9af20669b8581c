//! A checkpoint directory onto its devices.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::{DType, Device};
use omni_blocks::codecs::qwen12hz::{self, Decoder, Encoder};
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

impl Weights {
    /// Loads a checkpoint directory: the talker for `positions` positions onto the first stage's device, the decoder onto the second's.
    pub fn open(
        directory: &Path,
        config: &Config,
        placement: &Placement,
        positions: usize,
        services: &Services,
    ) -> Result<Self, PluginError> {
        let refuse = |error: LoadError| PluginError::checkpoint(error.to_string());
        let main = Arc::new(Checkpoint::open(directory, STEM).map_err(refuse)?);
        let codec = Checkpoint::open(&directory.join(CODEC), STEM).map_err(refuse)?;
        let codec_config = codec_config(&directory.join(CODEC))?;
        let speaker = if config.task()? == Task::Base { Some(config.speaker()?) } else { None };
        check_codec(config, &codec_config)?;
        manifest::main(config, speaker).check(&main).map_err(refuse)?;
        manifest::codec(&codec_config).check(&codec).map_err(refuse)?;
        let (device, codec_device) = (device(placement.device(0))?, device(placement.device(1))?);
        let dtype = dtype(placement.wish(0).dtype, &device)?;
        if placement.wish(1).dtype.is_some_and(|wish| wish != FloatType::F32) {
            services.warn("code2wav runs in float32: its activation functions lose the sound in 16 bits");
        }
        let (done, total) = (Cell::new(0), main.bytes() + codec.bytes());
        let progress = |bytes: u64| {
            services.progress("weights", bytes.min(total), total);
            !services.is_cancelled(None)
        };
        let readers = Readers { main: &main, codec: &codec, progress: &progress, done: &done };
        readers.load(config, &codec_config, speaker, (&device, &codec_device), dtype, positions).map_err(refuse)
    }
}

/// Both files and how far their reading is.
struct Readers<'a> {
    main: &'a Arc<Checkpoint>,
    codec: &'a Checkpoint,
    progress: &'a Progress<'a>,
    done: &'a Cell<u64>,
}

impl<'a> Readers<'a> {
    fn load(
        &self,
        config: &Config,
        codec: &qwen12hz::Config,
        speaker: Option<&EcapaConfig>,
        (device, codec_device): (&'a Device, &'a Device),
        dtype: DType,
        positions: usize,
    ) -> Result<Weights, LoadError> {
        let main = Reader::new(self.main, device, dtype, self.progress, self.done);
        let decoder = Reader::new(self.codec, codec_device, DType::F32, self.progress, self.done);
        Ok(Weights {
            text: TextTable::load(&main, self.main, &config.talker_config)?,
            talker: Talker::load(&main, config, positions)?,
            decoder: Arc::new(Decoder::load(&decoder, &codec.decoder_config)?),
            cloning: speaker.map(|speaker| self.cloning(&main, device, codec, speaker)).transpose()?,
            device: device.clone(),
            dtype,
        })
    }

    /// Quantisers and spectra are exact on every device.
    fn cloning(&self, main: &Reader<'a>, device: &'a Device, codec: &qwen12hz::Config, spec: &EcapaConfig) -> Result<Cloning, LoadError> {
        let encoder = Reader::new(self.codec, device, DType::F32, self.progress, self.done);
        Ok(Cloning {
            encoder: Encoder::load(&encoder, codec, false)?,
            mel: MelFrontEnd::new(MelSpec::speaker_24k()),
            speaker: Ecapa::load(&main.with_dtype(DType::F32).part("speaker_encoder"), spec)?,
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
