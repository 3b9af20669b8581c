//! Keeps the joints of sentences and pauses free of clicks.
//!
//! The voice begins and ends a sentence near silence. Should one ever begin or end above [`QUIET`], its first or last half frame is
//! faded, which is decided by that half frame alone and so does not depend on how a stream is cut.

use crate::dsp::HOP;

/// A step this small, full scale 1, is not heard as a click.
pub const QUIET: f32 = 0.003;

/// Fades the start of a sentence in if it starts loud.
pub fn soften_start(samples: &mut [f32]) {
    if samples.first().is_some_and(|first| first.abs() > QUIET) {
        let head = samples.len().min(HOP);
        fade(samples[..head].iter_mut());
    }
}

/// Fades the end of a sentence out if it ends loud.
pub fn soften_end(samples: &mut [f32]) {
    if samples.last().is_some_and(|last| last.abs() > QUIET) {
        let tail = samples.len() - samples.len().min(HOP);
        fade(samples[tail..].iter_mut().rev());
    }
}

/// A raised cosine from nothing, over as many samples as there are.
fn fade<'a>(samples: impl ExactSizeIterator<Item = &'a mut f32>) {
    let step = std::f32::consts::PI / samples.len().max(1) as f32;
    for (i, sample) in samples.enumerate() {
        *sample *= 0.5 - 0.5 * (i as f32 * step).cos();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loud_edge_is_faded_and_a_quiet_one_left_alone() {
        let (mut loud, mut quiet) = (vec![0.5; 1000], vec![QUIET; 1000]);
        soften_start(&mut loud);
        soften_end(&mut loud);
        assert_eq!((loud[0], loud[999], loud[500]), (0.0, 0.0, 0.5));
        assert!(loud.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.01));
        soften_start(&mut quiet);
        soften_end(&mut quiet);
        assert_eq!(quiet, vec![QUIET; 1000]);
    }
}
