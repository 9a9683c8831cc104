//! What subjects, settings and workloads are called.

use crate::steps;
use crate::text::{listed, printable, shortened, shortened_pair, target};
use plimsoll_model::{
    Arrival, Cell, Contrast, Factor, Measurand, OpKind, Parameter, PathParts, Plan, RateUnit,
    Steps, Study, Subject, Workload, factor, label,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Longest name of a subject in tables and sentences.
pub(crate) const LONGEST: usize = 24;
/// Longest name of a path that is the only subject: a title of 80 columns holds it.
const LONGEST_PATH: usize = 40;

/// The names that a study's tables and sentences use.
pub(crate) struct Names {
    /// A short printable name for every subject, each different from the others.
    pub(crate) subjects: Vec<String>,
    /// A name for every workload.
    workloads: Vec<String>,
    /// Every subject under every setting that was measured, by setting and subject.
    setups: Vec<(u16, u16)>,
    factors: Vec<Factor>,
    /// Parts of a router's path that the settings are without.
    parts: Option<PathParts>,
}

impl Names {
    pub(crate) fn new(study: &Study) -> Names {
        let subjects = subjects(study);
        let mut setups: Vec<(u16, u16)> =
            study.trials.iter().map(|t| (t.cell.setting, t.cell.subject)).collect();
        if study.plan.factors.is_empty() {
            // What was not measured stands beside the others, too.
            setups.extend((0..).take(subjects.len()).map(|subject| (0, subject)));
        }
        setups.sort_unstable();
        setups.dedup();
        let factors = study.plan.factors.clone();
        let parts = study.plan.parts.clone();
        Names { subjects, workloads: workloads(&study.plan), setups, factors, parts }
    }

    /// The names of a study that is not begun.
    pub(crate) fn of_plan(plan: &Plan) -> Names {
        Names {
            subjects: label::labels(plan).iter().map(|label| target(label)).collect(),
            workloads: workloads(plan),
            setups: Vec::new(),
            factors: plan.factors.clone(),
            parts: plan.parts.clone(),
        }
    }

    /// How many subjects, or subjects under some setting, stand beside each other.
    pub(crate) fn setups(&self) -> usize {
        self.setups.len()
    }

    /// Every setting that was measured.
    pub(crate) fn settings(&self) -> Vec<u16> {
        let mut settings: Vec<u16> = self.setups.iter().map(|(setting, _)| *setting).collect();
        settings.dedup();
        settings
    }

    /// Every subject under every setting, in the order of tables.
    pub(crate) fn every_setup(&self) -> impl Iterator<Item = Cell> {
        let cell = |(setting, subject): &(u16, u16)| Cell {
            subject: *subject,
            workload: 0,
            setting: *setting,
        };
        self.setups.iter().map(cell)
    }

    /// The place of a subject under its setting among all: its style in charts.
    pub(crate) fn place(&self, cell: Cell) -> usize {
        self.setups.binary_search(&(cell.setting, cell.subject)).unwrap_or(self.setups.len())
    }

    /// Name of a subject that may not exist.
    pub(crate) fn subject(&self, subject: u16) -> String {
        let known = self.subjects.get(usize::from(subject)).cloned();
        known.unwrap_or_else(|| format!("subject {}", usize::from(subject) + 1))
    }

    /// "nas", "nas, tcp_congestion_control=bbr".
    pub(crate) fn setup(&self, cell: Cell) -> String {
        let subject = self.subject(cell.subject);
        match self.levels(cell.setting) {
            // There is one subject.
            levels if self.parts.is_some() => levels,
            levels if levels.is_empty() => subject,
            levels => format!("{subject}, {levels}"),
        }
    }

    /// The levels of a setting: "tcp_congestion_control=bbr"; empty without factors.
    pub(crate) fn levels(&self, setting: u16) -> String {
        if let Some(without) = self.parts.as_ref().and_then(|parts| without(parts, setting)) {
            return without;
        }
        let levels = factor::words(&self.factors, setting).into_iter();
        levels
            .map(|level| shortened(&printable(&level), 2 * LONGEST))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Name of a workload that may not exist: "sequential read".
    pub(crate) fn workload(&self, workload: u16) -> String {
        let known = self.workloads.get(usize::from(workload)).cloned();
        known.unwrap_or_else(|| format!("workload {}", usize::from(workload) + 1))
    }

    /// The same of one subject alone, whose name nobody needs.
    pub(crate) fn two_works(&self, plan: &Plan, contrast: &Contrast) -> (String, String) {
        let (a, b) = self.two(plan, contrast);
        let without = |name: String, cell| {
            let short = name.strip_prefix(&format!("{}, ", self.setup(cell))).map(str::to_owned);
            short.unwrap_or(name)
        };
        (without(a, contrast.against.cell), without(b, contrast.of.cell))
    }

    /// What a contrast compares: the baseline, and what is held against it.
    pub(crate) fn two(&self, plan: &Plan, contrast: &Contrast) -> (String, String) {
        let Contrast { of, against, .. } = contrast;
        let same_work = (of.cell.workload, of.part) == (against.cell.workload, against.part);
        let headline = plan.workload(of.cell).map_or(0, Workload::headline_part);
        let name = |measurand: &Measurand| {
            let setup = self.setup(measurand.cell);
            if same_work && measurand.part == headline {
                return setup;
            }
            let workload = plan.workload(measurand.cell);
            let part = workload.map_or_else(String::new, |w| part(plan, w, measurand.part));
            let whole = self.workload(measurand.cell.workload);
            // A name such as "random read during scan" begins with the part that verdicts are about.
            let is_named = workload.is_none_or(|workload| {
                let is_first = measurand.part == workload.headline_part();
                workload.parts.len() == 1 || is_first && whole.starts_with(&part)
            });
            match is_named || part == whole || part.is_empty() {
                true => format!("{setup}, {whole}"),
                false => format!("{setup}, {part} of {whole}"),
            }
        };
        (name(against), name(of))
    }
}

/// "as found", "without rules and nat", of a setting that shows the cost of parts of a router's path.
fn without(parts: &PathParts, setting: u16) -> Option<String> {
    if setting == parts.whole {
        return Some("as found".to_owned());
    }
    if setting == parts.control {
        return Some("as found, again".to_owned());
    }
    if let Some(alone) = parts.alone.iter().find(|alone| alone.setting == setting) {
        return Some(format!("without {} alone", alone.part));
    }
    // Else a part that is not priced is off, too.
    let begins = [parts.whole].into_iter().chain(parts.priced.iter().map(|priced| priced.without));
    let is_whole = parts.priced.iter().zip(begins).all(|(priced, before)| priced.with == before);
    let last = parts.priced.iter().position(|priced| priced.without == setting && is_whole)?;
    let off: Vec<String> = parts.priced[..=last].iter().map(|one| one.part.to_string()).collect();
    Some(format!("without {}", listed(&off)))
}

/// A short printable name for every subject, each different from the others.
fn subjects(study: &Study) -> Vec<String> {
    let count = study.subjects.len().max(study.plan.subjects.len());
    let labels = label::labels(&study.plan);
    let mut used = HashSet::new();
    let name = |i: usize| {
        let known = study.subjects.get(i).map(|s| s.label().to_owned()).filter(|l| !l.is_empty());
        let label = known.or_else(|| labels.get(i).cloned());
        let name = target(&label.unwrap_or_else(|| format!("subject {}", i + 1)));
        let is_path = study.plan.subjects.get(i).and_then(Subject::path).is_some();
        let name = match is_path {
            true => shortened_pair(&name, " to ", if count == 1 { LONGEST_PATH } else { LONGEST }),
            false => shortened(&name, LONGEST),
        };
        let name = if used.contains(&name) { format!("{name} ({})", i + 1) } else { name };
        used.insert(name.clone());
        name
    };
    (0..count).map(name).collect()
}

/// The names of all workloads: what each does and, where others do the same, how it differs.
pub(crate) fn workloads(plan: &Plan) -> Vec<String> {
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, workload) in plan.workloads.iter().enumerate() {
        // What only shows something of another one is not told from that.
        let ladder = u16::try_from(number).is_ok_and(|n| plimsoll_explain::is_ladder(plan, n));
        let name = match ladder {
            true => title(workload) + ", several in flight",
            false => title_with(workload, &stepped(workload)),
        };
        alike.entry(name).or_default().push(number);
    }
    let mut names = vec![String::new(); plan.workloads.len()];
    for (title, numbers) in alike {
        let all: Vec<Vec<Setting>> =
            numbers.iter().map(|number| each_setting(&plan.workloads[*number])).collect();
        for (number, own) in numbers.iter().zip(&all) {
            let differs = |setting: &&Setting| all.iter().any(|other| !other.contains(setting));
            let differing = in_words(&plan.workloads[*number], own.iter().filter(differs));
            names[*number] = match differing.is_empty() {
                true => title.clone(),
                false => format!("{title} ({differing})"),
            };
        }
    }
    // Equal work is told apart by its place in the plan.
    let mut known: HashMap<String, usize> = HashMap::new();
    for name in &mut names {
        let place = known.entry(name.clone()).or_default();
        *place += 1;
        if *place > 1 {
            *name = format!("{name} ({place})");
        }
    }
    names
}

/// A setting of one part of a workload, in words.
#[derive(PartialEq)]
struct Setting {
    part: usize,
    words: String,
}

fn each_setting(workload: &Workload) -> Vec<Setting> {
    let of_part = |(part, words): (usize, String)| -> Vec<Setting> {
        words.split(", ").map(|words| Setting { part, words: words.to_owned() }).collect()
    };
    settings_of_parts(workload).into_iter().enumerate().flat_map(of_part).collect()
}

/// "4 workers; scan: 1 worker": settings part by part.
fn in_words<'a>(workload: &Workload, settings: impl Iterator<Item = &'a Setting>) -> String {
    let mut parts: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for Setting { part, words } in settings {
        parts.entry(*part).or_default().push(words);
    }
    let of_part = |(part, words): (usize, Vec<&str>)| match part {
        0 => words.join(", "),
        part => format!("{}: {}", workload.parts[part].job.title(), words.join(", ")),
    };
    parts.into_iter().map(of_part).collect::<Vec<_>>().join("; ")
}

