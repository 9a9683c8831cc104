//! `plimsoll ops`: what one operation of each kind costs, by its size, and with several in flight.

use crate::arguments::{
    self, AccessArguments, EngineChoice, HostArguments, OutputArguments, RuleArguments,
    StoreArguments,
};
use crate::check::{self, More};
use crate::gate::{self, GateArguments};
use crate::jobs::block_can_be_driven;
use crate::plan::{self, Storage};
use clap::{Args, ValueEnum};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Arrival, Cause, Failure, FileJob, FileWay, Job, Length, OperationsJob, Parameter, Part,
    Pattern, PatternJob, Plan, Rule, Stability, Steps, StorageOptions, Technique, Workload,
};
use std::num::NonZeroU16;
use std::time::Duration;

/// Blocks, so that each point comes so often, in another order each time.
const BLOCKS: u32 = 6;
const QUICK_BLOCKS: u32 = 3;
/// Seconds of a point of a sweep; all kinds of operation together get so many times as much.
const POINT_SECONDS: f64 = 0.5;
const QUICK_POINT_SECONDS: f64 = 0.25;
const SHORTEST_SECONDS: f64 = 0.05;
const ALL_KINDS: f64 = 2.0;
/// Share of a point that is not counted.
const WARM_UP: f64 = 0.1;
/// The working set where none is named.
const SIZE: Bytes = Bytes(64 << 20);
/// The file of --whole-file where no size is named: as large as the one that was published.
const FILE: Bytes = Bytes(10_000_000);

/// Shown by `--help`.
pub const EXAMPLES: &str = "Examples:
  Every kind of operation, block sizes and depths, in about two minutes:
    plimsoll ops nfs://nas/films
  Two targets side by side:
    plimsoll ops --quick nfs://nas/films smb://me@nas/films
  The cost of listing a large directory:
    plimsoll ops --only kinds --entries 10000 nfs://nas/films
  Two block sizes:
    plimsoll ops --only blocks --blocks 1KiB,8KiB /mnt/nas
  Operations in batches, compared with a pipeline:
    plimsoll ops --arrival rounds,pipelined --details nfs://nas/films
  One file read by 1, 2 and 3 readers, as in the published RTEMS tables:
    plimsoll ops --whole-file read --arrival rounds nfs://nas/films
  The effect of read-ahead:
    plimsoll ops --whole-file read --readers 1 --read-ahead 0,1,4 nfs://nas/films
  The effect of delayed writes:
    plimsoll ops --whole-file write --size 50MB --readers 1 --write-back 0,64KiB nfs://nas/films
  The effect of the attribute cache:
    plimsoll ops --only kinds --attribute-cache 0s,3s nfs://nas/films";

#[derive(Args)]
pub struct OpsArguments {
    /// Directory, nfs:// or smb:// URL, as for check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub what: OperationArguments,
    #[command(flatten)]
    pub how: RuleArguments,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub gate: GateArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// What is done.
#[derive(Args)]
#[command(next_help_heading = "Operations")]
pub struct OperationArguments {
    /// Measure only these parts [default: all]
    #[arg(long = "only", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub only: Vec<Only>,
    /// Number of entries in the directory that is listed
    #[arg(long, value_name = "N", default_value = "640")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub entries: u32,
    /// Block sizes of reads and writes, one in flight
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["512B", "1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB"]
    )]
    pub blocks: Vec<Bytes>,
    /// Numbers of reads or writes in flight, each of --block bytes
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["1", "2", "4", "8", "16", "32", "64"],
        value_parser = arguments::at_least_one::<NonZeroU16>
    )]
    pub depths: Vec<NonZeroU16>,
    /// Block size for --depths and for the kinds of operation
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub block: Bytes,
    /// How operations in flight are issued
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        value_delimiter = ',',
        default_value = "pipelined"
    )]
    pub arrival: Vec<HowIssued>,
    /// Read or write one whole file instead
    ///
    /// Writes are measured twice: once with every write stable when it completes, and once with a flush at the end
    #[arg(long, value_enum, value_name = "WAY", value_delimiter = ',', conflicts_with = "only")]
    pub whole_file: Vec<Way>,
    /// Buffer sizes for --whole-file
    #[arg(
        long = "buffer",
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["1KiB", "8KiB"]
    )]
    pub buffers: Vec<Bytes>,
    /// Numbers of buffers in flight for --whole-file
    ///
    /// Each buffer is the next part of the file; --arrival sets when it is issued. This simulates several readers of
    /// one file, or one reader with read-ahead
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["1", "2", "3"],
        value_parser = arguments::at_least_one::<NonZeroU16>
    )]
    pub readers: Vec<NonZeroU16>,
    /// Numbers of buffers that --whole-file read requests ahead of its readers
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["0"],
        requires = "whole_file"
    )]
    pub read_ahead: Vec<u16>,
    /// Amounts of data that --whole-file write collects before it writes
    ///
    /// Collected data is written in the background, as on mounts, and flushed at the end. With 0, each buffer is a
    /// separate write
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["0"],
        requires = "whole_file"
    )]
    pub write_back: Vec<Bytes>,
    /// Lifetimes of cached attributes, for the kinds of operation
    ///
    /// 0s requests the attributes each time
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_values = ["0s"],
        value_parser = plimsoll_model::units::parse_duration,
        conflicts_with = "whole_file"
    )]
    pub attribute_cache: Vec<Duration>,
    /// Working set [default: 64MiB], or size of the file of --whole-file [default: 10MB]
    ///
    /// The working set is the total size of the eight test files for reads, and of the eight for writes
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// When written data must be on stable storage
    #[arg(long, value_enum, default_value = "unstable")]
    pub stability: crate::jobs::StabilityChoice,
    /// I/O engine for directories [default: psync at depth 1, io-uring above]
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Every kind of operation in turn, one in flight
    Kinds,
    /// Reads and writes by block size, one in flight
    Blocks,
    /// Reads and writes by the number in flight
    Depths,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HowIssued {
    /// A new operation starts when one completes
    Pipelined,
    /// In batches: the next batch starts when the whole batch has completed
    Rounds,
}

