//! What files and bytes cost: known costs come back, and what is no sum of them is said to be none.

mod support;

use plimsoll_explain::{CopyCosts, CostModel, Prediction, copy_costs};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Amount, DataClass, DataSource, Dataset, FileWork, HostFacts, HostRole, Job, Origin, Outcome,
    Rule, Study, Watched, Workload,
};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::CostKind;
use support::{copied, copies, dataset};

const TARGET: [&str; 1] = ["nfs://nas/volume1"];

fn home(scale: f64) -> Vec<Workload> {
    copies(&DataClass::ALL.map(|class| dataset(class, scale)))
}

/// Seconds for a file and for a byte, by way.
fn truth(way: &str) -> (f64, f64) {
    if way == "up" { (4.1e-3, 1.0 / 100e6) } else { (0.9e-3, 1.0 / 110e6) }
}

fn adds_up(_: u16, work: &FileWork) -> f64 {
    let (file, byte) = truth(work.way);
    work.files as f64 * file + work.bytes.0 as f64 * byte
}

#[track_caller]
fn assert_near(cost: Option<Estimate>, truth: f64, apart: f64) {
    let cost = cost.expect("a cost");
    let interval = cost.interval.expect("an interval");
    assert!(interval.contains(truth), "{truth}: {cost:?}");
    assert!((cost.value / truth - 1.0).abs() < apart, "{truth}: {cost:?}");
    assert!(interval.high / interval.low < 1.0 + 6.0 * apart, "{truth}: {cost:?}");
}

fn amount(text: &str) -> Amount {
    text.parse().unwrap()
}

#[test]
fn known_costs_come_back_whatever_the_scale_and_the_rule() {
    for scale in [1.0, 0.02] {
        let mut study = copied(&TARGET, home(scale), 10, 0.01, adds_up);
        for rule in [
            Rule::Fixed { blocks: 10 },
            Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 },
        ] {
            study.plan.design.rule = rule;
            let costs = copy_costs(&study);
            assert_eq!(costs.iter().map(|c| c.way().0).collect::<Vec<_>>(), ["up", "down"]);
            for costs in costs {
                assert!(matches!(costs.model, CostModel::Fits { roughly: false, .. }), "{costs:?}");
                let (file, byte) = truth(costs.way().0);
                assert_near(costs.cost(CostKind::File), file, 0.02);
                assert_near(costs.cost(CostKind::Byte), byte, 0.02);
                assert_eq!(costs.cost(CostKind::Operation), None, "there is one size of block");
                let deviation = |d: &plimsoll_explain::DatasetTime| d.error.unwrap().abs();
                assert!(costs.datasets.iter().map(deviation).all(|off| off < 0.02), "{costs:?}");
                let (dataset, share) = costs.most_by_file().unwrap();
                let whole = adds_up(0, &dataset.work);
                let expected = dataset.work.files as f64 * file / whole;
                assert_eq!(dataset.work.class, Some(DataClass::Source));
                assert!((share - expected).abs() < 0.01, "{share} {expected}");
                // 60,000 files of 2 MB, and as many photos as 200 GB have.
                for text in ["120GB:2MB", "200GB:photos", "1TB:films", "10GB:source"] {
                    let amount = amount(text);
                    let expected = amount.count() * file + amount.bytes.0 as f64 * byte;
                    assert_near(costs.seconds(&amount), expected, 0.02);
                }
            }
        }
    }
}

/// Each subject has costs of its own.
#[test]
fn subjects_have_their_own() {
    let targets = ["nfs://nas/volume1", "smb://me@nas/volume1"];
    let slower = |subject, work: &FileWork| adds_up(0, work) * f64::from(1 + subject);
    let costs = copy_costs(&copied(&targets, home(0.1), 6, 0.01, slower));
    let places: Vec<_> = costs.iter().map(|c| (c.way().0, c.cell.subject)).collect();
    assert_eq!(places, [("up", 0), ("up", 1), ("down", 0), ("down", 1)]);
    for costs in &costs {
        let by = f64::from(1 + costs.cell.subject);
        assert_near(costs.cost(CostKind::File), by * truth(costs.way().0).0, 0.02);
    }
}

