//! Hosts that are watched while a study runs, exactly: what an operation costs them, what disturbs
//! them before it begins, and what happens when they are lost.

use plimsoll_load::{MockShare, Op, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Clock, CpuTimes, Design, DirectoryTarget, Failure, Flag, HostFacts, HostName, HostRole,
    Job, Length, Measure, Metric, Nanos, Part, Pattern, PatternJob, Plan, Rule, Study, StudyId,
    Target, Watched, Workload,
};
use plimsoll_reach::mounts::MountTexts;
use plimsoll_record::MemoryStore;
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{Conduct, NoSettings, conduct};
use plimsoll_watch::proc_files::{Hardware, InterfaceCounters, ProcessTime, Sample};
use plimsoll_watch::{Ask, PendingSample, Watch};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What an operation costs the server, in CPU seconds, and how busy it is without one.
const PER_OPERATION: f64 = 0.0005;
const IDLE: f64 = 0.14;

/// A server with two cores on a scripted clock.
struct Server {
    name: HostName,
    clock: Arc<VirtualClock>,
    operations: Arc<AtomicU64>,
    /// Answers that it has left before it is lost, and whether it then comes back.
    answers: u64,
    comes_back: bool,
    tries: Arc<AtomicU64>,
    hardware: Hardware,
    /// A directory that it has mounted over NFS.
    mounted: Option<String>,
    /// What runs there all the time, and how much of a core that takes.
    process: (&'static str, f64),
}

impl Server {
    fn sample(&self, what: Ask) -> Sample {
        let seconds = self.clock.now().0 as f64 * 1e-9;
        let caused = self.operations.load(Ordering::Relaxed) as f64 * PER_OPERATION;
        let (name, cores) = self.process;
        let busy = cores * seconds + caused;
        let core = CpuTimes { system: busy, idle: seconds - busy, ..CpuTimes::default() };
        let other = CpuTimes { idle: seconds, ..CpuTimes::default() };
        let process =
            ProcessTime { id: 7, name: name.into(), seconds: cores * seconds, kernel: false };
        Sample {
            at: self.clock.now(),
            uptime_seconds: Some(seconds),
            cpu: core + other,
            cores: vec![core, other],
            interfaces: vec![InterfaceCounters {
                name: "eth0".into(),
                received_bytes: (5e6 * seconds) as u64,
                received_packets: (5e3 * seconds) as u64,
                ..InterfaceCounters::default()
            }],
            raid: Some("md0: check at 3%".into()),
            mounts: self.mounted.as_ref().filter(|_| what == Ask::Mounts).map(|on| self.mounts(on)),
            processes: if what == Ask::Processes { vec![process] } else { Vec::new() },
            ..Sample::default()
        }
    }
}

impl Server {
    /// As if each operation were a READ of 2 ms.
    fn mounts(&self, on: &str) -> MountTexts {
        let reads = self.operations.load(Ordering::Relaxed);
        let milliseconds = 2 * reads;
        MountTexts {
            mountinfo: format!(
                "1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / {on} rw - nfs nas:/x rw\n"
            ),
            mountstats: format!(
                "device nas:/x mounted on {on} with fstype nfs statvers=1.1\n\tper-op statistics\n\
                 \t READ: {reads} {reads} 0 1 1 0 {milliseconds} {milliseconds} 0\n"
            ),
            cifs_stats: String::new(),
        }
    }
}

impl Watch for Server {
    fn facts(&self) -> HostFacts {
        HostFacts { name: self.name.clone(), ..HostFacts::default() }
    }
    fn hardware(&self) -> &Hardware {
        &self.hardware
    }
    fn ask(&mut self, what: Ask) -> PendingSample {
        let sample = (self.answers > 0).then(|| self.sample(what));
        self.answers = self.answers.saturating_sub(1);
        PendingSample::answered(sample)
    }
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn lost(&self) -> Option<Failure> {
        let lost =
            || Failure::new(Cause::Unreachable, "watch").on(&self.name).happened("the line is cut");
        (self.answers == 0).then(lost)
    }
    fn again(&mut self) -> Result<(), Failure> {
        self.tries.fetch_add(1, Ordering::Relaxed);
        if !self.comes_back {
            return Err(Failure::new(Cause::Unreachable, "reach")
                .on(&self.name)
                .happened("still cut"));
        }
        self.answers = u64::MAX;
        Ok(())
    }
}

fn plan(blocks: u32) -> Plan {
    let job = PatternJob::new(Pattern::RandomRead, Bytes(64 * KIB), Bytes(MIB));
    let part = Part::closed(Job::Pattern(job), NonZeroU16::MIN, NonZeroU16::MIN);
    let workload = Workload::new(part, Length::For { seconds: 3.0, warm_up_seconds: 0.3 });
    let target = Target::Directory(DirectoryTarget { path: "0".into() });
    let rule = Rule::Fixed { blocks };
    let design = Design { rule, baseline_seconds: 2.0, seed: 3, ..Design::default() };
    let mut plan = Plan::new(vec![target.into()], vec![workload], design);
    plan.watched.push(Watched::new("ssh://nas".parse().unwrap(), HostRole::Server));
    plan
}

/// Conducts it with a server that has so many answers; returns also how often it was asked to come
/// back.
fn study(blocks: u32, answers: u64, comes_back: bool) -> (Study, u64) {
    study_of(plan(blocks), answers, comes_back, None)
}

fn study_of(plan: Plan, answers: u64, comes_back: bool, mounted: Option<String>) -> (Study, u64) {
    study_beside(plan, answers, comes_back, mounted, ("indexer", IDLE))
}

fn study_beside(
    plan: Plan,
    answers: u64,
    comes_back: bool,
    mounted: Option<String>,
    process: (&'static str, f64),
) -> (Study, u64) {
    let clock = Arc::new(VirtualClock::new());
    let (operations, tries) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = operations.clone();
    let script = move |_: &Op, _: Nanos| {
        counted.fetch_add(1, Ordering::Relaxed);
        Reply::After(Duration::from_millis(1))
    };
    let share = Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script));
    // Every host but this machine is the same server, whatever its name is.
    let named = plan.watched.iter().filter(|one| one.host != HostName::Local);
    let server = |one: &Watched| -> Box<dyn Watch> {
        Box::new(Server {
            name: one.host.clone(),
            clock: clock.clone(),
            operations: operations.clone(),
            answers,
            comes_back,
            tries: tries.clone(),
            hardware: Hardware::default(),
            mounted: mounted.clone(),
            process,
        })
    };
    let hosts = named.map(server).collect();
    let (id, stop) = (StudyId("0123abcd".into()), Arc::new(AtomicBool::new(false)));
    let options = RunnerOptions::of_plan(
        &plan,
        id.clone(),
        0,
        plimsoll_model::Deadline::new(clock.clone(), stop.clone()),
    );
    let options = RunnerOptions { live: false, ..options };
    let runner = Box::new(Runner::new(options, vec![share as Arc<dyn plimsoll_runner::Share>]));
    let study = conduct(Conduct {
        id,
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner,
        settings: Box::new(NoSettings),
        hosts,
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop,
        store: &MemoryStore::default(),
        observer: &mut |_| {},
    });
    (study.unwrap(), tries.load(Ordering::Relaxed))
}

