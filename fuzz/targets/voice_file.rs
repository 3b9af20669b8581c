#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| omni_host::fuzzing::voice_file(bytes));
