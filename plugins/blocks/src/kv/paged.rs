//! Keys and values of sequences that grow, in pages that are shared out at admission.

use burn::tensor::{Bool, DType, Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::{KeysValues, attend, causal};
use crate::nn::is_host;

/// What a layer keeps of a position, and how many layers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvShape {
    /// Layers.
    pub layers: usize,
    /// Key and value heads.
    pub heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

/// A pool of pages, one tensor `[pages * page, Hkv * D]` for the keys and one for the values of each layer. The first page belongs to
/// nobody: rows of a batch that stand for no sequence write there.
#[derive(Debug)]
pub struct PagedKv {
    layers: Vec<(Tensor<2>, Tensor<2>)>,
    shape: KvShape,
    page: usize,
    free: Vec<usize>,
}

/// The pages of one sequence, and how many of its positions are filled.
#[derive(Debug, PartialEq, Eq)]
pub struct KvRow {
    pages: Vec<usize>,
    page: usize,
    len: usize,
}

impl KvShape {
    /// Bytes of one position in all layers.
    pub fn bytes_per_position(&self, dtype: DType) -> u64 {
        (self.layers * self.heads * self.head_dim * 2 * dtype.size()) as u64
    }
}

impl PagedKv {
    /// A pool of `pages` pages of `page` positions.
    pub fn new(shape: KvShape, pages: usize, page: usize, device: &Device, dtype: DType) -> Self {
        let buffer = || Tensor::zeros([(pages + 1) * page, shape.heads * shape.head_dim], (device, dtype));
        let layers = (0..shape.layers).map(|_| (buffer(), buffer())).collect();
        Self { layers, shape, page, free: (1..=pages).rev().collect() }
    }

    /// Pages for a sequence of at most `positions` positions; nothing when too few are free.
    pub fn reserve(&mut self, positions: usize) -> Option<KvRow> {
        let needed = positions.div_ceil(self.page).max(1);
        let kept = self.free.len().checked_sub(needed)?;
        Some(KvRow { pages: self.free.split_off(kept), page: self.page, len: 0 })
    }

    /// Takes the pages of a sequence back. What they hold is never seen again: a row reads no further than it has written.
    pub fn release(&mut self, row: KvRow) {
        self.free.extend(row.pages);
    }

    /// Positions of the whole pool.
    pub fn positions(&self) -> usize {
        self.layers.first().map_or(0, |(keys, _)| keys.dims()[0] - self.page)
    }

    /// Positions of a page.
    pub fn page(&self) -> usize {
        self.page
    }

    /// One position of a batch whose rows are known only to the device.
    pub(super) fn exchange(
        &mut self,
        layer: usize,
        write: &Tensor<2, Int>,
        read: &Tensor<1, Int>,
        k: Tensor<2>,
        v: Tensor<2>,
    ) -> (Tensor<2>, Tensor<2>) {
        let (keys, values) = &mut self.layers[layer];
        let keep = |buffer: &mut Tensor<2>, new: Tensor<2>| {
            buffer.inplace(|buffer| buffer.scatter_nd(write.clone(), new, IndexingUpdateOp::Assign));
            buffer.clone().select(0, read.clone())
        };
        (keep(keys, k), keep(values, v))
    }

    /// A pass over `rows`, each continued by the same number of positions. The caller counts them with [`KvRow::advance`] once all
    /// layers are through.
    pub fn pass<'a>(&'a mut self, rows: Vec<&'a KvRow>) -> PagedPass<'a> {
        PagedPass { kv: self, rows, seen: Vec::new() }
    }
}

impl KvRow {
    /// Positions that are filled.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is filled yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Positions there is room for.
    pub fn capacity(&self) -> usize {
        self.pages.len() * self.page
    }

    /// `time` more positions are filled in every layer.
    pub fn advance(&mut self, time: usize) {
        self.len += time;
    }

    /// The row of the pool that holds a position.
    pub fn place(&self, position: usize) -> usize {
        self.pages[position / self.page] * self.page + position % self.page
    }

    /// The pages, in the order of the positions they hold.
    pub fn pages(&self) -> &[usize] {
        &self.pages
    }

    /// Where `time` new positions go: first row of the pool, how many.
    fn runs(&self, time: usize) -> Vec<(usize, usize)> {
        let (mut at, end) = (self.len, self.len + time);
        let mut runs = Vec::new();
        while at < end {
            let count = (self.page - at % self.page).min(end - at);
            runs.push((self.place(at), count));
            at += count;
        }
        runs
    }
}

/// Attention of a batch of rows that share a pool. Rows are attended one by one over exactly what each has: no padding, so a row's
/// result does not depend on its neighbours.
pub struct PagedPass<'a> {
    kv: &'a mut PagedKv,
    rows: Vec<&'a KvRow>,
    /// What each row sees, the same in every layer.
    seen: Vec<Seen>,
}

