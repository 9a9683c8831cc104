//! `plimsoll ops`: what one operation of each kind costs, by its size, and with several in flight.

use crate::arguments::{
    self, AccessArguments, EngineChoice, HostArguments, OutputArguments, RuleArguments,
    StoreArguments,
};
use crate::check::{self, More};
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

pub const EXAMPLES: &str = "Examples:
  plimsoll ops nfs://nas/films                              about two minutes: every kind, sizes, in flight
  plimsoll ops --quick nfs://nas/films smb://me@nas/films   the same of two, side by side
  plimsoll ops --only kinds --entries 10000 nfs://nas/films what listing a large directory takes
  plimsoll ops --only blocks --blocks 1KiB,8KiB /mnt/nas    small buffers against larger ones
  plimsoll ops --arrival rounds,pipelined --details nfs://nas/films
  plimsoll ops --whole-file read --arrival rounds nfs://nas/films   one file by 1, 2, 3 readers, beside RTEMS
  plimsoll ops --whole-file read --readers 1 --read-ahead 0,1,4 nfs://nas/films
  plimsoll ops --whole-file write --size 50MB --readers 1 --write-back 0,64KiB nfs://nas/films
  plimsoll ops --only kinds --attribute-cache 0s,3s nfs://nas/films";

#[derive(Args)]
pub struct OpsArguments {
    /// What to measure: a directory, nfs:// or smb:// URL, as given to check; several stand side by side
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
    pub output: OutputArguments,
}

/// What is done.
#[derive(Args)]
#[command(next_help_heading = "What is done")]
pub struct OperationArguments {
    /// Only this; may be several [default: all]
    #[arg(long = "only", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub only: Vec<Only>,
    /// Names in the directory that is listed
    #[arg(long, value_name = "N", default_value = "640")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub entries: u32,
    /// Sizes of reads and writes, one at a time
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["512B", "1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB"]
    )]
    pub blocks: Vec<Bytes>,
    /// Numbers in flight, of reads and writes of --block
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["1", "2", "4", "8", "16", "32", "64"]
    )]
    pub depths: Vec<NonZeroU16>,
    /// Bytes of an operation where several are in flight, and where each kind comes by turns
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub block: Bytes,
    /// How several are in flight; may be both
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        value_delimiter = ',',
        default_value = "pipelined"
    )]
    pub arrival: Vec<HowIssued>,
    /// Instead: read one file whole, write one, or both; writes once with each stable when it completes,
    /// and once with a flush at the end
    #[arg(long, value_enum, value_name = "WAY", value_delimiter = ',', conflicts_with = "only")]
    pub whole_file: Vec<Way>,
    /// Sizes of the buffers of --whole-file
    #[arg(
        long = "buffer",
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["1KiB", "8KiB"]
    )]
    pub buffers: Vec<Bytes>,
    /// Buffers of --whole-file in flight, each the next of the file, issued as --arrival says: readers that
    /// share a file, or one that reads ahead
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["1", "2", "3"]
    )]
    pub readers: Vec<NonZeroU16>,
    /// Buffers that --whole-file read asks for ahead, beside those that its readers want
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values = ["0"],
        requires = "whole_file"
    )]
    pub read_ahead: Vec<u16>,
    /// Sizes up to which --whole-file write gathers what is flushed at the end, and writes it in the
    /// background, as mounts do; 0: each buffer is a write of its own
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_values = ["0"],
        requires = "whole_file"
    )]
    pub write_back: Vec<Bytes>,
    /// How long the attributes of a name are good for, once they have come, where each kind comes by turns;
    /// 0s: they are asked for each time
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_values = ["0s"],
        value_parser = plimsoll_model::units::parse_duration,
        conflicts_with = "whole_file"
    )]
    pub attribute_cache: Vec<Duration>,
    /// Working set: the size of the eight files together that are read, and of the eight that are written
    /// [default: 64MiB]; of --whole-file the size of the file [default: 10MB]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// When written data must be safe: at the final flush, or at each write
    #[arg(long, value_enum, default_value = "unstable")]
    pub stability: crate::jobs::StabilityChoice,
    /// How directories are driven [default: the cheaper one for the depth]
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Every kind of operation by turns, one at a time
    Kinds,
    /// Reads and writes by their size, one at a time
    Blocks,
    /// Reads and writes by the number in flight
    Depths,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HowIssued {
    /// Each as soon as one has ended
    Pipelined,
    /// So many together, and the next when all have ended
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
    /// A file that is there
    Read,
    /// A file that is made
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
                all.push(Workload::of(part, length(ALL_KINDS * seconds)));
            }
        }
        for pattern in [Pattern::SequentialRead, Pattern::SequentialWrite] {
            if self.does(Only::Blocks) {
                let values = sorted(self.blocks.iter().map(|block| block.0 as f64));
                let largest = values.last().map_or(self.block, |largest| Bytes(*largest as u64));
                let part = Part::closed(self.transfer(pattern, largest)?, one, one);
                let steps = Some(Steps::Sweep { over: Parameter::Block, values });
                all.push(Workload { steps, ..Workload::of(part, length(seconds)) });
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
                all.push(Workload { steps, ..Workload::of(part, length(seconds)) });
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
            let happened = format!("each of its eight files is smaller than a block of {block}");
            let next = "Give a larger --size.";
            let on = format!("--size {size}");
            return Err(Failure::new(Cause::Usage, "plan the transfers", on, happened, next));
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
                        Workload::of(Part { arrival, ..part.clone() }, length)
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
        let happened = "what one operation costs is measured from one host";
        let (on, next) = (format!("--on {second}"), "Name one.");
        return Err(Failure::new(Cause::Usage, "plan the clients", on, happened, next));
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
        let next = "Give --time 500ms or more for figures one can trust.";
        return Err(Failure::new(Cause::Usage, "plan the trials", "--time", happened, next));
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
    // Costs stand side by side, with their intervals; nothing is claimed of them together.
    let mut made = Plan { workloads, contrasts: Vec::new(), storage, ..made };
    made.command = plan::repeatable_command(&made);
    let study = check::measure(made, &ops.access, &ops.output, store, More::default())?;
    Ok(check::exit_code(&study.0, study.1))
}
