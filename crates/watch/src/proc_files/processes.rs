//! CPU time of processes, from their /proc/PID/stat (proc(5)).

/// The CPU time of a process so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessTime {
    /// Its number.
    pub id: u32,
    /// Its name, at most 15 letters.
    pub name: String,
    /// CPU seconds since it began, user and system.
    pub seconds: f64,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
}

/// Bit of a task's flags that threads of the kernel have (PF_KTHREAD of include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Most processes that are believed.
const MAX_PROCESSES: usize = 65_536;

/// Processes, a line each. Names may hold anything but what ends them: the last bracket counts.
pub fn parse_processes(text: &str, ticks_per_second: f64) -> Vec<ProcessTime> {
    let process = |line: &str| {
        let (id, rest) = line.split_once(" (")?;
        let (name, fields) = rest.rsplit_once(") ")?;
        let own = times(fields, ticks_per_second)?.0;
        let name: String = name.chars().filter(|c| !c.is_control()).take(15).collect();
        let kernel = super::number(fields, 6).is_some_and(|flags| flags & KERNEL_THREAD != 0);
        Some(ProcessTime { id: id.trim().parse().ok()?, name, seconds: own, kernel })
    };
    text.lines().filter_map(process).take(MAX_PROCESSES).collect()
}

/// CPU seconds of a watching process and of the children it has waited for.
pub fn parse_watcher(text: &str, ticks_per_second: f64) -> Option<f64> {
    let (_, fields) = text.rsplit_once(") ")?;
    let (own, children) = times(fields, ticks_per_second)?;
    Some(own + children)
}

/// User and system time, of the process and of the children it has waited for, from the fields
/// after the name.
fn times(fields: &str, ticks_per_second: f64) -> Option<(f64, f64)> {
    let ticks = |n: usize| Some(super::number(fields, n)? as f64 / ticks_per_second);
    Some((ticks(11)? + ticks(12)?, ticks(13)? + ticks(14)?))
}
