//! What a deploy file decides about a model's stages.

use omni_plugin_api::{FamilyInfo, Placement, StageLimits};

/// What is decided about one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deployment {
    /// Where its stages run.
    pub placement: Placement,
    /// What each stage gets, in order; a stage past the end gets what it likes.
    pub stages: Vec<StageSettings>,
}

/// What is decided about one stage. What is absent is left to the stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageSettings {
    /// Sequences it admits at once, at most.
    pub max_seqs: Option<usize>,
    /// Units of its first steps, in order.
    pub first_steps: Vec<usize>,
    /// Units of a steady step.
    pub step_units: Option<usize>,
    /// It starts on a sequence only when the stage in front has finished it.
    pub waits_for_all: bool,
}

impl StageSettings {
    /// The limits of a stage with these settings laid over them: they narrow what the stage can, they never widen it.
    pub fn narrow(&self, limits: StageLimits) -> StageLimits {
        let slots = self.max_seqs.map_or(limits.slots, |max| max.clamp(1, limits.slots));
        let step_units = self.step_units.unwrap_or(limits.step_units).max(1);
        StageLimits { batch: limits.batch.min(slots), slots, step_units, ..limits }
    }
}

/// Decides for all families of a host at once, before any of them loads.
pub trait Deployments: Send + Sync {
    /// One decision a family, in order, or why the host cannot start like this.
    fn decide(&self, families: &[FamilyInfo]) -> Result<Vec<Deployment>, String>;
}

/// Decides nothing: every stage gets what it likes, on the CPU.
pub struct Undecided;

impl Deployments for Undecided {
    fn decide(&self, families: &[FamilyInfo]) -> Result<Vec<Deployment>, String> {
        Ok(vec![Deployment::default(); families.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_narrow_what_a_stage_can_and_never_widen_it() {
        let limits = StageLimits { slots: 8, batch: 4, step_units: 25, ..StageLimits::default() };
        let narrowed = |max_seqs, step_units| StageSettings { max_seqs, step_units, ..StageSettings::default() }.narrow(limits.clone());
        assert_eq!(narrowed(None, None), limits);
        assert_eq!((narrowed(Some(2), None).slots, narrowed(Some(2), None).batch), (2, 2));
        assert_eq!((narrowed(Some(0), None).slots, narrowed(Some(99), None).slots), (1, 8));
        assert_eq!((narrowed(None, Some(10)).step_units, narrowed(None, Some(0)).step_units), (10, 1));
    }
}
