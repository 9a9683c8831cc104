//! The control connection of an iperf3 server, and its results as figures.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_net::fuzzing::iperf3_control(data));
