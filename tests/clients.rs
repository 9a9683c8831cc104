//! `plimsoll check --on A --on B`: several clients that drive each trial together.

mod clients {
    pub mod points;
}
mod support;

use clients::points::{
    BLOCK, LoadEvent, assert_sum, counted, monotonic, options, point, prepared, spec, spread,
    start, true_spread, watch, with_target,
};
use plimsoll_explain::playback;
use plimsoll_load::SystemClock;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    Cause, Deadline, Ended, Event, Failure, HostName, Length, Measure, Metric, OpKind, Outcome,
    PartResult, Pattern, PatternJob, SubjectRunner, Workload,
};
use plimsoll_reach::deploy::Programs;
use plimsoll_reach::{Channel, Local, Output, Reach};
use plimsoll_remote::{BUNDLE, Clients, RemoteRunner};
use plimsoll_runner::RunnerOptions;
use plimsoll_testkit::{Need, available, enter_or_skip};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::beds::Beds;
use support::runner_program::{impostor, runner};
use support::sound::{SHORT, assert_sound, with};
use support::{Ran, ended, run_directories, wait_until};

/// A server and the clients `a` and `b`.
const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labs/clients.toml");
const SHARE: &str = "nfs://server/srv/data";

fn lab() -> Option<Beds> {
    let needs = [Need::Namespaces, Need::Ganesha];
    needs.into_iter().all(available).then(|| {
        let beds = Beds::with_runner();
        beds.lab(&["up", LAB, "--name=two"]).expect(0);
        beds
    })
}

#[test]
fn two_hosts_drive_one_share_at_the_same_time() {
    let Some(beds) = lab() else { return };
    let hosts = || vec![beds.reach("two/a"), beds.reach("two/b")];
    for host in hosts() {
        let mut runner =
            RemoteRunner::start(host, &Programs::at(BUNDLE, runner()), &options()).unwrap();
        let clocks = runner.clocks().unwrap();
        let (before, at, after) = (monotonic(), Instant::now(), monotonic());
        let (shown, error) = clocks.there(at).unwrap();
        assert!(
            shown + error >= before && shown <= after + error,
            "{shown:?} {before:?} {error:?}"
        );
    }

    let server = beds.reach("two/server");
    let mut clients = prepared(hosts(), SHARE);
    let ways = hosts();
    let spec = spec(&[Pattern::RandomRead; 2], 3.0);
    let begun = counted(&*server, "tx_bytes");
    let (mut received, mut ended) = (Vec::new(), None);
    let mut watch = watch(|seen| match seen {
        LoadEvent::End => ended = Some(counted(&*server, "tx_bytes")),
        // Twice in the middle of the trial.
        LoadEvent::Event(Event::Window { .. }) if received.len() < 2 => {
            received.push([0, 1].map(|host: usize| counted(&*ways[host], "rx_bytes")));
        }
        _ => {}
    });
    let result = clients.point(&spec, &mut watch);
    assert_eq!(watch.loads, (1, 1));
    assert_sum(&result, &spec, OpKind::READ);
    let ([measured, error], truth) = (spread(&result), true_spread(&clients));
    assert!(truth <= measured + error, "{truth:?} {measured:?} {error:?}");
    assert!(measured <= truth + error, "{truth:?} {measured:?} {error:?}");
    let [first, second] = received[..] else { panic!("windows of both") };
    for host in [0, 1] {
        assert!(second[host] > first[host] + BLOCK, "both receive meanwhile: {received:?}");
    }
    // As the server counts it: the payload with headers, and nothing of the preparations.
    let sent = ended.unwrap() - begun;
    let bytes = result.moved().bytes;
    assert!(sent >= bytes && sent < bytes + bytes / 5 + (8 << 20), "{sent} sent of {bytes}");

    let own = |listing: String| listing.lines().filter(|l| l.contains(".plimsoll-")).count();
    assert_eq!(own(beds.on("two/server", "ls -A /srv/data")), 2, "each has its own directory");
    assert_eq!(clients.close(), vec![]);
    assert_eq!(own(beds.on("two/server", "ls -A /srv/data")), 0);
}

