//! The talker's step as a recorded graph: one submission and one small read a frame, whatever the number of kernels.
//!
//! A graph is recorded for a number of rows and of pages, both powers of two. Keys, values and the codes drawn before live on the device
//! and are shared by all graphs; what else a step needs of its rows is written into the graph's inputs before it runs. Rows that stand for
//! no sequence use a slot and a page of their own. Where a device cannot record, the same step runs operation by operation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use burn::tensor::{Bool, DType, Device, Graph, Int, Tensor, TensorData, capture};
use omni_blocks::kv::{DevicePass, FrameKv, PagedKv, Places, Ruler};
use omni_blocks::sample::{DeviceSettings, DrawError, Lane, NoiseKey, mark};
use omni_plugin_api::{PluginError, SeqId, Services};

use super::speaking::Speaking;
use crate::load::Weights;
use crate::nn::Frame;

/// Fewest pages that a graph is recorded for.
const FEWEST_PAGES: usize = 4;
/// Most rows that are warmed.
const WARMED_ROWS: usize = 32;
/// Columns of a row before its codes: slot, position, place of its keys, whether the end is barred.
const HEAD: usize = 4;
/// Numbers of one chain's settings.
const SETTINGS: usize = 5;

/// What lives on the device from step to step.
pub struct Memory {
    /// Keys and values.
    pub kv: PagedKv,
    /// First codes drawn before, 1 each, `[slots + 1, codes + 1]`.
    seen: Tensor<2>,
}

/// A row of a recorded step.
pub struct RecordedRow<'a> {
    /// Whose.
    pub seq: SeqId,
    /// Its slot.
    pub slot: usize,
    /// Its state.
    pub speaking: &'a Speaking,
}

/// What became of a row: a frame, or none at the end.
pub type Drawn = Result<Option<Frame>, DrawError>;

/// Graphs by their size.
pub struct Recorded {
    weights: Arc<Weights>,
    memory: Arc<Mutex<Memory>>,
    slots: usize,
    services: Services,
    /// Whose draws each slot's marks are, and how many.
    marked: HashMap<usize, (SeqId, u32)>,
    graphs: HashMap<Size, Step>,
}

/// Rows and pages of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Size {
    rows: usize,
    pages: usize,
}

/// A graph and the buffers it reads.
struct Step {
    inputs: Arc<Mutex<Inputs>>,
    graph: Graph<Tensor<2, Int>, Box<dyn FnMut() -> Tensor<2, Int> + Send>>,
}

/// What a step is told of its rows.
struct Inputs {
    /// [`HEAD`] numbers, the newest frame, the bases of its noise, the pages.
    ids: Tensor<2, Int>,
    /// Settings of the first code and of the others.
    numbers: Tensor<2>,
    /// Text that goes with the newest frame, `[R, width]`.
    text: Tensor<2>,
}

/// What a step counts with.
struct Constants {
    ruler: Ruler,
    lane: Lane,
    /// True at the end's place, `[1, codes + 1]`.
    end: Tensor<2, Bool>,
    frame: FrameKv,
}

impl Memory {
    /// Empty memory for `slots` sequences; `codes` logits of a first code.
    pub fn new(kv: PagedKv, slots: usize, logits: usize, device: &Device) -> Self {
        Self { kv, seen: Tensor::zeros([slots + 1, logits], (device, DType::F32)) }
    }
}

/// The memory, unless a step that held it panicked.
pub fn lock<T>(memory: &Mutex<T>) -> Result<MutexGuard<'_, T>, PluginError> {
    memory.lock().map_err(|_| PluginError::internal("a step of the talker broke off"))
}

impl Recorded {
    /// No graph yet: each is recorded when its size is first needed.
    pub fn new(weights: Arc<Weights>, memory: Arc<Mutex<Memory>>, slots: usize, services: Services) -> Self {
        Self { weights, memory, slots, services, marked: HashMap::new(), graphs: HashMap::new() }
    }

    /// Runs steps of the sizes that most requests need, so that kernels are compiled and tuned before anybody waits for them. The graphs
    /// are let go again: they belong to the thread that recorded them, which is not yet the stage's.
    pub fn warm(&mut self) -> Result<(), PluginError> {
        let sizes = std::iter::successors(Some(1), |rows| Some(rows * 2)).take_while(|rows| *rows <= WARMED_ROWS.min(self.slots));
        let sizes: Vec<usize> = sizes.collect();
        for (done, rows) in sizes.iter().enumerate() {
            self.services.progress("warming", done as u64, sizes.len() as u64);
            self.record(Size { rows: *rows, pages: FEWEST_PAGES })?;
            self.graphs.clear();
        }
        Ok(())
    }

    /// Whether a recorded step can make this sequence's frames.
    pub fn fits(speaking: &Speaking) -> bool {
        speaking.row.first.fits_device() && speaking.row.rest.fits_device()
    }

