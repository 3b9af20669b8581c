//! What newcomers cost a stage, measured.

use std::time::Duration;

/// Weight of a new measurement.
const NEWEST: f64 = 0.2;

/// Running means of the time of steps.
#[derive(Debug, Clone, Default)]
pub struct Prefill {
    /// Seconds of a step without newcomers.
    plain_s: f64,
    /// Seconds that a newcomer adds for each token of its prompt.
    token_s: f64,
}

impl Prefill {
    /// Notes a turn of `took` in which prompts of `tokens` tokens in all were new.
    pub fn note(&mut self, took: Duration, tokens: u64) {
        let took = took.as_secs_f64();
        if tokens == 0 {
            self.plain_s = mean(self.plain_s, took);
        } else {
            self.token_s = mean(self.token_s, (took - self.plain_s).max(0.0) / tokens as f64);
        }
    }

    /// What a prompt of so many tokens is expected to add to a step; one of unknown length counts as one token, as it was measured.
    pub fn cost(&self, tokens: u64) -> Duration {
        Duration::try_from_secs_f64(self.token_s * tokens.max(1) as f64).unwrap_or(Duration::MAX / 4)
    }
}

fn mean(before: f64, new: f64) -> f64 {
    if before == 0.0 { new } else { before + NEWEST * (new - before) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_costs_what_its_turn_took_longer_than_others() {
        let mut prefill = Prefill::default();
        assert_eq!(prefill.cost(1_000), Duration::ZERO);
        for _ in 0..50 {
            prefill.note(Duration::from_millis(10), 0);
            prefill.note(Duration::from_millis(60), 100);
        }
        let cost = prefill.cost(200).as_secs_f64();
        assert!((cost - 0.1).abs() < 0.002, "{cost}");
        assert_eq!(prefill.cost(0), prefill.cost(1));
    }
}
