//! The three agreements every stage owes: batch = single, streamed = whole, a used slot = a fresh one.

use super::{Rig, Spoken};
use crate::{PluginError, SpeechRequest};

/// Asserts that each request spoken in a batch equals the same request spoken alone, within `tolerance` a sample.
///
/// # Panics
///
/// When they differ or the family fails.
pub fn assert_batch_equals_single(rig: &Rig, requests: &[SpeechRequest], tolerance: f32) {
    let together = must(rig.speak_together(requests), "the batch");
    for (request, spoken) in requests.iter().zip(&together) {
        let gap = difference(spoken, &must(rig.speak(request), &request.input));
        assert!(gap <= tolerance, "'{}' in a batch of {} differs from alone by {gap}", request.input, requests.len());
    }
}

/// Asserts that audio made in steps of each of `step_sizes` units equals audio made in one step as long as the speech.
///
/// # Panics
///
/// When they differ or the family fails.
pub fn assert_streamed_equals_whole(rig: &Rig, request: &SpeechRequest, step_sizes: &[usize], tolerance: f32) {
    let whole = must(rig.speak_in_steps(request, usize::MAX), &request.input);
    for size in step_sizes {
        let streamed = must(rig.speak_in_steps(request, *size), &request.input);
        let gap = difference(&streamed, &whole);
        assert!(gap <= tolerance, "'{}' in steps of {size} differs from the whole by {gap}", request.input);
    }
}

/// Asserts that a request sounds the same in a slot that another request used before.
///
/// # Panics
///
/// When it does not or the family fails.
pub fn assert_slots_are_clean(rig: &Rig, first: &SpeechRequest, second: &SpeechRequest, tolerance: f32) {
    let mut stages = must(rig.open_stages(), "the stages");
    must(rig.speak_on(&mut stages, std::slice::from_ref(first), None, 1), &first.input);
    let reused = must(rig.speak_on(&mut stages, std::slice::from_ref(second), None, 2), &second.input);
    let fresh = must(rig.speak(second), &second.input);
    let gap = difference(&reused[0], &fresh);
    assert!(gap <= tolerance, "'{}' differs by {gap} after '{}' in the same slot", second.input, first.input);
}

fn must<T>(result: Result<T, PluginError>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Largest difference of a sample; infinite when the lengths differ.
fn difference(left: &Spoken, right: &Spoken) -> f32 {
    if left.samples.len() != right.samples.len() {
        return f32::INFINITY;
    }
    left.samples.iter().zip(&right.samples).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}
