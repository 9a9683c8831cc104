//! Samples of the kernel: the text of perf script.
//!
//! ```text
//! plimsoll-probe
//!         ffffffff81b1c2d4 udp_sendmsg
//!         ffffffff81a3f0e1 __sys_sendto
//! ```

use crate::blocks::Blocks;
use crate::line::is_name;
use crate::parse::DEPTH;
use std::collections::BTreeMap;

/// Fields of perf script that this reads: the first begins the line of a sample, the others are those of its functions.
pub const FIELDS: &str = "comm,ip,sym";
/// Most samples of a text.
const SAMPLES: usize = 400_000;
/// A function without a name, and one whose name is not the kernel's.
const UNKNOWN: &str = "[unknown]";

/// The functions that were active at one moment, the innermost first; never empty.
pub type Sampled = Vec<String>;

/// Samples in a text of perf script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The samples with all their functions.
    pub samples: Vec<Sampled>,
    /// Whether samples are missing: they have no function, an unreadable line, or a limit was reached.
    pub is_cut: bool,
}

/// Samples by subsystem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples by the subsystem of their innermost function.
    pub blocks: BTreeMap<String, u64>,
    /// All of them, those without a subsystem included.
    pub all: u64,
}

/// Reads the text of `perf script --fields` [`FIELDS`] of samples with call chains.
pub fn parse_samples(text: &[u8]) -> Samples {
    let mut found = Samples::default();
    let mut open: Option<Sampled> = None;
    for bytes in text.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(bytes);
        let is_of_a_function = line.starts_with([' ', '\t']);
        match line.trim() {
            // perf writes an empty line after each sample.
            "" => found.take(open.take()),
            comment if comment.starts_with('#') => {}
            words if is_of_a_function => match (&mut open, function(words)) {
                (Some(sample), Some(name)) if sample.len() < DEPTH => sample.push(name),
                _ => {
                    found.is_cut = true;
                    open = None;
                }
            },
            _ => {
                found.take(open.take());
                open = Some(Vec::new());
            }
        }
        if found.samples.len() >= SAMPLES {
            found.is_cut = true;
            return found;
        }
    }
    found.take(open);
    found
}

/// The name in "ffffffff81b1c2d4 udp_sendmsg"; `None` if the line has no address.
fn function(words: &str) -> Option<String> {
    let mut words = words.split_whitespace();
    let address = words.next()?;
    if address.len() > 16 || !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let name = words.next().unwrap_or(UNKNOWN);
    // Without the place in the function.
    let name = name.split('+').next().unwrap_or(name);
    Some(if is_name(name) { name.to_owned() } else { UNKNOWN.to_owned() })
}

impl Samples {
    fn take(&mut self, sample: Option<Sampled>) {
        match sample {
            Some(sample) if sample.is_empty() => self.is_cut = true,
            sample => self.samples.extend(sample),
        }
    }
}

/// Parts of the names of code that compilers put in the place of returns and indirect calls. It belongs to the function
/// around it.
const THUNKS: [&str; 2] = ["return_thunk", "indirect_thunk"];

/// The innermost function.
fn innermost(sample: &Sampled) -> Option<&str> {
    let is_thunk = |name: &str| THUNKS.iter().any(|thunk| name.contains(thunk));
    sample.iter().map(String::as_str).find(|name| !is_thunk(name))
}

