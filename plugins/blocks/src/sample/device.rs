//! The chain and the draw as tensor operations, for steps that never leave the device.
//!
//! It does what [`Chain`](super::Chain) does with `Penalty`, `MinTokens`, `Temperature` and `TopK` in this order; requests that cut the mass
//! of their candidates are not for it. The noise is that of [`NoiseKey`](super::NoiseKey): the hash of its seed is worked out on the host,
//! once a request, the rest here.
//!
//! Candidates are not sorted: devices do that slowly, or compile for minutes. The value of the last one that is kept is searched for in
//! intervals, each round cutting them into [`WAYS`].

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::Settings;
use super::noise::{FIRST, SECOND, STEP, seed_hash};

/// Settings of a row as numbers.
pub const NUMBERS: usize = 4;
/// Intervals of a round.
const WAYS: usize = 32;
/// Rounds: the last interval is as narrow as an `f32` is exact.
const ROUNDS: usize = 5;
/// How far below the best a candidate may be. The noise is between -2.9 and 16.7: what is further below is never drawn.
const DEPTH: f32 = 32.0;

/// The settings of a batch, a number a row, `[R, 1]` each.
#[derive(Debug, Clone)]
pub struct DeviceSettings {
    temperature: Tensor<2>,
    /// 1 where noise is drawn, 0 where the most likely is taken.
    noise: Tensor<2>,
    /// Candidates kept, as a number.
    top_k: Tensor<2>,
    penalty: Tensor<2>,
}

impl Settings {
    /// Whether a draw on the device does what the chain does.
    pub fn fits_device(&self) -> bool {
        self.is_greedy() || self.top_p >= 1.0
    }

    /// The settings as a row of numbers for [`DeviceSettings::of`].
    pub fn numbers(&self) -> [f32; NUMBERS] {
        let top_k = if self.top_k == 0 { f32::MAX } else { self.top_k as f32 };
        match self.is_greedy() {
            true => [1.0, 0.0, 1.0, self.penalty],
            false => [self.temperature, 1.0, top_k, self.penalty],
        }
    }
}

impl DeviceSettings {
    /// Settings that lie in the columns from `column` on of `numbers` `[R, n]`.
    pub fn of(numbers: &Tensor<2>, column: usize) -> Self {
        let of = |index: usize| numbers.clone().narrow(1, column + index, 1);
        Self { temperature: of(0), noise: of(1), top_k: of(2), penalty: of(3) }
    }

    /// Penalises what `seen` `[R, V]` marks with 1 among the rest's 0: see [`Op::Penalty`](super::Op::Penalty).
    pub fn penalise(&self, logits: Tensor<2>, seen: Tensor<2>) -> Tensor<2> {
        let shape = logits.dims();
        let penalty = self.penalty.clone().expand(shape);
        let positive = logits.clone().greater_scalar(0.0);
        let changed = (logits.clone() * penalty.clone()).mask_where(positive, logits.clone() / penalty);
        logits.mask_where(seen.greater_scalar(0.5), changed)
    }

    /// Draws an id a row: `logits` `[R, V]`, `bases` `[R, 1]` to `[R]`. `V` is at most what the lane was made for.
    pub fn draw(&self, logits: Tensor<2>, bases: Tensor<2, Int>, lane: &Lane) -> Tensor<1, Int> {
        let [rows, vocabulary] = logits.dims();
        let shape = [rows, vocabulary];
        let best = logits.clone().max_dim(1).expand(shape);
        let below = ((logits - best) / self.temperature.clone().expand(shape)).clamp_min(-DEPTH);
        let last = lane.last_kept(&below, self.top_k.clone().clamp_max(vocabulary as f32)).expand(shape);
        let is_cut = below.clone().lower(last);
        let ids = lane.ids.clone().narrow(1, 0, vocabulary).expand(shape);
        let noise = exponential(bases.expand(shape), ids).log() * self.noise.clone().expand(shape);
        (below - noise).mask_fill(is_cut, f32::NEG_INFINITY).argmax(1).reshape([rows])
    }
}

/// The numbers from 0 on that draws count with: made once, since a recorded step may take nothing from the host.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Ids of candidates, `[1, V]`.
    ids: Tensor<2, Int>,
    /// Codebooks of a frame, `[1, codebooks]`.
    codebooks: Tensor<2, Int>,
    /// Beginnings of intervals, `[1, WAYS]`.
    ways: Tensor<2>,
}

