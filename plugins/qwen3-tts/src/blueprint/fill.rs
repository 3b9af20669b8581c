//! Random numbers for an untrained network.
//!
//! The deviations keep activations finite through every layer and the waveform well inside full scale: matrices as wide as the talker's
//! at 0.02, convolutions by the number of products that a sum has, norms around one, residual scales small.

use omni_plugin_api::Fill;

/// What a tensor of this name and shape is filled with.
pub fn of(name: &str, shape: &[usize]) -> Fill {
    let last = name.rsplit('.').next().unwrap_or_default();
    match last {
        "cluster_usage" => Fill::Uniform { low: 0.5, high: 1.5 },
        "initialized" => Fill::Uniform { low: 1.0, high: 1.0 },
        "embedding_sum" | "embed_sum" => normal(0.0, 1.0),
        "alpha" | "beta" => normal(0.0, 0.1),
        "scale" | "gamma" => normal(0.01, 0.002),
        "bias" => normal(0.0, 0.02),
        _ if name.contains("norm") => normal(1.0, 0.05),
        _ if shape.len() == 3 => normal(0.0, 0.5 / products(name, shape).max(1.0).sqrt()),
        _ => normal(0.0, 0.02),
    }
}

fn normal(mean: f32, deviation: f32) -> Fill {
    Fill::Normal { mean, deviation }
}

/// Products in each sum of a convolution.
fn products(name: &str, shape: &[usize]) -> f32 {
    let [first, second, kernel] = shape else { return 1.0 };
    match is_transposed(name) {
        // `[in, out, k]`, a stride of half the kernel or, where it is 2, all of it.
        true => (first * if *kernel > 2 { 2 } else { 1 }) as f32,
        false => (second * kernel) as f32,
    }
}

fn is_transposed(name: &str) -> bool {
    let of_upsampling = name.starts_with("decoder.upsample.") && name.ends_with(".0.conv.weight");
    of_upsampling || name.starts_with("decoder.decoder.") && name.ends_with(".block.1.conv.weight")
}
