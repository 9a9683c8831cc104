//! How each measure is shown: what it is called, in which unit, and what a ratio of it means.

use crate::compared::Compared;
use crate::device;
use crate::figure::{
    BANDWIDTH, BITRATE, BYTES, COUNT, CPU_PER_100K, CPU_PER_GB, Kind, RATE, SHARE, TIME,
};
use crate::text::{printable, shortened};
use plimsoll_explain::Level;
use plimsoll_model::{Direction, Measure, Study, SubjectKind, Workload};

/// Longest name of a unit that is not known here.
const LONGEST: usize = 16;
/// Longest name that can stand behind a figure like a unit.
const SHORT: usize = 10;

/// Heading in tables, name in sentences, unit.
type Row = (Measure, &'static str, &'static str, Kind);

/// What tables of levels show of every workload, as far as it was measured, in this order. CPU time
/// stands after the bandwidth (see [`crate::study::cpu`]).
pub(crate) const COLUMNS: [Measure; 11] = [
    Measure::ENTRIES,
    Measure::FILES,
    Measure::ELAPSED,
    Measure::IOPS,
    Measure::THROUGHPUT,
    Measure::FLUSH_TIME,
    Measure::LATENCY_MEAN,
    Measure::LATENCY_P50,
    Measure::LATENCY_P99,
    Measure::LATENCY_MAX,
    Measure::RPC_LATENCY_P50,
];

/// What has a name here.
const NAMED: [Row; 21] = [
    (Measure::ENTRIES, "entries/s", "entries per second", RATE),
    (Measure::FILES, "files/s", "files per second", RATE),
    (Measure::ELAPSED, "elapsed", "elapsed time", TIME),
    (Measure::IOPS, "IOPS", "operations per second", RATE),
    (Measure::THROUGHPUT, "bandwidth", "bandwidth", BANDWIDTH),
    (Measure::FLUSH_TIME, "final\nflush", "final flush", TIME),
    (Measure::LATENCY_MEAN, "latency\nmean", "mean latency", TIME),
    (Measure::LATENCY_P50, "latency\np50", "median latency", TIME),
    (Measure::LATENCY_P99, "latency\np99", "99% latency", TIME),
    (Measure::LATENCY_MAX, "latency\nmax", "largest latency", TIME),
    (Measure::RPC_LATENCY_P50, "RPC\np50", "median RPC latency", TIME),
    (Measure::BURST_THROUGHPUT, "bandwidth\nat first", "bandwidth at first", BANDWIDTH),
    (Measure::SUSTAINED_THROUGHPUT, "bandwidth\nsustained", "sustained bandwidth", BANDWIDTH),
    (Measure::LONGEST_GAP, "longest\ngap", "longest gap", TIME),
    (Measure::IN_FLIGHT, "in\nflight", "operations in flight", COUNT),
    (Measure::CLIENT_CPU_PER_OP, "client\nCPU", "client CPU per operation", CPU_PER_100K),
    (Measure::CLIENT_CPU_PER_BYTE, "client\nCPU", "client CPU per byte", CPU_PER_GB),
    (Measure::MACHINE_CPU_PER_OP, "machine\nCPU", "machine CPU per operation", CPU_PER_100K),
    (Measure::MACHINE_CPU_PER_BYTE, "machine\nCPU", "machine CPU per byte", CPU_PER_GB),
    (Measure::SERVER_CPU_PER_OP, "server\nCPU", "server CPU per operation", CPU_PER_100K),
    (Measure::SERVER_CPU_PER_BYTE, "server\nCPU", "server CPU per byte", CPU_PER_GB),
];

/// Measures of a network path. They stand among the further ones.
const OF_PATHS: [Row; 5] = [
    (Measure::NEAR_CPU_PER_BYTE, "CPU\nnear end", "CPU of the near end's processes", CPU_PER_GB),
    (Measure::FAR_CPU_PER_BYTE, "CPU\nfar end", "CPU of the far end's processes", CPU_PER_GB),
    (Measure::PACKETS, "packets/s", "packets per second", RATE),
    (Measure::REQUESTS, "requests/s", "requests per second", RATE),
    (Measure::CONNECTIONS, "connections/s", "connections per second", RATE),
];

