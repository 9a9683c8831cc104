//! The examples as their reader runs them: their own scripts, most with shorter trials. Those with
//! virtual machines take minutes and are run by `make check-machines`.

mod support;

use plimsoll_model::{Measure, Metric, OpKind, Outcome, Pattern, Study, Workload};
use plimsoll_stats::verdict::{Side, Verdict};
use plimsoll_testkit::{Need, available};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use support::Ran;
use support::beds::Beds;
use support::runner_program::runner;
use support::sound::assert_sound;
use support::trial::{job, part, pattern, result};

/// Two blocks: there is a verdict, whatever it is.
const SHORT: [&str; 4] = ["--repeats=2", "--time=1s", "--baseline=0s", "--quiet"];

/// Machines that run beside others would tell of these.
static MACHINES: Mutex<()> = Mutex::new(());

/// Runs an example's script to its end, with places of its own for labs and studies.
#[track_caller]
fn run(beds: &Beds, name: &str, arguments: &[&str]) -> Ran {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let built = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let program = beds.program.command::<&str>(&[]);
    let variables = program.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let ran = Command::new(examples.join(name).join("run.sh"))
        .args(arguments)
        .envs(variables)
        .env("PLIMSOLL_RUNNER", runner())
        .env("PATH", format!("{}:{path}", built.display()))
        .stdin(Stdio::null())
        .output();
    let ran = Ran::from(ran.unwrap()).expect(0);
    assert!(!beds.directory(name).exists(), "the lab is taken down");
    ran
}

/// Every study that the example made, the first first.
fn studies(beds: &Beds) -> Vec<Study> {
    let listed = beds.program.run(&["list"]).expect(0).out;
    let begins = listed.lines().filter(|line| !line.starts_with(' '));
    begins.map(|line| beds.program.exported(line.split(' ').next().unwrap()).unwrap()).collect()
}

/// The verdict on a target against the first.
#[track_caller]
fn verdict(study: &Study, wanted: Pattern, target: u16) -> Verdict {
    let findings = plimsoll_explain::findings(study);
    let found = findings.workloads.iter().find(|found| pattern(&found.workload).pattern == wanted);
    let is_wanted = |pair: &&plimsoll_explain::Pair| {
        let contrast = pair.contrast;
        (contrast.against.cell.subject, contrast.of.cell.subject) == (0, target)
    };
    let pair = found.and_then(|found| found.pairs.iter().find(is_wanted));
    let verdict = pair.and_then(|pair| pair.claim).and_then(|claim| claim.verdict);
    verdict.unwrap_or_else(|| panic!("no verdict on {target} at {wanted}"))
}

/// All trials are there and hang together, and none carried more than the link does.
#[track_caller]
fn assert_carried(study: &Study, host: &str, blocks: usize, most_bits_per_second: f64) {
    assert_sound(study);
    let clients = study.plan.clients().map(ToString::to_string);
    assert_eq!(clients.collect::<Vec<_>>(), [host]);
    let cells = study.subjects.len() * study.plan.workloads.len();
    assert_eq!(study.trials.len(), cells * blocks, "every variant in every block");
    for trial in &study.trials {
        let rate = result(trial).quantities[&Metric::all(Measure::THROUGHPUT)] * 8.0;
        assert!(rate < most_bits_per_second, "{rate} bit/s in trial {}", trial.number);
    }
}

/// No operation failed. Whether an emulated machine found the time to watch its own load is another
/// matter.
#[track_caller]
fn assert_complete(study: &Study) {
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "trial {}", trial.number);
        assert!(result(trial).ops.values().all(|stats| stats.errors.is_empty()));
        assert!(result(trial).ops.values().any(|stats| stats.count > 0));
    }
}

/// Studies of other work each have no verdict on each other: the four jobs are one study.
#[test]
fn readers_and_blocks_on_one_server() {
    if !available(Need::Namespaces) || !available(Need::Ganesha) {
        return;
    }
    let beds = Beds::new();
    let out = run(&beds, "readers", &SHORT).out;
    let [study] = &studies(&beds)[..] else { panic!("one study in {out}") };
    assert_carried(study, "lab://readers/client", 2, 100e6);
    let workers_and_block =
        |workload: &Workload| (part(workload).workers.get(), pattern(workload).block.0);
    let variants: Vec<(u16, u64)> = study.plan.workloads.iter().map(workers_and_block).collect();
    assert_eq!(variants, [(1, 1 << 10), (1, 8 << 10), (2, 8 << 10), (3, 8 << 10)]);
    // Larger blocks, and two and three readers against one.
    let found = plimsoll_explain::findings(study);
    let pairs = found.workloads.iter().flat_map(|found| &found.pairs);
    let claimed = pairs.filter(|pair| pair.claim.is_some_and(|claim| claim.verdict.is_some()));
    let claimed: Vec<(u16, u16)> = claimed
        .map(|pair| (pair.contrast.against.cell.workload, pair.contrast.of.cell.workload))
        .collect();
    assert_eq!(claimed, [(0, 1), (1, 2), (1, 3)], "{out}");
}

