//! What a change of hardware or of concurrency would bring, as bounds.
//!
//! A change is a new set of demands of the closed network that `limits` fits to a row (method, sections 3 and 10).
//! The lower end takes the time that no monitored resource explains as one more queue, the upper end as a delay. A
//! demand is known up to 1.5 times the highest rate that was measured; the upper end beyond that has only the
//! capacities that were measured at saturation, and the rates of links. A disk that was never saturated has no known
//! capacity. Both ends are joined with the Student-t range of the logarithms over the blocks; how much one day differs
//! from another is not known from one study.

mod advise;
mod bounds;
mod demands;
mod device;
mod disk;
mod flight;
mod made;
mod path;
mod purpose;
mod score;
mod spread;

pub use advise::{Advice, Cost, Gain, Proposal, RULES, Rule, Suggestion, Useless, advise};
pub use device::{encryption_seconds, processor_speed};
pub use made::{CheckedPrediction, is_recorded, measured_by};
pub use plimsoll_model::what_if::{
    Encryption, LinkEnd, LinkRate, NewDisk, ProcessorSpeed, Processors, WhatIf,
};
pub use purpose::Purpose;
pub use score::{Place, Score, predicted_rows, scores};

use crate::gather::Gathered;
use crate::thresholds::{FARTHEST_BOUND, SEGMENT_BYTES, SEGMENT_ON_ETHERNET_BYTES};
use crate::{Limit, Limits, PathResource, Unseen, Use, is_ladder, limits};
use demands::Demands;
use plimsoll_model::{Cell, HostName, Measure, Steps, Study, SubjectKind, Target};

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
        host: HostName,
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
    Disk(HostName),
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
    Resource(Use),
    /// A resource of a network path.
    OfPath(PathResource),
    /// Time of an operation that no monitored resource explains.
    Waiting,
}

/// What the changes together would bring to each row that has complete trials. Rows of a study of hosts have none, and
/// changes by factors that are not above 0 predict nothing.
pub fn predict(study: &Study, changes: &[WhatIf]) -> Vec<Prediction> {
    if !changes.iter().all(WhatIf::is_valid) {
        return Vec::new();
    }
    let gathered = Gathered::new(study);
    let known = limits(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let workloads = workloads.filter(|workload| !is_ladder(&study.plan, *workload));
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    let of_cell = |cell: Cell| {
        let own = known.iter().find(|limits| limits.cell == cell);
        of_cell(study, &gathered, cell, own, changes)
    };
    cells.filter_map(of_cell).collect()
}

fn of_cell(
    study: &Study,
    gathered: &Gathered<'_>,
    cell: Cell,
    limits: Option<&Limits>,
    changes: &[WhatIf],
) -> Option<Prediction> {
    let workload = study.plan.workload(cell)?;
    let kind = workload.subject()?;
    // What a router would forward is not known from its rate.
    if kind == SubjectKind::Host || matches!(workload.steps, Some(Steps::Kept { .. })) {
        return None;
    }
    let today = spread::today(study, gathered, cell, limits)?;
    if kind == SubjectKind::Path {
        return Some(path::of_cell(study, cell, &today, changes));
    }
    let (measure, figure, spread) = (today.measure, today.figure, [today.low, today.high]);
    let found = |answer, next| Prediction {
        cell,
        measure,
        today: figure,
        spread,
        answer,
        next,
        limits: limits.cloned(),
    };
    let knows_no_link =
        |limits: &&Limits| limits.unseen.contains(&Unseen::Link) && is_link_alone(changes);
    let Some(known) = limits.filter(|limits| !knows_no_link(limits)) else {
        let answer = without_limits(study, cell, &today, changes, limits.is_some());
        return Some(found(answer, Vec::new()));
    };
    let outcome = refused_as_a_whole(known)
        .map_or(Ok(()), Err)
        .and_then(|()| Demands::changed(study, known, changes));
    Some(match outcome {
        Err(refusal) => found(Answer::CannotSay(refusal), Vec::new()),
        Ok(mut demands) => {
            let next = demands.next();
            match demands.rates() {
                Some(rates) => found(today.answer(study, known, rates, demands.unknown), next),
                None => {
                    let why = Why::NothingMonitored;
                    found(Answer::CannotSay(Refusal { why, settle: Settle::Again }), next)
                }
            }
        }
    })
}

/// Whether the only change is another rate of the path.
fn is_link_alone(changes: &[WhatIf]) -> bool {
    matches!(changes, [WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(_) }])
}

/// Figures that contradict each other predict nothing.
fn refused_as_a_whole(limits: &Limits) -> Option<Refusal> {
    let contradictory = match limits.verdict {
        Limit::Contradiction(place) => limits.uses.get(place),
        _ => limits.uses.iter().find(|one| one.is_contradictory()),
    };
    contradictory.map(|one| Refusal {
        why: Why::Contradiction(Box::new(one.clone())),
        settle: Settle::Again,
    })
}

/// Of a row whose link was not monitored only the rate of a new one is known. `link_alone` if other resources were
/// monitored.
fn without_limits(
    study: &Study,
    cell: Cell,
    today: &spread::Today,
    changes: &[WhatIf],
    link_alone: bool,
) -> Answer {
    let refusal = |why, settle| Answer::CannotSay(Refusal { why, settle });
    if study.plan.workload(cell).is_some_and(|workload| workload.has_fixed_rate()) {
        return refusal(Why::FixedRate, Settle::ClosedLoop);
    }
    let is_local =
        matches!(study.plan.target(usize::from(cell.subject)), Some(Target::Directory(_)));
    match changes {
        [WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(rate) }]
            if today.measure == Measure::THROUGHPUT && !is_local =>
        {
            let high = payload_of(*rate);
            if high < today.figure {
                return refusal(Why::FasterThanLink(*rate as f64), Settle::Nothing);
            }
            if high > FARTHEST_BOUND * today.figure {
                return refusal(Why::NotMonitored(Part::Link), Settle::Monitor);
            }
            let unknown = vec![Unknown::Link, Unknown::Server];
            Answer::AtMost { low: Some(today.figure * today.low), high, unknown }
        }
        _ if link_alone => refusal(Why::NotMonitored(Part::Link), Settle::Monitor),
        _ => refusal(Why::NothingMonitored, Settle::Monitor),
    }
}

/// Most payload that TCP carries over an Ethernet of this rate, in bytes per second.
pub fn payload_of(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 8.0 * SEGMENT_BYTES / SEGMENT_ON_ETHERNET_BYTES
}
