//! A study of network paths, from its plan to its page, on scripted paths and a scripted clock: the
//! types hold what is no storage.

use plimsoll_load::{MockShare, Op, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::*;
use plimsoll_record::{Store, StudyStore};
use plimsoll_report::Style;
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_stats::verdict::{Side, Verdict};
use plimsoll_study::{Conduct, Dispatcher, NoSettings, RunnerOfKind, conduct};
use plimsoll_testkit::path::{PathRunner, ScriptedPath};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

const PLAIN: f64 = 117e6;
const FILTERED: f64 = 84e6;
/// How closely the loss-free rate is found, as a share.
const RESOLUTION: f64 = 0.01;

fn workload(job: StreamJob, steps: Option<Steps>) -> Workload {
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 2.0, warm_up_seconds: 0.0 };
    Workload { steps, ..Workload::new(part, length) }
}

fn plan() -> Plan {
    let endpoint = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let path = |to: &str| PathSubject {
        from: endpoint("ssh://lan"),
        to: endpoint(to),
        via: Some("ssh://router".parse().unwrap()),
    };
    let stream = StreamJob { connections: 1, rate: None };
    let search = Steps::Search {
        over: Parameter::Rate,
        from: 1e6,
        to: 125e6,
        resolution: RESOLUTION,
        accept: vec![Bound::at_most(Metric::all(StreamJob::LOSS), 0.0)],
    };
    let sweep = Steps::Sweep { over: Parameter::Rate, values: vec![50e6, 100e6, 120e6] };
    let workloads = vec![
        workload(stream.clone(), None),
        workload(StreamJob { rate: Some(1e6), ..stream.clone() }, Some(search)),
        workload(StreamJob { rate: Some(1e6), ..stream }, Some(sweep)),
    ];
    let rule = Rule::Fixed { blocks: 4 };
    let design = Design { rule, baseline_seconds: 0.0, seed: 7, ..Design::default() };
    let paths = [path("ssh://wan"), path("ssh://filtered")].map(Subject::from);
    Plan::new(paths.into(), workloads, design)
}

fn measured(plan: Plan, store: &dyn StudyStore) -> Result<Study, Failure> {
    let clock = Arc::new(VirtualClock::new());
    let runner = Box::new(path_runner(&clock));
    conducted(plan, clock, runner, store)
}

fn path_runner(clock: &Arc<VirtualClock>) -> PathRunner {
    // A percent up and down, the same for both: blocks pair it away.
    let wobble = |trial: u32| 1.0 + 0.01 * f64::from(trial / 6 % 2);
    let path = |given: &str, carried: f64| ScriptedPath {
        given: given.to_owned(),
        capacity: Box::new(move |trial| carried * wobble(trial)),
    };
    let paths = vec![path("lan to wan", PLAIN), path("lan to filtered", FILTERED)];
    PathRunner::new(clock.clone(), paths)
}

fn conducted(
    plan: Plan,
    clock: Arc<VirtualClock>,
    runner: Box<dyn SubjectRunner>,
    store: &dyn StudyStore,
) -> Result<Study, Failure> {
    conduct(Conduct {
        id: id(),
        started_unix_seconds: 1_760_000_000,
        version: "test".into(),
        plan,
        runner,
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop: Arc::default(),
        store,
        observer: &mut |_| {},
    })
}

fn id() -> StudyId {
    StudyId("0a7b0a7b".into())
}

#[test]
fn a_study_holds_shares_and_paths() {
    let clock = Arc::new(VirtualClock::new());
    let mut plan = plan();
    plan.workloads.truncate(1);
    let job = PatternJob::named("random-read", Bytes(MIB)).unwrap();
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    plan.workloads.push(Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 }));
    // Between the paths: each runner has other numbers for them than the plan.
    plan.subjects.insert(1, "/share".parse::<Target>().unwrap().into());
    plan.contrasts = Contrast::against_first(&plan);
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |_: &Op, _: Nanos| {
        Reply::After(Duration::from_millis(1))
    });
    let share: Arc<dyn plimsoll_runner::Share> = Arc::new(share);
    let deadline = Deadline::new(clock.clone(), Arc::default());
    let options = RunnerOptions::of_plan(&plan, id(), 0, deadline);
    let storage = Runner::new(RunnerOptions { live: false, ..options }, vec![share]);
    let runners = vec![
        RunnerOfKind { kind: SubjectKind::Storage, runner: Box::new(storage) },
        RunnerOfKind { kind: SubjectKind::Path, runner: Box::new(path_runner(&clock)) },
    ];
    let runner = Box::new(Dispatcher::new(&plan, runners).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let study = conducted(plan, clock, runner, &store).unwrap();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 4 * 3));
    let kinds: Vec<SubjectKind> = study.subjects.iter().map(SubjectFacts::kind).collect();
    assert_eq!(kinds, [SubjectKind::Path, SubjectKind::Storage, SubjectKind::Path]);
    assert_eq!(study.subjects[2].given(), "lan to filtered");
    let carried = |subject: u16| {
        let own = study.trials.iter().filter(move |trial| trial.cell.subject == subject);
        own.map(|trial| trial.result.value(0, Metric::all(Measure::THROUGHPUT)).unwrap())
    };
    assert!(carried(0).all(|rate| (rate / PLAIN - 1.0).abs() < 0.03));
    assert!(carried(2).all(|rate| (rate / FILTERED - 1.0).abs() < 0.03));
    // Blocks of 4 KiB, one at a time, in 1 ms each.
    assert!(carried(1).all(|rate| (rate / 4096e3 - 1.0).abs() < 0.1), "{:?}", study.trials);
    assert_eq!(store.load("latest").unwrap().trials.len(), study.trials.len());
}