/// What a row sees of the pool.
struct Seen {
    /// The pool's rows, `[S]`.
    places: Tensor<1, Int>,
    /// The mask of its new positions, `[1, T, S]`.
    hidden: Option<Tensor<3, Bool>>,
}

impl Seen {
    /// What `row` sees with its next `time` positions. A device that tunes its kernels to shapes meets few of them: there whole pages are
    /// looked at, hidden where nothing was written.
    fn new(row: &KvRow, time: usize, device: &Device) -> Self {
        match is_host(device) {
            true => Self::padded(row, time, row.len + time, device),
            false => Self::padded(row, time, (row.len + time).next_multiple_of(row.page), device),
        }
    }

    /// The same as `span` positions. What lies past the last one is a place of nobody's page, which holds numbers, whatever the pages of
    /// the row held for others.
    fn padded(row: &KvRow, time: usize, span: usize, device: &Device) -> Self {
        let len = row.len + time;
        let places: Vec<i64> = (0..span).map(|position| if position < len { row.place(position) as i64 } else { 0 }).collect();
        let hidden = match span == len {
            true => causal(row.len, time, None, device),
            false => {
                let hidden: Vec<bool> = (0..time).flat_map(|query| (0..span).map(move |key| key > row.len + query)).collect();
                Some(Tensor::from_data(TensorData::new(hidden, [1, time, span]), device))
            }
        };
        Self { places: Tensor::from_data(TensorData::new(places, [span]), device), hidden }
    }
}

impl PagedPass<'_> {
    fn write(&mut self, layer: usize, row: usize, k: Tensor<4>, v: Tensor<4>) {
        let [_, heads, time, width] = k.dims();
        let flat = |new: Tensor<4>| -> Tensor<2> { new.swap_dims(1, 2).reshape([time, heads * width]) };
        let (k, v) = (flat(k), flat(v));
        let mut from = 0;
        for (place, count) in self.rows[row].runs(time) {
            let (keys, values) = &mut self.kv.layers[layer];
            for (buffer, new) in [(keys, &k), (values, &v)] {
                let new = new.clone().narrow(0, from, count);
                buffer.inplace(|buffer| buffer.slice_assign([place..place + count, 0..heads * width], new));
            }
            from += count;
        }
    }

    /// The keys and values that a row sees, `[1, Hkv, S, D]` each.
    fn read(&self, layer: usize, row: usize) -> (Tensor<4>, Tensor<4>) {
        let KvShape { heads, head_dim, .. } = self.kv.shape;
        let (keys, values) = &self.kv.layers[layer];
        let places = &self.seen[row].places;
        let [len] = places.dims();
        let gather = |buffer: &Tensor<2>| -> Tensor<4> {
            buffer.clone().select(0, places.clone()).reshape([1, len, heads, head_dim]).swap_dims(1, 2)
        };
        (gather(keys), gather(values))
    }
}

