//! The family against the published package, at tiny sizes: tokens, prompt rows, hidden states, logits, codes, audio.

mod common;

use burn::tensor::{DType, Tensor};
use common::{Case, Golden, distance, ids, values};
use omni_blocks::kv::{KvRow, PagedKv};
use omni_blocks::sample::{Chain, History};
use omni_blocks::text::Bpe;
use omni_plugin_api::{FloatType, Model, Services};
use qwen3_tts::generation::{Generation, first_chain, rest_chain};
use qwen3_tts::layout::Layout;
use qwen3_tts::load::Weights;
use qwen3_tts::model::Qwen3Model;
use qwen3_tts::nn::{PromptRows, Talker};
use qwen3_tts::prompt::{Conditioning, Speech};
use qwen3_tts::request::Sampling;
use serde::Deserialize;

/// What a talker with 8 bits of precision may be off, relative to the norm.
const TOLERANCE_BF16: f32 = 3e-2;

/// A case read by the family: its prompt and what goes with it.
fn read(golden: &Golden, model: &Qwen3Model, case: &Case) -> (Speech, Conditioning) {
    let prepared = model.prepare(&case.request(), &golden.voice(case)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let codebooks = golden.config.talker_config.num_code_groups;
    let conditioning = Conditioning::of(&prepared.prompt.tensors, codebooks).expect("tensors of a prompt");
    (prepared.prompt.read().expect("a speech"), conditioning)
}

fn model(golden: &Golden) -> Qwen3Model {
    Qwen3Model::open(&golden.directory, &common::placement(), &Services::silent()).expect("the checkpoint opens")
}

fn prompt(golden: &Golden, weights: &Weights, speech: &Speech, conditioning: &Conditioning) -> PromptRows {
    let layout = Layout::new(&speech.script, &golden.config);
    let pad = golden.config.tts_pad_token_id;
    PromptRows::new(&layout, conditioning, &weights.text, &weights.talker, pad).expect("rows")
}

#[test]
fn texts_become_the_published_tokens() {
    #[derive(Deserialize)]
    struct Text {
        text: String,
        ids: Vec<u32>,
    }
    let folder = common::golden_folder().join("tokenizer");
    let bpe = Bpe::open(&folder).expect("a tokenizer");
    let texts: Vec<Text> = serde_json::from_slice(&std::fs::read(folder.join("texts.json")).expect("a file")).expect("texts");
    assert!(texts.len() > 10);
    let settings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("tokenizer_config.json")).expect("a file")).expect("JSON");
    let added = settings["added_tokens_decoder"].as_object().expect("added tokens");
    let specials: Vec<String> = added.values().filter_map(|token| Some(token["content"].as_str()?.to_owned())).collect();
    for Text { text, ids } in texts {
        assert_eq!(parsed(&bpe, &specials, &text), ids, "{text:?}");
    }
}

/// Tokens of a text in which special tokens are what they are called, as the published tokenizer reads it.
fn parsed(bpe: &Bpe, specials: &[String], text: &str) -> Vec<u32> {
    let found = specials.iter().filter_map(|special| Some((text.find(special)?, special))).min();
    let Some((at, special)) = found else { return bpe.encode(text).expect("ids") };
    let before = bpe.encode(&text[..at]).expect("ids");
    [before, vec![bpe.special(special).expect("an id")], parsed(bpe, specials, &text[at + special.len()..])].concat()
}

/// A talker reading one sequence.
struct Reading<'a> {
    talker: &'a Talker,
    kv: PagedKv,
    row: KvRow,
}

impl<'a> Reading<'a> {
    fn new(golden: &Golden, weights: &'a Weights) -> Self {
        let shape = Talker::kv_shape(&golden.config.talker_config);
        let mut kv = PagedKv::new(shape, 32, 8, &weights.device, weights.dtype);
        let row = kv.reserve(256).expect("all pages");
        Self { talker: &weights.talker, kv, row }
    }

    fn read(&mut self, rows: Tensor<3>) -> Tensor<3> {
        let (from, count) = (self.row.len(), rows.dims()[1]);
        let positions: Vec<i64> = (from..from + count).map(|position| position as i64).collect();
        let hidden = self.talker.read(rows, ids(&positions, [1, count]), &mut self.kv.pass(vec![&self.row]));
        self.row.advance(count);
        hidden
    }
}

