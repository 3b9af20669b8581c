#![no_main]

use std::sync::Once;

/// A decoder that panics is contained and answered with an error: that is no find. A panic of the target itself still is.
static CONTAINED: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    CONTAINED.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    omni_host::fuzzing::reference_audio(bytes);
});
