//! How a stream is cut into chunks: few units at first, so that sound comes early, then more, as far as the listener's slack allows.

use std::fmt;
use std::time::Duration;

/// Slack that is left alone, in milliseconds: what a step may take longer than foreseen.
const MARGIN_MS: f64 = 40.0;

/// Weight of a new measurement in a running mean, as in the reference's feedback rule.
const NEWEST: f64 = 0.3;

/// The rules of one stage's stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChunkRules {
    /// The first chunk; none leaves it to the stage.
    pub first: Option<FirstChunk>,
    /// Units of a steady chunk; of several, each is used once and the last for good. Empty leaves it to the stage.
    pub steady: Vec<usize>,
    /// How sizes grow between the two.
    pub growth: Growth,
}

/// The first chunk of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstChunk {
    /// This many units.
    Units(usize),
    /// A power of two, larger the more of the stage's slots are taken.
    FromLoad,
}

/// How sizes grow.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Growth {
    /// At most doubling, and only as far as the listener's slack covers the making of the chunk.
    #[default]
    Slack,
    /// These sizes, then the steady one.
    Ramp(Vec<usize>),
    /// By measured time a unit and the listener's buffer, never shrinking.
    Adaptive(Adaptive),
}

/// Numbers of the feedback rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    /// Smallest chunk.
    pub min_units: usize,
    /// How far a stream stays ahead of its listener, in milliseconds.
    pub margin_ms: f64,
    /// Milliseconds a unit takes for one unit of growth.
    pub divisor: f64,
    /// Least growth.
    pub min_growth: usize,
}

/// What a stage likes.
#[derive(Debug, Clone, Copy)]
pub struct Liking {
    /// Fewest units worth a first step.
    pub first: usize,
    /// Units of a steady step.
    pub steady: usize,
}

/// What is known when a size is chosen.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Now.
    pub now: Duration,
    /// Milliseconds of audio that the listener has not heard yet; none before the first audio.
    pub slack_ms: Option<f64>,
    /// Share of the stage's slots that are taken, 0 to 1.
    pub load: f64,
}

/// Where one stream stands.
#[derive(Debug, Clone, Default)]
pub struct Chunks {
    /// The listener waits for all of it: chunks are steady from the start.
    is_whole: bool,
    /// What the request wants of its first chunk; 0 asks for a steady one.
    wanted_first: Option<usize>,
    /// Chunks that went into work.
    count: usize,
    /// Size that was meant for the last one.
    target: usize,
    /// When it went into work.
    last_at: Option<Duration>,
    /// Running mean of milliseconds a unit, from chunk to chunk.
    unit_ms: Option<f64>,
    /// The feedback rule has found that steady chunks will do from here on.
    is_steady: bool,
}

impl Chunks {
    /// A stream that begins; `is_whole` when nobody listens before its end.
    pub fn new(is_whole: bool, wanted_first: Option<usize>) -> Self {
        Self { is_whole, wanted_first, ..Self::default() }
    }

    /// How many units the next chunk has.
    pub fn size(&self, rules: &ChunkRules, liking: Liking, moment: Moment) -> usize {
        let steady = rules.steady(self.count, liking);
        let size = match &rules.growth {
            _ if self.is_whole => steady,
            Growth::Ramp(sizes) => sizes.get(self.count).copied().unwrap_or(steady),
            Growth::Slack if self.count == 0 => self.first(rules, liking, steady, moment),
            Growth::Slack => self.by_slack(steady, moment),
            Growth::Adaptive(_) if self.count == 0 => from_load(steady, moment.load),
            Growth::Adaptive(rule) => self.adaptive(rule, steady, moment),
        };
        size.clamp(1, steady.max(1))
    }

    /// Whether what waits is to go at once although it is less than a chunk: the listener is about to run dry. One that already has is not
    /// helped by small chunks; they would cost the others.
    pub fn is_urgent(&self, rules: &ChunkRules, moment: Moment) -> bool {
        // A hair more than the margin: times come in whole microseconds.
        let is_near = moment.slack_ms.is_some_and(|slack| slack > 0.0 && slack <= MARGIN_MS + 0.01);
        is_near && self.count > 0 && !self.is_whole && rules.growth == Growth::Slack
    }

    /// When what waits is to go although it is less than a chunk, for a listener whose audio ends at `due`.
    pub fn urgent_at(&self, rules: &ChunkRules, due: Duration) -> Option<Duration> {
        let may_hurry = self.count > 0 && !self.is_whole && rules.growth == Growth::Slack;
        may_hurry.then(|| due.saturating_sub(Duration::from_secs_f64(MARGIN_MS / 1000.0)))
    }

