//! Arguments become a plan: every default is decided here.

use crate::arguments::{self, CONFIDENCE, HostArguments, RuleArguments, WorkloadArguments};
use crate::jobs::{self, MayLower};
use crate::settings;
use plimsoll_model::{
    Arrival, Cause, Cell, Contrast, Design, Engine, Factor, Failure, HostName, HostRole, Job,
    Length, Measurand, NamesCached, PageCache, Parameter, Part, Plan, Rule, Steps, StorageOptions,
    Switch, Target, Watched, Workload, factor,
};
use plimsoll_stats::sequential::Sequential;
use std::num::NonZeroU16;
use std::time::Duration;

/// Blocks before the stop rule looks, and seconds of measuring before anything is decided: what is
/// claimed from less would be about a minute of the day.
const FIRST_LOOK: u32 = 6;
const AT_LEAST_SECONDS: f64 = 120.0;
/// Half-width of the interval that is enough for the level of a single target.
const LEVEL_HALF_WIDTH: f64 = 0.1;
pub const DEFAULT_CAP_SECONDS: f64 = 600.0;
const REPEATED_TRIAL_SECONDS: f64 = 5.0;
const BASELINE_SECONDS: f64 = 5.0;
const QUICK_CAP_SECONDS: f64 = 60.0;
const QUICK_BLOCKS: u32 = 3;
const QUICK_FIRST_LOOK: u32 = 8;
/// Share of a first look's minute that copies use at least.
const QUICK_COPIES_SHARE: f64 = 0.85;
/// Replicates of each whole plot.
const WHOLE_PLOTS: u32 = 8;
const QUICK_BASELINE_SECONDS: f64 = 1.0;
/// Share of the cap that trials of the first blocks may take; the rest is for laying out files.
const TRIALS_SHARE: f64 = 0.65;
/// Shortest trial that the program chooses by itself.
const SHORTEST_SECONDS: f64 = 0.5;

/// The plan for `check`.
pub fn check(
    targets: Vec<Target>,
    hosts: &HostArguments,
    what: &WorkloadArguments,
    how: &RuleArguments,
) -> Result<Plan, Failure> {
    let mut jobs = jobs::jobs(&what.jobs, what.workers)?;
    if how.quick {
        jobs.iter_mut().for_each(|job| what.jobs.scan.look_soon(job));
    }
    let factors = factors(hosts)?;
    let mut design = design(how, &factors)?;
    let cells = targets.len() * jobs.len() * factor::settings(&factors);
    let length = length(how, &mut design, cells)?;
    let (workers, arrival, explain) = (what.workers, what.arrival(), what.explain);
    let work = |job| Work { job, workers, arrival, length, explain, steps: None };
    if how.quick {
        look_soon(&mut design, how.margin);
    }
    let rule = design.rule;
    let mut plan = plan(Storage {
        targets,
        hosts,
        work: jobs.into_iter().map(work).collect(),
        engine: what.engine.map(Into::into),
        cache: what.cache.map(Into::into),
        timeout: how.timeout,
        design,
        factors,
    })?;
    let variants = against_first_variant(&plan);
    if !variants.is_empty() {
        plan.contrasts.extend(variants);
        // No longer a mere level.
        plan.design.rule = rule;
    }
    let pattern = &what.jobs.pattern;
    let MayLower { adapt_size, fit_size } = pattern.may_lower();
    let server_memory = pattern.server_memory;
    Ok(Plan {
        storage: StorageOptions { server_memory, adapt_size, fit_size, ..plan.storage },
        ..plan
    })
}

/// Each pattern that is measured in several ways (blocks, stability) against the first of them, on each target and
/// under each setting.
fn against_first_variant(plan: &Plan) -> Vec<Contrast> {
    let pattern = |workload: &Workload| match &workload.main()?.job {
        Job::Pattern(job) if workload.steps.is_none() => Some(job.pattern),
        _ => None,
    };
    let mut contrasts = Vec::new();
    for (number, workload) in plan.workloads.iter().enumerate() {
        let (Some(own), Some(main)) = (pattern(workload), workload.main()) else { continue };
        let first = plan.workloads.iter().position(|other| pattern(other) == Some(own));
        let Some(first) = first.filter(|first| *first < number) else { continue };
        let part = workload.headline_part();
        for setting in 0..factor::settings(&plan.factors) {
            for subject in 0..plan.subjects.len() {
                let measurand = |workload| Measurand {
                    cell: Cell::new(subject, workload, setting),
                    part,
                    metric: main.job.headline(),
                };
                let (of, against) = (measurand(number), measurand(first));
                contrasts.push(Contrast { of, against, claim: true });
            }
        }
    }
    contrasts
}

