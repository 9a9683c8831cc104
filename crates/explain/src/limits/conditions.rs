//! What was not measured, and what is to be known of hosts beside how busy they were.

use plimsoll_model::HostName;

/// What was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unseen {
    /// The server's processor and disks: its host was not watched.
    Server,
    /// The server's processor: it is on a machine with the client, and cannot be attributed.
    SharedProcessor,
    /// The server's processor: its CPU time is a few ticks, or cannot be distinguished from what it does anyway.
    FewTicks,
    /// What the network carries: no interface whose rate is known.
    Link,
    /// The round trip of the network.
    RoundTrip,
}

/// What is to be known of a host beside how busy it was (method, section 2).
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Its clock was not always the same: CPU time at one is not that at another.
    ClockMoved {
        /// The host.
        host: HostName,
        /// Lowest and highest of any core, in hertz.
        hertz: (f64, f64),
    },
    /// Next to nothing of its memory was left.
    MemoryShort {
        /// The host.
        host: HostName,
        /// Least that programs could have had, and all of it, in bytes.
        bytes: (u64, u64),
    },
    /// Processes stood still for want of its memory.
    MemoryPressure {
        /// The host.
        host: HostName,
        /// Share of the time.
        share: f64,
    },
    /// A hypervisor took some of its time for others.
    Stolen {
        /// The host.
        host: HostName,
        /// Share of the time of its cores.
        share: f64,
    },
    /// A call that does nothing took longer, before the load, than an operation under load: that bounds nothing.
    RoundTripIsNoBound {
        /// Seconds of the call.
        seconds: f64,
        /// Seconds of an operation.
        response: f64,
    },
    /// Its cores were idle with I/O outstanding, and no disk is known that may have kept them so.
    WaitsForIo {
        /// The host.
        host: HostName,
        /// Share of the time of its cores.
        share: f64,
    },
}