    /// Notes that a chunk of `units` went into work where one of `target` was meant.
    pub fn went(&mut self, units: usize, target: usize, rules: &ChunkRules, liking: Liking, moment: Moment) {
        if let (Some(last), true) = (self.last_at, units > 0) {
            let took = moment.now.saturating_sub(last).as_secs_f64() * 1000.0 / units as f64;
            self.unit_ms = Some(self.unit_ms.map_or(took, |mean| mean + NEWEST * (took - mean)));
        }
        self.count = self.count.saturating_add(1);
        self.target = target;
        self.last_at = Some(moment.now);
        if let (Growth::Adaptive(rule), Some(slack), Some(unit_ms)) = (&rules.growth, moment.slack_ms, self.unit_ms) {
            self.is_steady |= slack >= rules.steady(self.count, liking) as f64 * unit_ms + rule.margin_ms;
        }
    }

    fn first(&self, rules: &ChunkRules, liking: Liking, steady: usize, moment: Moment) -> usize {
        match (self.wanted_first, rules.first) {
            (Some(0), _) => steady,
            (Some(units), _) | (None, Some(FirstChunk::Units(units))) => units,
            (None, Some(FirstChunk::FromLoad)) => from_load(steady, moment.load),
            (None, None) => liking.first,
        }
    }

    /// Never smaller than the one before: more passes would cost what is missing already.
    fn by_slack(&self, steady: usize, moment: Moment) -> usize {
        let last = self.target.max(1);
        let most = last.saturating_mul(2).min(steady);
        let covered = match (moment.slack_ms, self.unit_ms) {
            (Some(slack), Some(unit_ms)) if unit_ms > 0.0 => ((slack - MARGIN_MS) / unit_ms).max(0.0) as usize,
            _ => most,
        };
        covered.clamp(last.min(most), most)
    }

    /// The reference's rule: what the buffer covers, and some growth in any case.
    fn adaptive(&self, rule: &Adaptive, steady: usize, moment: Moment) -> usize {
        if self.is_steady {
            return steady;
        }
        let unit_ms = self.unit_ms.unwrap_or(0.0);
        let spare = (moment.slack_ms.unwrap_or(0.0) - rule.margin_ms).max(0.0);
        let covered = if unit_ms > 0.0 { (spare / unit_ms) as usize } else { 0 };
        let growth = rule.min_growth.max((unit_ms / rule.divisor) as usize);
        covered.clamp(rule.min_units.min(steady), steady).max(self.target.saturating_add(growth))
    }
}

impl ChunkRules {
    /// The steady size at chunk `index`.
    fn steady(&self, index: usize, liking: Liking) -> usize {
        self.steady.get(index).or(self.steady.last()).copied().unwrap_or(liking.steady).max(1)
    }

    /// The largest chunk there may be.
    pub fn largest(&self, liking: Liking) -> usize {
        let ramp = if let Growth::Ramp(sizes) = &self.growth { sizes.as_slice() } else { &[] };
        self.steady.iter().chain(ramp).copied().max().unwrap_or(liking.steady).max(liking.steady).max(1)
    }

    /// Reads as one line, with what the stage likes where nothing is set.
    pub fn line(&self, liking: Liking) -> String {
        let first = match (&self.growth, self.first) {
            (Growth::Ramp(_), _) => String::new(),
            (Growth::Adaptive(_), _) | (_, Some(FirstChunk::FromLoad)) => "first from load, ".to_owned(),
            (_, Some(FirstChunk::Units(units))) => format!("first {units}, "),
            (_, None) => format!("first {}, ", liking.first),
        };
        let steady = if self.steady.is_empty() { liking.steady.to_string() } else { listed(&self.steady) };
        format!("{first}{}, steady {steady}", self.growth)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slack => formatter.write_str("then as the listener's slack allows, at most doubling"),
            Self::Ramp(sizes) => write!(formatter, "sizes {}", listed(sizes)),
            Self::Adaptive(rule) => write!(
                formatter,
                "then by feedback (at least {}, margin {} ms, growth {} or 1 for {} ms a unit)",
                rule.min_units, rule.margin_ms, rule.min_growth, rule.divisor
            ),
        }
    }
}

