//! The deploy file's typed keys, as they are written: a mirror of the file, checked for types and for nothing else.
//!
//! Free mappings (`hf_overrides`, `additional_config`, a connector's family keys) are no part of it; they go to the family as JSON.

use std::fmt;

use figment::value::magic::Tagged;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// A value that may be absent and knows its origin.
type Maybe<T> = Option<Tagged<T>>;

/// Declares a mirror struct together with the names of its keys.
macro_rules! mirror {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(default)]
        pub(crate) struct $name { $($(#[$doc])* pub $key: Maybe<$kind>,)* }

        impl $name {
            /// The names of its keys.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
        }
    };
}

mirror! {
    /// Typed keys of the whole pipeline.
    Pipeline {
        /// Stages hand chunks on while they work.
        async_chunk: bool,
        /// Streams of a stage that progress at once; 0 for all.
        active_stream_window: u32,
        /// Folder of voices that are loaded at the start.
        custom_voice_dir: String,
        /// Name of the family, instead of detection.
        pipeline: String,
        /// How sessions are held.
        session_mode: SessionMode,
        /// Which runner of the reference the file was written for.
        model_runner: ModelRunner,
    }
}

mirror! {
    /// Typed keys of a stage.
    Stage {
        /// Device numbers, or `cpu`.
        devices: DeviceText,
        /// Independent copies of the stage.
        num_replicas: u32,
        /// Whether this stage hands chunks on.
        async_chunk: bool,
        /// Sequences that the stage admits at once.
        max_num_seqs: u32,
        /// Tokens of one step.
        max_num_batched_tokens: u32,
        /// Longest prompt with what is generated, in tokens; -1 for the model's own.
        max_model_len: i64,
        /// Share of a device's memory that the stage may take.
        gpu_memory_utilization: f64,
        /// Bytes of the key-value cache.
        kv_cache_memory_bytes: u64,
        /// Devices that share a replica.
        tensor_parallel_size: u32,
        /// Kernels are launched one by one, without a captured graph.
        enforce_eager: bool,
        /// Type of the numbers.
        dtype: String,
        /// How weights are packed.
        quantization: String,
        /// Frames at the start in which silence may not be generated.
        silence_ban_frames: u32,
        /// Milliseconds a batch waits for company.
        request_batch_max_wait_ms: u32,
        /// Longest instructions in characters.
        tts_max_instructions_length: u32,
        /// Another checkpoint for this stage alone.
        model: String,
    }
}

mirror! {
    /// Typed keys of a connector's `extra`: the chunk policy.
    Chunking {
        /// Frames of a steady chunk; several for sizes that follow each other.
        codec_chunk_frames: Frames,
        /// Frames before a chunk that the decoder sees again.
        codec_left_context_frames: u32,
        /// Reference frames before the first chunk.
        ref_code_context_frames: u32,
        /// Frames of the first chunk; 0 for a size that follows the load.
        initial_codec_chunk_frames: u32,
        /// Frames of the first chunks.
        codec_chunk_ramp: Frames,
        /// Sizes follow what the listener has not heard yet.
        codec_chunk_adaptive: bool,
        /// Smallest adaptive chunk.
        codec_chunk_min_frames: u32,
        /// Milliseconds an adaptive stream stays ahead.
        codec_chunk_safety_margin_ms: f64,
        /// How slowly adaptive chunks grow.
        codec_chunk_ramp_divisor: u32,
        /// Frames by which adaptive chunks grow at least.
        codec_chunk_ramp_delta_min: u32,
        /// Chunks that the decoder works on at once; 0 for any number.
        decode_batch_max_size: u32,
    }
}

mirror! {
    /// Typed keys of `default_sampling_params`.
    Sampling {
        /// How far from the likeliest token sampling may go; 0 takes the likeliest.
        temperature: f64,
        /// Tokens to choose from; -1 for all.
        top_k: i64,
        /// Probability mass to choose from.
        top_p: f64,
        /// Factor against tokens that were said before.
        repetition_penalty: f64,
        /// Most tokens.
        max_tokens: u32,
        /// Fewest tokens.
        min_tokens: u32,
        /// Seed of requests that bring none.
        seed: i64,
        /// Tokens that end a sequence.
        stop_token_ids: Vec<u32>,
        /// The end token does not end a sequence.
        ignore_eos: bool,
        /// Steps of a diffusion stage.
        num_inference_steps: u32,
        /// Guidance of a diffusion stage.
        guidance_scale: f64,
    }
}

mirror! {
    /// Typed keys of `subtalker_sampling_params`.
    Subtalker {
        /// Sample instead of taking the likeliest.
        do_sample: bool,
        /// See [`Sampling::temperature`].
        temperature: f64,
        /// See [`Sampling::top_k`].
        top_k: i64,
        /// See [`Sampling::top_p`].
        top_p: f64,
    }
}

/// How sessions are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionMode {
    /// A request and its answer.
    Turn,
    /// Both sides at once, which speech synthesis does not do.
    Duplex,
}

/// The runner of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelRunner {
    /// The first generation.
    V1,
    /// The second generation.
    V2,
}

/// Devices as they are written: `"0,1"`, `0`, `cpu`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceText(pub String);

impl<'de> Deserialize<'de> for DeviceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = DeviceText;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("device numbers such as \"0\" or \"0,1\", or cpu")
            }
            fn visit_str<E>(self, text: &str) -> Result<DeviceText, E> {
                Ok(DeviceText(text.to_owned()))
            }
            fn visit_i128<E>(self, number: i128) -> Result<DeviceText, E> {
                Ok(DeviceText(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<DeviceText, E> {
                Ok(DeviceText(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<DeviceText, E> {
                Ok(DeviceText(number.to_string()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// A number of frames, or several: `25`, `[25, 50]`, `"25,50"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frames(pub Vec<i64>);

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Frames;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of frames or a list of such numbers")
            }
            fn visit_i128<E: de::Error>(self, number: i128) -> Result<Frames, E> {
                let number = i64::try_from(number).map_err(|_| E::custom(format!("expected a number of frames, found {number}")))?;
                Ok(Frames(vec![number]))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Frames, E> {
                Ok(Frames(vec![number]))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Frames, E> {
                self.visit_i128(number.into())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Frames, E> {
                let numbers = text.split(',').map(|part| part.trim().parse());
                let numbers: Result<Vec<i64>, _> = numbers.collect();
                numbers.map(Frames).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Frames, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = items.next_element()? {
                    numbers.push(number);
                }
                Ok(Frames(numbers))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}