/// The host that drives the trials is the server's host, too, under a name without a user.
#[test]
fn the_time_of_a_machine_that_is_client_and_server_is_charged_once() {
    let mut plan = plan(3);
    plan.drive_on(["ssh://root@nas".parse().unwrap()]);
    let (study, _) = study_of(plan, u64::MAX, false, None);
    let same = Flag::SameMachine { host: "ssh://nas".parse().unwrap() };
    assert!(study.flags.contains(&same), "{:?}", study.flags);
    for trial in &study.trials {
        let quantities = &trial.result.parts[0].quantities;
        assert!(quantities.contains_key(&Metric::all(Measure::MACHINE_CPU_PER_OP)));
        assert!(!quantities.contains_key(&Metric::all(Measure::SERVER_CPU_PER_OP)));
    }
}

/// A reader and a writer at once on one client. What its machine spends is charged once.
#[test]
fn the_time_of_a_machine_on_several_parts_is_that_of_the_whole_workload() {
    let mut plan = plan(2);
    let writes = PatternJob::new(Pattern::SequentialWrite, Bytes(64 * KIB), Bytes(MIB));
    plan.workloads[0].parts.push(Part::closed(writes.into(), NonZeroU16::MIN, NonZeroU16::MIN));
    plan.drive_on(["ssh://client".parse().unwrap()]);
    let (study, _) = study_of(plan, u64::MAX, false, None);
    assert_eq!(study.trials.len(), 2);
    let machine = Metric::all(Measure::MACHINE_CPU_PER_OP);
    let server = Metric::all(Measure::SERVER_CPU_PER_OP);
    for trial in &study.trials {
        let result = &trial.result;
        let served: u64 = result.parts.iter().map(|part| part.series.served().operations).sum();
        for (metric, host) in [(machine, "ssh://client"), (server, "ssh://nas")] {
            let load = trial.loads.iter().find(|load| load.host == *host).unwrap();
            let spent = result.whole[&metric] * served as f64;
            assert!((spent / load.caused().0 - 1.0).abs() < 1e-9, "{host}: {spent}");
            assert!(result.parts.iter().all(|part| !part.quantities.contains_key(&metric)));
        }
        let own = Metric::all(Measure::CLIENT_CPU_PER_OP);
        assert!(result.parts.iter().all(|part| part.quantities[&own] > 0.0));
    }
}