#[test]
fn a_router_with_rules_and_one_without() {
    if ![Need::Namespaces, Need::Ganesha, Need::Nftables].into_iter().all(available) {
        return;
    }
    let beds = Beds::new();
    let out = run(&beds, "router-rules", &SHORT).out;
    let [study] = &studies(&beds)[..] else { panic!("one study in {out}") };
    assert_carried(study, "lab://router-rules/lan", 2, 1e9);
    for pattern in [Pattern::SequentialRead, Pattern::RandomRead] {
        verdict(study, pattern, 1);
    }
    // All that was read through the router with rules went by its last rule.
    let (_, counted) = out.rsplit_once(" bytes ").expect("a counter");
    let counted: u64 = counted.split(' ').next().unwrap().parse().unwrap();
    let through = study.trials.iter().filter(|trial| trial.cell.subject == 1);
    let read: u64 = through.map(|trial| result(trial).ops[&OpKind::READ].bytes).sum();
    assert!(counted > read, "{counted} bytes counted, {read} read");
    assert!(out.ends_with("no rules\n"), "{out}");
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn async_exports_and_larger_transfers() {
    if !available(Need::Machines) {
        return;
    }
    let _alone = MACHINES.lock();
    let beds = Beds::new();
    let out = run(&beds, "sync-async", &[]).out;
    println!("{out}");
    let [sequential, random] = &studies(&beds)[..] else { panic!("two studies in {out}") };
    let given = |study: &Study| -> Vec<String> {
        study.subjects.iter().map(|subject| subject.given().to_owned()).collect()
    };
    assert_eq!(given(sequential), ["/mnt/async-16k", "/mnt/async-32k"]);
    let all = ["/mnt/sync-16k", "/mnt/sync-32k", "/mnt/async-16k", "/mnt/async-32k"];
    assert_eq!(given(random), all);
    for study in [sequential, random] {
        assert_complete(study);
    }
    // Some tenths, which a busy machine that emulates two others does not resolve every time.
    let larger = verdict(sequential, Pattern::SequentialWrite, 1);
    assert_ne!(larger.faster(), Some(Side::A), "32 KiB: {larger:?}");
    for target in [2, 3] {
        let unsafer = verdict(random, Pattern::RandomWrite, target);
        assert_eq!(unsafer.faster(), Some(Side::B), "{}: {unsafer:?}", all[usize::from(target)]);
    }
    // Mounts are what they are called: what a WRITE carries, with its head of some 200 bytes.
    let sent = |target| {
        let trials = sequential.trials.iter().filter(|trial| trial.cell.subject == target);
        let writes = trials.map(|trial| trial.mount.as_ref().unwrap().operations["WRITE"]);
        let (bytes, count) = writes.fold((0, 0), |(bytes, count), operation| {
            (bytes + operation.wire.unwrap().sent_bytes, count + operation.count)
        });
        bytes / count
    };
    assert!((16_384..17_000).contains(&sent(0)), "{} bytes", sent(0));
    assert!((32_768..33_400).contains(&sent(1)), "{} bytes", sent(1));
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn nfs_and_smb_of_one_server() {
    if !available(Need::Machines) {
        return;
    }
    let _alone = MACHINES.lock();
    let beds = Beds::new();
    let short = ["--repeats=2", "--quiet"];
    let out = run(&beds, "nfs-smb", &short).out;
    println!("{out}");
    let [study] = &studies(&beds)[..] else { panic!("one study in {out}") };
    assert_complete(study);
    let patterns: BTreeSet<String> =
        study.trials.iter().map(|t| job(study, t).pattern.to_string()).collect();
    assert_eq!(patterns.len(), 5, "{patterns:?}");
    for (target, system) in [(0, "nfs"), (1, "cifs")] {
        for trial in study.trials.iter().filter(|trial| trial.cell.subject == target) {
            let counted = trial.mount.as_ref().map(|mount| &*mount.file_system);
            let (number, flags) = (trial.number, &trial.result.flags);
            assert!(
                counted.is_some_and(|name| name.starts_with(system)),
                "trial {number}: {counted:?}, {} loads, {flags:?}",
                trial.loads.len()
            );
        }
    }
    for found in plimsoll_explain::findings(study).workloads {
        verdict(study, pattern(&found.workload).pattern, 1);
    }
}
