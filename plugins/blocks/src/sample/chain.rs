//! The chain of operations between logits and a draw.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::History;

/// One operation. A family lists them in its own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Logits of ids drawn before are divided by [`Settings::penalty`] where positive, multiplied where negative.
    Penalty,
    /// This id cannot be drawn before [`Settings::min_tokens`] draws.
    MinTokens(u32),
    /// These ids can never be drawn.
    Ban(Range<u32>),
    /// Divides by [`Settings::temperature`].
    Temperature,
    /// Keeps the [`Settings::top_k`] largest, and what equals the last of them.
    TopK,
    /// Keeps the most likely until their mass reaches [`Settings::top_p`]; the one that crosses it stays.
    TopP,
}

/// The numbers of one request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Above 0: spread of the distribution. 0: the most likely id, and no noise is used.
    pub temperature: f32,
    /// Candidates kept; 0 keeps all.
    pub top_k: u32,
    /// Mass kept; 1 keeps all.
    pub top_p: f32,
    /// Repetition penalty; 1 is none.
    pub penalty: f32,
    /// Draws before the stop id.
    pub min_tokens: u32,
}

/// A family's operations, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain(pub Vec<Op>);

/// Why nothing can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// A logit is not a number.
    #[error("the model gave logits that are not numbers")]
    NotANumber,
    /// No candidate is left.
    #[error("no candidate is left to draw from")]
    Empty,
}

impl Settings {
    /// Whether the most likely id is taken.
    pub fn is_greedy(&self) -> bool {
        self.temperature <= 0.0
    }
}

impl Chain {
    /// Draws an id from `logits`, which are used up. `exponential` gives the noise of a candidate; a greedy draw asks for none. Of
    /// equal candidates the lowest id wins.
    pub fn draw(
        &self,
        logits: &mut [f32],
        settings: &Settings,
        history: &History,
        exponential: impl Fn(u32) -> f32,
    ) -> Result<u32, DrawError> {
        if logits.iter().any(|logit| logit.is_nan()) {
            return Err(DrawError::NotANumber);
        }
        for op in &self.0 {
            op.apply(logits, settings, history);
        }
        let is_greedy = settings.is_greedy();
        let noise = |id: u32| if is_greedy { 0.0 } else { exponential(id).ln() };
        let mut best: Option<(u32, f32)> = None;
        for (id, logit) in (0..).zip(logits.iter()).filter(|(_, logit)| **logit != f32::NEG_INFINITY) {
            let score = logit - noise(id);
            if best.is_none_or(|(_, other)| score > other) {
                best = Some((id, score));
            }
        }
        best.map(|(id, _)| id).ok_or(DrawError::Empty)
    }
}

impl Op {
    fn apply(&self, logits: &mut [f32], settings: &Settings, history: &History) {
        match self {
            Op::Penalty => penalise(logits, settings.penalty, history),
            Op::MinTokens(stop) if history.drawn() < settings.min_tokens as usize => ban(logits, *stop..stop + 1),
            Op::MinTokens(_) => {}
            Op::Ban(ids) => ban(logits, ids.clone()),
            Op::Temperature | Op::TopK | Op::TopP if settings.is_greedy() => {}
            Op::Temperature => logits.iter_mut().for_each(|logit| *logit /= settings.temperature),
            Op::TopK => keep_largest(logits, settings.top_k as usize),
            Op::TopP => keep_mass(logits, settings.top_p),
        }
    }
}

