//! Changes, reasons and what is not known, in words.

use crate::figure::TIME;
use crate::study::hosts;
use crate::study::limits::resource;
use crate::text::{listed, printable};
use crate::verdict::percent;
use plimsoll_explain::whatif::{
    Encryption, LinkEnd, LinkRate, NewDisk, Part, Processors, Unknown, WhatIf, Why,
};
use plimsoll_explain::{PathEnd, PathResource};
use plimsoll_model::units::three_digits;

/// "a 2.5 Gbit/s link and CPUs 2 times as fast".
pub(crate) fn changes(changes: &[WhatIf]) -> String {
    listed(&changes.iter().map(change).collect::<Vec<_>>())
}

/// "a 2.5 Gbit/s link".
pub(crate) fn change(change: &WhatIf) -> String {
    let times = |factor: f64| format!("{} times", short(factor));
    match change {
        WhatIf::Link { end, to } => {
            let whose = match end {
                LinkEnd::Path => "",
                LinkEnd::Client => " of the client",
                LinkEnd::Server => " of the server",
            };
            match to {
                LinkRate::BitsPerSecond(rate) => format!("a {} link{whose}", link(*rate)),
                LinkRate::Times(factor) => format!("a link{whose} {} as fast", times(*factor)),
            }
        }
        WhatIf::Processor { of, speed } => {
            let what = match of {
                Processors::All => "CPUs",
                Processors::Client => "a client CPU",
                Processors::Server => "a server CPU",
            };
            match speed.one_core == speed.all_cores {
                true => format!("{what} {} as fast", times(speed.one_core)),
                false => format!(
                    "{what} {} as fast with one core and {} with all",
                    times(speed.one_core),
                    times(speed.all_cores)
                ),
            }
        }
        WhatIf::RoundTrip { seconds } => format!("a round trip of {}", TIME.value(*seconds)),
        WhatIf::Disk(NewDisk::Times(factor)) => format!("a disk {} as fast", times(*factor)),
        WhatIf::Disk(NewDisk::Like(_)) => "the measured disk".to_owned(),
        WhatIf::Readers(count) => format!("{count} worker{}", plural(count.get())),
        WhatIf::Depth(count) => {
            format!("{count} operation{} in flight per worker", plural(count.get()))
        }
        WhatIf::Memory(factor) => format!("{} the memory", times(*factor)),
        WhatIf::Encrypt { layer: Encryption::Smb, .. } => "SMB encryption".to_owned(),
        WhatIf::Encrypt { layer: Encryption::Disk, .. } => "an encrypted disk".to_owned(),
    }
}

/// "2.5 Gbit/s".
fn link(bits_per_second: u64) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
    let rate = bits_per_second as f64;
    let unit = units.into_iter().find(|(size, _)| rate >= *size);
    let (size, unit) = unit.unwrap_or((1.0, "bit/s"));
    format!("{} {unit}", short(rate / size))
}

/// "2", "2.5".
fn short(factor: f64) -> String {
    let digits = three_digits(factor);
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    }
}

