//! Scaled dot-product attention with grouped heads.

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};

/// `softmax(q kᵀ / √D) v`, the softmax in `f32`. Query head `h` reads key head `h * Hkv / Hq`; keys and values are not repeated.
///
/// # Shapes
/// - `q` and the result: `[R, Hq, T, D]`
/// - `k`, `v`: `[R, Hkv, S, D]`
/// - `hidden`: `[R or 1, T, S]`, true where a query does not see
pub fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, hidden: Option<Tensor<3, Bool>>) -> Tensor<4> {
    let [rows, heads, time, width] = q.dims();
    let [_, kv_heads, seen, _] = k.dims();
    let group = heads / kv_heads;
    let dtype = q.dtype();
    let q = q.reshape([rows, kv_heads, group * time, width]);
    let scores = q.matmul(k.swap_dims(2, 3)).cast(DType::F32).mul_scalar((width as f32).powf(-0.5));
    let scores = match hidden {
        None => scores,
        Some(hidden) => {
            let hidden: Tensor<5, Bool> = hidden.unsqueeze_dims(&[1, 2]);
            let scores = scores.reshape([rows, kv_heads, group, time, seen]);
            let hidden = hidden.expand([rows, kv_heads, group, time, seen]);
            scores.mask_fill(hidden, f32::NEG_INFINITY).reshape([rows, kv_heads, group * time, seen])
        }
    };
    softmax(scores, 3).cast(dtype).matmul(v).reshape([rows, heads, time, width])
}

/// The mask `[1, T, S]` of `time` new positions after `before` older ones, where a query sees itself and at most `past` positions
/// before it. Nothing when every query sees everything.
pub fn causal(before: usize, time: usize, past: Option<usize>, device: &Device) -> Option<Tensor<3, Bool>> {
    let seen = before + time;
    let is_hidden = |query: usize, key: usize| key > before + query || past.is_some_and(|past| key + past < before + query);
    let mask: Vec<bool> = (0..time).flat_map(|query| (0..seen).map(move |key| is_hidden(query, key))).collect();
    mask.contains(&true).then(|| Tensor::from_data(TensorData::new(mask, [1, time, seen]), device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_sees_itself_and_its_past() {
        let device = Device::flex();
        let mask = causal(1, 3, Some(1), &device).expect("something is hidden").into_data().iter::<bool>().collect::<Vec<_>>();
        let hidden = [[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]].concat();
        assert_eq!(mask, hidden.iter().map(|hidden| *hidden == 1).collect::<Vec<_>>());
        assert!(causal(5, 1, None, &device).is_none());
        assert!(causal(71, 1, Some(71), &device).is_none());
        assert!(causal(72, 1, Some(71), &device).is_some());
    }

    #[test]
    fn query_heads_share_the_key_head_of_their_group() {
        let device = Device::flex();
        let of = |values: &[f32], heads: usize| Tensor::<4>::from_data(TensorData::new(values.to_vec(), [1, heads, 1, 1]), &device);
        let mixed = attend(of(&[1.0, 1.0, 1.0, 1.0], 4), of(&[1.0, 1.0], 2), of(&[3.0, 7.0], 2), None);
        assert_eq!(mixed.into_data().try_to_vec::<f32>().expect("floats"), [3.0, 3.0, 7.0, 7.0]);
    }
}