/// Draws as the golden did: the largest p / E over its candidates.
struct Injected {
    first: Option<(Vec<f32>, usize)>,
    rest: Option<(Vec<f32>, usize)>,
    /// The id of a candidate in the golden's vocabulary: the end lies elsewhere there.
    end: usize,
    codes: usize,
}

impl Injected {
    fn of(golden: &Golden, case: &Case) -> Self {
        let talker = &golden.config.talker_config;
        let noise = |name: &str, width: usize| {
            let all = golden.floats(&format!("{}.noise.{name}", case.name)).0;
            (all, width)
        };
        let codes = talker.code_predictor_config.vocab_size;
        Self {
            first: case.sampled.then(|| noise("talker", talker.decoder.vocab_size)),
            rest: case.sampled.then(|| noise("predictor", codes)),
            end: talker.codec_eos_token_id as usize,
            codes,
        }
    }

    fn first(&self, frame: usize, id: u32) -> f32 {
        let id = if id as usize == self.codes { self.end } else { id as usize };
        self.first.as_ref().map_or(1.0, |(noise, width)| noise[frame * width + id])
    }

    fn rest(&self, frame: usize, step: usize, steps: usize, id: u32) -> f32 {
        self.rest.as_ref().map_or(1.0, |(noise, width)| noise[(frame * steps + step) * width + id as usize])
    }
}

fn is_exact(weights: &Weights) -> bool {
    weights.dtype == DType::F32
}

fn tolerance_of(weights: &Weights) -> f32 {
    if is_exact(weights) { common::tolerance() } else { TOLERANCE_BF16 }
}

/// Checks what a traced case recorded of one tensor.
fn check_trace(golden: &Golden, case: &Case, tolerance: f32, (name, index): (&str, usize), found: &[f32], columns: &[usize]) {
    if !case.trace {
        return;
    }
    let (all, shape) = golden.floats(&format!("{}.{name}", case.name));
    let width: usize = shape[1..].iter().product();
    let row = &all[index * width..][..width];
    let wanted: Vec<f32> = if columns.is_empty() { row.to_vec() } else { columns.iter().map(|column| row[*column]).collect() };
    let gap = distance(found, &wanted);
    assert!(gap < tolerance, "{}: {name} {index} is off by {gap}", case.name);
}

/// Speaks a case step by step and checks everything that was recorded; the codes it drew. What it reads on is what was published, so that
/// with fewer digits one code that falls the other way does not end the comparison.
fn speak(golden: &Golden, model: &Qwen3Model, weights: &Weights, case: &Case) -> Vec<i32> {
    let (speech, conditioning) = read(golden, model, case);
    let PromptRows { rows, trailing } = prompt(golden, weights, &speech, &conditioning);
    let talker = &weights.talker;
    let (steps, codes) = (talker.codebooks() - 1, talker.codes());
    let columns: Vec<usize> = (0..codes).chain([golden.config.talker_config.codec_eos_token_id as usize]).collect();
    let (noise, published) = (Injected::of(golden, case), golden.ints(&format!("{}.codes", case.name)).0);
    let tolerance = tolerance_of(weights);
    let mut reading = Reading::new(golden, weights);
    let all = reading.read(rows);
    if case.trace {
        let gap = distance(&values(all.clone()), &golden.floats(&format!("{}.hidden", case.name)).0);
        assert!(gap < tolerance, "{}: the hidden states of the prompt are off by {gap}", case.name);
    }
    let mut hidden = all.clone().narrow(1, all.dims()[1] - 1, 1);
    let mut history = History::default();
    let mut kv = talker.frame_kv(1, &weights.device, weights.dtype);
    let mut drawn = Vec::new();
    for (frame, published) in published.chunks_exact(steps + 1).map(Some).chain([None]).enumerate() {
        let mut logits = values(talker.logits(hidden.clone()));
        check_trace(golden, case, tolerance, ("logits", frame), &logits, &columns);
        let first = first_chain(codes as u32).draw(&mut logits, &speech.first, &history, |id| noise.first(frame, id)).expect("a draw");
        let Some(published) = published else {
            assert!(!is_exact(weights) || !case.stopped || first as usize == codes, "{}: it did not end after {frame} frames", case.name);
            break;
        };
        drawn.push(first as i32);
        history.push(published[0] as u32);
        let code = |place: usize| -> Tensor<1, burn::tensor::Int> { ids(&[i64::from(published[place])], [1, 1]).squeeze_dim(0) };
        let mut recorded = Vec::new();
        let rest = talker.rest::<String>(hidden, code(0), &mut kv, &mut |step, logits| {
            let mut logits = values(logits);
            recorded.extend(logits.clone());
            drawn.push(draw_rest(&rest_chain(), &speech, &mut logits, |id| noise.rest(frame, step, steps, id)) as i32);
            Ok(code(step + 1))
        });
        check_trace(golden, case, tolerance, ("predictor_logits", frame), &recorded, &[]);
        let codes = Tensor::stack::<2>([vec![code(0)], rest.expect("codes")].concat(), 1);
        let text = trailing.clone().narrow(0, frame.min(trailing.dims()[0] - 1), 1);
        let row = talker.frames(codes) + text;
        check_trace(golden, case, tolerance, ("step_rows", frame), &values(row.clone()), &[]);
        hidden = reading.read(row.unsqueeze());
        check_trace(golden, case, tolerance, ("step_hidden", frame), &values(hidden.clone()), &[]);
    }
    drawn
}