    /// Reads each row's newest frame and draws the next.
    pub fn run(&mut self, rows: &[RecordedRow]) -> Result<Vec<Drawn>, PluginError> {
        let reach = rows.iter().map(|row| row.speaking.kv.len() + 1).max().unwrap_or(1);
        let page = lock(&self.memory)?.kv.page();
        let size = Size { rows: rows.len().next_power_of_two(), pages: reach.div_ceil(page).max(FEWEST_PAGES).next_power_of_two() };
        self.mark_all(rows)?;
        self.record(size)?;
        let codebooks = self.weights.talker.codebooks();
        let ids = self.ids(rows, size);
        let Some(step) = self.graphs.get_mut(&size) else { return Err(PluginError::internal("a graph was not recorded")) };
        step.tell(ids, rows, &self.weights.device)?;
        // SAFETY: all that the step reads and writes is owned by this stage: weights, memory and inputs, behind `Arc`s which the closure
        // holds too. They are touched by this thread alone, which also submits the refresh before and the read behind.
        let out = unsafe { step.graph.replay() }.clone();
        let out = out.try_into_vec_as::<i32>().map_err(|error| PluginError::internal(format!("the device failed: {error}")))?;
        let drawn = out.chunks_exact(codebooks + 1).take(rows.len()).map(|row| self.read(row)).collect();
        for row in rows {
            self.marked.insert(row.slot, (row.seq, row.speaking.row.frame + 1));
        }
        Ok(drawn)
    }

    /// A row's codes, and after them whether its logits were numbers.
    fn read(&self, row: &[i32]) -> Drawn {
        let (Some((broken, codes)), end) = (row.split_last(), self.weights.talker.codes()) else { return Err(DrawError::Empty) };
        let codes: Frame = codes.iter().map(|code| *code as u32).collect();
        match codes.first() {
            _ if *broken != 0 => Err(DrawError::NotANumber),
            Some(first) if *first as usize == end => Ok(None),
            Some(_) => Ok(Some(codes)),
            None => Err(DrawError::Empty),
        }
    }

    /// Brings the marks of slots up to date whose sequence drew its codes elsewhere.
    fn mark_all(&mut self, rows: &[RecordedRow]) -> Result<(), PluginError> {
        let width = self.weights.talker.codes() + 1;
        for row in rows {
            let history = &row.speaking.row;
            if self.marked.get(&row.slot) == Some(&(row.seq, history.frame)) {
                continue;
            }
            let mut marks = vec![0.0_f32; width];
            history.history.ids().filter(|id| *id < width).for_each(|id| marks[id] = 1.0);
            let marks = Tensor::<2>::from_data(TensorData::new(marks, [1, width]), (&self.weights.device, DType::F32));
            let slot = row.slot;
            lock(&self.memory)?.seen.inplace(|seen| seen.slice_assign([slot..slot + 1, 0..width], marks));
        }
        Ok(())
    }

    /// What the step is told of its rows; rows without a sequence have the last slot and the first page.
    fn ids(&self, rows: &[RecordedRow], size: Size) -> Vec<i64> {
        let width = HEAD + 2 * self.weights.talker.codebooks() + size.pages;
        let mut ids = Vec::with_capacity(size.rows * width);
        for row in rows {
            let (kv, draws) = (&row.speaking.kv, &row.speaking.row);
            let at = kv.len();
            let is_early = draws.history.drawn() < draws.first.min_tokens as usize;
            ids.extend([row.slot as i64, at as i64, kv.place(at) as i64, i64::from(is_early)]);
            ids.extend(row.speaking.newest.iter().flatten().map(|code| i64::from(*code)));
            let key = |codebook: usize| NoiseKey { seed: draws.seed, frame: draws.frame, codebook: codebook as u32 };
            ids.extend((0..self.weights.talker.codebooks()).map(|codebook| key(codebook).signed_base()));
            let pages = kv.pages().iter().map(|page| *page as i64).chain(std::iter::repeat(0));
            ids.extend(pages.take(size.pages));
        }
        let nobody = std::iter::once(self.slots as i64).chain(std::iter::repeat_n(0, width - 1));
        ids.extend(std::iter::repeat_n(nobody, size.rows - rows.len()).flatten());
        ids
    }

    /// Records a step of this size, if there is none.
    fn record(&mut self, size: Size) -> Result<(), PluginError> {
        if self.graphs.contains_key(&size) {
            return Ok(());
        }
        let (weights, memory) = (Arc::clone(&self.weights), Arc::clone(&self.memory));
        let inputs = Arc::new(Mutex::new(Inputs::of_nobody(&weights, self.ids(&[], size), size)));
        let mut constants = Constants::new(&weights, &lock(&memory)?.kv, size);
        let told = Arc::clone(&inputs);
        let step: Box<dyn FnMut() -> Tensor<2, Int> + Send> = Box::new(move || {
            let (Ok(mut memory), Ok(inputs)) = (memory.lock(), told.lock()) else { return Tensor::zeros([0, 0], &weights.device) };
            constants.step(&weights, &mut memory, &inputs)
        });
        let graph = capture(&self.weights.device, step);
        if !graph.is_hardware() {
            let Size { rows, pages } = size;
            self.services
                .warn(&format!("the device does not record steps of {rows} rows and {pages} pages: they run operation by operation"));
        }
        self.graphs.insert(size, Step { inputs, graph });
        Ok(())
    }
}