#[test]
fn clients_of_one_machine_write_and_read_together() {
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let mut clients = prepared(vec![Arc::new(Local), Arc::new(Local), Arc::new(Local)], target);
    let (write, read) = (Pattern::SequentialWrite, Pattern::RandomRead);
    for (pattern, kind) in [(write, OpKind::WRITE), (read, OpKind::READ)] {
        let spec = spec(&[pattern; 3], 0.6);
        let (result, loads) = point(&mut clients, &spec);
        assert_eq!((result.parts.len(), loads), (3, 1));
        assert_sum(&result, &spec, kind);
        clients.reopen().unwrap();
    }
    let directories = run_directories(share.path());
    assert_eq!(directories.len(), 3);
    // What is written is like nothing else that is written: storage may keep equal blocks once.
    let block = |directory: &PathBuf| {
        let files = std::fs::read_dir(directory).unwrap().flatten().map(|file| file.path());
        let mut blocks: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|end| end == "data"))
            .flat_map(|path| {
                let bytes = std::fs::read(path).unwrap();
                bytes.chunks(4096).map(<[u8]>::to_vec).collect::<Vec<_>>()
            })
            .collect();
        blocks.dedup();
        blocks
    };
    let blocks: Vec<Vec<u8>> = directories.iter().flat_map(block).collect();
    assert!(blocks.len() >= 3 * 2 * 4096, "16 MiB that are written and as many that are read");
    assert_eq!(blocks.iter().collect::<BTreeSet<_>>().len(), blocks.len());
    assert_eq!(clients.close(), vec![]);
    assert!(run_directories(share.path()).is_empty());
}

#[test]
fn clients_that_do_different_jobs_have_results_of_their_own_and_no_sum() {
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let mut clients = prepared(vec![Arc::new(Local), Arc::new(Local)], target);
    let mut spec = spec(&[Pattern::RandomRead, Pattern::SequentialWrite], 0.4);
    let (result, loads) = point(&mut clients, &spec);
    assert_eq!((&result.outcome, loads), (&Outcome::Complete, 1));
    let kinds = |part: &PartResult| part.ops.keys().copied().collect::<Vec<_>>();
    let kinds: Vec<_> = result.parts.iter().map(kinds).collect();
    assert_eq!((kinds, result.together), (vec![vec![OpKind::READ], vec![OpKind::WRITE]], None));
    assert!(result.parts.iter().all(|part| !part.quantities.is_empty()));

    // In the order of the parts, whoever does them; and a client may have nothing to do.
    spec.workload.parts.iter_mut().for_each(|part| part.client = 1);
    spec.workload.parts.swap(0, 1);
    let (result, _) = point(&mut clients, &spec);
    assert_eq!((&result.outcome, clients.begun().len()), (&Outcome::Complete, 1));
    assert!(result.parts[0].ops.contains_key(&OpKind::WRITE) && result.together.is_none());

    // What ends by itself ends at different times.
    spec.workload.parts[1].client = 0;
    spec.workload.length = Length::UntilDone { at_most_seconds: 1.0 };
    let failure = clients.prepare(0, &[spec.workload.clone()], &mut watch(|_| {})).unwrap_err();
    assert!(failure.happened.contains("would end at different times"), "{failure}");
    spec.workload.parts[1].client = 2;
    let failure = clients.prepare(0, &[spec.workload], &mut watch(|_| {})).unwrap_err();
    assert!(failure.happened.contains("client 3"), "{failure}");
    assert_eq!(clients.close(), vec![]);
}

/// This machine, from which answers come late while that is wanted.
struct Slow(Arc<AtomicBool>);

struct SlowChannel(Box<dyn Channel>, Arc<AtomicBool>);

impl Reach for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        Local.run(command, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Ok(Box::new(SlowChannel(Local.open(command)?, self.0.clone())))
    }
}

impl Channel for SlowChannel {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.0.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        let count = self.0.read(buffer, until)?;
        if self.1.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(130));
        }
        Ok(count)
    }

    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        self.0.finish(limit)
    }
}

