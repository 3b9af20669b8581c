//! Measures sound: level, silence at the edges, pauses inside.

use crate::wav::Wav;

/// A frame of a pause search, in milliseconds.
const FRAME_MS: usize = 10;
/// Below this level a frame belongs to a pause.
const PAUSE_DBFS: f64 = -50.0;
/// Digital silence has no level in decibels; this stands for it.
const SILENCE_DBFS: f64 = -200.0;

/// A run of quiet frames between two stretches of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pause {
    /// First sample of it.
    pub from: usize,
    /// First sample after it.
    pub to: usize,
    /// Its length.
    pub ms: usize,
}

/// Root mean square relative to full scale, in decibels.
pub fn level_dbfs(samples: &[i16]) -> f64 {
    let energy: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    if energy == 0.0 {
        return SILENCE_DBFS;
    }
    10.0 * (energy / samples.len() as f64 / 32_768.0_f64.powi(2)).log10()
}

/// The pauses of at least `min_ms` between the first and the last sound.
pub fn pauses(clip: &Wav, min_ms: usize) -> Vec<Pause> {
    let found = quiet_runs(clip).into_iter().filter(|pause| pause.ms >= min_ms);
    found.filter(|pause| pause.from > 0 && pause.to < clip.samples.len()).collect()
}

/// Milliseconds of quiet before the first sound.
pub fn quiet_before_ms(clip: &Wav) -> usize {
    quiet_runs(clip).first().filter(|run| run.from == 0).map_or(0, |run| run.ms)
}

/// Milliseconds of quiet after the last sound.
pub fn quiet_after_ms(clip: &Wav) -> usize {
    quiet_runs(clip).last().filter(|run| run.to == clip.samples.len()).map_or(0, |run| run.ms)
}

/// Level of the last `ms` milliseconds.
pub fn tail_dbfs(clip: &Wav, ms: usize) -> f64 {
    let length = ms_to_samples(clip, ms).min(clip.samples.len());
    level_dbfs(&clip.samples[clip.samples.len() - length..])
}

/// Every run of quiet frames, those at the edges included. A last piece shorter than a frame counts as a frame.
fn quiet_runs(clip: &Wav) -> Vec<Pause> {
    let frame = ms_to_samples(clip, FRAME_MS);
    let mut runs: Vec<Pause> = Vec::new();
    for (index, samples) in clip.samples.chunks(frame).enumerate() {
        if level_dbfs(samples) >= PAUSE_DBFS {
            continue;
        }
        let (from, to) = (index * frame, index * frame + samples.len());
        match runs.last_mut().filter(|run| run.to == from) {
            Some(run) => *run = Pause { to, ms: run.ms + FRAME_MS, ..*run },
            None => runs.push(Pause { from, to, ms: FRAME_MS }),
        }
    }
    runs
}

fn ms_to_samples(clip: &Wav, ms: usize) -> usize {
    clip.rate as usize * usize::from(clip.channels) * ms / 1000
}

/// Says what is wrong with the edges of a spoken text, if anything: it starts and ends in silence, without a click, and neither
/// edge is cut off or drawn out.
///
/// # Errors
/// The first fault found, with its number.
pub fn check_edges(clip: &Wav) -> Result<(), String> {
    const CLICK: u16 = 98; // 0.003 of full scale
    let edge = |sample: Option<&i16>| sample.map_or(0, |sample| sample.unsigned_abs());
    let (first, last) = (edge(clip.samples.first()), edge(clip.samples.last()));
    let tail = tail_dbfs(clip, 20);
    let (before, after) = (quiet_before_ms(clip), quiet_after_ms(clip));
    let faults = [
        (clip.samples.is_empty(), "there is no sound".to_owned()),
        (first > CLICK || last > CLICK, format!("edge samples are {first} and {last}, above {CLICK}")),
        (tail > -60.0, format!("the last 20 ms are at {tail:.1} dBFS")),
        (!(100..=450).contains(&before), format!("{before} ms of silence before, expected 100 to 450")),
        (!(100..=800).contains(&after), format!("{after} ms of silence after, expected 100 to 800")),
    ];
    faults.into_iter().find(|(fault, _)| *fault).map_or(Ok(()), |(_, words)| Err(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TONE: i16 = 8_000;

    /// Stretches of (milliseconds, amplitude of a square wave).
    fn clip(stretches: &[(usize, i16)]) -> Wav {
        let wave = |(ms, level): &(usize, i16)| (0..ms * 24).map(|at| if at / 40 % 2 == 0 { *level } else { -*level }).collect::<Vec<_>>();
        Wav { rate: 24_000, channels: 1, samples: stretches.iter().flat_map(wave).collect() }
    }

    #[test]
    fn a_square_wave_has_the_level_of_its_amplitude() {
        assert!((level_dbfs(&[16_384, -16_384]) + 6.02).abs() < 0.01);
        assert!(level_dbfs(&[0; 10]) < -150.0);
    }

    #[test]
    fn only_inner_runs_are_pauses_and_short_ones_are_left_out() {
        let clip = clip(&[(200, 0), (300, TONE), (400, 10), (300, TONE), (50, 0), (300, TONE), (200, 0)]);
        let found = pauses(&clip, 100);
        assert_eq!(found, [Pause { from: 500 * 24, to: 900 * 24, ms: 400 }]);
        assert_eq!(pauses(&clip, 50).len(), 2);
        assert_eq!((quiet_before_ms(&clip), quiet_after_ms(&clip)), (200, 200));
    }

    #[test]
    fn good_edges_pass_and_each_fault_is_named() {
        assert_eq!(check_edges(&clip(&[(200, 0), (500, TONE), (300, 0)])), Ok(()));
        let fault = |stretches| check_edges(&clip(stretches)).expect_err("a fault");
        assert!(fault(&[(500, TONE), (300, 0)]).contains("edge samples"));
        assert!(fault(&[(200, 0), (500, TONE), (15, 0)]).contains("last 20 ms"));
        assert!(fault(&[(40, 0), (500, TONE), (300, 0)]).contains("before"));
        assert!(fault(&[(200, 0), (500, TONE), (900, 0)]).contains("after"));
        assert!(fault(&[]).contains("no sound"));
    }
}
