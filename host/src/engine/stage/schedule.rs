//! What a stage does next, decided from plain numbers: who gets a slot, who is in the next step.
//!
//! Order is by when audio is due. A sequence that waits is due a little after it came, one that is heard when its listener has heard all there
//! is; so a newcomer is held back while others are about to run dry, gets more urgent with time, and nobody is put off for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use omni_plugin_api::{Extent, SeqId, SeqWork};

use super::prefill::Prefill;

/// How long a step with newcomers may take while others are heard: one frame of a 12.5 Hz codec.
pub const FRAME: Duration = Duration::from_millis(80);

/// What a stage can hold, with the deploy file laid over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Sequences with a slot.
    pub slots: usize,
    /// Sequences of a step.
    pub batch: usize,
    /// Batch sizes that have a prepared path, ascending.
    pub buckets: Vec<usize>,
    /// Tokens of the key-value cache; 0 for none.
    pub kv_tokens: u64,
    /// Tokens one sequence may take; 0 for as many as the cache has.
    pub max_seq_tokens: u64,
    /// Prompt tokens that may be new in a step beside others; 0 for as many as the frame allows.
    pub prefill_tokens: usize,
}

/// A sequence that waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub seq: SeqId,
    /// When its first audio is due.
    pub due: Duration,
    /// Tokens of its prompt; 0 when not known.
    pub prompt_tokens: u64,
    /// Tokens of the cache that it takes.
    pub kv_tokens: u64,
}

/// A sequence that could be stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runnable {
    /// Which.
    pub seq: SeqId,
    /// When its next audio is due.
    pub due: Duration,
    /// Units its step may take.
    pub units: usize,
    /// Whether somebody hears it already.
    pub is_heard: bool,
}

/// Slots and cache that are taken. What a sequence takes is fixed while it holds its slot.
#[derive(Debug, Default)]
pub struct Ledger {
    taken: BTreeMap<SeqId, u64>,
    kv_tokens: u64,
}

impl Ledger {
    /// Gives a sequence a slot and its share of the cache.
    pub fn take(&mut self, seq: SeqId, kv_tokens: u64) {
        if self.taken.insert(seq, kv_tokens).is_none() {
            self.kv_tokens += kv_tokens;
        }
    }

    /// Takes them back, if it had any.
    pub fn give_back(&mut self, seq: SeqId) {
        if let Some(kv_tokens) = self.taken.remove(&seq) {
            self.kv_tokens -= kv_tokens;
        }
    }

    /// Slots that are taken.
    pub fn slots(&self) -> usize {
        self.taken.len()
    }

    /// Tokens of the cache that are taken.
    pub fn kv_tokens(&self) -> u64 {
        self.kv_tokens
    }
}

/// Why a sequence can never be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeverFits {
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens a sequence may take.
    pub limit: u64,
}

impl Rules {
    /// Tokens of the cache that a sequence takes: its prompt and the most it may generate, within the longest sequence.
    pub fn kv_of(&self, extent: Extent) -> Result<u64, NeverFits> {
        let Extent { prompt_tokens, max_new_tokens } = extent;
        let limits = [self.max_seq_tokens, self.kv_tokens].into_iter().filter(|limit| *limit > 0);
        let Some(limit) = limits.min() else { return Ok(0) };
        // One token more than the prompt, or it could say nothing.
        if prompt_tokens >= limit {
            return Err(NeverFits { prompt_tokens, limit });
        }
        let wanted = if max_new_tokens == 0 { limit } else { prompt_tokens.saturating_add(max_new_tokens) };
        Ok(wanted.min(limit))
    }