impl KeysValues for PagedPass<'_> {
    fn attend(&mut self, layer: usize, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        if self.seen.is_empty() {
            let [_, _, time, _] = q.dims();
            self.seen = self.rows.iter().map(|row| Seen::new(row, time, &q.device())).collect();
        }
        let mixed = (0..self.rows.len()).map(|row| {
            let pick = |all: &Tensor<4>| all.clone().narrow(0, row, 1);
            self.write(layer, row, pick(&k), pick(&v));
            let (keys, values) = self.read(layer, row);
            attend(pick(&q), keys, values, self.seen[row].hidden.clone())
        });
        Tensor::cat(mixed.collect(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: KvShape = KvShape { layers: 1, heads: 2, head_dim: 4 };

    fn random(shape: [usize; 4], device: &Device) -> Tensor<4> {
        Tensor::random(shape, burn::tensor::Distribution::Uniform(-1.0, 1.0), device)
    }

    fn values(tensor: Tensor<4>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    #[test]
    fn steps_across_pages_equal_one_pass_and_used_pages_leak_nothing() {
        let device = Device::flex();
        let (q, k, v) = (random([1, 4, 7, 4], &device), random([1, 2, 7, 4], &device), random([1, 2, 7, 4], &device));
        let whole = attend(q.clone(), k.clone(), v.clone(), causal(0, 7, None, &device));
        let mut kv = PagedKv::new(SHAPE, 4, 3, &device, DType::F32);
        let poison = kv.reserve(12).expect("all pages");
        let nan = |heads: usize| Tensor::full([1, heads, 12, 4], f32::NAN, &device);
        kv.pass(vec![&poison]).attend(0, nan(4), nan(2), nan(2));
        kv.release(poison);
        let mut row = kv.reserve(7).expect("three pages");
        let mut parts = Vec::new();
        for (from, count) in [(0, 2), (2, 1), (3, 1), (4, 3)] {
            let cut = |all: &Tensor<4>| all.clone().narrow(2, from, count);
            parts.push(kv.pass(vec![&row]).attend(0, cut(&q), cut(&k), cut(&v)));
            row.advance(count);
        }
        for (stepped, whole) in values(Tensor::cat(parts, 2)).into_iter().zip(values(whole)) {
            assert!((stepped - whole).abs() < 1e-6, "{stepped} {whole}");
        }
    }

    #[test]
    fn whole_pages_give_what_the_written_positions_give() {
        let device = Device::flex();
        let mut kv = PagedKv::new(SHAPE, 4, 4, &device, DType::F32);
        let row = kv.reserve(16).expect("all pages");
        let (q, k, v) = (random([1, 4, 6, 4], &device), random([1, 2, 6, 4], &device), random([1, 2, 6, 4], &device));
        let nan = Tensor::full([1, 2, 16, 4], f32::NAN, &device);
        kv.pass(vec![&row]).attend(0, Tensor::full([1, 4, 16, 4], f32::NAN, &device), nan.clone(), nan);
        let exact = kv.pass(vec![&row]).attend(0, q.clone(), k.clone(), v.clone());
        let mut pass = kv.pass(vec![&row]);
        pass.seen = vec![Seen::padded(&row, 6, 8, &device)];
        for (padded, exact) in values(pass.attend(0, q, k, v)).into_iter().zip(values(exact)) {
            assert!((padded - exact).abs() < 1e-6, "{padded} {exact}");
        }
    }

    #[test]
    fn rows_of_other_lengths_change_nothing() {
        let device = Device::flex();
        let mut kv = PagedKv::new(SHAPE, 8, 3, &device, DType::F32);
        let mut rows: Vec<KvRow> = (0..3).map(|_| kv.reserve(6).expect("two pages")).collect();
        for (row, len) in rows.iter_mut().zip([1, 4, 2]) {
            kv.pass(vec![row]).attend(0, random([1, 4, len, 4], &device), random([1, 2, len, 4], &device), random([1, 2, len, 4], &device));
            row.advance(len);
        }
        let (q, k, v) = (random([3, 4, 1, 4], &device), random([3, 2, 1, 4], &device), random([3, 2, 1, 4], &device));
        let together = kv.pass(rows.iter().collect()).attend(0, q.clone(), k.clone(), v.clone());
        for (number, row) in rows.iter().enumerate() {
            let cut = |all: &Tensor<4>| all.clone().narrow(0, number, 1);
            let alone = kv.pass(vec![row]).attend(0, cut(&q), cut(&k), cut(&v));
            assert_eq!(values(alone), values(cut(&together)), "row {number}");
        }
    }

    #[test]
    fn pages_are_given_once_and_taken_back() {
        let device = Device::flex();
        let mut kv = PagedKv::new(SHAPE, 3, 4, &device, DType::F32);
        let (first, second) = (kv.reserve(5).expect("two pages"), kv.reserve(4).expect("one page"));
        assert_eq!((first.capacity(), second.capacity(), kv.positions()), (8, 4, 12));
        assert!(kv.reserve(1).is_none());
        kv.release(first);
        assert!(kv.reserve(9).is_none());
        assert!(kv.reserve(8).is_some());
    }
}