/// How many times as many are in flight from step to step of a ladder, and how long each is measured.
const STEP: u16 = 4;
const RUNG: Length = Length::For { seconds: 0.5, warm_up_seconds: 0.1 };
/// The same of what is copied whole, which takes as long as it takes.
const STEP_OF_COPIES: u16 = 2;

/// A workload also with one in flight and with more than it has: by the number of workers where there are several, or
/// where one has no number in flight that can be set, and of copies, which have a file or more in flight each.
fn ladder(workload: &Workload) -> Option<Workload> {
    let main = workload.main()?;
    let (over, own, step, length) = match (workload.length, main.workers.get()) {
        (whole @ Length::UntilDone { .. }, workers) => {
            (Parameter::Workers, workers, STEP_OF_COPIES, whole)
        }
        (Length::For { .. }, 1) if main.job.settable().depth => {
            (Parameter::Depth, main.depth().get(), STEP, RUNG)
        }
        (Length::For { .. }, workers) => (Parameter::Workers, workers, STEP, RUNG),
    };
    let numbers = match own {
        1 => [1, step, step * step],
        own => [1, own, own.saturating_mul(step)],
    };
    let steps = Some(Steps::Sweep { over, values: numbers.map(f64::from).into() });
    Some(Workload { steps, length, ..workload.clone() })
}

/// Makes a design one of a first look: claims are about that minute, and say so.
pub fn look_soon(design: &mut Design, margin: f64) {
    design.rule = sequential(QUICK_FIRST_LOOK, margin, 0.0);
    design.quick = true;
}

/// The same of copies, which take as long as they take: six blocks of as much as fills the minute, and further ones
/// until it is over.
pub fn look_soon_at_copies(design: &mut Design, margin: f64) {
    let at_least_seconds = QUICK_COPIES_SHARE * design.cap_seconds;
    design.rule = sequential(FIRST_LOOK, margin, at_least_seconds);
}

/// What a plan for storage is made of.
pub struct Storage<'a> {
    pub targets: Vec<Target>,
    pub hosts: &'a HostArguments,
    pub work: Vec<Work>,
    pub engine: Option<Engine>,
    /// Whether directories go through the page cache, where the user says so.
    pub cache: Option<PageCache>,
    pub timeout: Duration,
    pub design: Design,
    pub factors: Vec<Factor>,
}

/// One job, and how every client does it.
pub struct Work {
    pub job: Job,
    pub workers: NonZeroU16,
    pub arrival: Arrival,
    pub length: Length,
    /// Whether it is also measured with other numbers in flight, which are compared with nothing.
    pub explain: bool,
    /// What a trial steps through.
    pub steps: Option<Steps>,
}

impl Work {
    /// How the first client does it.
    fn part(&self) -> Part {
        let closed = Part::closed(self.job.clone(), self.workers, self.arrival.depth());
        Part { arrival: self.arrival, ..closed }
    }

    /// Makes sure that its job has what the trial steps through.
    pub fn expect_steps(&self) -> Result<(), Failure> {
        let once = Workload::new(self.part(), self.length);
        Workload { steps: self.steps.clone(), ..once }.expect_steps()
    }
}

/// A plan in which every client does each of the jobs by itself.
pub fn plan(storage: Storage<'_>) -> Result<Plan, Failure> {
    let mut storage = storage;
    say_what_is_cached(&mut storage);
    let storage = storage;
    let clients = clients(&storage.hosts.on)?;
    expect_cached(storage.cache, &storage.targets)?;
    let workload = |work: &Work| {
        let part = work.part();
        let numbers = 0..clients.len() as u16;
        let parts = numbers.map(|client| Part { client, ..part.clone() }).collect();
        Workload { parts, steps: work.steps.clone(), length: work.length }
    };
    let workloads: Vec<Workload> = storage.work.iter().map(workload).collect();
    let explained = storage.work.iter().zip(&workloads).filter(|(work, _)| work.explain);
    let ladders: Vec<Workload> = explained.filter_map(|(_, workload)| ladder(workload)).collect();
    let hosts = servers(&storage.hosts.hosts, &storage.targets)?;
    let options = StorageOptions {
        operation_timeout_seconds: storage.timeout.as_secs_f64(),
        engine: storage.engine,
        cache: storage.cache.unwrap_or_default(),
        drop_caches: storage.hosts.drop_caches,
        ..StorageOptions::default()
    };
    let subjects = storage.targets.into_iter().map(Into::into).collect();
    let plan = Plan::new(subjects, workloads, storage.design).with_factors(storage.factors);
    let mut plan = Plan { storage: options, ..plan };
    plan.drive_on(clients);
    plan.watched.extend(hosts);
    // With nothing to compare a level is all there is to be found out.
    if let (Rule::Sequential { half_width, .. }, true) =
        (&mut plan.design.rule, plan.contrasts.is_empty())
    {
        *half_width = LEVEL_HALF_WIDTH.ln_1p();
    }
    plan.workloads.extend(ladders);
    Ok(plan)
}