    /// Who of those that wait, in their order, gets a slot now. Beside sequences that are heard only as many as fit into one frame, at least
    /// one, and none at all while the most urgent of those is closer to its end than the newcomer would take.
    pub fn admissions(&self, waiting: &[Waiting], running: &[Runnable], ledger: &Ledger, prefill: &Prefill, now: Duration) -> Vec<SeqId> {
        let heard = running.iter().filter(|runnable| runnable.is_heard);
        let most_urgent = heard.map(|runnable| runnable.due).min();
        let (mut slots, mut kv, mut cost, mut tokens) = (ledger.slots(), ledger.kv_tokens(), Duration::ZERO, 0_u64);
        let mut chosen = Vec::new();
        for newcomer in waiting {
            let fits = slots < self.slots && (self.kv_tokens == 0 || kv.saturating_add(newcomer.kv_tokens) <= self.kv_tokens);
            if !fits {
                break;
            }
            if let Some(due) = most_urgent {
                cost += prefill.cost(newcomer.prompt_tokens);
                tokens = tokens.saturating_add(newcomer.prompt_tokens.max(1));
                let is_over = cost > FRAME || (self.prefill_tokens > 0 && tokens > self.prefill_tokens as u64);
                let would_starve = now + prefill.cost(newcomer.prompt_tokens) > due && newcomer.due > due;
                if would_starve || (is_over && !chosen.is_empty()) {
                    break;
                }
            }
            slots += 1;
            kv = kv.saturating_add(newcomer.kv_tokens);
            chosen.push(newcomer.seq);
        }
        chosen
    }