fn penalise(logits: &mut [f32], penalty: f32, history: &History) {
    for id in history.ids() {
        if let Some(logit) = logits.get_mut(id) {
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
    }
}

fn ban(logits: &mut [f32], ids: Range<u32>) {
    let end = (ids.end as usize).min(logits.len());
    let start = (ids.start as usize).min(end);
    logits[start..end].fill(f32::NEG_INFINITY);
}

/// Keeps the `count` largest and what equals the last of them.
fn keep_largest(logits: &mut [f32], count: usize) {
    if count == 0 || count >= logits.len() {
        return;
    }
    let mut sorted = logits.to_vec();
    let (_, last, _) = sorted.select_nth_unstable_by(count - 1, |left, right| right.total_cmp(left));
    let last = *last;
    logits.iter_mut().filter(|logit| **logit < last).for_each(|logit| *logit = f32::NEG_INFINITY);
}

/// Drops a candidate when the mass before it, from the most likely on, is at least `mass`.
fn keep_mass(logits: &mut [f32], mass: f32) {
    if mass >= 1.0 {
        return;
    }
    let mut order: Vec<usize> = (0..logits.len()).filter(|id| logits[*id] != f32::NEG_INFINITY).collect();
    order.sort_by(|left, right| logits[*right].total_cmp(&logits[*left]));
    let Some(largest) = order.first().map(|id| logits[*id]) else { return };
    let weight = |logit: f32| (logit - largest).exp();
    let total: f32 = order.iter().map(|id| weight(logits[*id])).sum();
    let mut before = 0.0;
    for (rank, id) in order.into_iter().enumerate() {
        let share = weight(logits[id]) / total;
        if rank > 0 && before >= mass {
            logits[id] = f32::NEG_INFINITY;
        }
        before += share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::NoiseKey;

    const PLAIN: Settings = Settings { temperature: 1.0, top_k: 0, top_p: 1.0, penalty: 1.0, min_tokens: 0 };

    fn kept(ops: Vec<Op>, logits: &[f32], settings: Settings, history: &History) -> Vec<usize> {
        let mut logits = logits.to_vec();
        Chain(ops).0.iter().for_each(|op| op.apply(&mut logits, &settings, history));
        (0..logits.len()).filter(|id| logits[*id] != f32::NEG_INFINITY).collect()
    }

    #[test]
    fn ties_at_the_kth_stay_and_the_candidate_that_crosses_the_mass_stays() {
        let none = History::default();
        let top_k = |top_k| kept(vec![Op::TopK], &[1.0, 3.0, 2.0, 2.0, 0.0], Settings { top_k, ..PLAIN }, &none);
        assert_eq!((top_k(1), top_k(2), top_k(4), top_k(0).len()), (vec![1], vec![1, 2, 3], vec![0, 1, 2, 3], 5));
        let halves = [0.5_f32.ln(), 0.25_f32.ln(), 0.25_f32.ln()];
        let top_p = |top_p| kept(vec![Op::TopP], &halves, Settings { top_p, ..PLAIN }, &none);
        assert_eq!((top_p(0.0), top_p(0.4), top_p(0.6), top_p(1.0)), (vec![0], vec![0], vec![0, 1], vec![0, 1, 2]));
    }

    #[test]
    fn what_was_drawn_is_penalised_once_and_the_stop_waits() {
        let mut history = History::default();
        [0, 0, 1].into_iter().for_each(|id| history.push(id));
        let settings = Settings { penalty: 2.0, min_tokens: 4, temperature: 0.0, ..PLAIN };
        let chain = Chain(vec![Op::Penalty, Op::MinTokens(3), Op::Ban(4..9)]);
        let mut logits = [4.0, -1.0, 1.0, 9.0, 9.0];
        let drawn = chain.draw(&mut logits, &settings, &history, |_| 1.0);
        assert_eq!((drawn, logits), (Ok(0), [2.0, -2.0, 1.0, f32::NEG_INFINITY, f32::NEG_INFINITY]));
        history.push(2);
        assert_eq!(chain.draw(&mut [4.0, -1.0, 1.0, 9.0, 9.0], &settings, &history, |_| 1.0), Ok(3));
    }

    #[test]
    fn draws_follow_the_distribution() {
        let mut counts = [0_u32; 3];
        for frame in 0..20_000 {
            let key = NoiseKey { seed: 5, frame, codebook: 0 };
            let mut logits = [0.2_f32.ln(), 0.5_f32.ln(), 0.3_f32.ln()];
            let chain = Chain(vec![Op::Temperature, Op::TopK, Op::TopP]);
            let id = chain.draw(&mut logits, &PLAIN, &History::default(), |id| key.exponential(id)).expect("a draw");
            counts[id as usize] += 1;
        }
        for (count, share) in counts.iter().zip([0.2, 0.5, 0.3]) {
            assert!((f64::from(*count) / 20_000.0 - share).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn numbers_that_are_none_and_an_empty_choice_are_errors() {
        let draw = |logits: &mut [f32], ops| Chain(ops).draw(logits, &PLAIN, &History::default(), |_| 1.0);
        assert_eq!(draw(&mut [0.0, f32::NAN], vec![]), Err(DrawError::NotANumber));
        assert_eq!(draw(&mut [0.0, 1.0], vec![Op::Ban(0..2)]), Err(DrawError::Empty));
        assert_eq!(draw(&mut [1.0, 1.0], vec![]), Ok(0));
    }
}
