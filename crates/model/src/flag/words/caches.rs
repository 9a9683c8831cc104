//! Caches that served reads or took writes.

use super::{Words, at_least, minutes};
use crate::flag::{Burst, Scaled, Severity};
use crate::units::{self, Bytes};
use crate::{ClientMemory, HostName, StoredOn};

pub(super) fn working_set(
    target: &str,
    size: Bytes,
    reads_from: StoredOn,
    settles: Option<Bytes>,
) -> Words {
    Words::new(
        Severity::Cache,
        match reads_from {
            StoredOn::ServerMemory => format!(
                "Reads on {target} came from the server's memory, not from the disk ({size} fit in it)"
            ),
            _ => format!(
                "Reads on {target} may come from the server's memory ({size} may fit in it)"
            ),
        },
    )
    .action(match settles {
        Some(settles) => format!("For the disk, run again with --size {}.", at_least(settles)),
        None => "To measure the disk: give --host or --server-memory.".to_owned(),
    })
    .advice(match settles {
        Some(settles) => format!(
            "For the disk, run again with --size {} (twice the server's memory).",
            at_least(settles)
        ),
        None => "To measure the disk: monitor the server with --host or give its memory with \
                 --server-memory."
            .to_owned(),
    })
}

pub(super) fn caches_kept(host: &HostName, reason: &str) -> Words {
    Words::new(
        Severity::Cache,
        format!("Reads may come from the memory of {host}: its caches could not be dropped"),
    )
    .details(reason)
    .action("Log in as root with --host, or give a larger --size.")
    .fact(format!("the caches of {host} could not be dropped"))
}

pub(super) fn burst(workloads: &[String], why: Burst) -> Words {
    Words::new(
        Severity::Burst,
        format!(
            "Speeds marked * may be a burst into a write cache ({}): {}",
            workloads.join(", "),
            why.words()
        ),
    )
    .action("For the sustained speed, raise --max-time.")
    .advice(match why {
        Burst::NotAgreed => {
            "The cache empties between trials: longer ones (--time) may agree with the steady rate."
        }
        _ => {
            "For the sustained speed: fewer patterns or a longer --max-time, without --time, --repeats and \
             --quick."
        }
    })
    .fact(format!(
        "a write cache may have taken the writes of {}: {}",
        workloads.join(", "),
        why.words()
    ))
}

pub(super) fn two_phases(
    at_seconds: f64,
    burst_bytes_per_second: f64,
    sustained_bytes_per_second: f64,
    trials: Option<&str>,
) -> Words {
    Words::new(
        Severity::Burst,
        format!(
            "The rate changed within {}: {} until {}, then {}",
            trials.unwrap_or("a trial"),
            units::bytes_per_second(burst_bytes_per_second),
            units::elapsed(at_seconds),
            units::bytes_per_second(sustained_bytes_per_second)
        ),
    )
    .action("For the second rate, lengthen --time.")
    .advice(
        "A write cache filled or something throttled; lengthen --time to see the sustained rate alone.",
    )
    .fact(format!(
        "{} until {}, then {}",
        units::bytes_per_second(burst_bytes_per_second),
        units::elapsed(at_seconds),
        units::bytes_per_second(sustained_bytes_per_second)
    ))
}

pub(super) fn client_memory(target: &str, memory: &ClientMemory, surely: bool) -> Words {
    let severity = match memory {
        // What --cache page asks for is meant.
        ClientMemory::Buffered => Severity::Cache,
        _ if surely => Severity::NotMeant,
        _ => Severity::Cache,
    };
    let text = match surely {
        true => format!("Reads on {target} came from the client's memory, not from the storage"),
        false => format!("Reads on {target} may come from the client's memory"),
    };
    let words = Words::new(severity, text);
    match memory {
        ClientMemory::FileSystem { name } => words
            .details(name.clone())
            .action("It is a file system in memory: give a directory on a disk."),
        ClientMemory::PageCache => words
            .details("page cache: O_DIRECT has no effect on this file system")
            .action("Give --size of twice the client's memory, or a directory on another file system."),
        ClientMemory::Buffered => words
            .details("page cache, which was dropped before each trial")
            .action("For the storage, leave out --cache page."),
        ClientMemory::LoopDevice => words.details("page cache, below a loop device").action(
            "Attach its file by losetup --direct-io=on, or give --size of twice the client's memory.",
        ),
    }
}

pub(super) fn scaled(wanted: f64, used: f64, most: Option<f64>, why: &Scaled) -> Words {
    let scale = match most {
        Some(most) => format!("scales from {used} to {most}"),
        None => format!("scale {used}"),
    };
    let cause = match why {
        Scaled::Time { .. } => "all of them take too long".to_owned(),
        Scaled::Space { target, .. } => format!("{target} has no space for more"),
    };
    let words = Words::new(
        Severity::Cache,
        format!("The datasets are copied at {scale} instead of {wanted}: {cause}"),
    )
    .action("Small datasets are more easily cached.");
    match why {
        Scaled::Time { seconds } => words
            .details(format!("the first blocks would take about {}", minutes(*seconds)))
            .advice(format!(
                "Give --scale {wanted} --max-time {} for all of it.",
                minutes(seconds * 2.0).replace(' ', "")
            )),
        Scaled::Space { available, .. } => words
            .details(format!("{} are free", units::amount(*available)))
            .advice(format!("Make room, and give --scale {wanted} for all of it.")),
    }
}
