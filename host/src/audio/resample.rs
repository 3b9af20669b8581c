//! From one sample rate to another, piece by piece: a polyphase filter with a Kaiser window.
//!
//! The rates are reduced to `up / down`. The filter has `20 * max(up, down) + 1` taps at the rate between both, cuts at the lower of both
//! Nyquist frequencies and is centred, so the output begins where the input begins. What comes out does not depend on how the input was
//! cut.

use std::f64::consts::PI;

use super::dot::dot;

/// The rates a client may ask for.
pub const RATES_HZ: [u32; 6] = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000];

/// The most that either rate may be after both were reduced.
const MAX_RATIO: u32 = 2_048;
/// Half the filter, in periods of the cut-off.
const HALF_PERIODS: u32 = 10;
/// The shape of the window: the trade of a narrow passage against a deep stop band (about 53 dB).
const KAISER_BETA: f64 = 5.0;
/// Samples a channel that may lie behind the filter before they are dropped.
const SLACK: usize = 4_096;

/// Two rates between which nothing can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("audio at {from_hz} Hz with {channels} channels cannot be brought to {to_hz} Hz")]
pub struct ResampleError {
    from_hz: u32,
    to_hz: u32,
    channels: u16,
}

/// Samples a channel that come out of `len` samples a channel; 0 where the rates make no sense.
pub fn output_len(len: u64, from_hz: u32, to_hz: u32) -> u64 {
    if from_hz == 0 {
        return 0;
    }
    let exact = (u128::from(len) * u128::from(to_hz)).div_ceil(u128::from(from_hz));
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// One stream on its way to another rate. Samples of several channels are interleaved.
pub struct Resampler {
    filter: Filter,
    cursor: Cursor,
    lines: Vec<DelayLine>,
    consumed: u64,
    produced: u64,
    rates_hz: (u32, u32),
}

impl Resampler {
    /// Begins a stream.
    pub fn new(from_hz: u32, to_hz: u32, channels: u16) -> Result<Self, ResampleError> {
        let refused = ResampleError { from_hz, to_hz, channels };
        let (up, down) = reduced(from_hz, to_hz).ok_or(refused)?;
        if channels == 0 {
            return Err(refused);
        }
        let filter = Filter::new(up, down);
        let line = DelayLine::new(filter.taps - 1);
        let cursor = Cursor { phase: filter.half % up as usize, input: filter.half / up as usize };
        Ok(Self { filter, cursor, lines: vec![line; usize::from(channels)], consumed: 0, produced: 0, rates_hz: (from_hz, to_hz) })
    }

    /// Takes whole frames (a last part of a frame is left out) and appends what is complete. What is no number counts as silence.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        let frames = samples.chunks_exact(self.lines.len());
        self.consumed += frames.len() as u64;
        for frame in frames {
            for (line, sample) in self.lines.iter_mut().zip(frame) {
                line.samples.push(if sample.is_finite() { *sample } else { 0.0 });
            }
        }
        self.produce(u64::MAX, out);
    }

    /// Appends what the filter still holds, so that all of the input has come out.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        let total = output_len(self.consumed, self.rates_hz.0, self.rates_hz.1);
        while self.produced < total {
            for line in &mut self.lines {
                line.samples.resize(line.samples.len() + self.filter.taps, 0.0);
            }
            self.produce(total, out);
        }
    }

    fn produce(&mut self, total: u64, out: &mut Vec<f32>) {
        let available = self.lines.first().map_or(0, DelayLine::end);
        while self.cursor.input < available && self.produced < total {
            let taps = self.filter.phase(self.cursor.phase);
            out.extend(self.lines.iter().map(|line| dot(line.before(self.cursor.input, taps.len()), taps)));
            self.cursor.step(self.filter.up, self.filter.down);
            self.produced += 1;
        }
        let dropped = self.lines.iter_mut().map(|line| line.drop_before(self.cursor.input)).max().unwrap_or(0);
        self.cursor.input -= dropped;
    }
}

