//! CPU time of threads: what driving the load costs this machine.

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// User and system time of the calling thread; zero if the system does not tell.
pub(crate) fn of_this_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// User and system time of the thread `id` of this process, in this moment; zero if it has ended
/// or the kernel keeps no scheduler statistics. (proc(5): the first field of `schedstat` is the
/// time spent on the CPU in nanoseconds.)
pub(crate) fn of_thread(id: i32) -> Duration {
    std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat"))
        .ok()
        .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok())
        .map(Duration::from_nanos)
        .unwrap_or_default()
}

/// User and system time of the kernel's io_uring workers for the calling thread, those that live:
/// the kernel names them after it.
pub(crate) fn of_ring_workers() -> Duration {
    let name = format!("iou-wrk-{}", nix::unistd::gettid());
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    tasks
        .filter_map(|task| {
            let task = task.ok()?;
            let comm = std::fs::read_to_string(task.path().join("comm")).ok()?;
            (comm.trim_end() == name).then(|| task.file_name().to_str()?.parse().ok())?
        })
        .map(of_thread)
        .sum()
}

/// User and system time of this process's children that have ended and were waited for.
pub(crate) fn of_children() -> Duration {
    let time = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec().unsigned_abs(), time.tv_usec().unsigned_abs() as u32 * 1000)
    };
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map(|used| time(used.user_time()) + time(used.system_time()))
        .unwrap_or_default()
}
