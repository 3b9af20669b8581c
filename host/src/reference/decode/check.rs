//! Whether a voice can be told from a clip.

use crate::reference::ReferenceError;

/// Below this peak, −60 dB, a clip counts as silent: what is there is the noise of a converter.
const SILENT: f32 = 1e-3;
/// From here on a sample counts as clipped.
const FULL_SCALE: f32 = 0.999;
/// A larger share of clipped samples is distortion that a voice would be learnt with. A full-scale sine has 3 %.
const MAX_CLIPPED: f64 = 0.2;

/// Refuses a clip in which nothing can be heard, or nothing but distortion.
pub fn audible(samples: &[f32]) -> Result<(), ReferenceError> {
    if !samples.iter().all(|sample| sample.is_finite()) {
        return Err(ReferenceError::Corrupted("it holds samples that are not numbers".to_owned()));
    }
    let peak = samples.iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()));
    if peak < SILENT {
        return unusable("is silent: its peak is below -60 dB. Use a recording in which the voice can be heard.");
    }
    let clipped = samples.iter().filter(|sample| sample.abs() >= FULL_SCALE).count() as f64 / samples.len() as f64;
    if clipped > MAX_CLIPPED {
        let percent = (clipped * 100.0).round();
        return unusable(&format!("is clipped: {percent} % of its samples are at or beyond full scale. Record it at a lower level."));
    }
    Ok(())
}

fn unusable(what: &str) -> Result<(), ReferenceError> {
    Err(ReferenceError::Unusable(format!("Reference audio {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_distortion_and_what_is_no_number_are_refused_and_a_full_tone_is_not() {
        let tone = |gain: f32| -> Vec<f32> { (0..8000).map(|at| (gain * (at as f32 * 0.1).sin()).clamp(-1.0, 1.0)).collect() };
        assert_eq!(audible(&tone(1.0)), Ok(()));
        assert_eq!(audible(&tone(0.01)), Ok(()));
        for (samples, part) in
            [(tone(0.0005), "silent"), (vec![0.0; 9], "silent"), (tone(8.0), "clipped"), (vec![f32::NAN; 9], "not numbers")]
        {
            let error = audible(&samples).expect_err("it is refused").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