fn draw_rest(chain: &Chain, speech: &Speech, logits: &mut [f32], noise: impl Fn(u32) -> f32) -> u32 {
    chain.draw(logits, &speech.rest, &History::default(), noise).expect("a draw")
}

/// Share of the published codes that were drawn as well, case by case.
fn agreement(dtype: FloatType) -> Vec<(String, f32)> {
    // The stages of another test may be about to record their steps.
    let _working = omni_blocks::device::work();
    let mut shares = Vec::new();
    for golden in Golden::all() {
        let (model, weights) = (model(&golden), golden.weights_in(dtype));
        for case in &golden.cases {
            let wanted = golden.ints(&format!("{}.codes", case.name)).0;
            let drawn = speak(&golden, &model, &weights, case);
            assert_eq!(drawn.len(), wanted.len(), "{}", case.name);
            let agreeing = drawn.iter().zip(&wanted).filter(|(drawn, wanted)| drawn == wanted).count();
            shares.push((case.name.clone(), agreeing as f32 / wanted.len() as f32));
        }
    }
    shares
}

#[test]
fn every_case_is_spoken_as_published() {
    let other: Vec<_> = agreement(FloatType::F32).into_iter().filter(|(_, share)| *share < 1.0).collect();
    assert!(other.is_empty(), "other codes than published: {other:?}");
}

#[test]
fn sixteen_bits_stay_close_to_what_was_published() {
    let far: Vec<_> = agreement(FloatType::BF16).into_iter().filter(|(_, share)| *share < 0.8).collect();
    assert!(far.is_empty(), "too few of the published codes: {far:?}");
}

#[test]
fn the_stages_give_the_published_audio() {
    let mut heard = 0;
    for golden in Golden::all() {
        for case in golden.cases.iter().filter(|case| case.pcm) {
            let spoken = golden.rig(golden.voice(case)).speak(&case.request()).expect("it speaks");
            let gap = distance(&spoken.samples, &golden.floats(&format!("{}.pcm", case.name)).0);
            assert!(gap < common::tolerance(), "{}: the audio is off by {gap}", case.name);
            heard += 1;
        }
    }
    assert!(heard >= 2);
}

#[test]
fn a_recording_becomes_the_published_voice() {
    let golden = Golden::open("base");
    let weights = golden.weights();
    let (audio, _) = golden.floats("reference.audio");
    let cloning = weights.cloning.as_ref().expect("a Base checkpoint");
    let conditioning = cloning.condition(&audio, &weights.device).expect("a voice");
    assert_eq!(conditioning.codes, Some(golden.ints("reference.codes").0));
    let gap = distance(&conditioning.embedding.expect("a vector"), &golden.floats("reference.vector").0);
    assert!(gap < common::tolerance(), "the vector is off by {gap}");
}

#[test]
fn the_published_sampler_settings_are_read() {
    let generation = Generation::open(&Golden::open("base").directory).expect("settings");
    assert_eq!(generation, Generation::default());
    let asked = Sampling { temperature: Some(0.5), top_k: Some(-1), subtalker_dosample: Some(false), ..Sampling::default() };
    let (first, rest) = (generation.first(&asked, None), generation.rest(&asked));
    assert_eq!((first.temperature, first.top_k, first.penalty, first.min_tokens), (0.5, 0, 1.05, 2));
    assert_eq!((rest.temperature, rest.top_k), (0.0, 50));
}