/// What the trials step through: " by workers", ", highest rate, p99 ≤ 10.0 ms". Rows of a path have the rate that a search
/// found.
fn stepped(workload: &Workload) -> String {
    let is_of_operations = workload.rate_unit() == Some(RateUnit::Operations);
    match &workload.steps {
        Some(Steps::Sweep { over: Parameter::Workers, .. }) => " by workers".to_owned(),
        Some(Steps::Sweep { over: Parameter::Rate, .. }) => " by rate".to_owned(),
        Some(Steps::Search { over, accept, .. })
            if is_of_operations || *over != Parameter::Rate =>
        {
            format!(", {}", steps::goal(workload, *over, accept))
        }
        _ => String::new(),
    }
}

/// What a workload does: "sequential read", "sequential read by 2 clients", "scan during copy up".
pub(crate) fn title(workload: &Workload) -> String {
    title_with(workload, "")
}

/// The same with what its trials step through: "random read by workers during copy up".
fn title_with(workload: &Workload, stepped: &str) -> String {
    let Some((first, others)) = workload.parts.split_first() else {
        return "nothing".to_owned();
    };
    let sizes = workload.steps.as_ref().is_some_and(|steps| steps.over() == Parameter::Block);
    let rounds = matches!(first.arrival, Arrival::Rounds { .. }) && workload.steps.is_some();
    let how = if sizes { " by size" } else { "" };
    let paced = first.arrival.per_second();
    let paced = paced.map_or(String::new(), |rate| format!(" at {rate}/s"));
    let first = first.job.title() + how + if rounds { " in batches" } else { "" } + &paced;
    if workload.together().is_some() {
        return format!("{first} by {} clients{stepped}", workload.parts.len());
    }
    let others: Vec<String> = others.iter().map(|part| part.job.title()).collect();
    match others.is_empty() {
        true => first + stepped,
        false => format!("{first}{stepped} during {}", listed(&others)),
    }
}

