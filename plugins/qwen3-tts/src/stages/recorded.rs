//! The talker's step as a recorded graph: one submission and one small read a frame, whatever the number of kernels.
//!
//! A graph is recorded for a number of rows and of pages, both powers of two. All that a step needs of its rows lives on the device, shared
//! by all graphs; it is told only which slots they are in and what text goes with their newest frames. Rows that stand for no sequence use
//! a slot and a page of their own. Where a device cannot record, the same step runs operation by operation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use omni_blocks::device::{self, Graph};
use omni_blocks::kv::{DevicePass, FrameKv, PagedKv, Places, Ruler};
use omni_blocks::sample::{DeviceSettings, DrawError, Lane, NUMBERS, mark};
use omni_plugin_api::{PluginError, SeqId, Services};

use super::memory::{Memory, State, lock};
use super::speaking::Speaking;
use super::talker::device_failed;
use crate::load::Weights;
use crate::nn::Frame;

/// Fewest pages that a graph is recorded for: more than a minute of speech with its prompt, so that most requests need no other.
const FEWEST_PAGES: usize = 16;
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
    /// Whose state each slot's row is, and how many frames it has drawn.
    joined: HashMap<usize, (SeqId, u32)>,
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
    /// Their slots, `[R]`.
    slots: Tensor<1, Int>,
    /// Text that goes with their newest frames, `[R, width]`.
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

/// 1, 2, 4 and so on up to `most`.
pub fn doublings(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |number| Some(number * 2)).take_while(move |number| *number <= most)
}

impl Recorded {
    /// No graph yet: each is recorded when its size is first needed.
    pub fn new(weights: Arc<Weights>, memory: Arc<Mutex<Memory>>, slots: usize, services: Services) -> Self {
        Self { weights, memory, slots, services, joined: HashMap::new(), graphs: HashMap::new() }
    }

    /// Records steps of the sizes that most requests need, so that kernels are compiled and tuned before anybody waits for them. A graph
    /// belongs to the thread that recorded it: this is the stage's.
    pub fn warm(&mut self) -> Result<(), PluginError> {
        let sizes: Vec<usize> = doublings(self.slots.next_power_of_two()).collect();
        for (done, rows) in sizes.iter().enumerate() {
            self.services.progress("recording", done as u64, sizes.len() as u64);
            self.record(Size { rows: *rows, pages: FEWEST_PAGES })?;
        }
        Ok(())
    }

    /// Whether a recorded step can make this sequence's frames.
    pub fn fits(speaking: &Speaking) -> bool {
        let row = &speaking.row;
        row.first.fits_device() && row.rest.fits_device() && row.barred_now().is_none()
    }