fn listed(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// A power of two from 2 up to the largest below `steady`, chosen by load; ties go to the even step.
fn from_load(steady: usize, load: f64) -> usize {
    let most = steady.saturating_sub(1).checked_ilog2().unwrap_or(0);
    if most == 0 {
        return 1;
    }
    let index = (load.clamp(0.0, 1.0) * f64::from(most - 1)).round_ties_even() as u32;
    1 << (index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIKING: Liking = Liking { first: 1, steady: 25 };

    fn at(ms: u64, slack_ms: Option<f64>) -> Moment {
        Moment { now: Duration::from_millis(ms), slack_ms, load: 0.0 }
    }

    /// The sizes of a stream whose units take `unit_ms` to make and 80 ms to hear.
    fn sizes(rules: &ChunkRules, unit_ms: f64, count: usize) -> Vec<usize> {
        let mut chunks = Chunks::new(false, None);
        let (mut now, mut sent, mut heard_from) = (0.0, 0, None);
        let size = |_| {
            let moment = |now: f64, sent: usize, from: Option<f64>| {
                let slack = from.map(|from| sent as f64 * 80.0 - (now - from));
                Moment { now: Duration::from_secs_f64(now / 1000.0), slack_ms: slack, load: 0.0 }
            };
            let size = chunks.size(rules, LIKING, moment(now, sent, heard_from));
            now += size as f64 * unit_ms;
            chunks.went(size, size, rules, LIKING, moment(now, sent, heard_from));
            heard_from.get_or_insert(now);
            sent += size;
            size
        };
        (0..count).map(size).collect()
    }

    #[test]
    fn by_slack_a_fast_stream_doubles_and_a_slow_one_stays_small() {
        let rules = ChunkRules::default();
        assert_eq!(sizes(&rules, 5.0, 7), [1, 2, 4, 8, 16, 25, 25]);
        let slow = sizes(&rules, 60.0, 12);
        assert!(slow.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] <= 2 * pair[0]), "{slow:?}");
        assert_eq!(slow[..5], [1, 2, 2, 2, 2], "what a chunk takes longer is not there yet");
        assert_eq!(sizes(&rules, 200.0, 5)[2..], [2, 2, 2], "nothing grows where nothing is left over");
    }

    #[test]
    fn a_ramp_is_followed_and_then_steady_and_lists_of_steady_sizes_are_used_in_turn() {
        let ramp = ChunkRules { growth: Growth::Ramp(vec![1, 1, 9]), steady: vec![20], first: Some(FirstChunk::Units(7)) };
        assert_eq!(sizes(&ramp, 5.0, 5), [1, 1, 9, 20, 20]);
        let listed = ChunkRules { first: Some(FirstChunk::Units(25)), growth: Growth::Ramp(vec![]), steady: vec![25, 50, 200] };
        assert_eq!(sizes(&listed, 5.0, 4), [25, 50, 200, 200]);
        assert_eq!((ramp.largest(LIKING), listed.largest(LIKING)), (25, 200));
    }

    #[test]
    fn the_feedback_rule_grows_always_and_latches_when_steady_is_covered() {
        let rule = Adaptive { min_units: 2, margin_ms: 50.0, divisor: 15.0, min_growth: 2 };
        let rules = ChunkRules { growth: Growth::Adaptive(rule), ..ChunkRules::default() };
        assert_eq!(sizes(&rules, 1.0, 4), [2, 4, 25, 25]);
        assert_eq!(sizes(&rules, 100.0, 5), [2, 4, 10, 16, 22], "slow units grow by a sixth of their time");
    }

    #[test]
    fn a_first_chunk_is_larger_under_load() {
        let sizes = |steady| [0.0, 0.3, 0.5, 0.84, 1.0].map(|load| from_load(steady, load));
        assert_eq!(sizes(25), [2, 4, 8, 16, 16]);
        assert_eq!(sizes(5), [2, 2, 2, 4, 4]);
        assert_eq!((sizes(2), sizes(1), sizes(0)), ([1; 5], [1; 5], [1; 5]));
    }

    #[test]
    fn a_request_may_choose_its_first_chunk_up_to_the_steady_one() {
        let first = |wanted, rules: &ChunkRules| Chunks::new(false, wanted).size(rules, LIKING, at(0, None));
        let rules = ChunkRules { first: Some(FirstChunk::Units(4)), ..ChunkRules::default() };
        assert_eq!([Some(3), Some(900), Some(0), None].map(|wanted| first(wanted, &rules)), [3, 25, 25, 4]);
        let ramp = ChunkRules { growth: Growth::Ramp(vec![2, 3]), ..rules };
        assert_eq!(first(Some(9), &ramp), 2, "a ramp was set on purpose");
    }

    #[test]
    fn whoever_waits_for_all_gets_steady_chunks() {
        let chunks = Chunks::new(true, Some(1));
        assert_eq!(chunks.size(&ChunkRules::default(), LIKING, at(0, None)), 25);
    }

    #[test]
    fn only_who_is_about_to_run_dry_is_urgent() {
        let rules = ChunkRules::default();
        let mut chunks = Chunks::new(false, None);
        assert!(!chunks.is_urgent(&rules, at(0, None)));
        chunks.went(1, 1, &rules, LIKING, at(0, None));
        assert_eq!([500.0, 30.0, -5.0].map(|slack| chunks.is_urgent(&rules, at(9, Some(slack)))), [false, true, false]);
    }
}