/// Both rates without their common divisor.
fn reduced(from_hz: u32, to_hz: u32) -> Option<(u32, u32)> {
    let (mut divisor, mut rest) = (from_hz, to_hz);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let (up, down) = (to_hz.checked_div(divisor)?, from_hz.checked_div(divisor)?);
    let sane = |ratio: u32| (1..=MAX_RATIO).contains(&ratio);
    (sane(up) && sane(down)).then_some((up, down))
}

/// Where the next output sample lies: the newest input sample below it, and how far beyond that it is, in steps of `1 / up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    input: usize,
    phase: usize,
}

impl Cursor {
    fn step(&mut self, up: usize, down: usize) {
        let phase = self.phase + down;
        self.input += phase / up;
        self.phase = phase % up;
    }
}

/// The filter, cut into one short filter for each place that an output sample can have between two input samples.
struct Filter {
    up: usize,
    down: usize,
    half: usize,
    taps: usize,
    phases: Vec<f32>,
}

impl Filter {
    fn new(up: u32, down: u32) -> Self {
        let widest = up.max(down);
        // Without a change of rate the filter is one tap that changes nothing.
        let half = if widest == 1 { 0 } else { (HALF_PERIODS * widest) as usize };
        let prototype = prototype(half, f64::from(widest), f64::from(up));
        let (up, down) = (up as usize, down as usize);
        let taps = 2 * half / up + 1;
        // The newest input sample meets the first tap of its phase, so each phase is stored from its last tap on.
        let tap = |phase: usize, place: usize| prototype.get(phase + (taps - 1 - place) * up).copied().unwrap_or(0.0) as f32;
        let phases = (0..up).flat_map(|phase| (0..taps).map(move |place| (phase, place))).map(|(phase, place)| tap(phase, place)).collect();
        Self { up, down, half, taps, phases }
    }

    fn phase(&self, phase: usize) -> &[f32] {
        &self.phases[phase * self.taps..(phase + 1) * self.taps]
    }
}

/// A windowed sinc that lets everything below `1 / widest` pass, its taps adding up to `gain`.
fn prototype(half: usize, widest: f64, gain: f64) -> Vec<f64> {
    let taps: Vec<f64> = (0..=2 * half).map(|tap| tap as f64 - half as f64).map(|at| sinc(at / widest) * kaiser(at, half as f64)).collect();
    let sum: f64 = taps.iter().sum();
    taps.iter().map(|tap| tap * gain / sum).collect()
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

fn kaiser(at: f64, half: f64) -> f64 {
    let inside = if half > 0.0 { 1.0 - (at / half).powi(2) } else { 1.0 };
    bessel(KAISER_BETA * inside.max(0.0).sqrt()) / bessel(KAISER_BETA)
}

/// The modified Bessel function of order zero, as its power series.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term, mut step) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= (x / (2.0 * step)).powi(2);
        sum += term;
        step += 1.0;
    }
    sum
}

/// The input of one channel that later output still needs; silence before the first sample.
#[derive(Clone)]
struct DelayLine {
    samples: Vec<f32>,
    /// Samples of silence in front.
    lead: usize,
}

impl DelayLine {
    fn new(lead: usize) -> Self {
        Self { samples: vec![0.0; lead], lead }
    }

    /// One past the last input sample.
    fn end(&self) -> usize {
        self.samples.len() - self.lead
    }

    /// The `len` samples up to and with input sample `newest`.
    fn before(&self, newest: usize, len: usize) -> &[f32] {
        let end = newest + self.lead + 1;
        &self.samples[end - len..end]
    }