#[test]
fn clocks_further_apart_than_the_gate_can_bridge_are_refused() {
    let slow = Arc::new(AtomicBool::new(true));
    let hosts = || -> Vec<Arc<dyn Reach>> { vec![Arc::new(Local), Arc::new(Slow(slow.clone()))] };
    let failure = start(hosts()).err().unwrap();
    assert_eq!((failure.cause, &*failure.on), (Cause::Usage, "slow"));
    assert!(failure.happened.contains("need clocks within 50 ms of each other"), "{failure}");

    // In the middle of a study, that is the end of a trial.
    slow.store(false, Ordering::Relaxed);
    let share = tempfile::tempdir().unwrap();
    let mut clients = prepared(hosts(), share.path().to_str().unwrap());
    slow.store(true, Ordering::Relaxed);
    let (result, _) = point(&mut clients, &spec(&[Pattern::RandomRead; 2], 60.0));
    let Outcome::Failed { failure, .. } = &result.outcome else { panic!("{result:?}") };
    assert_eq!((failure.cause, &*failure.on), (Cause::Trial, "slow"));
    assert!(result.parts.is_empty() && result.together.is_none(), "none has begun");
    assert_eq!(clients.begun(), [None, None]);
    slow.store(false, Ordering::Relaxed);
    let spec = spec(&[Pattern::RandomRead; 2], 0.4);
    assert_sum(&point(&mut clients, &spec).0, &spec, OpKind::READ);
    assert_eq!(clients.close(), vec![]);
    assert!(run_directories(share.path()).is_empty());
}

#[test]
fn a_stop_ends_all_of_them_before_and_after_the_start() {
    for before in [true, false] {
        let share = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let deadline = Deadline::new(Arc::new(SystemClock::new()), stop.clone());
        let options = RunnerOptions { deadline, ..options() };
        let hosts: Vec<Arc<dyn Reach>> = vec![Arc::new(Local), Arc::new(Local)];
        let clients = Clients::start(hosts, &Programs::at(BUNDLE, runner()), &options).unwrap();
        let mut clients = with_target(clients, 2, share.path().to_str().unwrap());
        let spec = spec(&[Pattern::SequentialWrite; 2], 60.0);
        let mut watch = watch(|seen| {
            let runs = matches!(seen, LoadEvent::Event(Event::Window { .. }));
            stop.fetch_or(runs, Ordering::Relaxed);
        });
        // Nothing is to be seen of clients that get ready for the start.
        stop.store(before, Ordering::Relaxed);
        let result = clients.point(&spec, &mut watch);
        let loads = if before { (0, 0) } else { (1, 1) };
        assert_eq!((&result.outcome, watch.loads), (&Outcome::Stopped, loads));
        for part in result.parts.iter().chain(&result.together) {
            assert!(part.series.len() < 500, "long before its time");
            assert!(part.quantities.is_empty());
        }
        assert_eq!(result.moved().operations == 0, before);
        assert_eq!(clients.begun().iter().any(Option::is_none), before);
        assert_eq!(clients.close(), vec![]);
        assert!(run_directories(share.path()).is_empty());
    }
}

/// Films on one host, and a backup on the other: alone, and both at once.
#[test]
fn one_host_plays_films_and_the_other_makes_a_backup() {
    let Some(beds) = lab() else { return };
    let hosts = ["--on=lab://two/a", "--on=lab://two/b"];
    let films = ["--rate=1Mbit/s", "--streams=1", "--while=backup", "--size=8MiB"];
    let short = ["--repeats=2", "--time=1s", "--soak=1s", "--baseline=0s", "--seed=7", "--quiet"];
    let words = [&["play", SHARE][..], &hosts, &films, &short].concat();
    let shown = beds.program.run(&words).expect(0).out;
    let study = beds.program.latest();
    assert_eq!(study.ended, Ended::Done);
    let clients = |workload: &Workload| -> Vec<u16> {
        workload.parts.iter().map(|part| part.client).collect()
    };
    let done: BTreeSet<Vec<u16>> = study.plan.workloads.iter().map(clients).collect();
    assert_eq!(done, BTreeSet::from([vec![0], vec![1], vec![0, 1]]));
    let [only] = &playback(&study)[..] else { panic!("one target") };
    let during = only.during.as_ref().expect("films during a backup");
    assert_eq!(during.work, "a backup from another host");
    assert!(during.film_loss.contains_key(&1), "{during:?}");
    assert!(shown.contains("a backup from another host"), "{shown}");
    assert_eq!(beds.on("two/server", "ls -A /srv/data | grep plimsoll || true"), "");
}

