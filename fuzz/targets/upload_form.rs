#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| omni_host::fuzzing::upload_form(bytes));