    /// Forgets what lies before every later output; returns by how much the places of all samples moved.
    fn drop_before(&mut self, newest: usize) -> usize {
        let unused = newest.min(self.end());
        if unused < SLACK {
            return 0;
        }
        self.samples.drain(..unused);
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    const MODEL_RATES_HZ: [u32; 6] = [16_000, 22_050, 24_000, 32_000, 44_100, 48_000];

    fn pairs() -> impl Iterator<Item = (u32, u32)> {
        MODEL_RATES_HZ.into_iter().flat_map(|from_hz| RATES_HZ.map(|to_hz| (from_hz, to_hz)))
    }

    fn in_pieces(samples: &[f32], (from_hz, to_hz): (u32, u32), channels: u16, pieces: &[usize]) -> Vec<f32> {
        let mut resampler = Resampler::new(from_hz, to_hz, channels).expect("the rates are near");
        let (mut out, mut rest) = (Vec::new(), samples);
        for piece in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((piece * usize::from(channels)).min(rest.len()));
            resampler.push(now, &mut out);
            rest = later;
        }
        resampler.finish(&mut out);
        out
    }

    fn tone(pitch_hz: f64, rate_hz: u32, len: usize) -> Vec<f32> {
        (0..len).map(|at| (0.5 * (TAU * pitch_hz * at as f64 / f64::from(rate_hz)).sin()) as f32).collect()
    }

    /// The amplitude of a tone that starts at zero, and of all that is left without it, each relative to what went in.
    fn measure(samples: &[f32], pitch_hz: f64, rate_hz: u32) -> (f64, f64) {
        let quarter = samples.len() / 4;
        let middle = quarter..samples.len() - quarter;
        let wave = |at: usize| (TAU * pitch_hz * at as f64 / f64::from(rate_hz)).sin();
        let product: f64 = middle.clone().map(|at| f64::from(samples[at]) * wave(at)).sum();
        let amplitude = product / middle.clone().map(|at| wave(at).powi(2)).sum::<f64>();
        let rest: f64 = middle.clone().map(|at| (f64::from(samples[at]) - amplitude * wave(at)).powi(2)).sum();
        (amplitude / 0.5, (2.0 * rest / middle.len() as f64).sqrt() / 0.5)
    }

    #[test]
    fn output_is_what_the_reference_makes() {
        // scipy.signal.resample_poly(x, up, down, window=("kaiser", 5.0)) of scipy 1.17.1
        let samples: Vec<f32> = (0..12_u8).map(|at| (f32::from(at * 7 % 11) - 5.0) / 8.0).collect();
        for (rates, len, first, last) in [
            ((24_000, 8_000), 4, [-0.163_156_3, 0.160_217_9, 0.056_664_5, -0.115_241_6], -0.115_241_6),
            ((24_000, 16_000), 8, [-0.280_637_9, -0.057_640_3, 0.428_692_3, -0.141_594_2], -0.337_246_9),
            ((24_000, 22_050), 12, [-0.524_969_5, 0.159_407, -0.137_856_1, 0.689_428_3], -0.020_985_3),
            ((24_000, 44_100), 23, [-0.625_421_9, -0.098_295_7, 0.257_382_3, -0.057_550_2], -0.011_594_5),
            ((24_000, 48_000), 24, [-0.625_323_4, -0.150_002_7, 0.250_129_4, 0.050_059_7], -0.312_805_7),
        ] {
            let out = in_pieces(&samples, rates, 1, &[5]);
            assert_eq!(out.len(), len);
            let near = |found: f32, wanted: f32| (found - wanted).abs() < 1e-6;
            assert!(out.iter().zip(first).all(|(found, wanted)| near(*found, wanted)) && near(out[len - 1], last), "{rates:?}: {out:?}");
        }
    }

