//! `plimsoll copy`: how long films, music, pictures, a source tree or the user's own files take, to each
//! target and back.

use crate::arguments::{
    self, AccessArguments, HostArguments, OutputArguments, RuleArguments, StoreArguments,
};
use crate::check::{self, More};
use crate::gate::{self, GateArguments};
use crate::plan::{self, Storage, Work};
use clap::{Args, ValueEnum};
use plimsoll_load::{LocalFiles, Manifest};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Amount, Arrival, Cause, Cell, Contrast, CopyJob, DataClass, Dataset, Design, Failure,
    GeneratedData, Length, Measurand, Method, Plan, StorageOptions, Transfer,
};
use std::num::{NonZeroU16, NonZeroU64};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct CopyArguments {
    /// Directory, nfs:// or smb:// URL, as for check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub what: DataArguments,
    /// Directions [default: all]
    ///
    /// By default, update is left out if there are fewer than 100 files
    #[arg(long = "only", value_enum, value_name = "WAY", value_delimiter = ',')]
    pub only: Vec<Way>,
    /// How files are copied
    #[arg(
        long = "method",
        value_enum,
        value_name = "METHOD",
        value_delimiter = ',',
        default_values = ["rsync", "pipelined"]
    )]
    pub methods: Vec<HowCopied>,
    /// Also copy with the program rsync, on mounted targets
    ///
    /// The local copy of the files is in a directory below TMPDIR
    #[arg(long, value_enum)]
    pub via: Option<Via>,
    /// Files in flight per worker, for --method pipelined
    #[arg(long, value_name = "N", default_value = "32")]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU16>)]
    pub files: NonZeroU16,
    /// Block size
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub block: Bytes,
    /// Files copied at the same time, each over its own connection
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU16>)]
    pub workers: NonZeroU16,
    /// Operations in flight per file
    #[arg(long, value_name = "N", default_value = "4")]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU16>)]
    pub depth: NonZeroU16,
    /// Sweep the concurrency to find the bottleneck
    ///
    /// Each copy is also measured with two other numbers of workers. This can identify a bottleneck that one number
    /// alone cannot. It does not apply to --via rsync
    #[arg(long)]
    pub explain: bool,
    /// Check each byte that is copied from the share
    #[arg(long)]
    pub verify: bool,
    /// Predict the time for your data: 200GB:photos
    ///
    /// AMOUNT is a size and a kind (movies, music, photos, source), or a size and the mean size of a file, such as
    /// 120GB:2MB. May be given several times
    #[arg(long = "for", value_name = "AMOUNT")]
    pub amounts: Vec<Amount>,
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

/// What is copied.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub struct DataArguments {
    /// Generated files to copy [default: home]
    ///
    /// With --data there is no default
    #[arg(long = "dataset", value_enum, value_name = "NAME", value_delimiter = ',')]
    pub datasets: Vec<Named>,
    /// Copy the files of this directory; it is only read
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Fraction of each dataset [default: as much as time and space allow]
    ///
    /// 0.02 copies 1 file in 50, or 1/50 of the size of a film
    #[arg(long, value_name = "X", value_parser = scale, allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Number of files, for a single dataset [default: as in the dataset]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU64>)]
    pub count: Option<NonZeroU64>,
    /// Mean size of the files, for a single dataset [default: as in the dataset]
    #[arg(long, value_name = "SIZE")]
    pub mean: Option<Bytes>,
}

/// The datasets that have names.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Named {
    /// Movies, music, pictures and source: 2.2 GB
    Home,
    /// A film of 929 MB
    Movies,
    /// An album: 11 files of 40 MB
    Music,
    /// 52 photos of 2.9 MB
    Pictures,
    /// Source tree of a kernel: 56206 files of 12 kB
    Source,
}

impl Named {
    fn has(self, class: DataClass) -> bool {
        let one = match self {
            Named::Home => return true,
            Named::Movies => DataClass::Movies,
            Named::Music => DataClass::Music,
            Named::Pictures => DataClass::Pictures,
            Named::Source => DataClass::Source,
        };
        one == class
    }
}

/// The least mean size in bytes: below it names are most of what is copied.
const SMALLEST_MEAN: Bytes = Bytes(64);

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (1e-4..=100.0).contains(&scale) => Ok(scale),
        _ => Err("a scale is a number from 0.0001 to 100, such as 0.02".to_owned()),
    }
}

impl DataArguments {
    /// Whether how much is copied is left to the program.
    fn may_scale(&self) -> bool {
        self.scale.is_none() && self.count.is_none() && self.mean.is_none()
    }