/// "block size 1 MiB, 1 GiB, 4 workers, 1 in flight each", part by part.
pub(crate) fn settings(workload: &Workload) -> String {
    settings_of_parts(workload).join("; at the same time ")
}

/// Settings of each part, of the first one with the steps of the trials; of clients that do the same those of one.
fn settings_of_parts(workload: &Workload) -> Vec<String> {
    let parts = match workload.together() {
        Some(_) => &workload.parts[..1],
        None => &workload.parts[..],
    };
    let mut parts: Vec<String> = parts.iter().map(|part| printable(&part.settings())).collect();
    if let (Some(first), Some(steps)) = (parts.first_mut(), &workload.steps) {
        *first += &format!("; {}", steps::words(workload, steps));
    }
    parts
}

/// Name of a part's result: its job and, where there are several clients, who does it.
pub(crate) fn part(plan: &Plan, workload: &Workload, part: u16) -> String {
    let Some(what) = workload.parts.get(usize::from(part)) else {
        return "all clients together".to_owned();
    };
    let several = workload.parts.iter().any(|other| other.client != what.client);
    let are_named = several && plan.is_remote();
    match plan.clients().nth(usize::from(what.client)).filter(|_| are_named) {
        Some(client) => format!("{}, {}", what.job.title(), printable(&client.to_string())),
        None => what.job.title(),
    }
}