impl Lane {
    /// The numbers on a device, for frames of `codebooks` draws out of at most `vocabulary` candidates.
    pub fn new(codebooks: usize, vocabulary: usize, device: &Device) -> Self {
        let count = |end: usize| TensorData::new((0..end as i64).collect::<Vec<_>>(), [1, end]);
        let ways: Vec<f32> = (0..WAYS).map(|way| way as f32).collect();
        Self {
            ids: Tensor::from_data(count(vocabulary), device),
            codebooks: Tensor::from_data(count(codebooks), device),
            ways: Tensor::from_data(TensorData::new(ways, [1, WAYS]), (device, DType::F32)),
        }
    }

    /// The `top_k`th largest value of each row, `[R, V]` between minus [`DEPTH`] and 0 and `[R, 1]` to `[R, 1]`; or a little less, where no
    /// other value lies between.
    fn last_kept(&self, values: &Tensor<2>, top_k: Tensor<2>) -> Tensor<2> {
        let [rows, count] = values.dims();
        let values: Tensor<3> = values.clone().unsqueeze_dim::<3>(1).expand([rows, WAYS, count]);
        let top_k = top_k.expand([rows, WAYS]);
        let mut from = self.ways.clone().narrow(1, 0, 1).expand([rows, 1]).sub_scalar(DEPTH);
        // A hair more than the depth, so that 0 is inside.
        let mut width = DEPTH * (1.0 + 1e-6);
        for _ in 0..ROUNDS {
            width /= WAYS as f32;
            let begins = self.ways.clone().mul_scalar(width).expand([rows, WAYS]) + from.clone().expand([rows, WAYS]);
            let is_above = values.clone().greater_equal(begins.unsqueeze_dim::<3>(2).expand([rows, WAYS, count]));
            let above = is_above.float().sum_dim(2).reshape([rows, WAYS]);
            // The first interval's beginning has enough above it, always.
            let enough = above.greater_equal(top_k.clone()).float().sum_dim(1).sub_scalar(1.0).clamp_min(0.0);
            from = from + enough.mul_scalar(width);
        }
        from
    }

    /// The bases of the noise of a frame's draws: seeds as [`signed_seed`] gives them and frames, `[R, 1]` each, to `[R, codebooks]`.
    pub fn bases(&self, seeds: Tensor<2, Int>, frames: Tensor<2, Int>) -> Tensor<2, Int> {
        let ([rows, _], [_, codebooks]) = (seeds.dims(), self.codebooks.dims());
        let frames = absorb(seeds, frames).expand([rows, codebooks]);
        absorb(frames, self.codebooks.clone().expand([rows, codebooks]))
    }
}

/// Takes words into a hash, as the noise does.
fn absorb(hash: Tensor<2, Int>, words: Tensor<2, Int>) -> Tensor<2, Int> {
    word(mix(word(word(hash).bitwise_xor(word(words)))).add_scalar(signed(STEP)))
}

/// Marks ids `[R]` in rows of `seen` `[n, V]`: row `slots[r]` gets a 1 at `ids[r]`.
pub fn mark(seen: Tensor<2>, slots: Tensor<1, Int>, ids: Tensor<1, Int>) -> Tensor<2> {
    let [rows] = ids.dims();
    let places: Tensor<2, Int> = Tensor::stack(vec![slots, ids.clone()], 1);
    let ones: Tensor<1> = ids.float().mul_scalar(0.0).add_scalar(1.0).cast(DType::F32).reshape([rows]);
    seen.scatter_nd(places, ones, IndexingUpdateOp::Assign)
}

/// What the noise of a request begins with, as the signed number of the same bits, which every device can hold; see [`Lane::bases`].
pub fn signed_seed(seed: u64) -> i64 {
    i64::from(seed_hash(seed) as i32)
}

/// The noise of candidates: bases and ids `[R, n]` to `[R, n]`.
fn exponential(bases: Tensor<2, Int>, ids: Tensor<2, Int>) -> Tensor<2> {
    let bits = mix(word(word(bases).bitwise_xor(word(ids.mul_scalar(signed(STEP))))));
    let uniform = shifted(bits, 9).float().cast(DType::F32).add_scalar(0.5).mul_scalar(1.0 / (1 << 23) as f32);
    uniform.log().neg()
}