/// Times that grow with the root of the bytes are no sum: no cost, no prediction, but of what was measured.
#[test]
fn what_is_no_sum_names_no_cost_and_predicts_nothing() {
    let root = |_: u16, work: &FileWork| (work.bytes.0 as f64).sqrt() * 1e-3;
    for costs in copy_costs(&copied(&TARGET, home(1.0), 8, 0.01, root)) {
        assert_eq!(costs.model, CostModel::Off);
        assert_eq!((costs.cost(CostKind::File), costs.cost(CostKind::Byte)), (None, None));
        assert_eq!(costs.most_by_file(), None);
        assert!(costs.datasets.iter().any(|d| d.error.unwrap().abs() > 0.1), "{costs:?}");
        assert_eq!(costs.seconds(&amount("120GB:2MB")), None);
        let photos = costs.seconds(&amount("200GB:photos"));
        let whole = dataset(DataClass::Pictures, 1.0).bytes.0 as f64;
        assert_near(photos, whole.sqrt() * 1e-3 * 200e9 / whole, 0.02);
    }
    // A film that is a fiftieth of one says nothing of whole ones.
    let scaled = copy_costs(&copied(&TARGET, home(0.02), 8, 0.01, root));
    assert!(scaled.iter().all(|costs| costs.model == CostModel::Off), "{scaled:?}");
    assert!(scaled.iter().all(|costs| costs.seconds(&amount("1TB:films")).is_none()));
}

/// A twentieth off of one dataset, which ten blocks show without doubt: it is of use, and its intervals hold
/// what it should be.
#[test]
fn a_model_that_is_off_by_little_has_intervals_by_how_far() {
    let nearly = |_: u16, work: &FileWork| {
        let off = if work.class == Some(DataClass::Music) { 1.05 } else { 1.0 };
        adds_up(0, work) * off
    };
    for costs in copy_costs(&copied(&TARGET, home(1.0), 10, 0.001, nearly)) {
        assert!(matches!(costs.model, CostModel::Fits { roughly: true, .. }), "{costs:?}");
        let (file, byte) = truth(costs.way().0);
        for (kind, truth) in [(CostKind::File, file), (CostKind::Byte, byte)] {
            let cost = costs.cost(kind).unwrap();
            let interval = cost.interval.unwrap();
            assert!(interval.contains(truth), "{cost:?} {truth}");
            assert!(interval.high / interval.low > 1.05, "not as if it fitted: {cost:?}");
        }
    }
}