    /// What is copied, in the order of tables.
    fn datasets(&self, seed: u64) -> Result<Vec<Dataset>, Failure> {
        let home = self.datasets.is_empty() && self.data.is_none();
        let is_wanted = |class| home || self.datasets.iter().any(|named| named.has(class));
        let classes: Vec<_> =
            DataClass::ALL.into_iter().filter(|class| is_wanted(*class)).collect();
        self.expect_fits(classes.len())?;
        let mut datasets = Vec::new();
        for class in classes {
            let (count, mean) = class.files_and_mean_bytes();
            let data = GeneratedData {
                class,
                count: self.count.map_or(count, NonZeroU64::get),
                mean_bytes: self.mean.map_or(mean, |mean| mean.0 as f64),
                scale: self.scale.unwrap_or(1.0),
                seed,
            };
            let dataset = data.dataset();
            Manifest::new(&dataset, &data)?;
            datasets.push(dataset);
        }
        let own = self.data.as_deref().map(listed).transpose()?;
        datasets.extend(own);
        Ok(datasets)
    }

    /// Whether the options agree with so many datasets that are generated.
    fn expect_fits(&self, generated: usize) -> Result<(), Failure> {
        let refuse = |on: &str, happened: &str, next: &str| {
            Err(Failure::new(Cause::Usage, "choose the files to copy")
                .on(on)
                .happened(happened)
                .next(next))
        };
        if let Some(mean) = self.mean.filter(|mean| *mean < SMALLEST_MEAN) {
            let happened = format!("the mean size of files must be at least {SMALLEST_MEAN}");
            return refuse(&format!("--mean {mean}"), &happened, "Try 4KiB, or omit it.");
        }
        let given = [
            ("--count", self.count.is_some()),
            ("--mean", self.mean.is_some()),
            ("--scale", self.scale.is_some()),
        ];
        let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
        match generated {
            0 => {
                let happened = "it applies to generated files only, not to --data";
                refuse(option, happened, "Omit it, or name a --dataset.")
            }
            1 => Ok(()),
            _ if option == "--scale" => Ok(()),
            _ => {
                let happened = "it applies to a single dataset, and several are copied";
                refuse(
                    option,
                    happened,
                    "Name one, such as --dataset pictures, or use --scale instead.",
                )
            }
        }
    }
}

/// The files of a directory of the user's.
fn listed(directory: &Path) -> Result<Dataset, Failure> {
    let given = directory.to_str().ok_or_else(|| {
        let happened = "its name is not valid UTF-8";
        let on = directory.display();
        Failure::new(Cause::Usage, "find the files to copy")
            .on(on)
            .happened(happened)
            .next("Rename it.")
    })?;
    Ok(LocalFiles::list(given)?.dataset())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// To the share, as new files
    Up,
    /// To the share again, after one file in a hundred has changed
    Update,
    /// From the share
    Down,
}