/// Measures of the trials of a path over a router.
const OF_ROUTERS: [Row; 28] = [
    (Measure::FORWARDED, "forwarded,\npackets/s", "packets per second forwarded", RATE),
    (Measure::KEPT, "kept,\npackets/s", "packets per second kept", RATE),
    (Measure::KEPT_WITHOUT_LOSS, "no loss,\npackets/s", "packets per second without loss", RATE),
    (Measure::OVERLOADED, "overload,\npackets/s", "packets per second at overload", RATE),
    (Measure::OFFERED_FRAMES, "offered,\npackets/s", "packets per second offered", RATE),
    (Measure::LATE_RATE, "last half,\npackets/s", "packets per second in the last half", RATE),
    (Measure::COUNTED, "time\ncounted", "time that counts", TIME),
    (Measure::HELD, "sender\nin time", "time in which the sender was not late", TIME),
    (Measure::ALL_SEGMENTS, "time of\nsegments", "time of all segments", TIME),
    (Measure::COUNTED_SENT, "sent, packets\nthat count", "packets that count", COUNT),
    (Measure::COUNTED_LOST, "lost, packets\nthat count", "packets lost of those that count", COUNT),
    (Measure::ALL_SENT, "sent,\npackets", "packets sent", COUNT),
    (Measure::ALL_RECEIVED, "received,\npackets", "packets received", COUNT),
    (Measure::LOSS_EVENTS, "loss\nevents", "loss events", COUNT),
    (
        Measure::EVENTS_AT_HALF,
        "loss events/s\nat 50%",
        "loss events per second at 50% of the rate",
        RATE,
    ),
    (
        Measure::EVENTS_AT_MOST,
        "loss events/s\nat 90%",
        "loss events per second at 90% of the rate",
        RATE,
    ),
    (Measure::LEAD_LOSS, "lost in\nlead-in", "loss in the lead-in", SHARE),
    (Measure::LATE_LOSS, "lost in\nlast half", "loss in the last half", SHARE),
    (Measure::VOID, "void\nsegments", "share of void segments", SHARE),
    (Measure::DELAY_SLOPE, "delay\ngrowth", "growth of the delay in its time", SHARE),
    (Measure::DELAY_SLOPE_LOW, "delay growth\nat least", "lower 95% bound of that growth", SHARE),
    (Measure::QUEUE_GROWTH, "queue\ngrowth", "growth of the queueing delay", TIME),
    (Measure::QUEUE_P50, "queue\np50", "median queueing delay", TIME),
    (Measure::QUEUE_P99, "queue\np99", "99% queueing delay", TIME),
    (Measure::QUEUE_MOST, "queue\nmax", "largest queueing delay", TIME),
    (Measure::ROUTER_CPU_PER_PACKET, "CPU of R\na packet", "CPU of R for a packet", TIME),
    (
        Measure::NEAR_CPU_PER_PACKET,
        "CPU a packet\nnear end",
        "CPU of the near end for a packet",
        TIME,
    ),
    (Measure::FAR_CPU_PER_PACKET, "CPU a packet\nfar end", "CPU of the far end for a packet", TIME),
];

/// How a measure is shown.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Above a column; of several lines.
    pub(crate) heading: String,
    /// In a sentence, and along an axis.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// What a ratio of it means.
    pub(crate) compared: Compared,
    /// What a reader must know of one without a name of its own.
    pub(crate) legend: Option<String>,
}

/// Whether tables show it beside [`COLUMNS`], CPU time and the marks of phases: a job's own, or one
/// of another version.
pub(crate) fn is_further(measure: Measure) -> bool {
    !NAMED.iter().any(|row| row.0 == measure)
}

/// Whether every workload is a load on a network path that has streams of its own.
pub(crate) fn is_of_paths(study: &Study) -> bool {
    let workloads = &study.plan.workloads;
    let is_load = |workload: &Workload| {
        workload.subject() == Some(SubjectKind::Path)
            && workload.main().is_some_and(|main| !main.job.settable().workers)
    };
    !workloads.is_empty() && workloads.iter().all(is_load)
}