/// The runners on a host of the lab: their numbers there, and their files.
const RUNNERS: &str = "for p in /proc/[0-9]*; do case $(readlink $p/exe) in \
                       */plimsoll-runner*) echo ${p#/proc/} $(readlink $p/exe);; esac; done";

#[test]
fn a_lost_client_ends_the_trial_for_all_and_nothing_is_left() {
    let Some(beds) = lab() else { return };
    let words = [
        "check",
        SHARE,
        "--on=lab://two/a",
        "--on=lab://two/b",
        "--pattern=random-read",
        "--size=16MiB",
        "--repeats=3",
        "--time=6s",
        "--baseline=0s",
        "-q",
    ];
    let child = beds.program.start(&words);
    wait_until("a trial has ended", || {
        beds.program.exported("latest").is_some_and(|study| !study.trials.is_empty())
    });
    let found = ["two/a", "two/b"].map(|host| beds.on(host, RUNNERS));
    let one = |line: &String| {
        let (number, file) = line.trim().split_once(' ').expect("one runner on each");
        (number.to_owned(), PathBuf::from(file))
    };
    let [(_, on_a), (number, on_b)] = found.each_ref().map(one);
    assert!(on_a.is_file() && on_b.is_file(), "{found:?}");
    beds.on("two/b", &format!("kill -KILL {number}"));
    let ran = ended(child).expect(1);
    let study = beds.program.latest();
    let Ended::Failed { failure } = &study.ended else { panic!("{:?}", study.ended) };
    assert!(failure.on.contains("lab://two/b"), "{failure}");
    assert!(failure.happened.contains("signal 9"), "{failure}");
    let (last, others) = study.trials.split_last().unwrap();
    assert!(others.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let Outcome::Failed { failure: same, .. } = &last.result.outcome else { panic!("{last:?}") };
    assert_eq!(failure, same);
    assert!(last.result.parts.iter().all(|part| part.quantities.is_empty()));
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text.contains("could not be removed"), "{text}");
    assert_eq!(beds.on("two/server", "ls -A /srv/data | grep plimsoll || true"), "");
    for host in ["two/a", "two/b"] {
        assert_eq!(beds.on(host, RUNNERS), "", "{host}");
    }
    for file in [on_a, on_b] {
        assert!(!file.parent().unwrap().exists(), "{}", file.display());
    }
}

/// kill -9 of the program left the runner in /dev/shm and `.plimsoll-ID` on the export: during a trial, and while
/// the files are created.
#[test]
fn a_killed_program_leaves_nothing_on_a_client_of_namespaces() {
    let Some(beds) = lab() else { return };
    let on_export = "ls -A /srv/data | grep plimsoll || true";
    for moment in ["a trial runs", "files are created"] {
        let size = if moment == "a trial runs" { "--size=16MiB" } else { "--size=256MiB" };
        let words = ["check", SHARE, "--on=lab://two/a", "--pattern=random-read", size];
        let more = ["--repeats=100", "--time=2s", "--baseline=0s", "--quiet"];
        let mut child = beds.program.start(&[&words[..], &more].concat());
        wait_until(moment, || match moment {
            "a trial runs" => {
                beds.program.exported("latest").is_some_and(|study| !study.trials.is_empty())
            }
            _ => !beds.on("two/server", on_export).is_empty(),
        });
        let found = beds.on("two/a", RUNNERS);
        let (_, file) = found.trim().split_once(' ').expect("a runner");
        let place = PathBuf::from(file).parent().unwrap().to_owned();
        assert!(place.is_dir(), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        wait_until("the program is gone", || !place.exists());
        wait_until("the export is clean", || beds.on("two/server", on_export).is_empty());
        println!("{moment}: gone {:.1} s after the kill", killed.elapsed().as_secs_f64());
        assert_eq!(beds.on("two/a", RUNNERS), "");
    }
    // With the guard killed as well there is nobody to remove the program: `clean` and `restore` name it.
    let place = PathBuf::from("/dev/shm/plimsoll-00c0ffee00c0ffee");
    std::fs::create_dir_all(&place).unwrap();
    let cleaned = beds.program.run(&["clean", SHARE, "--on=lab://two/a"]).expect(0);
    let restored = beds.program.run(&["restore", "lab://two/a"]).expect(0);
    std::fs::remove_dir(&place).unwrap();
    let command = format!("rm -rf '{}'", place.display());
    assert!(cleaned.out.contains(&command), "{cleaned:?}");
    assert!(restored.err.contains(&command), "{restored:?}");
}

/// What a run leaves on a host when it is killed with its guard and its runner: a directory that says whose processes
/// could use it, and that no process uses.
fn left_by_a_killed_run(beds: &Beds) -> PathBuf {
    let space = "space=$(ls -l /proc/self/ns/pid); \
                 echo \"$(cat /proc/sys/kernel/random/boot_id) ${space##* }\"";
    let owner = beds.on("two/a", space);
    assert!(owner.contains("pid:["), "{owner}");
    let place = PathBuf::from("/dev/shm/plimsoll-00c0ffee00c0ffee");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("owner"), owner.trim().to_owned() + "\n").unwrap();
    std::fs::write(place.join("plimsoll-runner"), "").unwrap();
    place
}

