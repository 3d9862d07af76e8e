#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| walkabout_fuzz::extensions(bytes));