/// How a measure of this study is shown.
pub(crate) fn shape(study: &Study, measure: Measure) -> Shape {
    let info = study.info(measure);
    let compared = Compared::new(info.as_ref());
    // Rates of networks are known in bits.
    let in_bits = is_of_paths(study);
    if in_bits && measure == Measure::THROUGHPUT {
        let name = || "goodput".to_owned();
        return Shape { heading: name(), name: name(), kind: BITRATE, compared, legend: None };
    }
    if let Some((_, heading, name, kind)) = NAMED.iter().find(|row| row.0 == measure) {
        let (heading, name) = ((*heading).to_owned(), (*name).to_owned());
        return Shape { heading, name, kind: *kind, compared, legend: None };
    }
    let of_paths = OF_PATHS.iter().chain(&OF_ROUTERS).find(|row| row.0 == measure);
    if let Some((_, heading, name, kind)) = of_paths {
        let (heading, name) = ((*heading).to_owned(), (*name).to_owned());
        let legend = Some(match info.as_ref().map(|info| info.direction) {
            Some(Direction::More) => format!("{name} (more is better)"),
            Some(Direction::Less) => format!("{name} (less is better)"),
            Some(Direction::Neither) | None => name.clone(),
        });
        return Shape { heading, name, kind: *kind, compared, legend };
    }
    let (unit, per, direction) = match &info {
        Some(info) => (info.unit.as_str(), info.per.as_str(), info.direction),
        None => ("", "", Direction::Neither),
    };
    let (suffix, kind) = match unit {
        "s" => ("_seconds", Some(TIME)),
        "B" => ("_bytes", Some(BYTES)),
        "B/s" if in_bits => ("_bytes_per_second", Some(BITRATE)),
        "B/s" => ("_bytes_per_second", Some(BANDWIDTH)),
        "1/s" => ("_per_second", Some(RATE)),
        "1" if measure.name().ends_with("_ratio") => ("_ratio", Some(SHARE)),
        "1" | "" => ("", Some(COUNT)),
        _ => ("", None),
    };
    let bare = measure.name().strip_suffix(suffix).unwrap_or(measure.name());
    let known = device::figure(study, measure);
    let is_known = known.is_some();
    let bare = known.unwrap_or_else(|| bare.replace('_', " "));
    let mut name = bare.clone();
    let mut heading = name.replacen(' ', "\n", 1);
    let mut legend: Vec<String> = Vec::new();
    if kind.is_none() {
        let unit = shortened(&printable(unit), LONGEST);
        heading.push_str(&format!("\n({unit})"));
        legend.push(format!("in {unit}"));
    }
    if !per.is_empty() {
        let per = shortened(&printable(per), LONGEST);
        legend.push(format!("per {per}"));
        name.push_str(&format!(" per {per}"));
    }
    match direction {
        Direction::More => legend.push("more is better".to_owned()),
        Direction::Less => legend.push("less is better".to_owned()),
        Direction::Neither => {}
    }
    let legend = match legend.is_empty() {
        true => bare,
        false => format!("{bare} ({})", legend.join(", ")),
    };
    let legend = (!is_known).then_some(legend);
    Shape { heading, name, kind: kind.unwrap_or(COUNT), compared, legend }
}

impl Shape {
    /// A figure without its interval: "112 MB/s", "7334 IOPS".
    pub(crate) fn plain(&self, value: f64) -> String {
        format!("{} {}", self.kind.value(value), self.unit()).trim_end().to_owned()
    }

    /// What its figures are of, where their unit does not say it and it is short: "IOPS".
    pub(crate) fn unit(&self) -> String {
        let unit = self.heading.replace('\n', " ");
        let short = self.kind.is_plain_rate() && unit.len() <= SHORT;
        if short { unit } else { String::new() }
    }

    /// A level in a sentence: "112 MB/s [108–116]", "7334 IOPS".
    pub(crate) fn level(&self, level: &Level) -> String {
        let figure = self.kind.with_ends(level.estimate, level.interval);
        format!("{figure} {}", self.unit()).trim_end().to_owned()
    }
}
