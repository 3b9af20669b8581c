//! The pitch of a clip, by autocorrelation: the place of a speaker encoder's network.

use crate::{FRAME_LEN, Frame, SAMPLE_RATE_HZ};

/// Samples that are averaged into one before the pitch is looked for: it is low, and this is four times less work.
const DECIMATION: usize = 2;
const RATE_HZ: f32 = SAMPLE_RATE_HZ as f32 / DECIMATION as f32;
/// The pitches that are looked for, in Hz.
const LOWEST_HZ: f32 = 50.0;
const HIGHEST_HZ: f32 = 1000.0;
/// A frame whose best correlation is less has no pitch.
const VOICED: f32 = 0.6;
/// A frame that is more quiet is a pause.
const AUDIBLE: f32 = 0.005;
/// A recording whose peak is lower was made with a quiet microphone, not by a quiet voice: it counts as if its peak were this.
const QUIET: f32 = 0.1;
/// Of several periods that fit, the shortest that is nearly as good as the best is the true one; the others are its multiples.
const NEARLY: f32 = 0.95;

/// The code frames of a clip at the family's rate; a frame without a pitch is silent.
pub fn frames(samples: &[f32]) -> Vec<Frame> {
    let peak = samples.iter().fold(f32::MIN_POSITIVE, |peak, sample| peak.max(sample.abs()));
    let gain = (QUIET / peak).max(1.0);
    samples.chunks_exact(FRAME_LEN).map(|samples| frame(samples, gain)).collect()
}

fn frame(samples: &[f32], gain: f32) -> Frame {
    let loudness = gain * (samples.iter().map(|sample| sample * sample).sum::<f32>() / samples.len() as f32).sqrt();
    let low: Vec<f32> = samples.chunks_exact(DECIMATION).map(|part| part.iter().sum::<f32>() / DECIMATION as f32).collect();
    match pitch_hz(&low).filter(|_| loudness >= AUDIBLE) {
        // A sine of amplitude 1 has the loudness 0.707.
        Some(frequency_hz) => Frame::new(frequency_hz, loudness * std::f32::consts::SQRT_2),
        None => Frame::new(LOWEST_HZ, 0.0),
    }
}

fn pitch_hz(samples: &[f32]) -> Option<f32> {
    let (shortest, longest) = ((RATE_HZ / HIGHEST_HZ) as usize, (RATE_HZ / LOWEST_HZ) as usize);
    let scores: Vec<f32> = (shortest - 1..=longest + 1).map(|lag| likeness(samples, lag)).collect();
    let best = scores.iter().copied().fold(0.0, f32::max);
    let peak = scores.windows(3).position(|near| near[1] >= NEARLY * best && near[1] >= near[0] && near[1] >= near[2])?;
    (best >= VOICED).then(|| RATE_HZ / (shortest as f32 + peak as f32 + vertex([scores[peak], scores[peak + 1], scores[peak + 2]])))
}

/// How alike a signal is to itself so many samples later, from -1 to 1.
fn likeness(samples: &[f32], lag: usize) -> f32 {
    let (early, late) = (&samples[..samples.len() - lag], &samples[lag..]);
    let product = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(left, right)| left * right).sum::<f32>();
    product(early, late) / (product(early, early) * product(late, late)).sqrt().max(f32::MIN_POSITIVE)
}

/// Where the top of the parabola through three neighbours lies, counted from the middle one.
fn vertex([left, middle, right]: [f32; 3]) -> f32 {
    let bend = left - 2.0 * middle + right;
    if bend < 0.0 { (0.5 * (left - right) / bend).clamp(-0.5, 0.5) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use std::f32::consts::TAU;

    #[test]
    fn the_pitch_of_a_tone_is_found_with_and_without_overtones() {
        for pitch_hz in [60.0, 110.0, 233.0, 440.0, 900.0] {
            for overtones in [1, 8] {
                let sample = |at: usize| -> f32 {
                    let turns = pitch_hz * at as f32 / SAMPLE_RATE_HZ as f32;
                    (1..=overtones).map(|n| (TAU * turns * n as f32).sin() / n as f32).sum::<f32>() * 0.3
                };
                let clip: Vec<f32> = (0..3 * FRAME_LEN).map(sample).collect();
                for frame in frames(&clip) {
                    let ratio = frame.frequency_hz() / pitch_hz;
                    assert!((0.98..1.02).contains(&ratio), "{pitch_hz} Hz, {overtones}: {}", frame.frequency_hz());
                    assert!(frame.amplitude() > 0.2);
                }
            }
        }
    }

    #[test]
    fn a_quiet_recording_is_heard_and_a_pause_in_it_is_a_pause() {
        let sample = |at: usize| 0.002 * (TAU * 440.0 * at as f32 / SAMPLE_RATE_HZ as f32).sin();
        let clip: Vec<f32> = (0..FRAME_LEN).map(sample).chain(vec![0.0; FRAME_LEN]).collect();
        let found = frames(&clip);
        assert!((found[0].frequency_hz() / 440.0 - 1.0).abs() < 0.02 && found[0].loudness > 0 && found[1].loudness == 0, "{found:?}");
    }

    #[test]
    fn noise_and_silence_have_no_pitch() {
        let hiss: Vec<f32> = (0..FRAME_LEN as u64).map(|at| 0.3 * noise(7, at)).collect();
        for clip in [hiss, vec![0.0; FRAME_LEN]] {
            assert!(frames(&clip).iter().all(|frame| frame.loudness == 0));
        }
    }
}