/// Operations of a kind, several of them: "reads", "lookups", "directory reads".
pub(crate) fn operations(kind: OpKind) -> String {
    match kind {
        OpKind::READ_DIRECTORY => "directory reads".to_owned(),
        OpKind::FLUSH => "flushes".to_owned(),
        OpKind::ACCESS => "access checks".to_owned(),
        OpKind::MAKE_DIRECTORY => "directories made".to_owned(),
        OpKind::REMOVE_DIRECTORY => "directories removed".to_owned(),
        kind => format!("{}s", kind.name().replace('_', " ").trim_end_matches('s')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::{Bytes, MIB};
    use plimsoll_model::{
        Bound, Design, Job, Length, Measure, Metric, Part, PatternJob, ScanJob, StreamJob,
    };
    use std::num::NonZeroU16;

    fn part(job: impl Into<Job>, workers: u16) -> Part {
        Part::closed(job.into(), NonZeroU16::new(workers).unwrap(), NonZeroU16::MIN)
    }

    fn read(workers: u16) -> Part {
        part(PatternJob::named("random-read", Bytes(MIB)).unwrap(), workers)
    }

    fn scan(workers: u16) -> Part {
        part(ScanJob::default(), workers)
    }

    fn named(workloads: &[&[Part]], steps: Option<&Steps>) -> Vec<String> {
        let length = Length::For { seconds: 1.0, warm_up_seconds: 0.1 };
        let workload =
            |parts: &&[Part]| Workload { parts: parts.to_vec(), steps: steps.cloned(), length };
        let workloads = workloads.iter().map(workload).collect();
        super::workloads(&Plan::new(Vec::new(), workloads, Design::default()))
    }

    #[test]
    fn work_of_several_parts_is_told_apart_by_the_settings_of_each() {
        let names = named(&[&[read(4), scan(1)], &[read(1), scan(4)]], None);
        let expected = [
            "random read during scan (4 workers; scan: 1 worker)",
            "random read during scan (1 worker; scan: 4 workers)",
        ];
        assert_eq!(names, expected, "both have one and four");
        let alone = named(&[&[read(4)], &[read(4), scan(1)]], None);
        assert_eq!(alone, ["random read", "random read during scan"]);
    }

    #[test]
    fn equal_work_is_told_apart_by_its_place() {
        let names = named(&[&[read(1)], &[scan(1)], &[read(1)], &[read(1)]], None);
        assert_eq!(names, ["random read", "scan", "random read (2)", "random read (3)"]);
    }

    #[test]
    fn the_first_part_is_swept() {
        let steps = Steps::Sweep { over: Parameter::Workers, values: vec![1.0, 2.0] };
        let names = named(&[&[read(1), scan(1)]], Some(&steps));
        assert_eq!(names, ["random read by workers during scan"]);
        let length = Length::For { seconds: 1.0, warm_up_seconds: 0.1 };
        let workload = Workload { parts: vec![read(1), scan(1)], steps: Some(steps), length };
        let settings = settings(&workload);
        let swept = "1 in flight each; workers swept through 1, 2; at the same time 40 directories";
        assert!(settings.contains(swept), "{settings}");
    }

    #[test]
    fn a_search_names_the_part_of_each_bound() {
        let (over, from, to) = (Parameter::Workers, 1.0, 8.0);
        let search = |accept| Steps::Search { over, from, to, resolution: 0.05, accept };
        let p99 = Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.01);
        let iops = Bound::at_least(Metric::all(Measure::IOPS), 500.0);
        let names = named(&[&[read(1), scan(1)]], Some(&search(vec![p99.on(1), iops])));
        assert_eq!(
            names,
            ["random read, most workers, p99 of scan ≤ 10.0 ms, IOPS ≥ 500 during scan"]
        );
        let loss = Bound::at_most(Metric::all(StreamJob::LOSS), 0.005);
        let names = named(&[&[read(1)]], Some(&search(vec![loss, p99])));
        let expected = "random read, most workers with loss of at most 0.5% and latency p99 of at most 10.0 ms";
        assert_eq!(names, [expected]);
    }
}