/// The same for twentieths off of every dataset, by chance: most of such intervals hold what a file costs, and
/// those of a fit to what differs between blocks alone would hardly ever.
#[test]
fn intervals_by_how_far_a_model_is_off_hold_the_truth() {
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let mut off = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        0.05 * ((chance >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    let (mut rough, mut held) = (0, 0);
    for _ in 0..100 {
        let by = [off(), off(), off(), off()];
        let nearly = |_: u16, work: &FileWork| {
            let class = DataClass::ALL.iter().position(|class| Some(*class) == work.class).unwrap();
            adds_up(0, work) * (1.0 + by[class])
        };
        for costs in copy_costs(&copied(&TARGET, home(0.1), 6, 0.002, nearly)) {
            if matches!(costs.model, CostModel::Fits { roughly: true, .. }) {
                rough += 1;
                let interval = costs.cost(CostKind::File).unwrap().interval.unwrap();
                held += usize::from(interval.contains(truth(costs.way().0).0));
            }
        }
    }
    println!("{held} of {rough}");
    assert!(rough > 150 && held * 100 >= rough * 90, "{held} of {rough}");
}

/// 5.8 MB that took milliseconds say nothing of 200 GB: predictions stop at a hundred times what was copied.
#[test]
fn predictions_stop_at_a_hundred_times_what_was_copied() {
    let pictures =
        Dataset { files: 2, bytes: Bytes(5_839_246), ..dataset(DataClass::Pictures, 1.0) };
    let one = copy_costs(&copied(&TARGET, copies(&[pictures]), 8, 0.01, adds_up));
    for costs in &one {
        let copied = Bytes(5_839_246);
        assert_eq!(costs.predicted(&amount("200GB:photos")), Prediction::TooFar(copied));
        assert_eq!(costs.predicted(&amount("584MB:photos")), Prediction::TooFar(copied));
        assert!(matches!(costs.predicted(&amount("580MB:photos")), Prediction::Time(_)));
        assert_eq!(costs.predicted(&amount("100MB:films")), Prediction::NotKnown);
    }
    // Of a model what all datasets have together.
    for costs in copy_costs(&copied(&TARGET, home(1.0), 8, 0.01, adds_up)) {
        assert!(matches!(costs.predicted(&amount("200GB:photos")), Prediction::Time(_)));
        assert!(matches!(costs.predicted(&amount("1TB:films")), Prediction::TooFar(_)));
    }
}

/// Files that fit into the server's memory say nothing of files that do not.
#[test]
fn predictions_stop_at_what_memory_holds() {
    let mut study = copied(&TARGET, home(1.0), 8, 0.01, adds_up);
    let host = "ssh://root@nas".parse().unwrap();
    study.plan.watched.push(Watched::new(host, HostRole::Server));
    let facts = |bytes| HostFacts {
        name: "ssh://root@nas".parse().unwrap(),
        memory_bytes: bytes,
        ..HostFacts::default()
    };
    assert!(
        copy_costs(&study).iter().all(|costs| costs.is_memory_unknown),
        "nothing was said of it"
    );
    study.hosts.push(facts(8 << 30));
    let memory = Prediction::BeyondMemory(Bytes(8 << 30));
    for costs in copy_costs(&study) {
        assert!(!costs.is_memory_unknown);
        assert_eq!(costs.predicted(&amount("20GB:photos")), memory);
        assert!(matches!(costs.predicted(&amount("8GB:photos")), Prediction::Time(_)));
    }
    // Dropped before each trial, reads come from the disk; what is written is not flushed here.
    study.plan.storage.drop_caches = true;
    let costs = copy_costs(&study);
    assert_eq!(costs[0].predicted(&amount("20GB:photos")), memory);
    assert!(matches!(costs[1].predicted(&amount("20GB:photos")), Prediction::Time(_)));
}

/// A file cannot cost more beside its bytes than it took with them.
#[test]
fn a_cost_above_the_time_of_a_file_is_a_contradiction() {
    let small = |files, bytes| {
        let class = dataset(DataClass::Source, 1.0);
        Dataset { files, bytes: Bytes(bytes), ..class }
    };
    let workloads = copies(&[small(100, 10_000), small(200, 20_000), small(100, 10_000_000)]);
    // Twice as many files take less each, by as little as a model may be off.
    let seconds = |_: u16, work: &FileWork| match (work.files, work.bytes.0) {
        (200, _) => 200.0 * 1.26e-3,
        (_, 10_000) => 100.0 * 1.45e-3,
        _ => 100.0 * 1.36e-3 + 0.1,
    };
    for costs in copy_costs(&copied(&TARGET, workloads, 8, 0.001, seconds)) {
        let cost = costs.cost(CostKind::File).expect("a rough model").value;
        let (dataset, time) = costs.contradiction().expect("1.26 ms are less than the cost");
        assert!(dataset.work.files == 200 && time < cost, "{time} {cost}");
        assert!((time / 1.26e-3 - 1.0).abs() < 0.01, "{time}");
    }
    for costs in copy_costs(&copied(&TARGET, home(0.02), 8, 0.01, adds_up)) {
        assert_eq!(costs.contradiction(), None);
    }
}

#[test]
fn fewer_than_three_datasets_say_nothing_but_of_themselves() {
    let two = copies(&[dataset(DataClass::Pictures, 1.0), dataset(DataClass::Source, 1.0)]);
    let twice = copies(&[1, 2, 3].map(|_| dataset(DataClass::Pictures, 1.0)));
    for workloads in [two, twice] {
        for costs in copy_costs(&copied(&TARGET, workloads, 8, 0.01, adds_up)) {
            assert_eq!(costs.model, CostModel::TooFewDatasets);
            assert_eq!(costs.cost(CostKind::File), None);
            assert_eq!(costs.seconds(&amount("120GB:2MB")), None);
            assert_eq!(costs.seconds(&amount("120GB:films")), None);
            let photos = dataset(DataClass::Pictures, 1.0);
            let (file, byte) = truth(costs.way().0);
            let whole = photos.files as f64 * file + photos.bytes.0 as f64 * byte;
            let expected = whole * 200e9 / photos.bytes.0 as f64;
            assert_near(costs.seconds(&amount("200GB:photos")), expected, 0.02);
        }
    }
    // Pictures of another size are none.
    let other = Dataset { bytes: Bytes(52 * 8_000_000), ..dataset(DataClass::Pictures, 1.0) };
    let costs = copy_costs(&copied(&TARGET, copies(&[other]), 8, 0.01, adds_up));
    assert!(costs.iter().all(|costs| costs.seconds(&amount("200GB:photos")).is_none()));
}

/// Blocks of two sizes tell what an operation costs.
#[test]
fn operations_are_separate_where_blocks_are_of_several_sizes() {
    let mut workloads = home(1.0);
    let small = home(1.0).into_iter().map(|mut workload| {
        let Job::Copy(job) = &mut workload.parts[0].job else { unreachable!() };
        job.block = Bytes(65_536);
        workload
    });
    workloads.extend(small);
    let operations = |work: &FileWork| {
        let mean = work.bytes.0.div_ceil(work.files);
        (mean.div_ceil(work.block.0) * work.files) as f64
    };
    let seconds = |_: u16, work: &FileWork| adds_up(0, work) + operations(work) * 1e-3;
    let mut study = copied(&TARGET, workloads, 8, 0.01, seconds);
    study.plan.design.confidence = 0.999;
    let costs = copy_costs(&study);
    assert_eq!(costs.len(), 2);
    for costs in costs {
        assert_eq!(costs.datasets.len(), 8);
        let (file, byte) = truth(costs.way().0);
        assert_near(costs.cost(CostKind::Operation), 1e-3, 0.03);
        assert_near(costs.cost(CostKind::File), file, 0.06);
        assert_near(costs.cost(CostKind::Byte), byte, 0.03);
        // In the larger blocks: 100,000 files of 4 MB are 4 of them each, and some.
        let expected = 1e5 * (file + 4.3e-3) + 4e11 * byte;
        let found = costs.seconds(&amount("400GB:4MB")).unwrap().value;
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }
}

/// Blocks in which a trial failed do not count; other tools' figures, and work beside, have no costs.
#[test]
fn only_whole_blocks_of_copies_alone() {
    let mut study = copied(&TARGET, home(1.0), 8, 0.01, adds_up);
    let all = copy_costs(&study);
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 2) {
        if trial.block < Some(4) {
            trial.result.outcome = Outcome::Stopped;
        }
    }
    let half: Vec<CopyCosts> = copy_costs(&study);
    assert_ne!(half[0].cost(CostKind::File), all[0].cost(CostKind::File));
    assert_eq!(half[1], all[1]);
    let mut none = study.clone();
    let of_first = |trial: &&mut plimsoll_model::Trial| trial.cell.workload == 2;
    none.trials.iter_mut().filter(of_first).for_each(|t| t.block = t.block.map(|b| b + 100));
    assert_eq!(copy_costs(&none)[0].model, CostModel::NoBlock);
    assert_eq!(copy_costs(&none)[0].seconds(&amount("120GB:2MB")), None);
    let imported = Study { origin: Origin::Imported { tool: "fio".into() }, ..study.clone() };
    assert_eq!(copy_costs(&imported), []);
    for workload in &mut study.plan.workloads {
        let mut beside = workload.parts[0].clone();
        let Job::Copy(job) = &mut beside.job else { unreachable!() };
        job.dataset.source = DataSource::Directory { data: "/home/me".into() };
        workload.parts.push(beside);
    }
    assert_eq!(copy_costs(&study), []);
}

/// Two clients copy twice as many files, each its own.
#[test]
fn files_of_all_clients_count() {
    let mut workloads = home(1.0);
    for workload in &mut workloads {
        let second = plimsoll_model::Part { client: 1, ..workload.parts[0].clone() };
        workload.parts.push(second);
    }
    let mut study = copied(&TARGET, workloads, 8, 0.01, adds_up);
    for trial in &mut study.trials {
        let part = trial.result.parts[0].clone();
        trial.result.parts.push(part.clone());
        trial.result.together = Some(part);
    }
    for costs in copy_costs(&study) {
        // Twice the files in the same time.
        assert_near(costs.cost(CostKind::File), truth(costs.way().0).0 / 2.0, 0.02);
        let films = costs.datasets.iter().find(|d| d.work.class == Some(DataClass::Movies));
        assert_eq!(films.unwrap().work.files, 2);
    }
}