impl Step {
    /// Writes what the step is told of its rows into the buffers that it reads.
    fn tell(&mut self, ids: Vec<i64>, rows: &[RecordedRow], device: &Device) -> Result<(), PluginError> {
        let mut inputs = lock(&self.inputs)?;
        let shape = inputs.ids.dims();
        let new = Tensor::<2, Int>::from_data(TensorData::new(ids, shape), device);
        inputs.ids.inplace(|old| old.slice_assign([0..shape[0], 0..shape[1]], new));
        let count = rows.len();
        let numbers = rows.iter().flat_map(|row| row.speaking.row.first.numbers().into_iter().chain(row.speaking.row.rest.numbers()));
        let new = Tensor::<2>::from_data(TensorData::new(numbers.collect::<Vec<f32>>(), [count, 2 * SETTINGS]), (device, DType::F32));
        inputs.numbers.inplace(|old| old.slice_assign([0..count, 0..2 * SETTINGS], new));
        let text = Tensor::cat(rows.iter().map(|row| row.speaking.text()).collect(), 0);
        let width = text.dims()[1];
        inputs.text.inplace(|old| old.slice_assign([0..count, 0..width], text));
        Ok(())
    }
}

impl Inputs {
    /// Inputs whose rows stand for no sequence.
    fn of_nobody(weights: &Weights, ids: Vec<i64>, size: Size) -> Self {
        let device = &weights.device;
        let width = ids.len() / size.rows;
        Self {
            ids: Tensor::from_data(TensorData::new(ids, [size.rows, width]), device),
            numbers: Tensor::ones([size.rows, 2 * SETTINGS], (device, DType::F32)),
            text: Tensor::zeros([size.rows, weights.talker.width()], (device, weights.dtype)),
        }
    }
}

impl Constants {
    fn new(weights: &Weights, kv: &PagedKv, size: Size) -> Self {
        let (talker, device) = (&weights.talker, &weights.device);
        let end: Vec<bool> = (0..=talker.codes()).map(|id| id == talker.codes()).collect();
        Self {
            ruler: Ruler::new(kv, size.pages, device),
            lane: Lane::new(device),
            end: Tensor::from_data(TensorData::new(end, [1, talker.codes() + 1]), device),
            frame: talker.frame_kv(size.rows, device, weights.dtype),
        }
    }

    /// Reads a frame and draws the next: its codes and, last, whether its logits were no numbers, `[R, codebooks + 1]`.
    fn step(&mut self, weights: &Weights, memory: &mut Memory, inputs: &Inputs) -> Tensor<2, Int> {
        let talker = &weights.talker;
        let (ids, codebooks) = (&inputs.ids, talker.codebooks());
        let [rows, width] = ids.dims();
        let part = |from: usize, count: usize| ids.clone().narrow(1, from, count);
        let (slots, position) = (part(0, 1).reshape([rows]), part(1, 1));
        let bases = |codebook: usize| part(HEAD + codebooks + codebook, 1);
        let pages = part(HEAD + 2 * codebooks, width - HEAD - 2 * codebooks);
        let places = Places::new(&self.ruler, position.clone(), part(2, 1), pages);
        let read = (talker.frames(part(HEAD, codebooks)) + inputs.text.clone()).unsqueeze_dim(1);
        let hidden = talker.read(read, position, &mut DevicePass::new(&mut memory.kv, places));
        let logits = talker.logits(hidden.clone());
        let broken = logits.clone().is_nan().int().sum_dim(1);
        let (first, rest) = (DeviceSettings::of(&inputs.numbers, 0), DeviceSettings::of(&inputs.numbers, SETTINGS));
        let logits = self.bar(first.penalise(logits, memory.seen.clone().select(0, slots.clone())), part(3, 1));
        let code = first.draw(logits, bases(0), &self.lane);
        memory.seen.inplace(|seen| mark(seen, slots, code.clone()));
        let lane = &self.lane;
        let codes = talker.rest::<std::convert::Infallible>(hidden, code.clone(), &mut self.frame, &mut |step, logits| {
            Ok(rest.draw(logits, bases(step + 1), lane))
        });
        let columns = std::iter::once(code).chain(codes.into_iter().flatten()).map(|code| code.unsqueeze_dim(1));
        Tensor::cat(columns.chain([broken]).collect(), 1)
    }

    /// Bars the end where it comes too early, `[R, 1]`.
    fn bar(&self, logits: Tensor<2>, early: Tensor<2, Int>) -> Tensor<2> {
        let shape = logits.dims();
        let is_early = early.greater_scalar(0).expand(shape);
        logits.mask_fill(is_early.bool_and(self.end.clone().expand(shape)), f32::NEG_INFINITY)
    }
}
