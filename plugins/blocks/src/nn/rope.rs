//! Rotary position embedding, the halves of a head turned against each other.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

/// Cosines and sines of every position, `[positions, D]`, both halves of a row alike.
#[derive(Debug, Clone)]
pub struct RopeTable {
    cos: Tensor<2>,
    sin: Tensor<2>,
}

/// The cosines and sines of a pass, `[R, 1, T, D]`.
#[derive(Debug, Clone)]
pub struct Angles {
    cos: Tensor<4>,
    sin: Tensor<4>,
}

/// Angle a position for each pair of a head: `theta^(-2i / head_dim)`.
pub fn frequencies(theta: f32, head_dim: usize) -> Vec<f32> {
    (0..head_dim / 2).map(|pair| 1.0 / theta.powf((2 * pair) as f32 / head_dim as f32)).collect()
}

impl RopeTable {
    /// The table of these frequencies. Angles are `f32`; `dtype` is what cosines and sines are rounded to, normally that of the
    /// activations.
    pub fn new(frequencies: &[f32], positions: usize, device: &Device, dtype: DType) -> Self {
        let table = |turn: fn(f64) -> f64| {
            let row = |position: usize| frequencies.iter().map(move |frequency| turn(f64::from(frequency * position as f32)) as f32);
            let values: Vec<f32> = (0..positions).flat_map(|position| row(position).chain(row(position))).collect();
            let data = TensorData::new(values, [positions, 2 * frequencies.len()]);
            Tensor::<2>::from_data(data, (device, DType::F32)).cast(dtype)
        };
        Self { cos: table(f64::cos), sin: table(f64::sin) }
    }

    /// Positions that the table knows.
    pub fn positions(&self) -> usize {
        self.cos.dims()[0]
    }

    /// The angles of positions `[R, T]`.
    pub fn at(&self, positions: Tensor<2, Int>) -> Angles {
        let [rows, time] = positions.dims();
        let [_, width] = self.cos.dims();
        let flat: Tensor<1, Int> = positions.reshape([rows * time]);
        let pick = |table: &Tensor<2>| table.clone().select(0, flat.clone()).reshape([rows, 1, time, width]);
        Angles { cos: pick(&self.cos), sin: pick(&self.sin) }
    }
}

impl Angles {
    /// Turns heads `[R, H, T, D]`.
    pub fn turn(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let (first, second) = (x.clone().narrow(3, 0, half), x.clone().narrow(3, half, half));
        let swapped = Tensor::cat(vec![second.neg(), first], 3);
        x * self.cos.clone() + swapped * self.sin.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_turn_by_their_position() {
        let device = Device::flex();
        let table = RopeTable::new(&frequencies(10_000.0, 4), 8, &device, DType::F32);
        let positions = Tensor::<2, Int>::from_data([[0_i64, 3]], &device);
        let x = Tensor::<4>::from_data([[[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]]], &device);
        let turned = table.at(positions).turn(x).into_data().try_to_vec::<f32>().expect("floats");
        let (a, b) = (3.0_f32, 0.03_f32);
        let wanted = [
            1.0,
            2.0,
            3.0,
            4.0,
            a.cos() - 3.0 * a.sin(),
            2.0 * b.cos() - 4.0 * b.sin(),
            3.0 * a.cos() + a.sin(),
            4.0 * b.cos() + 2.0 * b.sin(),
        ];
        for (turned, wanted) in turned.iter().zip(wanted) {
            assert!((turned - wanted).abs() < 1e-5, "{turned} {wanted}");
        }
    }
}
