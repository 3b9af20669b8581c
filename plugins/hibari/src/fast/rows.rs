//! The element-wise parts of a network over rows `[n, width]`.

use super::math::{exp, gelu, vectorised};

/// Partial sums a row is added up in, whatever the vector width.
const LANES: usize = 16;

vectorised! {
    /// Depthwise convolution: `out[i] = bias + sum_k x[i + k * dilation] * taps[k]`.
    ///
    /// # Shapes
    /// - `x`: `[n + (kernel - 1) * dilation, width]`, `taps`: `[kernel, width]`, `bias`: `[width]`, `out`: `[n, width]`
    pub fn depthwise(x: &[f32], taps: &[f32], bias: &[f32], dilation: usize, out: &mut [f32]) {
        let width = bias.len();
        for (i, row) in out.chunks_exact_mut(width).enumerate() {
            row.copy_from_slice(bias);
            for (k, tap) in taps.chunks_exact(width).enumerate() {
                let from = &x[(i + k * dilation) * width..][..width];
                for ((sum, value), weight) in row.iter_mut().zip(from).zip(tap) {
                    *sum += value * weight;
                }
            }
        }
    }
}

vectorised! {
    /// Layer normalisation of each row in place, epsilon 1e-5.
    ///
    /// # Shapes
    /// - `x`: `[n, width]`, `weight` and `bias`: `[width]`, `width` a multiple of 16
    pub fn layer_norm(x: &mut [f32], weight: &[f32], bias: &[f32]) {
        let width = weight.len();
        let scale = 1.0 / width as f32;
        for row in x.chunks_exact_mut(width) {
            let mean = sum(row, |value| value) * scale;
            let variance = sum(row, |value| (value - mean) * (value - mean)) * scale;
            let inverse = 1.0 / (variance + 1e-5).sqrt();
            for ((value, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
                *value = (*value - mean) * inverse * weight + bias;
            }
        }
    }
}

#[inline(always)]
fn sum(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for piece in row.as_chunks::<LANES>().0 {
        for (lane, value) in lanes.iter_mut().zip(piece) {
            *lane += term(*value);
        }
    }
    lanes.iter().sum()
}

vectorised! {
    /// `x = gelu(x + bias)` of each row in place.
    ///
    /// # Shapes
    /// - `x`: `[n, width]`, `bias`: `[width]`
    pub fn bias_gelu(x: &mut [f32], bias: &[f32]) {
        for row in x.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value = gelu(*value + bias);
            }
        }
    }
}

vectorised! {
    /// `x = x + bias` of each row in place.
    ///
    /// # Shapes
    /// - `x`: `[n, width]`, `bias`: `[width]`
    pub fn add_bias(x: &mut [f32], bias: &[f32]) {
        for row in x.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    }
}

vectorised! {
    /// `x = residual + gain * (x + bias)` of each row in place.
    ///
    /// # Shapes
    /// - `x` and `residual`: `[n, width]`, `bias` and `gain`: `[width]`
    pub fn scale_add(x: &mut [f32], bias: &[f32], gain: &[f32], residual: &[f32]) {
        let width = bias.len();
        for (row, residual) in x.chunks_exact_mut(width).zip(residual.chunks_exact(width)) {
            for (((value, bias), gain), residual) in row.iter_mut().zip(bias).zip(gain).zip(residual) {
                *value = residual + gain * (*value + bias);
            }
        }
    }
}

vectorised! {
    /// `x = residual + (x + bias)` of each row in place.
    ///
    /// # Shapes
    /// - `x` and `residual`: `[n, width]`, `bias`: `[width]`
    pub fn bias_add(x: &mut [f32], bias: &[f32], residual: &[f32]) {
        let width = bias.len();
        for (row, residual) in x.chunks_exact_mut(width).zip(residual.chunks_exact(width)) {
            for ((value, bias), residual) in row.iter_mut().zip(bias).zip(residual) {
                *value = residual + (*value + bias);
            }
        }
    }
}

vectorised! {
    /// `x = gelu(x)` in place.
    pub fn gelu_all(x: &mut [f32]) {
        for value in x {
            *value = gelu(*value);
        }
    }
}

vectorised! {
    /// `softmax(scale * x)` of each row of `width` values in place.
    pub fn softmax(x: &mut [f32], width: usize, scale: f32) {
        for row in x.chunks_exact_mut(width) {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for value in row.iter_mut() {
                *value = exp((*value - largest) * scale);
            }
            let inverse = 1.0 / (sum(row, |value| value) + row.as_chunks::<LANES>().1.iter().sum::<f32>());
            for value in row {
                *value *= inverse;
            }
        }
    }
}