    #[test]
    fn a_tone_keeps_pitch_place_and_loudness() {
        for (from_hz, to_hz) in pairs() {
            let out = in_pieces(&tone(1_000.0, from_hz, from_hz as usize / 2), (from_hz, to_hz), 1, &[997]);
            let (amplitude, rest) = measure(&out, 1_000.0, to_hz);
            assert!((20.0 * amplitude.log10()).abs() < 0.1, "{from_hz} to {to_hz}: {amplitude}");
            assert!(20.0 * rest.log10() < -50.0, "{from_hz} to {to_hz}: {rest}");
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_gone() {
        for (from_hz, to_hz) in pairs().filter(|(from_hz, to_hz)| f64::from(*from_hz) > 1.4 * f64::from(*to_hz)) {
            let pitch_hz = 0.6 * f64::from(to_hz).max(f64::from(from_hz) / 2.0);
            let pitch_hz = pitch_hz.min(0.49 * f64::from(from_hz));
            let out = in_pieces(&tone(pitch_hz, from_hz, from_hz as usize / 2), (from_hz, to_hz), 1, &[997]);
            let (_, rest) = measure(&out, 1_000.0, to_hz);
            assert!(20.0 * rest.log10() < -50.0, "{pitch_hz} Hz, {from_hz} to {to_hz}: {rest}");
        }
    }

    #[test]
    fn nothing_changes_without_a_change_of_rate() {
        let samples = tone(440.0, 24_000, 1_000);
        assert!(in_pieces(&samples, (24_000, 24_000), 2, &[7]) == samples);
    }

    #[test]
    fn channels_do_not_mix() {
        let (left, right) = (tone(300.0, 24_000, 9_000), tone(700.0, 24_000, 9_000));
        let both: Vec<f32> = left.iter().zip(&right).flat_map(|(left, right)| [*left, *right]).collect();
        let out = in_pieces(&both, (24_000, 44_100), 2, &[64]);
        for (channel, samples) in [left, right].iter().enumerate() {
            assert!(out.iter().skip(channel).step_by(2).eq(in_pieces(samples, (24_000, 44_100), 1, &[64]).iter()));
        }
    }

    #[test]
    fn a_minute_is_as_exact_at_its_end_as_at_its_start() {
        let out = in_pieces(&tone(1_000.0, 24_000, 24_000 * 60), (24_000, 44_100), 1, &[1_921]);
        let (amplitude, rest) = measure(&out[44_100 * 59..], 1_000.0, 44_100);
        assert!((amplitude - 1.0).abs() < 0.01 && rest < 0.003, "{amplitude} {rest}");
    }

    #[test]
    fn an_hour_ends_where_arithmetic_says() {
        let filter = Filter::new(160, 147);
        let mut cursor = Cursor { input: 0, phase: 0 };
        let steps = 3_600 * 48_000;
        for _ in 0..steps {
            cursor.step(filter.up, filter.down);
        }
        assert_eq!(cursor, Cursor { input: 3_600 * 44_100, phase: 0 });
        assert_eq!(output_len(3_600 * 44_100 + 1, 44_100, 48_000), steps + 2);
        assert_eq!(output_len(u64::MAX, 24_000, 48_000), u64::MAX);
    }

    #[test]
    fn rates_that_make_no_sense_are_refused() {
        for (from_hz, to_hz, channels) in
            [(0, 8_000, 1), (8_000, 0, 1), (0, 0, 1), (24_000, 24_001, 1), (u32::MAX, 8_000, 1), (24_000, 48_000, 0)]
        {
            assert!(Resampler::new(from_hz, to_hz, channels).is_err(), "{from_hz} to {to_hz}");
        }
        assert_eq!(output_len(5, 0, 8_000), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn cuts_in_the_input_are_not_heard(
            samples in prop::collection::vec(-1.0_f32..1.0, 0..6_000),
            pieces in prop::collection::vec(1_usize..2_000, 1..8),
            rates in prop::sample::select(pairs().collect::<Vec<_>>()),
        ) {
            let whole = in_pieces(&samples, rates, 1, &[usize::MAX / 4]);
            prop_assert_eq!(whole.len() as u64, output_len(samples.len() as u64, rates.0, rates.1));
            prop_assert!(in_pieces(&samples, rates, 1, &pieces) == whole);
        }

        #[test]
        fn no_samples_are_too_strange(samples in prop::collection::vec(any::<f32>(), 0..300), channels in 1_u16..=3) {
            let usable = samples.iter().all(|sample| sample.abs() < 1e30 || !sample.is_finite());
            let out = in_pieces(&samples, (24_000, 44_100), channels, &[13]);
            prop_assert_eq!(out.len() as u64, output_len(samples.len() as u64 / u64::from(channels), 24_000, 44_100) * u64::from(channels));
            prop_assert!(!usable || out.iter().all(|sample| sample.is_finite()));
        }
    }
}
