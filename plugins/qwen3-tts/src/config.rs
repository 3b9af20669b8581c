//! `config.json` of a checkpoint.

use std::fmt;
use std::path::Path;

use omni_blocks::encoders::EcapaConfig;
use omni_plugin_api::PluginError;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::task::Task;

/// Largest size that a config may claim of anything: keeps products of sizes far from overflow.
const LARGEST: usize = 1 << 20;

/// The whole file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Config {
    /// `base`, `custom_voice` or `voice_design`.
    pub tts_model_type: String,
    /// `0b6` or `1b7`.
    #[serde(default)]
    pub tts_model_size: String,
    /// Text token that stands where there is nothing to read.
    pub tts_pad_token_id: u32,
    /// Text token before the text.
    pub tts_bos_token_id: u32,
    /// Text token after the text.
    pub tts_eos_token_id: u32,
    /// The talker.
    pub talker_config: TalkerConfig,
    /// The speaker encoder; Base only.
    #[serde(default)]
    pub speaker_encoder_config: Option<EcapaConfig>,
}

/// The talker and what it knows by name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TalkerConfig {
    /// Its transformer.
    #[serde(flatten)]
    pub decoder: DecoderConfig,
    /// Rows of the text embedding.
    pub text_vocab_size: usize,
    /// Width of the text embedding.
    pub text_hidden_size: usize,
    /// Codebooks of a frame.
    pub num_code_groups: usize,
    /// Where there is no code.
    pub codec_pad_id: u32,
    /// Before the first frame.
    pub codec_bos_id: u32,
    /// After the last frame.
    pub codec_eos_token_id: u32,
    /// Opens the tags when a language is given.
    pub codec_think_id: u32,
    /// Opens the tags when none is.
    pub codec_nothink_id: u32,
    /// Before the language.
    pub codec_think_bos_id: u32,
    /// After the language.
    pub codec_think_eos_id: u32,
    /// Languages by lower-case name.
    #[serde(default)]
    pub codec_language_id: InOrder<Id>,
    /// Built-in speakers by lower-case name, in the order of the file.
    #[serde(default)]
    pub spk_id: InOrder<Id>,
    /// The dialect that a speaker speaks, where it does.
    #[serde(default)]
    pub spk_is_dialect: InOrder<Dialect>,
    /// The transformer inside a frame.
    pub code_predictor_config: DecoderConfig,
}

/// A Qwen3-like transformer.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct DecoderConfig {
    /// Width.
    pub hidden_size: usize,
    /// Width inside the feed-forward part.
    pub intermediate_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Codes and control ids.
    pub vocab_size: usize,
    /// Added to the variance of a norm.
    pub rms_norm_eps: f64,
    /// Base of the rotary embedding.
    pub rope_theta: f32,
    /// Positions it was made for.
    pub max_position_embeddings: usize,
}

/// An id; some files wrap it in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Id(pub u32);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(u32),
    Many([u32; 1]),
}

/// The dialect of a speaker; files say `false` for none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Dialect {
    /// Whether there is one, without saying which.
    Flag(bool),
    /// Which.
    Name(String),
}

/// A JSON object as pairs in the order of the file: the first speaker is the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InOrder<T>(pub Vec<(String, T)>);