    /// The sequences of the next step: those whose audio is due first, as many as a batch holds.
    pub fn plan(&self, mut runnable: Vec<Runnable>) -> Vec<SeqWork> {
        runnable.sort_by_key(|runnable| (runnable.due, runnable.seq));
        let most = self.buckets.last().map_or(self.batch, |largest| self.batch.min(*largest)).max(1);
        runnable.truncate(most);
        runnable.into_iter().map(|Runnable { seq, units, .. }| SeqWork { seq, max_units: units }).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn rules(slots: usize, kv_tokens: u64) -> Rules {
        Rules { slots, batch: slots, buckets: Vec::new(), kv_tokens, max_seq_tokens: 0, prefill_tokens: 0 }
    }

    fn waiting(seq: SeqId, due: Duration) -> Waiting {
        Waiting { seq, due, prompt_tokens: 100, kv_tokens: 10 }
    }

    fn heard(seq: SeqId, due: Duration) -> Runnable {
        Runnable { seq, due, units: 1, is_heard: true }
    }

    /// Newcomers of a hundred tokens cost so much.
    fn costing(cost: Duration) -> Prefill {
        let mut prefill = Prefill::default();
        prefill.note(ms(5), 0);
        prefill.note(ms(5) + cost, 100);
        prefill
    }

    #[test]
    fn beside_listeners_only_as_many_newcomers_are_let_in_as_fit_into_a_frame() {
        let crowd: Vec<Waiting> = (10..20).map(|seq| waiting(seq, ms(100))).collect();
        let admitted = |running: &[Runnable], cost: Duration| {
            rules(64, 0).admissions(&crowd, running, &Ledger::default(), &costing(cost), ms(0)).len()
        };
        assert_eq!(admitted(&[], ms(30)), 10, "nobody is kept waiting by them");
        assert_eq!(admitted(&[heard(1, ms(500))], ms(30)), 2);
        assert_eq!(admitted(&[heard(1, ms(500))], ms(200)), 1, "one cannot be split");
        let fixed = Rules { prefill_tokens: 350, ..rules(64, 0) };
        assert_eq!(fixed.admissions(&crowd, &[heard(1, ms(500))], &Ledger::default(), &costing(ms(1)), ms(0)).len(), 3);
    }

    #[test]
    fn a_newcomer_waits_for_a_listener_that_is_about_to_run_dry_and_not_for_ever() {
        let admitted = |now: Duration, listener: Duration| {
            let newcomer = [waiting(9, ms(100))];
            !rules(64, 0).admissions(&newcomer, &[heard(1, listener)], &Ledger::default(), &costing(ms(60)), now).is_empty()
        };
        assert!(admitted(ms(0), ms(80)), "there is time for both");
        assert!(!admitted(ms(50), ms(80)));
        assert!(admitted(ms(150), ms(180)), "the newcomer is the more urgent one by now");
    }

    #[test]
    fn a_cache_is_reserved_for_the_longest_that_a_sequence_may_become() {
        let rules = |max_seq_tokens| Rules { max_seq_tokens, ..rules(4, 1_000) };
        let extent = |prompt_tokens, max_new_tokens| Extent { prompt_tokens, max_new_tokens };
        assert_eq!(rules(0).kv_of(extent(100, 200)), Ok(300));
        assert_eq!(rules(0).kv_of(extent(100, 0)), Ok(1_000), "whoever does not say gets all");
        assert_eq!(rules(250).kv_of(extent(100, 200)), Ok(250));
        assert_eq!(rules(250).kv_of(extent(250, 1)), Err(NeverFits { prompt_tokens: 250, limit: 250 }));
        assert_eq!(Rules { kv_tokens: 0, ..rules(0) }.kv_of(extent(9, 9)), Ok(0), "a stage without a cache");
    }

    #[test]
    fn a_batch_is_no_larger_than_the_largest_prepared_one() {
        let runnable: Vec<Runnable> = (1..=9).map(|seq| heard(seq, ms(seq))).collect();
        let rules = Rules { buckets: vec![1, 2, 4], ..rules(16, 0) };
        let seqs: Vec<SeqId> = rules.plan(runnable).iter().map(|work| work.seq).collect();
        assert_eq!(seqs, [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn nobody_is_stepped_before_somebody_more_urgent(dues in prop::collection::vec(0_u64..500, 0..40), batch in 1_usize..10) {
            let runnable: Vec<Runnable> = (1..).zip(&dues).map(|(seq, due)| heard(seq, ms(*due))).collect();
            let plan = Rules { batch, ..rules(64, 0) }.plan(runnable.clone());
            prop_assert_eq!(plan.len(), dues.len().min(batch));
            let is_planned = |runnable: &&Runnable| plan.iter().any(|work| work.seq == runnable.seq);
            let (planned, left): (Vec<&Runnable>, Vec<&Runnable>) = runnable.iter().partition(is_planned);
            let latest = planned.iter().map(|runnable| runnable.due).max().unwrap_or_default();
            prop_assert!(left.iter().all(|runnable| runnable.due >= latest));
        }

        #[test]
        fn slots_and_cache_are_never_given_twice_and_turns_are_kept(
            wants in prop::collection::vec(1_u64..80, 0..30), taken in prop::collection::vec(1_u64..40, 0..6), listeners in 0_u64..3,
        ) {
            let rules = rules(8, 200);
            let mut ledger = Ledger::default();
            (1..).zip(&taken).for_each(|(seq, tokens)| ledger.take(seq, *tokens));
            let crowd: Vec<Waiting> = (100..).zip(&wants).map(|(seq, tokens)| Waiting { kv_tokens: *tokens, ..waiting(seq, ms(100)) }).collect();
            let running: Vec<Runnable> = (1..=listeners).map(|seq| heard(seq, ms(90))).collect();
            let chosen = rules.admissions(&crowd, &running, &ledger, &costing(ms(20)), ms(0));
            let in_turn: Vec<SeqId> = crowd.iter().take(chosen.len()).map(|newcomer| newcomer.seq).collect();
            prop_assert_eq!(&chosen, &in_turn);
            (chosen.iter()).zip(&wants).for_each(|(seq, tokens)| ledger.take(*seq, *tokens));
            prop_assert!(ledger.slots() <= 8 && ledger.kv_tokens() <= 200);
            chosen.iter().for_each(|seq| ledger.give_back(*seq));
            prop_assert_eq!(ledger.kv_tokens(), taken.iter().sum::<u64>());
        }
    }
}
