//! What a change would bring, and why nothing can be said.

use crate::{Limits, PathResource, Use};
use plimsoll_model::{Cell, HostName, Measure};

/// What a change would bring to one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The row.
    pub cell: Cell,
    /// Measure of the figures: bytes or operations per second.
    pub measure: Measure,
    /// Its figure today: the geometric mean over the blocks.
    pub today: f64,
    /// Ends of the Student-t range of its blocks, as times its figure; 1 without one. Both ends of the answer have them.
    pub spread: [f64; 2],
    /// What is predicted.
    pub answer: Answer,
    /// The bottleneck after the change; two if their demands are within 20% of each other.
    pub next: Vec<Next>,
    /// What limits the row today; `None` if nothing was monitored.
    pub limits: Option<Limits>,
}

/// What is predicted, in the unit of the row.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Practically equal.
    Same {
        /// Whether the row does not use the resource that changes.
        is_unused: bool,
    },
    /// A range of which both ends are known.
    Between {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The upper end is a bound that other resources may keep it from.
    AtMost {
        /// Lower end; `None` if today is none either.
        low: Option<f64>,
        /// The bound.
        high: f64,
        /// What is not known.
        unknown: Vec<Unknown>,
    },
    /// Nothing can be said.
    CannotSay(Refusal),
}

/// What is not known of a row, so that its upper end is a bound.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// Capacity of a disk that was never saturated.
    Disk {
        /// Its host.
        host: HostName,
        /// Its name.
        name: String,
        /// Its highest utilisation.
        utilisation: f64,
    },
    /// Server CPU and disks, which were not monitored.
    Server,
    /// The server's part of the CPU of a machine that is the client as well.
    SharedProcessor,
    /// CPU time of an operation on a directory of the machine that drives it.
    OwnProcessor,
    /// Rate of the link.
    Link,
    /// A host of a lab that has a part of a core and was not monitored.
    Held(HostName),
    /// Demands at rates so many times as high as the highest that was measured.
    Beyond(f64),
    /// Demands at other numbers in flight.
    Concurrency,
    /// What packets that a faster end sends to a slower one lose.
    MixedLinks,
    /// What the same work takes on another architecture.
    Architecture,
    /// How much of what is read stays in memory.
    Memory,
    /// What the new disk does with more than one operation at a time.
    DiskDepth,
    /// The speed of a CPU whose clock moved.
    Clock(HostName),
    /// Resources of a network path beside links and CPUs.
    RestOfPath,
    /// CPU time of encryption beside the cipher, and on the client.
    Encryption,
}

/// Why nothing can be said, and the command that would settle it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Why.
    pub why: Why,
    /// What to measure.
    pub settle: Settle,
}

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Neither hosts nor the load generator were monitored.
    NothingMonitored,
    /// The row has a fixed rate, which no resource sets.
    FixedRate,
    /// Figures of a resource contradict each other.
    Contradiction(Box<Use>),
    /// The resource that changes was not monitored.
    NotMonitored(Part),
    /// The clock of the CPU moved, so that its demands are not those of one speed: lowest and highest in hertz.
    ClockMoved {
        /// The host.
        host: Box<HostName>,
        /// The clocks.
        hertz: (f64, f64),
    },
    /// The row is a sweep over the number that changes.
    Sweep,
    /// The job has no workers.
    NoWorkers,
    /// Heads of a rotating disk move between readers; one number of readers tells nothing of another.
    Rotating,
    /// Only one number in flight was measured, and the server was not monitored.
    OneConcurrency,
    /// The new link would carry less than the row does already, in bits per second.
    FasterThanLink(f64),
    /// The link was not monitored, and the bound that a new one sets is more than so many times today's rate.
    BoundTooFar {
        /// Farthest bound that says something, as times today's rate.
        times: f64,
    },
    /// The measured disk has no figure of this work.
    NoDiskFigure,
    /// What does not fit into less memory is not known.
    LessMemory,
    /// A network path has no such figure.
    NotOfPath,
    /// The target is not reached by SMB.
    NotSmb,
    /// Messages are signed already, and what encryption saves of that is not known.
    Signed,
}

/// Part of a path that was not monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The link.
    Link,
    /// The server's CPU.
    ServerProcessor,
    /// The client's CPU.
    ClientProcessor,
    /// The server's disk.
    Disk,
    /// The round trip.
    RoundTrip,
}

/// What to measure to be sure.
#[derive(Clone, Debug, PartialEq)]
pub enum Settle {
    /// The same with the server monitored.
    Monitor,
    /// The same at several depths.
    Sweep,
    /// The disk of a host by itself.
    Disk(Box<HostName>),
    /// The same once more, for longer.
    Again,
    /// The same with so many workers.
    Workers(u16),
    /// The same with so many in flight per worker.
    Depth(u16),
    /// The same without a fixed rate.
    ClosedLoop,
    /// The change itself.
    Change,
    /// Nothing: it is settled.
    Nothing,
}

/// A bottleneck after the change.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A resource, with the demand that it has then.
    Resource(Box<Use>),
    /// A resource of a network path.
    OfPath(PathResource),
    /// Time of an operation that no monitored resource explains.
    Waiting,
}