/// Its directory stayed in /dev/shm, which hosts of namespaces share with this machine.
#[test]
fn what_is_killed_with_its_guard_is_removed_by_the_next_run_or_with_its_lab() {
    // In sight of this stage alone: every other run would remove it, too.
    let stage = enter_or_skip!();
    let _shared = stage.tmpfs("/dev/shm", 256 << 20).unwrap();
    // Directories of tests can be there, too.
    std::fs::create_dir_all(std::env::temp_dir()).unwrap();
    let Some(beds) = lab() else { return };
    let place = left_by_a_killed_run(&beds);
    let words = ["check", SHARE, "--on=lab://two/a", "--pattern=random-read"];
    let next = beds.program.run(&with(&words, &SHORT)).expect(0);
    assert!(!place.exists());
    let named = format!("removed {} from lab://two/a", place.display());
    assert!(next.err.contains(&named), "{next:?}");

    let place = left_by_a_killed_run(&beds);
    beds.lab(&["down", "two"]).expect(0);
    assert!(!place.exists());
}

#[test]
fn a_study_of_two_clients_is_kept_and_odd_clients_are_refused() {
    let Some(beds) = lab() else { return };
    let words = ["check", SHARE, "--on=lab://two/a", "--on", "lab://two/b"];
    beds.program.run(&with(&words, &SHORT)).expect(0);
    let study = beds.program.latest();
    assert_sound(&study);
    let command = &study.plan.command;
    assert!(command.contains("lab://two/a") && command.contains("lab://two/b"), "{command}");
    let watched: Vec<String> = study.hosts.iter().map(|host| host.name.to_string()).collect();
    assert_eq!(watched, ["lab://two/a", "lab://two/b"]);
    let shown = beds.program.run(&["show", "latest", "--details"]).expect(0).out;
    for host in ["lab://two/a", "lab://two/b"] {
        assert!(shown.contains(host), "{shown}");
    }
    for trial in &study.trials {
        assert_eq!((trial.result.parts.len(), trial.result.together.is_some()), (2, true));
        let job = &study.plan.workload(trial.cell).unwrap().parts[0].job;
        let headline = |part| trial.result.value(part, job.headline());
        let figures = [0, 1, 2].map(headline);
        assert!(figures.iter().all(|value| value.is_some_and(|v| v > 0.0)), "{job:?} {figures:?}");
        let spread = trial.result.value(2, Metric::all(Measure::START_SPREAD));
        assert!(spread.is_some(), "how far apart they began is kept");
        let cpu = Metric::all(Measure::MACHINE_CPU_PER_OP);
        assert!([0, 1, 2].into_iter().all(|part| trial.result.value(part, cpu).is_some()));
        let loads: BTreeSet<String> =
            trial.loads.iter().map(|load| load.host.to_string()).collect();
        assert_eq!(loads, BTreeSet::from(["lab://two/a", "lab://two/b"].map(str::to_owned)));
    }
    let directory = tempfile::tempdir().unwrap();
    let words = ["check", directory.path().to_str().unwrap(), "--on=local", "--on=lab://two/b"];
    beds.program.run(&with(&words, &[&SHORT[..], &["--pattern=random-write"]].concat())).expect(0);
    let study = beds.program.latest();
    let hosts = [HostName::Local, "lab://two/b".parse().unwrap()];
    assert!(study.trials.iter().all(|t| t.loads.iter().all(|l| hosts.contains(&l.host))));
    assert_eq!(study.hosts.len(), 2, "this machine is one of them");
    assert!(run_directories(directory.path()).is_empty());

    let slow = impostor(
        directory.path(),
        "hello(); while (fgets(line, sizeof line, stdin)) { if (strstr(line, \"alive\")) continue; \
         if (strstr(line, \"clock\")) { usleep(130000); \
         puts(\"{\\\"reply\\\":\\\"clock\\\",\\\"now\\\":1000000000}\"); } \
         else puts(\"{\\\"reply\\\":\\\"done\\\"}\"); fflush(stdout); }",
    );
    let words = ["check", SHARE, "--on=lab://two/a", "--on=lab://two/b", "-q"];
    let mut command = beds.program.command(&words);
    let apart = Ran::from(command.env("PLIMSOLL_RUNNER", slow).output().unwrap()).expect(2);
    assert!(apart.err.contains("need clocks within 50 ms of each other"), "{}", apart.err);
    assert!(apart.err.contains("lab://two/a"), "{}", apart.err);
    let twice = ["check", SHARE, "--on=lab://two/a", "--on=lab://two/a", "-q"];
    let refused = beds.program.run(&twice).expect(2);
    assert!(refused.err.contains("named twice"), "{}", refused.err);
}

