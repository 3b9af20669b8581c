//! The snake activation, f32 on every device.

use burn::tensor::Tensor;

use super::dense::put;
use crate::load::{LoadError, Reader};
use crate::nn::is_host;

/// Keeps the reciprocal of β finite.
const SMALL: f32 = 1e-9;

/// `x + sin²(α x) / β`, α and β a channel.
#[derive(Debug, Clone)]
pub struct SnakeBeta {
    alpha: Tensor<1>,
    inv_beta: Tensor<1>,
    /// α on the host, for the loop that the CPU runs.
    host_alpha: Vec<f32>,
    /// 1/β likewise.
    host_inv_beta: Vec<f32>,
}

impl SnakeBeta {
    /// Reads `{name}.alpha` and `{name}.beta`, `[channels]`, both logarithms.
    pub fn load(reader: &Reader, name: &str, channels: usize) -> Result<Self, LoadError> {
        let read = |part: &str| reader.values(&format!("{name}.{part}"), &[channels]);
        let host_alpha: Vec<f32> = read("alpha")?.into_iter().map(f32::exp).collect();
        let host_inv_beta: Vec<f32> = read("beta")?.into_iter().map(|beta| 1.0 / (beta.exp() + SMALL)).collect();
        let [alpha, inv_beta] = [&host_alpha, &host_inv_beta].map(|values| put(values.clone(), [channels], reader.device()));
        Ok(Self { alpha, inv_beta, host_alpha, host_inv_beta })
    }

    /// # Shapes
    /// - `x` and the result: `[rows, time, channels]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        if is_host(&x.device()) {
            return self.on_host(x);
        }
        let sine = (x.clone() * self.alpha.clone().unsqueeze::<3>()).sin();
        x + sine.clone() * sine * self.inv_beta.clone().unsqueeze::<3>()
    }

    /// One pass over the values in place of five, with a sine that vectorises.
    fn on_host(&self, x: Tensor<3>) -> Tensor<3> {
        let device = x.device();
        let mut data = x.into_data();
        if let Ok(values) = data.as_mut_slice::<f32>() {
            snake(values, &self.host_alpha, &self.host_inv_beta);
        }
        Tensor::from_data(data, &device)
    }
}

/// `x + sin²(α x) / β` of each row in place.
fn snake(values: &mut [f32], alpha: &[f32], inv_beta: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(values: &mut [f32], alpha: &[f32], inv_beta: &[f32]) {
            snake_rows(values, alpha, inv_beta);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { wide(values, alpha, inv_beta) };
        }
    }
    snake_rows(values, alpha, inv_beta);
}

#[inline(always)]
fn snake_rows(values: &mut [f32], alpha: &[f32], inv_beta: &[f32]) {
    for row in values.chunks_exact_mut(alpha.len()) {
        for ((value, alpha), inv_beta) in row.iter_mut().zip(alpha).zip(inv_beta) {
            let sine = sine_up_to_sign(*value * alpha);
            *value += sine * sine * inv_beta;
        }
    }
}

/// `sin x` or `-sin x`: what its square needs, without a branch. Absolute error below 1e-6 for `|x|` up to 100.
#[inline(always)]
fn sine_up_to_sign(x: f32) -> f32 {
    /// Adding and subtracting it rounds to the nearest integer.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    /// π in two parts, the first exact in few bits.
    const PI: (f32, f32) = (3.140_625, 9.676_536e-4);
    let half_turns = (x * std::f32::consts::FRAC_1_PI + ROUND) - ROUND;
    let r = x - half_turns * PI.0 - half_turns * PI.1;
    let w = r * r;
    // A minimax fit on [-π/2, π/2].
    let tail = -0.166_666_67 + w * (0.008_333_331 + w * (-1.984_087_4e-4 + w * (2.752_556_2e-6 - w * 2.388_985_9e-8)));
    r + r * w * tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_of_the_sine_is_right() {
        let worst = (-100_000..=100_000).map(|i| i as f32 * 1e-3).map(|x| {
            let sine = sine_up_to_sign(x);
            (f64::from(sine * sine) - f64::from(x).sin().powi(2)).abs()
        });
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-6, "{worst:e}");
    }

    #[test]
    fn rows_take_their_own_channels() {
        let mut values = [0.5, 0.5, -1.0, -1.0];
        snake(&mut values, &[1.0, 2.0], &[1.0, 0.5]);
        let expected = [(0.5f32, 1.0f32, 1.0f32), (0.5, 2.0, 0.5), (-1.0, 1.0, 1.0), (-1.0, 2.0, 0.5)];
        for (value, (x, alpha, inv_beta)) in values.iter().zip(expected) {
            assert!((value - (x + (x * alpha).sin().powi(2) * inv_beta)).abs() < 1e-6);
        }
    }
}