/// Makes scans of directories warm or cold: the kernel of the client caches names, and how many it still has depends
/// on when it was asked last. After a walk a cold one would be warm, so each trial is one.
fn say_what_is_cached(storage: &mut Storage<'_>) {
    let is_mounted = |target: &Target| matches!(target, Target::Directory(_));
    if !storage.targets.iter().any(is_mounted) {
        return;
    }
    let at_most_seconds = storage.design.cap_seconds;
    for work in &mut storage.work {
        let Job::Scan(scan) = &mut work.job else { continue };
        scan.cached = match storage.hosts.drop_caches {
            true => NamesCached::Cold,
            false => NamesCached::Warm,
        };
        if storage.hosts.drop_caches {
            work.length = Length::UntilDone { at_most_seconds };
        }
    }
}

/// Fails where a page cache is named and no target has one.
fn expect_cached(cache: Option<PageCache>, targets: &[Target]) -> Result<(), Failure> {
    let none = !targets.iter().any(|target| matches!(target, Target::Directory(_)));
    if cache.is_none() || !none {
        return Ok(());
    }
    let happened = "no target is a directory, and the clients for nfs:// and smb:// have no cache";
    let next = "Omit it, or give the directory at which the share is mounted.";
    Err(Failure::new(Cause::Usage, "choose the cache").on("--cache").happened(happened).next(next))
}

/// Longest name of a subject, in columns: what tables have room for.
const LONGEST_LABEL: usize = 24;

/// Names that the user chose, each of which tells one subject from the others.
pub fn labels(given: &[String], subjects: usize) -> Result<Vec<String>, Failure> {
    let refuse = |label: &str, happened: &str| {
        let next = "Give each target a different short name, in the order of the targets.";
        Err(Failure::new(Cause::Usage, "name the targets")
            .on(format!("--label {label}"))
            .happened(happened)
            .next(next))
    };
    for (i, label) in given.iter().enumerate() {
        if i >= subjects {
            return refuse(label, "there are more labels than targets");
        }
        if label.trim().is_empty() || console::measure_text_width(label) > LONGEST_LABEL {
            return refuse(label, "it is empty or wider than 24 columns");
        }
        if given[..i].contains(label) {
            return refuse(label, "another target has the same label");
        }
    }
    Ok(given.to_vec())
}

/// The hosts that the work is done from: those that are named, else this machine.
pub fn clients(given: &[String]) -> Result<Vec<HostName>, Failure> {
    let mut clients: Vec<HostName> = Vec::new();
    for host in given {
        let host: HostName = host.parse()?;
        if clients.contains(&host) {
            let happened = "this host is named twice";
            let next = "Name each host once. For more connections, raise --workers.";
            return Err(Failure::new(Cause::Usage, "plan the clients")
                .on(host)
                .happened(happened)
                .next(next));
        }
        clients.push(host);
    }
    if clients.is_empty() {
        clients.push(HostName::Local);
    }
    Ok(clients)
}

/// The settings that are varied.
pub fn factors(hosts: &HostArguments) -> Result<Vec<Factor>, Failure> {
    let clients = clients(&hosts.on)?;
    settings::factors(&hosts.set, &clients[0])
}

/// When no block is begun any more that would end later, in seconds.
fn cap_seconds(how: &RuleArguments) -> f64 {
    match (how.quick, how.max_time) {
        (_, Some(cap)) => cap.as_secs_f64(),
        (true, None) => QUICK_CAP_SECONDS,
        (false, None) => DEFAULT_CAP_SECONDS,
    }
}

