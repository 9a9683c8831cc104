//! Other work that disturbed a study.

use super::{LOW, RUN_AGAIN, Words, capital, place};
use crate::device::{DisturbedFigure, disturbance};
use crate::flag::{IdleWindows, Severity, is_file_server};
use crate::units::{self, Bytes};
use crate::{HostName, HostResource};

pub(super) fn other_run(directory: &str) -> Words {
    Words::new(
        Severity::OtherRun,
        format!("{LOW}: another plimsoll run uses this share ({directory})"),
    )
    .action("Wait for its end, then run again.")
}

pub(super) fn busy_baseline(host: &HostName, busy: f64, windows: &IdleWindows) -> Words {
    Words::new(
        Severity::Disturbance,
        format!("{LOW}: {} was {:.0}% busy with other work", place(host), busy * 100.0),
    )
    .details(windows.words())
    .action(RUN_AGAIN)
    .advice(format!("Stop other work on {} and run again.", place(host)))
}

pub(super) fn other_traffic(
    host: &HostName,
    bytes_per_second: f64,
    windows: &IdleWindows,
) -> Words {
    Words::new(
        Severity::Disturbance,
        format!(
            "{LOW}: {} of other network traffic on {}",
            units::bytes_per_second(bytes_per_second),
            place(host)
        ),
    )
    .details(windows.words())
    .action("Stop other transfers, then run again.")
}

pub(super) fn busy_process(
    host: &HostName,
    process: &str,
    cores: f64,
    kernel: bool,
    windows: &IdleWindows,
) -> Words {
    let words = Words::new(
        Severity::Disturbance,
        format!(
            "{LOW}: '{process}' on {} used {:.0}% of a core when plimsoll was idle",
            place(host),
            cores * 100.0
        ),
    )
    .details(windows.words());
    match process {
        process if is_file_server(process) => words
            .action("If it serves others, run again later.")
            .advice("It may be the server under test: if it serves others, run again later."),
        _ if kernel => {
            words.action("It is a thread of the kernel: find its cause, then run again.")
        }
        _ => words
            .action("Stop it, unless it is the server under test.")
            .advice("Unless it is the server under test, stop it or wait for its end."),
    }
}

pub(super) fn other_load(host: &HostName, resource: HostResource, per_second: f64) -> Words {
    let (what, more) = match resource {
        HostResource::Cpu => ("CPU", format!("{per_second:.2} cores")),
        HostResource::Disk => ("disk", units::bytes_per_second(per_second)),
        HostResource::Network => ("network", units::bytes_per_second(per_second)),
    };
    Words::new(
        Severity::Disturbance,
        format!("{LOW}: other work used the {what} of {} during the trial", place(host)),
    )
    .details(format!("{more} more than the same work took in other blocks"))
    .action(RUN_AGAIN)
    .advice(format!(
        "See what else ran on {} then: plimsoll export has the moment of each trial.",
        place(host)
    ))
    .fact(format!("other work used the {what} of {}", place(host)))
}

pub(super) fn far_slower(times: f64, trials: Option<&str>) -> Words {
    Words::new(
        Severity::Disturbance,
        match trials {
            Some(several) if !several.starts_with("1 of ") => format!(
                "{several} were held up, one of them {times:.1} times slower than the same work in other blocks"
            ),
            one => format!(
                "{} was held up: {times:.1} times slower than the same work in other blocks",
                one.unwrap_or("A trial")
            ),
        },
    )
    .action("See plimsoll export for the loads of its hosts.")
    .fact(format!("{times:.1} times slower than the same work in other blocks"))
}

pub(super) fn busy_raid(host: &HostName, work: &str, windows: &IdleWindows) -> Words {
    Words::new(
        Severity::Disturbance,
        format!("{LOW}: the RAID of {} was busy with its own work ({work})", place(host)),
    )
    .details(windows.words())
    .action("Wait for its end, then run again.")
}

pub(super) fn throttled(
    host: &HostName,
    from_hertz: f64,
    to_hertz: f64,
    celsius: Option<f64>,
    seen: &str,
) -> Words {
    Words::new(
        Severity::Disturbance,
        format!(
            "{LOW}: the clock of {} fell from {:.0} to {:.0} MHz{seen}",
            place(host),
            from_hertz * 1e-6,
            to_hertz * 1e-6
        ),
    )
    .details(celsius.map(|hot| format!("at up to {hot:.0} °C")).unwrap_or_default())
    .action("Cool it, then run again.")
}

pub(super) fn stolen(host: &HostName, share: f64, seen: &str) -> Words {
    Words::new(
        Severity::Disturbance,
        format!(
            "{LOW}: the hypervisor took {:.0}% of the CPU time of {} for others{seen}",
            share * 100.0,
            place(host)
        ),
    )
    .action("Run again when the hypervisor is idle.")
}

pub(super) fn figures_disturbed(figures: &[DisturbedFigure], of: u32) -> Words {
    let (count, were) = (figures.len(), if figures.len() == 1 { "was" } else { "were" });
    Words::new(
        Severity::Disturbance,
        format!("{count} of {of} figures {were} disturbed: {}", disturbance(figures)),
    )
    .action("Stop other work on it and measure again: the host is faster than these figures.")
}

pub(super) fn reconnected(target: &str, times: u64, at_seconds: f64, seconds: f64) -> Words {
    Words::new(
        Severity::Disturbance,
        format!(
            "{target} lost {times} connection{} and restored {}: the first was lost after {}, the longest \
             took {} to restore",
            if times == 1 { "" } else { "s" },
            if times == 1 { "it" } else { "them" },
            units::elapsed(at_seconds),
            units::seconds(seconds)
        ),
    )
    .action(
        "The figures include the gap, as a user would see it; check the server's log, and run again for \
         figures without it.",
    )
}

pub(super) fn written_again(target: &str, bytes: u64) -> Words {
    Words::new(
        Severity::Disturbance,
        format!(
            "The server of {target} restarted and lost data that was not stable yet: {} were written again",
            Bytes(bytes)
        ),
    )
    .action(
        "No data are missing, and the times include writing twice; check why the server restarted, and run \
         again.",
    )
}

pub(super) fn host_restarted(host: &HostName, seen: &str) -> Words {
    Words::new(Severity::Disturbance, format!("{} restarted{seen}", capital(&place(host))))
        .action("Look at its log; run again.")
}