fn plural(count: u16) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Why nothing can be said, without a capital letter.
pub(super) fn why(why: &Why) -> String {
    match why {
        Why::NothingMonitored => "no resource was monitored".to_owned(),
        Why::FixedRate => "the fixed rate sets its speed, not a resource".to_owned(),
        Why::Contradiction(one) => format!(
            "figures contradict each other: {} would have been busy for {} of the time",
            resource(one),
            percent(one.utilisation)
        ),
        Why::NotMonitored(part) => format!("{} was not monitored", named(*part)),
        Why::ClockMoved { host, hertz: (low, high) } => format!(
            "the clock of {} moved ({:.2} to {:.2} GHz), so the speed of its CPU is not known",
            hosts::name(host),
            low * 1e-9,
            high * 1e-9
        ),
        Why::Sweep => "the row is a sweep over this number: see its steps".to_owned(),
        Why::NoWorkers => "the work has no workers".to_owned(),
        Why::Rotating => "heads of a rotating disk move between readers, so one number of readers does not predict \
                          another"
            .to_owned(),
        Why::OneConcurrency => {
            "only one number in flight was measured, and the server was not monitored".to_owned()
        }
        Why::FasterThanLink(bits) => {
            format!("the row is already faster than a {} link", link(*bits as u64))
        }
        Why::BoundTooFar { times } => format!(
            "the bound is more than {} times today's rate, because the link was not monitored",
            short(*times)
        ),
        Why::NoDiskFigure => "the measured disk has no figure of this work".to_owned(),
        Why::LessMemory => "how much of the data fits into less memory is not known".to_owned(),
        Why::NotSmb => "the target is not reached by SMB".to_owned(),
        Why::Signed => "its messages are signed already, and encryption takes the place of that".to_owned(),
        Why::NotOfPath => "the effect of the round trip on streams was not measured".to_owned(),
    }
}

fn named(part: Part) -> &'static str {
    match part {
        Part::Link => "the rate of the link",
        Part::ServerProcessor => "the server's CPU",
        Part::ClientProcessor => "the client's CPU",
        Part::Disk => "the server's disk",
        Part::RoundTrip => "the round trip",
    }
}

/// What is not known, as a sentence.
pub(super) fn unknown(unknown: &Unknown) -> String {
    match unknown {
        Unknown::Disk { host, name, utilisation } => format!(
            "Disk {} of {} was never above {} and is not known beyond that.",
            printable(name),
            hosts::name(host),
            percent(*utilisation)
        ),
        Unknown::Server => "Server CPU and disks were not monitored.".to_owned(),
        Unknown::SharedProcessor => "The server's part of the CPU is not known.".to_owned(),
        Unknown::OwnProcessor => "The CPU time of an operation is not known.".to_owned(),
        Unknown::Link => "The rate of today's link is not known.".to_owned(),
        Unknown::Held(host) => {
            format!("The CPU quota of {} was not monitored.", hosts::name(host))
        }
        Unknown::Beyond(times) => format!(
            "Demands are known up to {} times today's rate.",
            short(*times)
        ),
        Unknown::Concurrency => "Demands with other numbers in flight are not known.".to_owned(),
        Unknown::MixedLinks => {
            "A faster end drops packets before a slower one, so the rate may be below today's.".to_owned()
        }
        Unknown::Architecture => {
            "The CPU has another architecture, on which the same work may take longer.".to_owned()
        }
        Unknown::Memory => "How much of the data stays in memory is not known.".to_owned(),
        Unknown::DiskDepth => {
            "The new disk was measured with one operation at a time.".to_owned()
        }
        Unknown::Clock(host) => {
            format!("The clock of {} moved, so its CPU may allow more or less.", hosts::name(host))
        }
        Unknown::Encryption => {
            "The bound has the time of the cipher on the server alone: copies and the client's cipher are not known."
                .to_owned()
        }
        Unknown::RestOfPath => "A part of the path that was not monitored may be the bottleneck.".to_owned(),
    }
}

/// A resource of a path as a bottleneck.
pub(super) fn of_path(resource: &PathResource) -> String {
    let of_end = |end: PathEnd| match end {
        PathEnd::A => " of A",
        PathEnd::B => " of B",
        PathEnd::Router => " of the router",
        PathEnd::Both => "",
    };
    match resource {
        PathResource::Link { .. } => "link".to_owned(),
        PathResource::Core(end) => format!("core{}", of_end(*end)),
        PathResource::Quota(end) => format!("CPU quota{}", of_end(*end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "The rate of the link was not monitored" stood beside a row whose link was not monitored either and had a bound.
    #[test]
    fn a_bound_that_says_nothing_is_called_so() {
        let said =
            "the bound is more than 10 times today's rate, because the link was not monitored";
        assert_eq!(why(&Why::BoundTooFar { times: 10.0 }), said);
    }
}
