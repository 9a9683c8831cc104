//! The function_graph tracer's text of a host. Trees are bounded, and hold each call of the text once at most; shares and
//! folded stacks add up to them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_trace::fuzzing::text(data));
