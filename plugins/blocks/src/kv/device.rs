//! Attention of a batch whose rows are known only to the device: nothing here depends on a number that the host would have to know, so a
//! recorded step can be run again for other sequences.

use burn::tensor::{Bool, Int, Tensor, TensorData};

use super::{KeysValues, PagedKv, attend};

/// Where each row of a batch stands.
#[derive(Debug, Clone)]
pub struct Places {
    /// The row of the pool that its new position goes to, `[R, 1]`.
    write: Tensor<2, Int>,
    /// The rows of the pool that it sees, `[R * S]`; the first of the pool where it sees nothing.
    read: Tensor<1, Int>,
    /// True where it sees nothing, `[R, 1, S]`.
    hidden: Tensor<3, Bool>,
}

/// The numbers from 0 on that [`Places`] count with: made once for a span, since a recorded step may take nothing from the host.
#[derive(Debug, Clone)]
pub struct Ruler {
    /// Places of a page, `[1, 1, page]`.
    page: Tensor<3, Int>,
    /// Positions of the span, `[1, S]`.
    span: Tensor<2, Int>,
}

impl Ruler {
    /// A ruler for `pages` pages of a pool.
    pub fn new(kv: &PagedKv, pages: usize, device: &burn::tensor::Device) -> Self {
        let count = |end: usize| TensorData::new((0..end as i64).collect::<Vec<_>>(), [end]);
        let span = pages * kv.page();
        Self {
            page: Tensor::<1, Int>::from_data(count(kv.page()), device).reshape([1, 1, kv.page()]),
            span: Tensor::<1, Int>::from_data(count(span), device).reshape([1, span]),
        }
    }
}

impl Places {
    /// Rows that stand at `positions` `[R, 1]`, write to `write` `[R, 1]` and own `pages` `[R, P]`.
    pub fn new(ruler: &Ruler, positions: Tensor<2, Int>, write: Tensor<2, Int>, pages: Tensor<2, Int>) -> Self {
        let [rows, count] = pages.dims();
        let [_, _, page] = ruler.page.dims();
        let span = count * page;
        let starts: Tensor<3, Int> = pages.mul_scalar(page as i64).unsqueeze_dim(2);
        let starts = starts.expand([rows, count, page]);
        let all: Tensor<2, Int> = (starts + ruler.page.clone().expand([rows, count, page])).reshape([rows, span]);
        let hidden = ruler.span.clone().expand([rows, span]).greater(positions.expand([rows, span]));
        let read = all.mask_fill(hidden.clone(), 0).reshape([rows * span]);
        Self { write, read, hidden: hidden.unsqueeze_dim(1) }
    }
}

/// One position of a batch.
pub struct DevicePass<'a> {
    kv: &'a mut PagedKv,
    places: Places,
}

impl<'a> DevicePass<'a> {
    /// A pass of rows at `places`.
    pub fn new(kv: &'a mut PagedKv, places: Places) -> Self {
        Self { kv, places }
    }
}

impl KeysValues for DevicePass<'_> {
    fn attend(&mut self, layer: usize, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        let [rows, heads, _, width] = k.dims();
        let [_, _, span] = self.places.hidden.dims();
        let flat = |new: Tensor<4>| -> Tensor<2> { new.reshape([rows, heads * width]) };
        let (keys, values) = self.kv.exchange(layer, &self.places.write, &self.places.read, flat(k), flat(v));
        let lift = |all: Tensor<2>| -> Tensor<4> { all.reshape([rows, span, heads, width]).swap_dims(1, 2) };
        attend(q, lift(keys), lift(values), Some(self.places.hidden.clone()))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Distribution};

    use super::*;
    use crate::kv::{KvRow, KvShape};

    #[test]
    fn a_pass_on_the_device_is_the_pass_of_the_host() {
        let device = Device::flex();
        let random = |shape: [usize; 4]| Tensor::<4>::random(shape, Distribution::Uniform(-1.0, 1.0), &device);
        let shape = KvShape { layers: 1, heads: 2, head_dim: 4 };
        let mut kv = PagedKv::new(shape, 6, 3, &device, DType::F32);
        let mut rows: Vec<KvRow> = (0..2).map(|_| kv.reserve(9).expect("three pages")).collect();
        for (row, len) in rows.iter_mut().zip([1, 5]) {
            kv.pass(vec![row]).attend(0, random([1, 4, len, 4]), random([1, 2, len, 4]), random([1, 2, len, 4]));
            row.advance(len);
        }
        let (q, k, v) = (random([2, 4, 1, 4]), random([2, 2, 1, 4]), random([2, 2, 1, 4]));
        let wanted = kv.pass(rows.iter().collect()).attend(0, q.clone(), k.clone(), v.clone());
        let ints = |values: Vec<usize>, width: usize| -> Tensor<2, Int> {
            let count = values.len() / width;
            let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
            Tensor::from_data(TensorData::new(values, [count, width]), &device)
        };
        let positions = ints(rows.iter().map(KvRow::len).collect(), 1);
        let write = ints(rows.iter().map(|row| row.place(row.len())).collect(), 1);
        let pages = ints(rows.iter().flat_map(|row| row.pages()[..2].to_vec()).collect(), 2);
        let places = Places::new(&Ruler::new(&kv, 2, &device), positions, write, pages);
        let found = DevicePass::new(&mut kv, places).attend(0, q, k, v);
        let gap = (found - wanted).abs().max().into_scalar::<f32>();
        assert!(gap < 1e-6, "{gap}");
    }
}