/// Blocks, order and intervals. What restarts something is replicated as often as was fixed beforehand:
/// intervals that hold at every look have no ends below as many replicates.
pub fn design(how: &RuleArguments, factors: &[Factor]) -> Result<Design, Failure> {
    let restarts = factors.iter().find(|factor| factor.switch == Switch::Restart);
    if let (true, Some(factor)) = (how.quick, restarts) {
        let happened = "each of its values needs a restart, which takes longer than a quick study";
        let next = "Omit --quick.";
        return Err(Failure::new(Cause::Usage, "plan a quick study")
            .on(&factor.name)
            .happened(happened)
            .next(next));
    }
    let cap_seconds = cap_seconds(how);
    let rule = match (how.quick, how.repeats) {
        (true, _) => Rule::Fixed { blocks: QUICK_BLOCKS },
        (false, Some(blocks)) => Rule::Fixed { blocks },
        (false, None) if restarts.is_some() => Rule::Fixed { blocks: WHOLE_PLOTS },
        (false, None) => {
            sequential(FIRST_LOOK, how.margin, AT_LEAST_SECONDS.min(cap_seconds / 2.0))
        }
    };
    let baseline_seconds = match (how.idle_time(), how.quick) {
        (Some(time), _) => time.as_secs_f64(),
        (None, true) => QUICK_BASELINE_SECONDS,
        (None, false) => BASELINE_SECONDS,
    };
    Ok(Design {
        rule,
        cap_seconds,
        baseline_seconds,
        margin: how.margin,
        confidence: CONFIDENCE,
        seed: how.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
        calibrate: false,
        quick: false,
    })
}

/// The rule that ends each comparison when it is decided.
fn sequential(first: u32, margin: f64, at_least_seconds: f64) -> Rule {
    let half_width = Sequential::half_width_for(margin).unwrap_or(margin / 2.0);
    Rule::Sequential { first, half_width, at_least_seconds }
}

/// Length of a trial: as given; of a fixed number of blocks long, as far as those of so many cells fit
/// into the cap; else what a short run before the first block finds.
pub fn length(how: &RuleArguments, design: &mut Design, cells: usize) -> Result<Length, Failure> {
    let first_trials = cells as f64 * f64::from(design.rule.first_blocks());
    let fitting = (design.cap_seconds * TRIALS_SHARE / first_trials).max(SHORTEST_SECONDS);
    let fixed = !how.quick && matches!(design.rule, Rule::Fixed { .. });
    design.calibrate = how.time.is_none() && !fixed;
    let seconds = match how.time {
        Some(time) if time.as_secs_f64() < 0.1 => {
            return Err(Failure::new(Cause::Usage, "plan the trials")
                .on("--time")
                .happened("a trial must last at least 100 ms")
                .next("Give --time 1s or more for reliable figures."));
        }
        Some(time) => time.as_secs_f64(),
        None if design.calibrate => SHORTEST_SECONDS,
        None => REPEATED_TRIAL_SECONDS.min(fitting),
    };
    Ok(Length::For { seconds, warm_up_seconds: (seconds * 0.1).min(1.0) })
}

/// What stands for the hosts that the targets name themselves.
const AUTO: &str = "auto";

/// The servers' hosts, each once for each target; those that are guessed come last.
fn servers(given: &[String], targets: &[Target]) -> Result<Vec<Watched>, Failure> {
    let mut hosts: Vec<Watched> = Vec::new();
    for text in given.iter().filter(|text| *text != AUTO) {
        let server = arguments::server_host(text)?;
        if let Some(target) = server.subject.filter(|target| *target >= targets.len()) {
            return Err(Failure::new(Cause::Usage, "assign the host to a target")
                .on(format!("--host {}={}", target + 1, server.host))
                .happened(format!("there is no target {}", target + 1))
                .next("Targets are numbered from 1 in the order given."));
        }
        let known = |h: &Watched| {
            h.host == server.host && (h.subject.is_none() || h.subject == server.subject)
        };
        if !hosts.iter().any(known) {
            hosts.retain(|h| h.host != server.host || server.subject.is_some());
            hosts.push(server);
        }
    }
    if given.iter().any(|text| text == AUTO) {
        for (target, of) in targets.iter().enumerate() {
            let named = hosts.iter().any(|host| host.concerns(target));
            if let (false, Some(server)) = (named, server_of(of)) {
                let host = HostName::by_ssh(server)?;
                let server = Watched::new(host, HostRole::Server);
                hosts.push(Watched { subject: Some(target), guessed: true, ..server });
            }
        }
    }
    Ok(hosts)
}