impl HowIssued {
    const ALL: [HowIssued; 2] = [HowIssued::Pipelined, HowIssued::Rounds];

    fn arrival(self, depth: NonZeroU16) -> Arrival {
        match self {
            HowIssued::Pipelined => Arrival::Closed { depth },
            HowIssued::Rounds => Arrival::Rounds { depth },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// An existing file
    Read,
    /// A new file
    Write,
}

impl OperationArguments {
    fn does(&self, what: Only) -> bool {
        self.only.is_empty() || self.only.contains(&what)
    }

    /// Every workload, in the order of tables; a point of a sweep takes so long.
    fn workloads(&self, seconds: f64) -> Result<Vec<Workload>, Failure> {
        block_can_be_driven("--block", self.block)?;
        self.blocks.iter().try_for_each(|block| block_can_be_driven("--blocks", *block))?;
        let length =
            |seconds| Length::For { seconds, warm_up_seconds: (seconds * WARM_UP).min(1.0) };
        let (one, mut all) = (NonZeroU16::MIN, Vec::new());
        if self.does(Only::Kinds) {
            for lifetime in &self.attribute_cache {
                let job = OperationsJob { entries: self.entries, block: self.block };
                let lifetime_seconds = lifetime.as_secs_f64();
                let cached = Technique::AttributeCache { lifetime_seconds };
                let techniques = Vec::from_iter((lifetime_seconds > 0.0).then_some(cached));
                let part = Part { techniques, ..Part::closed(job.into(), one, one) };
                all.push(Workload::new(part, length(ALL_KINDS * seconds)));
            }
        }
        for pattern in [Pattern::SequentialRead, Pattern::SequentialWrite] {
            if self.does(Only::Blocks) {
                let values = sorted(self.blocks.iter().map(|block| block.0 as f64));
                let largest = values.last().map_or(self.block, |largest| Bytes(*largest as u64));
                let part = Part::closed(self.transfer(pattern, largest)?, one, one);
                let steps = Some(Steps::Sweep { over: Parameter::Block, values });
                all.push(Workload { steps, ..Workload::new(part, length(seconds)) });
            }
            for how in HowIssued::ALL.into_iter().filter(|how| self.arrival.contains(how)) {
                if !self.does(Only::Depths) {
                    continue;
                }
                let arrival = how.arrival(one);
                let values = sorted(self.depths.iter().map(|depth| f64::from(depth.get())));
                let job = self.transfer(pattern, self.block)?;
                let part = Part { arrival, ..Part::closed(job, one, one) };
                let steps = Some(Steps::Sweep { over: Parameter::Depth, values });
                all.push(Workload { steps, ..Workload::new(part, length(seconds)) });
            }
        }
        Ok(all)
    }

    /// Reads or writes of a size.
    fn transfer(&self, pattern: Pattern, block: Bytes) -> Result<Job, Failure> {
        let size = self.size.unwrap_or(SIZE);
        let job = PatternJob {
            stability: self.stability.into(),
            ..PatternJob::new(pattern, block, size)
        };
        if size.0 / u64::from(PatternJob::FILES) < block.0 {
            let happened = format!(
                "each of the eight test files would be smaller than the block size {block}"
            );
            let next = "Give a larger --size.";
            let on = format!("--size {size}");
            return Err(Failure::new(Cause::Usage, "plan the transfers")
                .on(on)
                .happened(happened)
                .next(next));
        }
        Ok(job.into())
    }
}

impl OperationArguments {
    /// Each whole file, in the order of tables; none may take longer.
    fn files(&self, at_most_seconds: f64) -> Result<Vec<Workload>, Failure> {
        let gathered = self.write_back.iter().filter(|gather| gather.0 > 0);
        gathered.copied().try_for_each(|gather| block_can_be_driven("--write-back", gather))?;
        let size = self.size.unwrap_or(FILE);
        let (one, length) = (NonZeroU16::MIN, Length::UntilDone { at_most_seconds });
        let kinds = [
            (Way::Read, FileWay::Read, Stability::FileSync),
            (Way::Write, FileWay::Write, Stability::FileSync),
            (Way::Write, FileWay::Write, Stability::Unstable),
        ];
        let mut all = Vec::new();
        for (_, way, stability) in kinds.into_iter().filter(|of| self.whole_file.contains(&of.0)) {
            let techniques = self.techniques(way, stability);
            for buffer in &self.buffers {
                block_can_be_driven("--buffer", *buffer)?;
                for (readers, technique) in
                    self.readers.iter().flat_map(|n| techniques.iter().map(move |one| (*n, one)))
                {
                    let job = FileJob { way, buffer: *buffer, size, stability };
                    let techniques = Vec::from_iter(*technique);
                    let part = Part { techniques, ..Part::closed(job.into(), one, readers) };
                    // One alone goes the same way in rounds.
                    let arrivals = HowIssued::ALL.into_iter().filter(|how| match readers {
                        NonZeroU16::MIN => *how == self.arrival[0],
                        _ => self.arrival.contains(how),
                    });
                    all.extend(arrivals.map(|how| {
                        let arrival = how.arrival(readers);
                        Workload::new(Part { arrival, ..part.clone() }, length)
                    }));
                }
            }
        }
        Ok(all)
    }

    /// What the client may do by itself with such a file, each in turn; `None`: nothing.
    fn techniques(&self, way: FileWay, stability: Stability) -> Vec<Option<Technique>> {
        let ahead =
            |window: &u16| NonZeroU16::new(*window).map(|window| Technique::ReadAhead { window });
        let gathered =
            |gather: &Bytes| (gather.0 > 0).then_some(Technique::WriteBack { gather: *gather });
        match (way, stability) {
            (FileWay::Read, _) => self.read_ahead.iter().map(ahead).collect(),
            (FileWay::Write, Stability::Unstable) => self.write_back.iter().map(gathered).collect(),
            // What must be stable when it completes cannot be written later.
            (FileWay::Write, _) => vec![None],
        }
    }
}

/// In rising order, each once.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Measures, and returns the exit code.
pub fn run(ops: &OpsArguments, store: &StoreArguments) -> Result<u8, Failure> {
    if let [_, second, ..] = &ops.hosts.on[..] {
        let happened = "plimsoll ops runs the load on one host";
        let (on, next) = (format!("--on {second}"), "Give one --on.");
        return Err(Failure::new(Cause::Usage, "plan the clients")
            .on(on)
            .happened(happened)
            .next(next));
    }
    let factors = plan::factors(&ops.hosts)?;
    let mut design = plan::design(&ops.how, &factors)?;
    design.rule = match (ops.how.repeats, design.rule) {
        (Some(blocks), _) => Rule::Fixed { blocks },
        (None, _) if ops.how.quick => Rule::Fixed { blocks: QUICK_BLOCKS },
        // As many as whole plots need, where something restarts.
        (None, Rule::Fixed { blocks }) => Rule::Fixed { blocks },
        (None, _) => Rule::Fixed { blocks: BLOCKS },
    };
    let usual = if ops.how.quick { QUICK_POINT_SECONDS } else { POINT_SECONDS };
    let seconds = ops.how.time.map_or(usual, |time| time.as_secs_f64());
    if seconds < SHORTEST_SECONDS {
        let happened = "a point must last at least 50 ms";
        let next = "Give --time 500ms or more for reliable figures.";
        return Err(Failure::new(Cause::Usage, "plan the trials")
            .on("--time")
            .happened(happened)
            .next(next));
    }
    let workloads = match ops.what.whole_file[..] {
        [] => ops.what.workloads(seconds)?,
        _ => ops.what.files(design.cap_seconds)?,
    };
    let made = plan::plan(Storage {
        targets: arguments::targets(&ops.targets)?,
        hosts: &ops.hosts,
        work: Vec::new(),
        engine: ops.what.engine.map(Into::into),
        cache: None,
        timeout: ops.how.timeout,
        design,
        factors,
    })?;
    let storage = StorageOptions { fit_size: ops.what.size.is_none(), ..made.storage };
    // Costs are shown side by side with their intervals, without claims.
    let mut made = Plan { workloads, contrasts: Vec::new(), storage, ..made };
    made.command = plan::repeatable_command(&made);
    gate::add_to(&mut made, &ops.gate, &ops.how, store)?;
    let more = More { allow_open: ops.hosts.allow_open, ..More::default() };
    let study = check::measure(made, &ops.access, &ops.output, store, more)?;
    let code = check::exit_code(&study.0, study.1);
    gate::finish(&study.0, code, &ops.output, store)
}
