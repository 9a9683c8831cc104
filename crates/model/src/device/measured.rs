//! The figures of a record as one list: for a table of numbers, and to set two devices side by side.

use super::{AllRounds, CoreMark, CoreMarkKind, CoreRounds, CryptoMeans, Device, Part};

/// CPU share of a figure without other work, on one core or on all.
pub(super) const UNDISTURBED: f64 = 0.95;
/// Slowest repetition divided by the fastest, without other work.
pub(super) const STEADY: f64 = 0.9;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The part it belongs to.
    pub part: Part,
    /// Name of the figure: "AES-128-GCM", "copy, level 1 cache".
    pub figure: String,
    /// Measuring program; figures of different programs are not compared.
    pub by: &'static str,
    /// How much.
    pub value: f64,
    /// Of what.
    pub quantity: Quantity,
    /// CPU time divided by elapsed time, per core in use. A value below 1 means other work or a
    /// quota. `None` if unknown, or if it does not affect the figure.
    pub cpu_share: Option<f64>,
    /// Slowest repetition divided by the fastest, 0 to 1; `None` for a single repetition, or if
    /// unknown.
    pub slowest_share: Option<f64>,
}

impl Measured {
    /// Whether other work affected the figure: it had less than 95% of its cores, or its
    /// repetitions are more than 10% apart.
    pub fn is_disturbed(&self) -> bool {
        self.cpu_share.is_some_and(|share| share < UNDISTURBED)
            || self.slowest_share.is_some_and(|share| share < STEADY)
    }
}

/// Kinds of figures, and with that their units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Iterations of CoreMark per second.
    Iterations,
    /// Rounds of the probe per second.
    Rounds,
    /// Bytes per second.
    Bandwidth,
    /// Operations per second.
    Operations,
    /// Seconds.
    Time,
}

impl Quantity {
    /// Unit, as in column names.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Iterations => "iterations_per_second",
            Quantity::Rounds => "rounds_per_second",
            Quantity::Bandwidth => "bytes_per_second",
            Quantity::Operations => "operations_per_second",
            Quantity::Time => "seconds",
        }
    }

    /// Whether less is better.
    pub fn is_cost(self) -> bool {
        self == Quantity::Time
    }
}

impl Device {
    /// Every figure, in the order of the parts.
    pub fn measured(&self) -> Vec<Measured> {
        let mut list = Vec::new();
        self.add_cpu(&mut list);
        self.add_memory(&mut list);
        self.add_crypto(&mut list);
        self.add_disk(&mut list);
        list
    }

    fn add_cpu(&self, list: &mut Vec<Measured>) {
        let Some(cpu) = &self.cpu else { return };
        let mut add = |figure: String, by, value, quantity, cpu_share| {
            let (part, slowest_share) = (Part::Cpu, None);
            list.push(Measured { part, figure, by, value, quantity, cpu_share, slowest_share });
        };
        for mark in &cpu.coremark {
            let by = match mark.kind {
                CoreMarkKind::Program { .. } => "coremark",
                CoreMarkKind::Port { .. } => "coremark crate",
            };
            let figure = mark.figure();
            let share = share(mark.cpu_ns, mark.elapsed_ns);
            add(figure, by, mark.iterations_per_second, Quantity::Iterations, share);
        }
        let by = "probe";
        if let Some((core, rounds)) =
            cpu.fastest_core().and_then(|c| Some((c, c.rounds_per_second?)))
        {
            let name = "integer rounds, one core".to_owned();
            let share = share(core.cpu_ns, core.elapsed_ns);
            add(name, by, rounds as f64, Quantity::Rounds, share);
        }
        if let Some(all @ AllRounds { rounds_per_second: Some(rounds), .. }) = &cpu.all {
            let name = "integer rounds, all cores".to_owned();
            let elapsed = all.elapsed_ns.zip(all.processes_count);
            let elapsed = elapsed.map(|(each, count)| each.saturating_mul(count));
            let share = share(all.cpu_ns, elapsed);
            add(name, by, *rounds as f64, Quantity::Rounds, share);
        }
    }

    fn add_memory(&self, list: &mut Vec<Measured>) {
        let Some(memory) = &self.memory else { return };
        let mut add = |figure: String, value: f64, quantity, cpu_share| {
            let (part, by, slowest_share) = (Part::Memory, "probe", None);
            list.push(Measured { part, figure, by, value, quantity, cpu_share, slowest_share });
        };
        for stream in &memory.streams {
            let place = place(stream.cache_level_number);
            let share = share(stream.cpu_ns, stream.elapsed_ns);
            for (kernel, rate) in stream.kernels() {
                add(format!("{kernel}, {place}"), rate as f64, Quantity::Bandwidth, share);
            }
        }
        for figure in &memory.latencies {
            if let Some(latency) = figure.latency_ps {
                let name = latency_name(figure.cache_level_number);
                let share = share(figure.cpu_ns, figure.elapsed_ns);
                add(name, latency as f64 / 1e12, Quantity::Time, share);
            }
        }
    }