#[test]
fn an_operation_costs_the_server_what_it_costs() {
    let (study, _) = study(3, u64::MAX, false);
    for trial in &study.trials {
        let cost = trial.result.parts[0].quantities[&Metric::all(Measure::SERVER_CPU_PER_OP)];
        // One operation may be under way at either end.
        assert!((cost / PER_OPERATION - 1.0).abs() < 0.002, "{cost}");
        let per_byte = trial.result.parts[0].quantities[&Metric::all(Measure::SERVER_CPU_PER_BYTE)];
        assert!((per_byte * 65_536.0 / cost - 1.0).abs() < 1e-9);
        let load = &trial.loads[0];
        assert!((load.idle_baseline - IDLE).abs() < 1e-6, "{}", load.idle_baseline);
        assert!(
            !trial.result.parts[0]
                .quantities
                .contains_key(&Metric::all(Measure::MACHINE_CPU_PER_OP))
        );
    }
    let found = &plimsoll_explain::findings(&study).hosts[0];
    let work = &found.work[0];
    assert_eq!(
        (found.host.to_string().as_str(), work.trials, work.cell.subject),
        ("ssh://nas", 3, 0)
    );
    let cost = work.per_operation.unwrap();
    assert!((cost.system / PER_OPERATION - 1.0).abs() < 0.002 && cost.user == 0.0);
    // Half a core of the operations, and what there was before, of two cores.
    assert!((work.shares.system - (0.5 + IDLE) / 2.0).abs() < 0.002, "{}", work.shares.system);
    assert!((work.busiest_core - (0.5 + IDLE)).abs() < 0.004);
}

/// The client's kernel keeps an account of what is mounted below the load; trials have their part.
#[test]
fn each_trial_has_its_part_of_the_mounts_account() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let below = place.join("below");
    std::fs::create_dir(&below).unwrap();
    let plan = |path: &Path| Plan {
        subjects: vec![Target::Directory(DirectoryTarget { path: path.to_owned() }).into()],
        ..plan(2)
    };
    let mounted = place.to_str().map(str::to_owned);
    let (study, _) = study_of(plan(&below), u64::MAX, false, mounted.clone());
    assert_eq!(study.trials.len(), 2);
    for trial in &study.trials {
        let mount = trial.mount.as_ref().unwrap();
        assert_eq!(mount.file_system, "nfs");
        let read = mount.operations["READ"];
        let (count, wire) = (read.count as f64, read.wire.unwrap());
        // One operation takes 1 ms of 3 s; one may be under way at either end.
        let operations = trial.result.moved().operations;
        assert!((count / operations as f64 - 1.0).abs() < 0.002, "{count} of {operations}");
        assert!((wire.round_trip_seconds / count - 0.002).abs() < 1e-6);
    }
    let (elsewhere, _) = study_of(plan(Path::new("/")), u64::MAX, false, mounted);
    assert!(elsewhere.trials.iter().all(|trial| trial.mount.is_none()), "that is no NFS");
}