#[test]
fn a_path_is_measured_kept_judged_and_shown() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let mut study = measured(plan(), &store).unwrap();
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 4 * 2 * 3));

    // Kept, and read again; exported, and imported again.
    let kept = store.load("latest").unwrap();
    assert!(kept.measures.iter().any(|info| info.measure == StreamJob::LOSS));
    study.measures = kept.measures.clone();
    assert_eq!(kept, study);
    let exported = plimsoll_record::to_json(&study).unwrap();
    assert_eq!(plimsoll_record::from_json(&exported).unwrap(), study);

    // A search is one trial, and its figure the largest rate without loss.
    for trial in study.trials.iter().filter(|trial| trial.cell.workload == 1) {
        let carried = [PLAIN, FILTERED][usize::from(trial.cell.subject)];
        let found = trial.result.value(0, Metric::all(Measure::STEP)).unwrap();
        let capacity = carried * (1.0 + 0.01 * f64::from(trial.number / 6 % 2));
        let lowest = capacity / (1.001 + RESOLUTION);
        assert!(found <= capacity && found > lowest, "{found} of {capacity}");
        assert!(trial.points.iter().all(|p| p.accepted == Some(p.at <= capacity)));
        assert!((3..20).contains(&trial.points.len()), "{} points", trial.points.len());
    }
    // A sweep has every value once, its order drawn for each trial.
    let orders: std::collections::BTreeSet<String> = study
        .trials
        .iter()
        .filter(|trial| trial.cell.workload == 2)
        .map(|trial| {
            let mut at: Vec<f64> = trial.points.iter().map(|point| point.at).collect();
            let order = format!("{at:?}");
            at.sort_by(f64::total_cmp);
            assert_eq!(at, [50e6, 100e6, 120e6]);
            order
        })
        .collect();
    assert!(orders.len() > 1, "{orders:?}");

    // Judged: the filter costs 28%, by an interval.
    let findings = plimsoll_explain::findings(&study);
    let claim = findings.workloads[0].pairs[0].claim.unwrap();
    assert!((claim.ratio.estimate - FILTERED / PLAIN).abs() < 0.01, "{claim:?}");
    assert!(matches!(claim.verdict, Some(Verdict::Faster(lead)) if lead.faster == Side::A));
    let points = &findings.workloads[2].cells[0].points;
    let loss = |n: usize| points[n].1[&Metric::all(StreamJob::LOSS)].arithmetic_mean;
    assert_eq!((points.len(), loss(0), loss(1)), (3, 0.0, 0.0));
    assert!(loss(2) > 0.01, "{}", loss(2));

    // Shown.
    let text =
        plimsoll_report::Document::of_study(&study).text(&Style { width: 100, colour: false });
    for word in ["lan to wan", "lan to filtered", "117 MB/s", "1 connection"] {
        assert!(text.contains(word), "'{word}' is not in\n{text}");
    }
}

#[test]
fn what_cannot_be_done_to_a_path_is_refused_before_anything_begins() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let mut wrong = plan();
    wrong.workloads[0].parts[0].job = ScanJob::default().into();
    let failure = measured(wrong, &store).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.happened.contains("scan measures storage, and the plan has none"), "{failure}");

    let mut idle = plan();
    idle.contrasts[0].against = idle.contrasts[0].of;
    let failure = measured(idle, &store).unwrap_err();
    assert!(failure.happened.contains("compares a cell with itself"), "{failure}");
    assert!(store.list().unwrap().is_empty(), "nothing was begun");
}
