//! The golden checkpoints and what the published package computed with them; see `tests/golden/README.md`.
//!
//! The same tests run elsewhere than on the CPU: `OMNI_TEST_DEVICE=cuda:0` with a build that has CUDA.

#![allow(dead_code)] // Each test binary uses a part.

use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::{Int, Tensor, TensorData};
use omni_plugin_api::{Device, FloatType, ModelSource, NamedTensor, Placement, Services, SpeechRequest, StageWish, Voice};
use qwen3_tts::Qwen3Tts;
use qwen3_tts::config::Config;
use qwen3_tts::load::{Files, Weights};
use qwen3_tts::prompt::{REF_CODE, SPEAKER_EMBEDDING};
use safetensors::SafeTensors;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One golden checkpoint.
pub struct Golden {
    pub directory: PathBuf,
    pub config: Config,
    pub cases: Vec<Case>,
    tensors: Vec<u8>,
}

/// What was spoken.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    pub name: String,
    pub text: String,
    pub language: Option<String>,
    pub speaker: Option<String>,
    pub instruct: Option<String>,
    pub ref_text: Option<String>,
    #[serde(default)]
    pub x_vector_only: bool,
    pub non_streaming: bool,
    #[serde(default)]
    pub trace: bool,
    #[serde(default)]
    pub pcm: bool,
    #[serde(default)]
    pub sampled: bool,
    pub ids: Vec<u32>,
    pub instruct_ids: Option<Vec<u32>>,
    pub ref_ids: Option<Vec<u32>>,
    pub frames: usize,
    pub stopped: bool,
}

/// A test binary may be carried to a machine with another tree.
pub fn golden_folder() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.join("tests/golden")
}

/// Where the tests run, with all digits.
pub fn placement() -> Placement {
    placement_in(FloatType::F32)
}

/// Where the tests run, with a talker of numbers of this type.
pub fn placement_in(dtype: FloatType) -> Placement {
    let asked = std::env::var("OMNI_TEST_DEVICE").unwrap_or_default();
    let device = match asked.split_once(':') {
        Some(("cuda", index)) => Device::Cuda(index.parse().expect("a number of a device")),
        _ => Device::Cpu,
    };
    Placement { devices: vec![device], wishes: vec![StageWish { dtype: Some(dtype), sequences: Some(8), ..StageWish::default() }; 2] }
}

/// What `f32` may be off, relative to the norm. A GPU multiplies `f32` in tensor cores, with 10 bits of mantissa.
pub fn tolerance() -> f32 {
    if placement().device(0) == Device::Cpu { 1e-4 } else { 2e-3 }
}

/// The device of the tests, as tensors know it.
pub fn device() -> burn::tensor::Device {
    qwen3_tts::load::device(placement().device(0)).expect("the device is there")
}

impl Golden {
    pub fn open(name: &str) -> Self {
        let directory = golden_folder().join(name);
        let read = |file: &str| std::fs::read(directory.join(file)).expect("a golden file");
        Self {
            config: Config::open(&directory).expect("a config"),
            cases: serde_json::from_slice(&read("cases.json")).expect("cases"),
            tensors: read("golden.safetensors"),
            directory,
        }
    }

    pub fn all() -> Vec<Self> {
        ["custom_voice", "voice_design", "base"].map(Self::open).into()
    }

    pub fn weights(&self) -> Arc<Weights> {
        self.weights_in(FloatType::F32)
    }

    pub fn weights_in(&self, dtype: FloatType) -> Arc<Weights> {
        let files = Files::open(&self.directory, &self.config).expect("a whole checkpoint");
        let weights = Weights::load(&files, &self.config, &placement_in(dtype), 512, &Services::silent());
        Arc::new(weights.expect("the checkpoint loads"))
    }

    pub fn source(&self) -> ModelSource {
        ModelSource::Directory(self.directory.clone())
    }

    pub fn rig(&self, voice: Voice) -> omni_plugin_api::testing::Rig {
        omni_plugin_api::testing::Rig::open_on(&Qwen3Tts, &self.source(), &placement()).expect("the checkpoint opens").with_voice(voice)
    }

    pub fn case(&self, name: &str) -> &Case {
        self.cases.iter().find(|case| case.name == name).expect("a case of this name")
    }

    /// A float tensor and its shape.
    pub fn floats(&self, name: &str) -> (Vec<f32>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.tensors).expect("a golden file");
        let tensor = file.tensor(name).expect("a tensor of this name");
        (tensor.data().as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect(), tensor.shape().to_vec())
    }

    /// An integer tensor and its shape.
    pub fn ints(&self, name: &str) -> (Vec<i32>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.tensors).expect("a golden file");
        let tensor = file.tensor(name).expect("a tensor of this name");
        (tensor.data().as_chunks().0.iter().map(|chunk| i32::from_le_bytes(*chunk)).collect(), tensor.shape().to_vec())
    }

    /// The voice of a case.
    pub fn voice(&self, case: &Case) -> Voice {
        let mut voice = Voice { name: case.speaker.clone(), transcript: case.ref_text.clone(), ..Voice::default() };
        if self.directory.ends_with("base") {
            let (vector, vector_shape) = self.floats("reference.vector");
            let (codes, codes_shape) = self.ints("reference.codes");
            voice.tensors.push(NamedTensor::f32(SPEAKER_EMBEDDING, vector_shape, vector));
            voice.tensors.push(NamedTensor::i32(REF_CODE, codes_shape, codes));
        }
        voice
    }
}

impl Case {
    /// The request that says it: greedy unless it was sampled, as long as it was.
    pub fn request(&self) -> SpeechRequest {
        let mut fields = Map::new();
        fields.insert("language".into(), json!(self.language));
        fields.insert("instructions".into(), json!(self.instruct));
        fields.insert("non_streaming_mode".into(), json!(self.non_streaming));
        fields.insert("max_new_tokens".into(), json!(if self.stopped { 200 } else { self.frames }));
        if self.x_vector_only {
            fields.insert("x_vector_only_mode".into(), json!(true));
        }
        if self.directory_is_design() {
            fields.insert("task_type".into(), json!("VoiceDesign"));
        }
        if !self.sampled {
            fields.insert("extra_params".into(), json!({"do_sample": false, "subtalker_dosample": false}));
        }
        fields.retain(|_, value| *value != Value::Null);
        SpeechRequest { fields, ..SpeechRequest::new(self.text.clone()) }
    }

    fn directory_is_design(&self) -> bool {
        self.name.starts_with("design")
    }
}

/// Distance of two vectors, relative to the length of the second.
pub fn distance(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len(), "lengths");
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|value| value * value).sum::<f32>().sqrt();
    let gap = norm(&mut found.iter().zip(wanted).map(|(found, wanted)| found - wanted));
    gap / norm(&mut wanted.iter().copied()).max(f32::MIN_POSITIVE)
}

pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_into_vec_as::<f32>().expect("floats")
}

pub fn ids(ids: &[i64], shape: [usize; 2]) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(ids.to_vec(), shape), &device())
}