/// The samples by the subsystem of their innermost function.
pub fn count_samples<'a>(
    samples: impl Iterator<Item = &'a Sampled>,
    blocks: &Blocks,
) -> SampleCounts {
    let mut counts = SampleCounts::default();
    for sample in samples {
        counts.all += 1;
        if let Some(block) = innermost(sample).and_then(|name| blocks.block(name)) {
            *counts.blocks.entry(block.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
plimsoll-probe \n\
\tffffffff81b1c2d4 nft_do_chain\n\
\tffffffff81b1c2d4 nf_hook_slow+0x3c\n\
\tffffffff81a3f0e1 __x64_sys_sendto\n\
\n\
plimsoll probe \n\
\tffffffffc0a1b2c3 _raw_spin_lock ([kernel.kallsyms])\n\
\t          4011d2 [unknown]\n\
\n";

    fn names(samples: &Samples) -> Vec<Vec<&str>> {
        samples.samples.iter().map(|sample| sample.iter().map(String::as_str).collect()).collect()
    }

    #[test]
    fn functions_follow_their_sample() {
        let found = parse_samples(TEXT.as_bytes());
        let wanted = [
            vec!["nft_do_chain", "nf_hook_slow", "__x64_sys_sendto"],
            vec!["_raw_spin_lock", UNKNOWN],
        ];
        assert_eq!((names(&found), found.is_cut), (wanted.to_vec(), false));
        let counts = count_samples(found.samples.iter(), &Blocks::built_in());
        let blocks: Vec<(&str, u64)> =
            counts.blocks.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!((blocks, counts.all), (vec![("locks and RCU", 1), ("netfilter", 1)], 2));
    }

    #[test]
    fn thunks_belong_to_the_function_around_them() {
        let sample = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let thunks = ["its_return_thunk", "__x86_indirect_thunk_rax"];
        let samples = thunks.map(|thunk| sample([thunk, "ip_output"]));
        let counts = count_samples(samples.iter(), &Blocks::built_in());
        assert_eq!((counts.blocks.get("IP"), counts.all), (Some(&2), 2));
        let alone = vec![thunks[0].to_owned()];
        let counts = count_samples([&alone].into_iter(), &Blocks::built_in());
        assert_eq!((counts.blocks.len(), counts.all), (0, 1));
    }

    #[test]
    fn a_sample_that_is_not_whole_is_left_out() {
        for (text, count) in [
            ("probe \n\n", 0),
            ("probe \n\tzzz udp_sendmsg\n\n", 0),
            ("probe \n\tffff a\n\tnonsense\n\tffff b\n\n", 0),
            ("\tffff a\n", 0),
            ("             probe ffff udp_sendmsg\n", 0),
            ("probe \n\tffff a\nprobe \nprobe \n\tffff b\n", 2),
            ("probe \n\tffffffffffffffff0 a\n", 0),
        ] {
            let found = parse_samples(text.as_bytes());
            assert_eq!((found.samples.len(), found.is_cut), (count, true), "{text:?}");
        }
        for (text, count) in [("", 0), ("# comment\n\n", 0), ("probe \n\tffff a\n", 1)] {
            let found = parse_samples(text.as_bytes());
            assert_eq!((found.samples.len(), found.is_cut), (count, false), "{text:?}");
        }
    }

    #[test]
    fn names_and_depth_are_bounded() {
        let long = format!("probe \n\tffff {}\n", "a".repeat(1000));
        assert_eq!(names(&parse_samples(long.as_bytes())), [[UNKNOWN]]);
        let deep = |depth: usize| format!("probe \n{}", "\tffff a\n".repeat(depth));
        assert_eq!(parse_samples(deep(DEPTH).as_bytes()).samples[0].len(), DEPTH);
        assert!(parse_samples(deep(DEPTH + 1).as_bytes()).samples.is_empty());
        let many = parse_samples("a\n\tf a\n".repeat(SAMPLES + 5).as_bytes());
        assert_eq!((many.samples.len(), many.is_cut), (SAMPLES, true));
    }

    proptest! {
        #[test]
        fn what_perf_writes_is_read(stacks in prop::collection::vec(prop::collection::vec("[a-z_][a-z_.0-9]{0,8}", 1..20), 0..20)) {
            let text: String = stacks.iter().map(|stack| {
                let lines = stack.iter().map(|name| format!("\t{:16x} {name}\n", 0xffff_ffff_8100_0000_u64));
                format!("probe \n{}\n", lines.collect::<String>())
            }).collect();
            prop_assert_eq!(parse_samples(text.as_bytes()), Samples { samples: stacks, is_cut: false });
        }

        #[test]
        fn hostile_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            crate::fuzzing::samples(&bytes);
        }

        #[test]
        fn hostile_lines_are_survived(text in "((probe |\t| )([0-9a-f]{0,18} |)([a-z_]{1,9}|\\[x\\]|)\n|\n){0,30}") {
            crate::fuzzing::samples(text.as_bytes());
        }
    }
}