/// How far apart two clients begin, and whether the sum of what they read is what the server sent:
/// the bytes that its interface counted, less the headers. Each packet that is counted, which may
/// be cut into smaller ones later, has 66 bytes of Ethernet, IP and TCP with time stamps; each READ
/// reply 132 of RPC and NFS (RFC 5531, RFC 1813). Reads in flight at the end are sent as well.
#[test]
#[ignore = "a measurement: make measure-clients"]
fn measure_clients() {
    const TRIALS: usize = 50;
    let Some(beds) = lab() else { return };
    let server = beds.reach("two/server");
    let mut clients = prepared(vec![beds.reach("two/a"), beds.reach("two/b")], SHARE);
    let mut spec = spec(&[Pattern::RandomRead; 2], 1.0);
    let block = 16 << 10;
    let mut in_flight = 0;
    for part in &mut spec.workload.parts {
        part.job = PatternJob::new(Pattern::RandomRead, Bytes(block), Bytes(16 * MIB)).into();
        in_flight += u64::from(part.workers.get()) * u64::from(part.depth().get());
    }
    while clients.prepare(0, std::slice::from_ref(&spec.workload), &mut watch(|_| {})).unwrap().more
    {
    }
    let (mut measured, mut truth, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let (mut operations, mut bytes, mut sent, mut packets) = (0, 0, 0, 0);
    for number in 0..TRIALS as u32 {
        spec.number = number;
        let look = || ["tx_bytes", "tx_packets"].map(|what| counted(&*server, what));
        let (before, mut after) = (look(), [0; 2]);
        let mut watch = watch(|seen| {
            if let LoadEvent::End = seen {
                after = look();
            }
        });
        let result = clients.point(&spec, &mut watch);
        assert_eq!(result.outcome, Outcome::Complete);
        let [apart, error] = spread(&result);
        measured.push(apart);
        errors.push(error);
        truth.push(true_spread(&clients));
        let all = result.moved();
        operations += all.operations + in_flight;
        bytes += all.bytes + in_flight * block;
        sent += after[0] - before[0];
        packets += after[1] - before[1];
    }
    assert_eq!(clients.close(), vec![]);
    for (what, mut all) in
        [("as measured", measured), ("in truth", truth), ("bound of the error", errors)]
    {
        all.sort();
        let beyond = all.iter().filter(|time| **time > Duration::from_millis(5)).count();
        println!(
            "spread of the start, {what}: median {:.2} ms, worst {:.2} ms of {TRIALS} trials, \
             {beyond} beyond 5 ms",
            all[TRIALS / 2].as_secs_f64() * 1e3,
            all[TRIALS - 1].as_secs_f64() * 1e3,
        );
    }
    let payload = sent as f64 - (66 * packets + 132 * operations) as f64;
    println!(
        "read by both: {bytes} bytes, {operations} operations; the server sent {sent} bytes in \
         {packets} packets, {payload:.0} without headers: {:+.4}%",
        (payload / bytes as f64 - 1.0) * 100.0
    );
}
