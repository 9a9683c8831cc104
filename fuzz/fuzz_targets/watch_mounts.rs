//! What a kernel says of its mounts, /proc/self/mountinfo, /proc/self/mountstats and
//! /proc/fs/cifs/Stats, at two moments. A NUL parts them, and the directory that is asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| plimsoll_reach::mounts::fuzzing::texts(data));