/// The hash of the noise on words.
fn mix(bits: Tensor<2, Int>) -> Tensor<2, Int> {
    let bits = word(bits.clone().bitwise_xor(shifted(bits, 16)).mul_scalar(signed(FIRST)));
    let bits = word(bits.clone().bitwise_xor(shifted(bits, 15)).mul_scalar(signed(SECOND)));
    bits.clone().bitwise_xor(shifted(bits, 15))
}

/// A shift to the right that fills with zeros, also where words are signed.
fn shifted(bits: Tensor<2, Int>, by: u32) -> Tensor<2, Int> {
    bits.bitwise_right_shift_scalar(by as i32).bitwise_and_scalar((u32::MAX >> by) as i32)
}

/// The low 32 bits. Where numbers have no more, a product has been cut already.
fn word(bits: Tensor<2, Int>) -> Tensor<2, Int> {
    match bits.dtype() {
        DType::I64 => bits.bitwise_and_scalar(i64::from(u32::MAX)),
        _ => bits,
    }
}

/// A factor as the signed number of the same bits: products of words by it stay inside 64 bits.
fn signed(factor: u32) -> i64 {
    i64::from(factor as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Chain, History, NoiseKey, Op};

    #[test]
    fn the_device_draws_what_the_chain_draws() {
        let device = Device::flex();
        let (vocabulary, lane) = (200, Lane::new(3, 200, &device));
        let settings = [
            Settings { temperature: 0.9, top_k: 50, top_p: 1.0, penalty: 1.3, min_tokens: 0 },
            Settings { temperature: 1.5, top_k: 0, top_p: 1.0, penalty: 1.0, min_tokens: 0 },
            Settings { temperature: 0.0, top_k: 0, top_p: 1.0, penalty: 2.0, min_tokens: 0 },
        ];
        let mut history = History::default();
        [3, 17, 150].into_iter().for_each(|id| history.push(id));
        let chain = Chain(vec![Op::Penalty, Op::Temperature, Op::TopK, Op::TopP]);
        let numbers: Vec<f32> = settings.iter().flat_map(Settings::numbers).collect();
        let numbers = Tensor::<2>::from_data(TensorData::new(numbers, [3, NUMBERS]), &device);
        let marks: Vec<f32> = (0..vocabulary).map(|id| f32::from(u8::from([3, 17, 150].contains(&id)))).collect();
        let seen = Tensor::<1>::from_data(TensorData::new(marks, [vocabulary]), &device).unsqueeze_dim::<2>(0).expand([3, vocabulary]);
        for frame in 0..200 {
            let noise = |row: u64| NoiseKey { seed: 9 + row, frame, codebook: 1 };
            let logits: Vec<f32> = (0..3 * vocabulary as u32).map(|id| 4.0 - noise(77).exponential(id + 1000 * frame) * 2.0).collect();
            let seeds: Vec<i64> = (0..3).map(|row| signed_seed(9 + row)).collect();
            let tensor = Tensor::<2>::from_data(TensorData::new(logits.clone(), [3, vocabulary]), &device);
            let of = DeviceSettings::of(&numbers, 0);
            let seeds = Tensor::<2, Int>::from_data(TensorData::new(seeds, [3, 1]), &device);
            let frames = Tensor::<2, Int>::full([3, 1], i64::from(frame), &device);
            let bases = lane.bases(seeds, frames).narrow(1, 1, 1);
            let drawn = of.draw(of.penalise(tensor, seen.clone()), bases, &lane).into_data().iter::<i64>().collect::<Vec<_>>();
            for (row, logits) in logits.chunks_exact(vocabulary).enumerate() {
                let key = noise(row as u64);
                let wanted = chain.draw(&mut logits.to_vec(), &settings[row], &history, |id| key.exponential(id)).expect("a draw");
                assert_eq!(drawn[row], i64::from(wanted), "row {row} of frame {frame}");
            }
        }
    }

    #[test]
    fn marks_go_to_the_rows_of_their_slots() {
        let device = Device::flex();
        let ints = |values: [i64; 2]| Tensor::<1, Int>::from_data(values, &device);
        let seen = mark(Tensor::zeros([3, 4], &device), ints([2, 0]), ints([1, 3]));
        let values = seen.into_data().try_to_vec::<f32>().expect("floats");
        assert_eq!(values, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}
