//! How a word outside the lexicon is read: a character transformer of four layers whose output is collapsed as in
//! [CTC](https://doi.org/10.1145/1143844.1143891).
//!
//! Each letter has four slots, each slot is a phoneme or a blank; equal neighbours count once and blanks are dropped.

use std::collections::HashMap;

use burn::module::{Module, Param};
use burn::nn::{Embedding, LayerNorm, Linear};
use burn::tensor::{Device, Int, Tensor};
use serde::Deserialize;

use crate::nn::layers::Loader;
use crate::nn::transformer::{TransformerConfig, TransformerLayer};
use crate::weights::LoadError;

const WIDTH: usize = 128;
const LAYERS: usize = 4;

/// The alphabets beside the weights.
#[derive(Deserialize)]
struct Table {
    /// Letters; id 0 stands for none.
    #[serde(rename = "in")]
    letters: Vec<char>,
    /// Phonemes; id 0 is the blank.
    #[serde(rename = "out")]
    phonemes: Vec<char>,
    /// Phonemes a letter may give.
    slots: usize,
    /// Letters of the longest word; what follows is not read.
    maxlen: usize,
}

/// The network.
#[derive(Module, Debug)]
struct Network {
    embedding: Embedding,
    positions: Param<Tensor<2>>,
    layers: Vec<TransformerLayer>,
    norm: LayerNorm,
    head: Linear,
}

/// Reads words outside the lexicon.
pub struct Oov {
    network: Network,
    letters: HashMap<char, i32>,
    phonemes: Vec<char>,
    slots: usize,
    longest: usize,
    device: Device,
}

impl Oov {
    /// Loads the embedded network.
    pub fn embedded() -> Result<Self, LoadError> {
        let table: Table = serde_json::from_str(include_str!("../weights/oov.json"))
            .map_err(|error| LoadError::Table { name: "oov.json", reason: error.to_string() })?;
        let device = Device::flex();
        let loader = Loader::read(include_bytes!("../weights/oov.safetensors"), &device)?;
        let network = Network::load(&loader, &table)?;
        loader.finish()?;
        let letters = table.letters.iter().zip(1..).map(|(letter, id)| (*letter, id)).collect();
        Ok(Self { network, letters, phonemes: table.phonemes, slots: table.slots, longest: table.maxlen, device })
    }

    /// The phonemes of a word; `None` when it has no letter that the network knows. Other characters are passed over.
    pub fn spell(&self, word: &str) -> Option<String> {
        let ids: Vec<i32> = word.chars().filter_map(|letter| self.letters.get(&letter).copied()).take(self.longest).collect();
        if ids.is_empty() {
            return None;
        }
        let scores = self.network.forward(&ids, &self.device).into_data();
        let scores: &[f32] = scores.as_slice().expect("scores are f32");
        let classes = self.phonemes.len() + 1;
        debug_assert_eq!(scores.len(), ids.len() * self.slots * classes);
        Some(self.collapse(scores.chunks_exact(classes).map(best)))
    }

    fn collapse(&self, slots: impl Iterator<Item = usize>) -> String {
        let mut before = 0;
        let mut spelled = String::new();
        for class in slots {
            if class != before && class != 0 {
                spelled.extend(self.phonemes.get(class - 1));
            }
            before = class;
        }
        spelled
    }
}

impl Network {
    fn load(loader: &Loader, table: &Table) -> Result<Self, LoadError> {
        let layer = TransformerConfig { width: WIDTH, hidden: 3 * WIDTH, heads: 4 };
        Ok(Self {
            embedding: loader.embedding("embedding", table.letters.len() + 1, WIDTH)?,
            positions: loader.param("positions", [table.maxlen, WIDTH])?,
            layers: (0..LAYERS).map(|i| layer.load(loader, &format!("layers.{i}"))).collect::<Result<_, _>>()?,
            norm: loader.layer_norm("norm", WIDTH)?,
            head: loader.linear("head", WIDTH, table.slots * (table.phonemes.len() + 1))?,
        })
    }

    /// `ids` `[n]` to scores `[1, n, slots * classes]`.
    fn forward(&self, ids: &[i32], device: &Device) -> Tensor<3> {
        let positions = self.positions.val().narrow(0, 0, ids.len()).unsqueeze::<3>();
        let ids = Tensor::<1, Int>::from_data(ids, device).unsqueeze::<2>();
        let x = self.layers.iter().fold(self.embedding.forward(ids) + positions, |x, layer| layer.forward(x));
        self.head.forward(self.norm.forward(x))
    }
}

/// The first of the largest scores.
fn best(scores: &[f32]) -> usize {
    let better = |best: usize, i: usize| if scores[i] > scores[best] { i } else { best };
    (1..scores.len()).fold(0, better)
}