impl Config {
    /// Reads and checks the file of a checkpoint directory.
    pub fn open(directory: &Path) -> Result<Self, PluginError> {
        let path = directory.join("config.json");
        let wrong = |reason: String| PluginError::checkpoint(format!("'{}' cannot be used: {reason}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    /// Reads and checks the text of the file; the error is the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    /// What the checkpoint was trained for.
    pub fn task(&self) -> Result<Task, PluginError> {
        Task::of_checkpoint(&self.tts_model_type).ok_or_else(|| {
            let found = &self.tts_model_type;
            PluginError::checkpoint(format!("tts_model_type is '{found}', expected base, custom_voice or voice_design"))
        })
    }

    /// The speaker encoder of a Base checkpoint. Its vector is a row that the talker reads.
    pub fn speaker(&self) -> Result<&EcapaConfig, PluginError> {
        let wrong = |reason: String| PluginError::checkpoint(format!("config.json cannot be used: {reason}"));
        let speaker = self.speaker_encoder_config.as_ref().ok_or_else(|| wrong("it has no speaker_encoder_config".to_owned()))?;
        speaker.check().map_err(|error| wrong(error.to_string()))?;
        let (found, width) = (speaker.enc_dim, self.talker_config.decoder.hidden_size);
        if found == width { Ok(speaker) } else { Err(wrong(format!("enc_dim is {found}, expected the talker's width {width}"))) }
    }

    fn check(&self) -> Result<(), String> {
        let talker = &self.talker_config;
        talker.decoder.check("talker_config")?;
        talker.code_predictor_config.check("code_predictor_config")?;
        size("text_vocab_size", talker.text_vocab_size)?;
        size("text_hidden_size", talker.text_hidden_size)?;
        if !(2..=64).contains(&talker.num_code_groups) {
            return Err(format!("num_code_groups is {}, expected 2 to 64", talker.num_code_groups));
        }
        self.check_ids()
    }

    /// Every id that is looked up in a table lies in it.
    fn check_ids(&self) -> Result<(), String> {
        let talker = &self.talker_config;
        let tags = [
            talker.codec_pad_id,
            talker.codec_bos_id,
            talker.codec_eos_token_id,
            talker.codec_think_id,
            talker.codec_nothink_id,
            talker.codec_think_bos_id,
            talker.codec_think_eos_id,
        ];
        let named = talker.codec_language_id.0.iter().chain(&talker.spk_id.0).map(|(_, id)| id.0);
        if let Some(id) = tags.into_iter().chain(named).find(|id| *id as usize >= talker.decoder.vocab_size) {
            return Err(format!("codec id {id} lies outside the vocabulary of {}", talker.decoder.vocab_size));
        }
        let texts = [self.tts_pad_token_id, self.tts_bos_token_id, self.tts_eos_token_id];
        if let Some(id) = texts.into_iter().find(|id| *id as usize >= talker.text_vocab_size) {
            return Err(format!("text id {id} lies outside the vocabulary of {}", talker.text_vocab_size));
        }
        let (codes, codec) = (talker.code_predictor_config.vocab_size, talker.decoder.vocab_size);
        if codes > codec || (talker.codec_eos_token_id as usize) < codes {
            return Err(format!(
                "a codebook of {codes} codes does not fit a vocabulary of {codec} with its end at {}",
                talker.codec_eos_token_id
            ));
        }
        Ok(())
    }
}

impl DecoderConfig {
    fn check(&self, place: &str) -> Result<(), String> {
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("vocab_size", self.vocab_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        sizes.into_iter().try_for_each(|(name, value)| size(&format!("{place}.{name}"), value))?;
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) || !self.head_dim.is_multiple_of(2) {
            return Err(format!("{place}: heads must be a multiple of key heads, and head_dim even"));
        }
        Ok(())
    }
}

fn size(name: &str, value: usize) -> Result<(), String> {
    if (1..=LARGEST).contains(&value) { Ok(()) } else { Err(format!("{name} is {value}, expected 1 to {LARGEST}")) }
}

impl TalkerConfig {
    /// The dialect of a speaker, by lower-case name.
    pub fn dialect(&self, speaker: &str) -> Option<&str> {
        match self.spk_is_dialect.get(speaker)? {
            Dialect::Name(name) => Some(name),
            Dialect::Flag(_) => None,
        }
    }
}

impl<T> InOrder<T> {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl From<OneOrMany> for Id {
    fn from(id: OneOrMany) -> Self {
        match id {
            OneOrMany::One(id) | OneOrMany::Many([id]) => Id(id),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
            type Value = InOrder<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    pairs.push((name.to_lowercase(), value));
                }
                Ok(InOrder(pairs))
            }
        }
        deserializer.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_and_ids_may_be_wrapped() {
        let ids: InOrder<Id> = serde_json::from_str(r#"{"Zoe": 3, "adam": [7]}"#).expect("two ids");
        assert_eq!(ids.names().collect::<Vec<_>>(), ["zoe", "adam"]);
        assert_eq!(ids.get("adam"), Some(&Id(7)));
        let dialects: InOrder<Dialect> = serde_json::from_str(r#"{"a": false, "b": "x_dialect"}"#).expect("two dialects");
        assert_eq!(dialects.0[1].1, Dialect::Name("x_dialect".into()));
    }
}