    fn add_crypto(&self, list: &mut Vec<Measured>) {
        for figure in self.crypto.iter().flat_map(|crypto| &crypto.algorithms) {
            list.push(Measured {
                part: Part::Crypto,
                figure: figure.algorithm.to_string(),
                by: figure.means.name(),
                value: figure.bytes_per_second as f64,
                quantity: Quantity::Bandwidth,
                cpu_share: share(figure.cpu_ns, figure.elapsed_ns),
                slowest_share: share(
                    figure.slowest_bytes_per_second,
                    Some(figure.bytes_per_second),
                ),
            });
        }
    }

    fn add_disk(&self, list: &mut Vec<Measured>) {
        for phase in self.disk.iter().flat_map(|disk| &disk.phases) {
            let name = phase.phase.as_deref().unwrap_or("unnamed phase").replace('_', " ");
            let sequential = name.starts_with("sequential");
            let mut add = |figure: &str, value: Option<u64>, divisor: f64, quantity| {
                list.extend(value.map(|value| Measured {
                    part: Part::Disk,
                    figure: figure.to_owned(),
                    by: "probe",
                    value: value as f64 / divisor,
                    quantity,
                    // The processor waits for the disk.
                    cpu_share: None,
                    slowest_share: None,
                }));
            };
            match (sequential, name.as_str()) {
                (true, _) => add(&name, phase.bytes_per_second, 1.0, Quantity::Bandwidth),
                (false, "fsync") => {}
                (false, _) => add(&name, phase.operations_per_second, 1.0, Quantity::Operations),
            }
            if !sequential {
                let latencies = [("median", phase.latency_p50_ns), ("p99", phase.latency_p99_ns)];
                for (quantile, latency) in latencies {
                    let figure = format!("{name}, {quantile} latency");
                    add(&figure, latency, 1e9, Quantity::Time);
                }
            }
        }
    }
}

impl super::CpuFigures {
    /// The rounds of the cores that are slower than the fastest, one by one.
    pub fn other_cores(&self) -> impl Iterator<Item = Measured> {
        let fastest = self.fastest_core();
        let others = self.cores.iter().filter(move |core| !fastest.is_some_and(|f| f == *core));
        others.filter_map(|core| {
            Some(Measured {
                part: Part::Cpu,
                figure: format!("integer rounds, core {}", core.core_number?),
                by: "probe",
                value: core.rounds_per_second? as f64,
                quantity: Quantity::Rounds,
                cpu_share: share(core.cpu_ns, core.elapsed_ns),
                slowest_share: None,
            })
        })
    }

    /// The core that did most rounds; cores of one processor may differ.
    pub fn fastest_core(&self) -> Option<&CoreRounds> {
        self.cores.iter().max_by_key(|core| core.rounds_per_second)
    }
}

impl super::StreamFigure {
    /// The kernels with their rates in bytes per second.
    pub fn kernels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let kernels = [
            ("copy", self.copy_bytes_per_second),
            ("scale", self.scale_bytes_per_second),
            ("add", self.add_bytes_per_second),
            ("triad", self.triad_bytes_per_second),
            ("checksum", self.checksum_bytes_per_second),
        ];
        kernels.into_iter().filter_map(|(name, rate)| Some((name, rate?)))
    }
}

impl CoreMark {
    /// The figure in a list: "CoreMark, one core".
    pub fn figure(&self) -> String {
        format!("{}, {}", self.name(), cores(self.cores()))
    }

    /// Name of the figure.
    pub fn name(&self) -> &'static str {
        match self.kind {
            CoreMarkKind::Program { .. } => "CoreMark",
            CoreMarkKind::Port { .. } => "Rust port of CoreMark",
        }
    }
}

impl CryptoMeans {
    /// Program or code that ran the algorithm, without its version.
    pub fn name(&self) -> &'static str {
        match self {
            CryptoMeans::Cryptsetup => "cryptsetup",
            CryptoMeans::Openssl { .. } => "openssl",
            CryptoMeans::Kernel { .. } => "kernel",
            CryptoMeans::Portable => "portable code",
        }
    }
}

/// How much of the whole, where both are known and there is a whole.
fn share(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = (part?, whole.filter(|whole| *whole > 0)?);
    Some(part as f64 / whole as f64)
}

/// The name of the latency of a place.
pub(super) fn latency_name(cache_level: Option<u64>) -> String {
    format!("latency, {}", place(cache_level))
}

pub(super) fn place(cache_level: Option<u64>) -> String {
    match cache_level {
        Some(level) => format!("level {level} cache"),
        None => "memory".to_owned(),
    }
}

fn cores(count: u64) -> String {
    match count {
        1 => "one core".to_owned(),
        n => format!("{n} cores"),
    }
}