/// The server that a target names.
fn server_of(target: &Target) -> Option<&str> {
    match target {
        Target::Directory(_) => None,
        Target::Nfs(nfs) => Some(&nfs.host),
        Target::Smb(smb) => Some(&smb.host),
    }
}

/// The command as typed, with the seed that was drawn, so that it repeats the study.
pub fn repeatable_command(plan: &Plan) -> String {
    let mut words: Vec<String> = words().collect();
    if !words.iter().any(|w| w == "--seed" || w.starts_with("--seed=")) {
        words.push(format!("--seed {}", plan.design.seed));
    }
    format!("plimsoll {}", words.join(" "))
}

/// The command as typed.
pub fn command() -> String {
    format!("plimsoll {}", words().collect::<Vec<_>>().join(" "))
}

/// The words of the command line as a shell would take them.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| shell_quoted(&word.to_string_lossy()))
}

fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words of a command that is written as above.
pub fn unquoted(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' if !is_quoted => words.extend(word.take()),
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' if !is_quoted => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};
    use plimsoll_model::FactorLevel;

    #[test]
    fn what_is_quoted_for_a_shell_is_read_again() {
        let words = ["play", "", "our wedding.mkv", "it's", "a'' b\\", "--rate=1Mbit/s"];
        let command = words.map(shell_quoted).join(" ");
        assert_eq!(unquoted(&command), words, "{command}");
        assert_eq!(unquoted("  a  'b c'd "), ["a", "b cd"]);
    }

    #[test]
    fn what_restarts_is_replicated_as_often_as_was_fixed_beforehand() {
        let factor = |switch| Factor {
            name: "x".into(),
            host: HostName::Local,
            levels: vec![FactorLevel::AsFound; 2],
            switch,
        };
        let design = |words: &[&str], switch| {
            let command = RuleArguments::augment_args(Command::new("x").no_binary_name(true));
            let how = RuleArguments::from_arg_matches(&command.get_matches_from(words)).unwrap();
            let mut design = design(&how, &[factor(Switch::Live), factor(switch)])?;
            length(&how, &mut design, 4)?;
            Ok::<_, Failure>((design.rule, design.calibrate))
        };
        let fixed = |blocks| Ok((Rule::Fixed { blocks }, false));
        assert_eq!(design(&[], Switch::Restart), fixed(8));
        assert_eq!(design(&["--repeats=5"], Switch::Restart), fixed(5));
        assert!(matches!(design(&[], Switch::Live), Ok((Rule::Sequential { .. }, true))));
        assert!(matches!(design(&["--quick"], Switch::Live), Ok((_, true))));
        assert_eq!(design(&["--quick"], Switch::Restart).unwrap_err().cause, Cause::Usage);
    }

    #[test]
    fn lists_of_blocks_and_stabilities_are_compared_within_one_study() {
        use crate::command_line::{Arguments, Command as Chosen};
        use clap::Parser;
        let plan = |words: &[&str]| {
            let words = ["plimsoll", "check", "/mnt"].iter().chain(words);
            let Chosen::Check(given) = Arguments::parse_from(words).command else { panic!() };
            let targets = arguments::targets(&given.targets)?;
            check(targets, &given.hosts, &given.what, &given.how)
        };
        let two = ["--block=64KiB,1MiB", "--stability=unstable,filesync"];
        let made = plan(&two).unwrap();
        // Three patterns write: two blocks with two stabilities each; two read: two blocks each.
        assert_eq!((made.workloads.len(), made.contrasts.len()), (3 * 4 + 2 * 2, 3 * 3 + 2));
        assert!(made.contrasts.iter().all(|contrast| contrast.claim));
        // They are decided as any comparison is.
        let usual = plan(&["--block=64KiB,1MiB"]).unwrap().design.rule;
        assert_ne!(plan(&[]).unwrap().design.rule, usual);
        assert!(plan(&[]).unwrap().contrasts.is_empty());
        // The same twice is measured once.
        assert_eq!(plan(&["--block=1MiB,1MiB"]).unwrap().workloads.len(), 5);
        let quick = plan(&["--quick", "--max-time=30s"]).unwrap();
        assert_eq!(quick.design.cap_seconds, 30.0);
        assert!(quick.design.quick);
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_quoted("nfs://nas/a?uid=1&gid=2"), "'nfs://nas/a?uid=1&gid=2'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted("--size=64MiB"), "--size=64MiB");
    }
}