#[test]
fn what_disturbs_before_it_begins_is_told_once() {
    let (study, _) = study(3, u64::MAX, false);
    let said: Vec<String> = study.flags.iter().map(Flag::message).collect();
    let expected = [
        "5.00 MB/s of other network traffic on ssh://nas",
        "'indexer' on ssh://nas used 14% of a core when plimsoll was idle",
        "the RAID of ssh://nas was busy with its own work (md0: check at 3%)",
    ];
    let whole = |what| {
        format!(
            "Figures may be too low: {what} (before the load began and in 2 later idle windows)"
        )
    };
    assert_eq!(said, expected.map(whole), "7% of both cores is not busy");
}

/// The server under test, plimsoll's own agent and the like are no other work, to be stopped.
#[test]
fn what_belongs_to_the_measurement_is_not_told_to_be_stopped() {
    let flags = |process| {
        let (study, _) = study_beside(plan(1), u64::MAX, false, None, process);
        let of_load = |f: &Flag| matches!(f, Flag::BusyProcess { .. } | Flag::BusyBaseline { .. });
        study.flags.into_iter().filter(of_load).collect::<Vec<_>>()
    };
    let own = ["plimsoll", "plimsoll-runner", "plimsoll-probe", "plimsoll-agent"];
    assert!(own.into_iter().all(|name| flags((name, 0.4)).is_empty()));
    for name in ["smbd", "smbd-notifyd", "nfsd", "ganesha.nfsd", "ksmbd:r445"] {
        let flags = flags((name, 0.4));
        assert_eq!(flags.len(), 1, "{flags:?}");
        assert!(flags[0].message().contains(name));
        let advice = flags[0].advice();
        assert!(advice.contains("may be the server under test"), "{advice}");
        assert!(!advice.contains("Stop"), "{advice}");
    }
    // Everything else is (20% of both cores), unless it is a server by another name.
    let flags = flags(("smbdoor", 0.4));
    assert_eq!(flags.len(), 2, "{flags:?}");
    let advice: Vec<String> = flags.iter().map(Flag::advice).collect();
    assert!(advice.iter().any(|text| text.starts_with("Stop other work")), "{advice:?}");
    assert!(advice.iter().any(|text| text.starts_with("Unless it is the server")), "{advice:?}");
}

#[test]
fn a_lost_host_marks_its_trial_and_gets_one_chance() {
    // Four in the first window, then a begin, two looks and an end in each trial.
    let (lost, tries) = study(4, 10, false);
    assert_eq!((lost.trials.len(), tries), (4, 1), "one try, and no more");
    let flags = |study: &Study| -> Vec<usize> {
        let lost = |f: &&Flag| matches!(f, Flag::HostLost { .. });
        study.trials.iter().map(|t| t.result.flags.iter().filter(lost).count()).collect()
    };
    assert_eq!(flags(&lost).iter().sum::<usize>(), 1);
    let at = flags(&lost).iter().position(|n| *n == 1).unwrap();
    for (i, trial) in lost.trials.iter().enumerate() {
        assert_eq!(trial.loads.len(), usize::from(i < at), "no load that is not whole");
        assert_eq!(trial.result.outcome, plimsoll_model::Outcome::Complete);
    }
    let (back, tries) = study(4, 10, true);
    assert_eq!((tries, flags(&back).iter().sum::<usize>()), (1, 1));
    assert_eq!(back.trials.last().unwrap().loads.len(), 1);
}
