//! What a second of audio costs in each format, and to resample and stretch.

use std::f32::consts::TAU;

use divan::Bencher;
use omni_host::audio::Format;
use omni_host::audio::encode::{Length, Shape, open};
use omni_host::audio::resample::Resampler;
use omni_host::audio::speed::Stretch;

/// Samples of a piece, as a model hands them over: 80 ms at 24 kHz.
const PIECE: usize = 1_920;

fn main() {
    divan::main();
}

/// One second of something like a voice.
fn second(shape: Shape) -> Vec<f32> {
    let sample = |at: usize| {
        let time = at as f32 / shape.sample_rate_hz as f32;
        let voice: f32 = (1..=20_u8).map(|n| (TAU * 150.0 * time * f32::from(n)).sin() / f32::from(n)).sum();
        0.2 * voice * (TAU * 2.0 * time).sin().powi(2)
    };
    (0..shape.sample_rate_hz as usize).flat_map(|at| std::iter::repeat_n(sample(at), usize::from(shape.channels))).collect()
}

fn encode(bencher: Bencher<'_, '_>, format: Format, shape: Shape) {
    let samples = second(shape);
    bencher.bench_local(|| {
        let mut bytes = Vec::new();
        let mut encoder = open(format, shape, Length::Open).expect("the shape fits");
        for piece in samples.chunks(PIECE * usize::from(shape.channels)) {
            encoder.push(piece, &mut bytes).expect("pieces are whole");
        }
        encoder.finish(&mut bytes).expect("the length is open");
        bytes
    });
}

#[divan::bench(args = Format::ALL)]
fn mono_24_khz(bencher: Bencher<'_, '_>, format: &Format) {
    encode(bencher, *format, Shape { sample_rate_hz: 24_000, channels: 1 });
}

#[divan::bench(args = Format::ALL)]
fn stereo_44_khz(bencher: Bencher<'_, '_>, format: &Format) {
    encode(bencher, *format, Shape { sample_rate_hz: 44_100, channels: 2 });
}

#[divan::bench(args = [8_000, 16_000, 22_050, 44_100, 48_000])]
fn resample_from_24_khz(bencher: Bencher<'_, '_>, to_hz: u32) {
    let samples = second(Shape { sample_rate_hz: 24_000, channels: 1 });
    bencher.bench_local(|| {
        let mut out = Vec::new();
        let mut resampler = Resampler::new(24_000, to_hz, 1).expect("the rates are near");
        for piece in samples.chunks(PIECE) {
            resampler.push(piece, &mut out);
        }
        resampler.finish(&mut out);
        out
    });
}

#[divan::bench(args = [0.5, 1.25, 2.0])]
fn speed_at_24_khz(bencher: Bencher<'_, '_>, speed: f64) {
    let samples = second(Shape { sample_rate_hz: 24_000, channels: 1 });
    bencher.bench_local(|| {
        let mut out = Vec::new();
        let mut stretch = Stretch::new(24_000, 1, speed).expect("the speed is there");
        for piece in samples.chunks(PIECE) {
            stretch.push(piece, &mut out);
        }
        stretch.finish(&mut out);
        out
    });
}