impl From<Transfer> for Way {
    fn from(transfer: Transfer) -> Way {
        match transfer {
            Transfer::Up => Way::Up,
            Transfer::Update => Way::Update,
            Transfer::Down => Way::Down,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Via {
    /// The program rsync
    Rsync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HowCopied {
    /// As rsync does: file by file, each under a temporary name, with its time and mode
    Rsync,
    /// Many files at a time, each with as few operations as possible
    Pipelined,
}

impl CopyArguments {
    /// Whether files go this way.
    fn goes(&self, transfer: Transfer, dataset: &Dataset) -> bool {
        match (transfer, &self.only[..]) {
            // Of few files the one that changes is all there is to copy.
            (Transfer::Update, []) => dataset.files >= CopyJob::CHANGED_ONE_IN,
            (_, []) => true,
            (_, only) => only.contains(&Way::from(transfer)),
        }
    }

    /// How, in the order of tables.
    fn methods(&self) -> Vec<Method> {
        let all = [
            (HowCopied::Rsync, Method::Rsync),
            (HowCopied::Pipelined, Method::Pipelined { files: self.files }),
        ];
        let is_wanted = |how: &HowCopied| self.methods.contains(how);
        let own = all.into_iter().filter(|(how, _)| is_wanted(how)).map(|(_, method)| method);
        own.chain(self.via.map(|Via::Rsync| Method::ByRsync)).collect()
    }

    /// Fails where files of this machine would be copied from another one.
    pub fn expect_here(&self, on: &[String]) -> Result<(), Failure> {
        let (Some(host), Some(_)) = (on.first(), &self.what.data) else { return Ok(()) };
        let happened = "the files of --data are on this machine";
        let next =
            "Run plimsoll copy on that host, or use --dataset, whose files are generated there.";
        Err(Failure::new(Cause::Usage, "copy from another host")
            .on(host)
            .happened(happened)
            .next(next))
    }

    /// Every copy, in the order of tables.
    pub fn work(&self, design: &Design) -> Result<Vec<Work>, Failure> {
        if self.via.is_some() && self.workers > NonZeroU16::MIN {
            let on = format!("--workers {}", self.workers);
            let (happened, next) =
                ("--via rsync starts one rsync for all files", "Omit --workers.");
            return Err(Failure::new(Cause::Usage, "copy by rsync")
                .on(on)
                .happened(happened)
                .next(next));
        }
        let mut work = Vec::new();
        for dataset in self.what.datasets(design.seed)? {
            let ways = Transfer::ALL.into_iter().filter(|way| self.goes(*way, &dataset));
            for (transfer, method) in
                ways.flat_map(|way| self.methods().into_iter().map(move |how| (way, how)))
            {
                let (dataset, block, verify) = (dataset.clone(), self.block, self.verify);
                let depth = match method {
                    // Each file has an operation in flight, at least.
                    Method::Pipelined { files } => self.depth.max(files),
                    _ => self.depth,
                };
                work.push(Work {
                    job: CopyJob { dataset, transfer, method, block, verify }.into(),
                    workers: self.workers,
                    arrival: Arrival::Closed { depth },
                    length: Length::UntilDone { at_most_seconds: design.cap_seconds },
                    explain: self.explain && method != Method::ByRsync,
                    steps: None,
                });
            }
        }
        Ok(work)
    }

    /// Whether how much of it is copied is left to the program.
    pub fn may_scale(&self, work: &[Work]) -> bool {
        self.what.may_scale() && work.iter().any(|work| work.job.scale().is_some())
    }
}

/// What is compared with a single target: each method with the first, of every dataset and way. They follow
/// each other in the plan.
fn between_methods(plan: &Plan, methods: usize) -> Vec<Contrast> {
    let measurand = |number: usize| {
        let workload = &plan.workloads[number];
        let part = workload.headline_part();
        let metric = workload.main()?.headline();
        Some(Measurand { cell: Cell::new(0, number, 0), part, metric })
    };
    // Those with other numbers of workers come after all of them, and are compared with nothing.
    let compared = plan.workloads.iter().take_while(|workload| workload.steps.is_none()).count();
    let others = (0..compared).filter(|number| number % methods.max(1) > 0);
    let contrast = |number: usize| {
        let against = measurand(number - number % methods)?;
        Some(Contrast { of: measurand(number)?, against, claim: true })
    };
    others.filter_map(contrast).collect()
}

/// Copies, and returns the exit code.
pub fn run(copy: &CopyArguments, store: &StoreArguments) -> Result<u8, Failure> {
    copy.expect_here(&copy.hosts.on)?;
    let factors = plan::factors(&copy.hosts)?;
    let mut design = plan::design(&copy.how, &factors)?;
    if copy.how.quick {
        plan::look_soon_at_copies(&mut design, copy.how.margin);
    }
    let rule = design.rule;
    let work = copy.work(&design)?;
    let may_scale = copy.may_scale(&work);
    let mut plan = plan::plan(Storage {
        targets: arguments::targets(&copy.targets)?,
        hosts: &copy.hosts,
        work,
        engine: None,
        cache: None,
        timeout: copy.how.timeout,
        factors,
        design,
    })?;
    let methods = between_methods(&plan, copy.methods().len());
    if plan.contrasts.is_empty() && !methods.is_empty() {
        plan.contrasts = methods;
        plan.design.rule = rule;
    }
    let (adapt_size, fit_size) = (may_scale, may_scale);
    let storage = StorageOptions { adapt_size, fit_size, ..plan.storage };
    let mut plan = Plan { storage, amounts: copy.amounts.clone(), ..plan };
    plan.command = plan::repeatable_command(&plan);
    gate::add_to(&mut plan, &copy.gate, &copy.how, store)?;
    let allow_open = copy.hosts.allow_open;
    let more = More { quick: copy.how.quick, allow_open, ..More::default() };
    let study = check::measure(plan, &copy.access, &copy.output, store, more)?;
    let code = check::exit_code(&study.0, study.1);
    gate::finish(&study.0, code, &copy.output, store)
}
