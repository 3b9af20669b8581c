//! Signals, decoders and comparisons for the tests of all formats.

use std::f32::consts::TAU;
use std::io::Cursor;

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::formats::{FormatOptions, TrackType, probe::Hint};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

use super::{Length, Shape, open};
use crate::audio::Format;

/// A shape.
pub fn shape(sample_rate_hz: u32, channels: u16) -> Shape {
    Shape { sample_rate_hz, channels }
}

/// Something like speech, `len` samples a channel: syllables of a gliding voice with breath between. Channels differ in loudness.
pub fn speech(len: usize, shape: Shape) -> Vec<f32> {
    let mut phase = 0.0_f32;
    let mut noise = 0x2545_F491_u32;
    let mut samples = Vec::with_capacity(len * usize::from(shape.channels));
    for at in 0..len {
        let time = at as f32 / shape.sample_rate_hz as f32;
        phase = (phase + (130.0 + 40.0 * (TAU * 0.7 * time).sin()) / shape.sample_rate_hz as f32).fract();
        let voice: f32 = (1..=12_u8).map(|n| (TAU * phase * f32::from(n)).sin() / f32::from(n)).sum();
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let breath = (noise >> 8) as f32 / 8_388_608.0 - 1.0;
        // Loud at the very end, so that a lost tail shows.
        let syllable = (TAU * 1.9 * (len - at) as f32 / shape.sample_rate_hz as f32).cos().powi(2);
        let sample = 0.25 * syllable * voice + 0.01 * (1.0 - syllable) * breath;
        samples.extend((0..shape.channels).map(|channel| sample / f32::from(channel + 1)));
    }
    samples
}

/// All of a clip, pushed in pieces of `piece` samples a channel.
pub fn in_pieces(format: Format, shape: Shape, length: Length, samples: &[f32], piece: usize) -> Vec<u8> {
    let mut encoder = open(format, shape, length).expect("the format has the shape");
    let mut bytes = Vec::new();
    for piece in samples.chunks(piece * usize::from(shape.channels)) {
        encoder.push(piece, &mut bytes).expect("pieces are whole");
    }
    encoder.finish(&mut bytes).expect("the length is true");
    bytes
}

/// What a decoder of another author makes of a file: its shape and its interleaved samples.
pub fn decode(bytes: Vec<u8>) -> (Shape, Vec<f32>) {
    let source = MediaSourceStream::new(Box::new(Cursor::new(bytes)), Default::default());
    let (format, meta) = (FormatOptions::default(), MetadataOptions::default());
    let mut reader = symphonia::default::get_probe().probe(&Hint::new(), source, format, meta).expect("the container is known");
    let track = reader.default_track(TrackType::Audio).expect("there is a track");
    let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio()).expect("it is audio");
    let mut decoder =
        symphonia::default::get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default()).expect("the codec is known");
    let (mut found, mut samples) = (shape(0, 0), Vec::new());
    while let Some(packet) = reader.next_packet().expect("the container is whole") {
        let audio = decoder.decode(&packet).expect("the packet is whole");
        found = shape(audio.spec().rate(), audio.spec().channels().count() as u16);
        let mut block = vec![0.0_f32; audio.samples_interleaved()];
        audio.copy_to_slice_interleaved(&mut block);
        samples.extend(block);
    }
    (found, samples)
}

/// How alike the loudness of two clips runs, from -1 to 1, in windows of 20 ms.
pub fn likeness(left: &[f32], right: &[f32], shape: Shape) -> f64 {
    let window = (shape.sample_rate_hz / 50) as usize * usize::from(shape.channels);
    let loudness = |samples: &[f32]| -> Vec<f64> {
        samples.chunks_exact(window).map(|part| part.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()).collect()
    };
    correlation(&loudness(left), &loudness(right))
}

/// How alike the waveforms of the last 50 ms of `right` and of the same time in `left` are, from -1 to 1.
pub fn end_likeness(left: &[f32], right: &[f32], shape: Shape) -> f64 {
    let part = right.len() - (shape.sample_rate_hz / 20) as usize * usize::from(shape.channels)..right.len();
    let exact = |samples: &[f32]| -> Vec<f64> { samples.iter().map(|sample| f64::from(*sample)).collect() };
    correlation(&exact(&left[part.clone()]), &exact(&right[part]))
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let len = left.len().min(right.len());
    let centred = |values: &[f64]| -> Vec<f64> {
        let mean = values[..len].iter().sum::<f64>() / len as f64;
        values[..len].iter().map(|value| value - mean).collect()
    };
    let (left, right) = (centred(left), centred(right));
    let product = |left: &[f64], right: &[f64]| -> f64 { left.iter().zip(right).map(|(left, right)| left * right).sum() };
    product(&left, &right) / (product(&left, &left) * product(&right, &right)).sqrt()
}
