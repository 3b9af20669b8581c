//! Dense layers.

use burn::tensor::{Device, Tensor, TensorData};

use crate::load::{LoadError, Reader};
use crate::nn::is_host;

/// A dense layer. Its matrix lies `[in, out]`: the form in which a product with few rows reads it without packing it first.
#[derive(Debug, Clone)]
pub struct Dense {
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
}

impl Dense {
    /// Reads `{name}.weight` `[out, in]`, and `{name}.bias` `[out]` if it has one.
    pub fn load(reader: &Reader, name: &str, input: usize, output: usize, bias: bool) -> Result<Self, LoadError> {
        let rows = reader.values(&format!("{name}.weight"), &[output, input])?;
        let bias = bias.then(|| reader.values(&format!("{name}.bias"), &[output])).transpose()?;
        Ok(Self::new(&rows, [output, input], bias, reader.device()))
    }

    /// From rows `[out, in]`.
    pub fn new(rows: &[f32], [output, input]: [usize; 2], bias: Option<Vec<f32>>, device: &Device) -> Self {
        let weight = put(transposed(rows, output, input), [input, output], device);
        Self { weight, bias: bias.map(|bias| put(bias, [output], device)) }
    }

    /// The matrix, `[in, out]`.
    pub fn weight(&self) -> &Tensor<2> {
        &self.weight
    }

    /// # Shapes
    /// - `x`: `[rows, time, in]`, result: `[rows, time, out]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [rows, time, input] = x.dims();
        let y = product(x.reshape([rows * time, input]), &self.weight);
        let y = y.reshape([rows as i64, time as i64, -1]);
        match &self.bias {
            Some(bias) => y + bias.clone().unsqueeze::<3>(),
            None => y,
        }
    }
}

/// `x w`, with the same bits for a row whatever other rows there are.
///
/// # Shapes
/// - `x`: `[rows, in]`, `w`: `[in, out]`, result: `[rows, out]`
pub fn product(x: Tensor<2>, w: &Tensor<2>) -> Tensor<2> {
    let ([rows, input], [_, output]) = (x.dims(), w.dims());
    let least = least_rows(input, output);
    if rows >= least || !is_host(&x.device()) {
        return x.matmul(w.clone());
    }
    let rest = Tensor::zeros([least - rows, input], (&x.device(), x.dtype()));
    Tensor::cat(vec![x, rest], 0).matmul(w.clone()).narrow(0, 0, rows)
}

/// Fewest rows whose product takes the road that many rows take on the CPU: a lone row is added up in another order, and so is a long sum
/// in a small product, which is not cut into parts there (`kernel_params` of the crate `gemm`).
fn least_rows(input: usize, output: usize) -> usize {
    let is_small = (2..=64).contains(&output) && input > 512;
    if is_small { 65 } else { 2 }
}

/// Puts values on a device.
pub(crate) fn put<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// `[rows, columns]` to `[columns, rows]`.
pub fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    for (row, line) in values.chunks_exact(columns.max(1)).enumerate() {
        for (column, value) in line.iter().enumerate() {
            out[column * rows + row] = *value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rows_bits_do_not_depend_on_how_many_there_are() {
        let device = Device::flex();
        let value = |n: usize| ((n * 2_654_435_761) % 1009) as f32 / 1009.0 - 0.5;
        // Around the bounds where the product changes its road: few outputs, long sums, products large enough for two threads.
        for (input, output) in [(3, 1), (40, 16), (700, 8), (1100, 65), (3000, 96), (2100, 300)] {
            let weight = put((0..input * output).map(value).collect(), [input, output], &device);
            let x = put((0..200 * input).map(|n| value(n + 7)).collect(), [200, input], &device);
            let all = product(x.clone(), &weight).into_data().try_to_vec::<f32>().expect("f32");
            for rows in [1, 2, 3, 5, 16, 65, 199] {
                let few = product(x.clone().narrow(0, 0, rows), &weight).into_data().try_to_vec::<f32>().expect("f32");
                assert!(few == all[..rows * output], "{rows} rows of {input} to {output}");
            }
        }
    }
}