    /// Reads each row's newest frame and draws the next.
    pub fn run(&mut self, rows: &[RecordedRow]) -> Result<Vec<Drawn>, PluginError> {
        let reach = rows.iter().map(|row| row.speaking.kv.len() + 1).max().unwrap_or(1);
        let page = lock(&self.memory)?.kv.page();
        let size = Size { rows: rows.len().next_power_of_two(), pages: reach.div_ceil(page).max(FEWEST_PAGES).next_power_of_two() };
        self.record(size)?;
        let _working = device::work();
        self.join(rows)?;
        let codebooks = self.weights.talker.codebooks();
        let slots = self.slots_of(rows, size);
        let Some(step) = self.graphs.get_mut(&size) else { return Err(PluginError::internal("a graph was not recorded")) };
        step.tell(slots, rows, &self.weights.device)?;
        // SAFETY: all that the step reads and writes is owned by this stage: weights, memory and inputs, behind `Arc`s which the closure
        // holds too. They are touched by this thread alone, which also submits the refresh before and the read behind.
        let out = unsafe { step.graph.run() }.map_err(device_failed)?.clone();
        let out = out.try_into_vec_as::<i32>().map_err(device_failed)?;
        let drawn = out.chunks_exact(codebooks + 1).take(rows.len()).map(|row| self.read(row)).collect();
        for row in rows {
            self.joined.insert(row.slot, (row.seq, row.speaking.row.frame + 1));
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

    /// Writes the state of sequences whose frames were drawn elsewhere.
    fn join(&self, rows: &[RecordedRow]) -> Result<(), PluginError> {
        for row in rows {
            if self.joined.get(&row.slot) != Some(&(row.seq, row.speaking.row.frame)) {
                lock(&self.memory)?.join(row.slot, row.speaking);
            }
        }
        Ok(())
    }

    /// The slots of a step's rows; nobody's for those without a sequence.
    fn slots_of(&self, rows: &[RecordedRow], size: Size) -> Vec<i64> {
        let nobody = std::iter::repeat(self.slots);
        rows.iter().map(|row| row.slot).chain(nobody).take(size.rows).map(|slot| slot as i64).collect()
    }

    /// Records a step of this size, if there is none.
    fn record(&mut self, size: Size) -> Result<(), PluginError> {
        if self.graphs.contains_key(&size) {
            return Ok(());
        }
        let alone = device::record().map_err(device_failed)?;
        let (weights, memory) = (Arc::clone(&self.weights), Arc::clone(&self.memory));
        let inputs = Arc::new(Mutex::new(Inputs::new(&weights, self.slots_of(&[], size))));
        let mut constants = Constants::new(&weights, &lock(&memory)?.kv, size);
        let told = Arc::clone(&inputs);
        let step: Box<dyn FnMut() -> Tensor<2, Int> + Send> = Box::new(move || {
            let (Ok(mut memory), Ok(inputs)) = (memory.lock(), told.lock()) else { return Tensor::zeros([0, 0], &weights.device) };
            constants.step(&weights, &mut memory, &inputs, size.pages)
        });
        let graph = Graph::record(&alone, &self.weights.device, step).map_err(device_failed)?;
        drop(alone);
        if let Some(reason) = graph.refusal() {
            let Size { rows, pages } = size;
            self.services.warn(&format!("steps of {rows} rows and {pages} pages run operation by operation: {reason}"));
        }
        self.graphs.insert(size, Step { inputs, graph });
        Ok(())
    }
}

impl Step {
    /// Writes what the step is told of its rows into the buffers that it reads.
    fn tell(&mut self, slots: Vec<i64>, rows: &[RecordedRow], device: &Device) -> Result<(), PluginError> {
        let mut inputs = lock(&self.inputs)?;
        let (count, all) = (slots.len(), 0..slots.len());
        let new = Tensor::<1, Int>::from_data(TensorData::new(slots, [count]), device);
        inputs.slots.inplace(|old| old.slice_assign([all], new));
        let text = Tensor::cat(rows.iter().map(|row| row.speaking.text()).collect(), 0);
        let width = text.dims()[1];
        inputs.text.inplace(|old| old.slice_assign([0..rows.len(), 0..width], text));
        Ok(())
    }
}

impl Inputs {
    /// Inputs of rows in these slots, without text.
    fn new(weights: &Weights, slots: Vec<i64>) -> Self {
        let (device, count) = (&weights.device, slots.len());
        Self {
            slots: Tensor::from_data(TensorData::new(slots, [count]), device),
            text: Tensor::zeros([count, weights.talker.width()], (device, weights.dtype)),
        }
    }
}

impl Constants {
    fn new(weights: &Weights, kv: &PagedKv, size: Size) -> Self {
        let (talker, device) = (&weights.talker, &weights.device);
        let end: Vec<bool> = (0..=talker.codes()).map(|id| id == talker.codes()).collect();
        Self {
            ruler: Ruler::new(kv, size.pages, device),
            lane: Lane::new(talker.codebooks(), talker.codes() + 1, device),
            end: Tensor::from_data(TensorData::new(end, [1, talker.codes() + 1]), device),
            frame: talker.frame_kv(size.rows, device, weights.dtype),
        }
    }

    /// Reads a frame and draws the next: its codes and, last, whether its logits were no numbers, `[R, codebooks + 1]`.
    fn step(&mut self, weights: &Weights, memory: &mut Memory, inputs: &Inputs, pages: usize) -> Tensor<2, Int> {
        let (talker, slots) = (&weights.talker, &inputs.slots);
        let state = memory.state(slots, pages);
        let read = (talker.frames(state.codes.clone()) + inputs.text.clone()).unsqueeze_dim(1);
        let places = self.places(&state, memory.kv.page());
        let hidden = talker.read(read, state.position.clone(), &mut DevicePass::new(&mut memory.kv, places));
        let logits = talker.logits(hidden.clone());
        let broken = logits.clone().is_nan().int().sum_dim(1);
        let (first, rest) = (DeviceSettings::of(&state.numbers, 0), DeviceSettings::of(&state.numbers, NUMBERS));
        let logits = self.bar(first.penalise(logits, memory.seen.clone().select(0, slots.clone())), &state);
        let bases = self.lane.bases(state.seed.clone(), state.frame.clone());
        let code = first.draw(logits, bases.clone().narrow(1, 0, 1), &self.lane);
        memory.seen.inplace(|seen| mark(seen, slots.clone(), code.clone()));
        let lane = &self.lane;
        let codes = talker.rest::<std::convert::Infallible>(hidden, code.clone(), &mut self.frame, &mut |step, logits| {
            Ok(rest.draw(logits, bases.clone().narrow(1, step + 1, 1), lane))
        });
        let columns = std::iter::once(code).chain(codes.into_iter().flatten()).map(|code| code.unsqueeze_dim(1));
        let codes = Tensor::cat(columns.collect(), 1);
        memory.advance(slots.clone(), state, codes.clone());
        Tensor::cat(vec![codes, broken], 1)
    }

    /// Where the rows' keys and values go, and where those before them are.
    fn places(&self, state: &State, page: usize) -> Places {
        let at = state.position.clone().div_scalar(page as i64);
        let inside = state.position.clone().remainder_scalar(page as i64);
        let write = state.pages.clone().gather(1, at).mul_scalar(page as i64) + inside;
        Places::new(&self.ruler, state.position.clone(), write, state.pages.clone())
    }

    /// Bars the end where it comes too early.
    fn bar(&self, logits: Tensor<2>, state: &State) -> Tensor<2> {
        let shape = logits.dims();
        let is_early = state.frame.clone().lower(state.min_frames.clone()).expand(shape);
        logits.mask_fill(is_early.bool_and(self.end.clone().expand(shape)), f32::NEG_INFINITY)
    }
}
