//! `plimsoll device` end to end: on this machine, and over ssh on hosts that have BusyBox alone.

mod device {
    mod several;
}
#[path = "../crates/reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use plimsoll_model::device::{Algorithm, CoreMarkKind, CryptoMeans, Device, Part, ReadBy};
use plimsoll_model::{Cause, Ended, Flag, Metric, Outcome, Study};
use plimsoll_reach::probe::Machine;
use plimsoll_testkit::servers::Dropbear;
use plimsoll_testkit::{Need, Stage, enter_or_skip, thorough};
use probe_support::emulated::{ALL, Emulated};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Plimsoll, Ran, ended, probes, signal, wait_until};

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().expect("a path in letters"))
}

/// Where no probe can be put: then there is none.
const NOWHERE: &str = "--probe-dir=/proc";

/// The study on standard output.
#[track_caller]
fn study(ran: &Ran) -> Study {
    plimsoll_record::from_json(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// What became known of its only host. A study has the figures of its trials.
#[track_caller]
fn record(ran: &Ran) -> Device {
    let study = study(ran);
    assert_eq!(study.subjects.len(), 1);
    let last = figures(&study, 0, study.trials.last().and_then(|trial| trial.block));
    let device = device(&study, 0);
    if study.plan.first_blocks() == 1 {
        let measured = device.measured();
        let values: Vec<(Metric, f64)> =
            measured.iter().map(|m| (Metric::all(m.info().unwrap().measure), m.value)).collect();
        assert_eq!(last.len(), values.len());
        assert!(values.iter().all(|value| last.contains(value)), "{last:?} and {values:?}");
    }
    device
}

fn device(study: &Study, number: usize) -> Device {
    study.subjects[number].host().expect("a host").device.clone()
}

/// The figures of one host in one block.
fn figures(study: &Study, subject: u16, block: Option<u32>) -> Vec<(Metric, f64)> {
    let trials = study.trials.iter().filter(|t| t.cell.subject == subject && t.block == block);
    let parts = trials.flat_map(|trial| &trial.result.parts);
    parts.flat_map(|part| &part.quantities).map(|(metric, value)| (*metric, *value)).collect()
}

#[track_caller]
fn part(device: &Device, part: Part) -> &plimsoll_model::device::PartRecord {
    let found = device.parts.iter().find(|record| record.part == part);
    found.unwrap_or_else(|| panic!("no part {part} in {:?}", device.parts))
}

#[test]
fn this_machine_is_measured_kept_and_shown_again() {
    let program = program();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_str().unwrap();
    let words = ["device", "local", "--quick", "--disk", path, "--json=-"];
    let ran = program.run(&words).expect(0);
    let (whole, device) = (study(&ran), record(&ran));
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 4));
    assert!(device.is_complete(), "{:?}", device.parts);
    assert_eq!(device.parts.iter().map(|p| p.part).collect::<Vec<_>>(), Part::ALL);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the file is removed");

    let inventory = device.inventory.as_ref().unwrap();
    assert_eq!(inventory.read_by, Some(ReadBy::Probe));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let kernel = inventory.kernel.as_ref().unwrap();
    assert_eq!(kernel.release.as_deref(), Some(release.trim()));
    assert!(inventory.paths.iter().any(|facts| facts.path.as_deref() == Some(path)));
    let cpu = device.cpu.as_ref().unwrap();
    assert!(cpu.fastest_core().unwrap().rounds_per_second.unwrap() > 0);
    // Where no coremark is installed, the port is measured, and called so.
    assert!(!cpu.coremark.is_empty());
    assert!(cpu.coremark.iter().all(|mark| mark.iterations_per_second > 0.0));
    let memory = device.memory.as_ref().unwrap();
    assert!(!memory.streams.is_empty());
    assert!(memory.streams.iter().all(|stream| stream.verified == Some(true)));
    let crypto = device.crypto.as_ref().unwrap();
    let algorithms: Vec<Algorithm> = crypto.algorithms.iter().map(|f| f.algorithm).collect();
    assert_eq!(algorithms, Algorithm::ALL);
    assert_eq!(device.disk.as_ref().unwrap().phases.len(), 5);
    // How much of a core each had depends on what else runs here; that it is known does not.
    let computed: Vec<_> =
        device.measured().into_iter().filter(|figure| figure.part != Part::Disk).collect();
    assert!(!computed.is_empty());
    for figure in computed {
        assert!(figure.cpu_share.is_some_and(|share| share > 0.0), "{figure:?}");
    }

    let id = &whole.id.0;
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains(id) && list.contains("device, done"), "{list}");
    let shown = program.run(&["show", id, "--details"]).expect(0).out;
    for heading in
        ["Compared with published platforms", "Inventory", "CPU", "Memory", "Cryptography"]
    {
        assert!(shown.lines().any(|line| line == heading), "{heading} in\n{shown}");
    }
    let of_cores = device.cpu.iter().flat_map(|cpu| cpu.other_cores());
    let disturbed = device.measured().into_iter().chain(of_cores).any(|m| m.is_disturbed());
    assert_eq!(shown.contains(" disturbed: "), disturbed, "{shown}");
    let exported = program.run(&["export", id]).expect(0);
    assert_eq!(study(&exported), whole);
    let elsewhere = self::program();
    let file = program.home().join("device.json");
    std::fs::write(&file, &exported.out).unwrap();
    elsewhere.run(&["import", file.to_str().unwrap()]).expect(0);
    assert_eq!(study(&elsewhere.run(&["export", id]).expect(0)), whole);
    elsewhere.run(&["import", file.to_str().unwrap()]).expect(2);
    let csv = program.run(&["export", "latest", "--csv"]).expect(0).out;
    assert_eq!(csv.lines().count(), 1 + whole.trials.len());
    for figure in device.measured() {
        let cell = format!(",{},", figure.value);
        assert!(csv.contains(&cell), "{figure:?} in {csv}");
    }
    let compared = program.run(&["compare", id, id]).expect(0).out;
    assert!(compared.contains("AES-128-GCM") && compared.contains("1.00"), "{compared}");
    let page = program.home().join("page.html");
    let charts = program.home().join("charts");
    let words = [
        "report",
        "--redact",
        "--output",
        page.to_str().unwrap(),
        "--svg",
        charts.to_str().unwrap(),
    ];
    program.run(&words).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<h2>Compared with published platforms</h2>") && page.contains("<svg"));
    assert!(!page.contains(path), "redacted");
    assert!(std::fs::read_dir(charts).unwrap().count() >= 4);
}

/// Loops that share one core with whatever is bound to it; they end when dropped.
struct Burners(Vec<std::process::Child>);

impl Burners {
    fn on(core: &str, count: usize) -> Burners {
        let burn = ["-c", core, "sh", "-c", "while :; do :; done"];
        let start = |_| Command::new("taskset").args(burn).spawn().expect("taskset starts");
        Burners((0..count).map(start).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            burner.kill().expect("a burner runs until it is killed");
            burner.wait().expect("it was killed");
        }
    }
}

/// The first core that this process may use.
fn own_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    cores.trim().split(['-', ',']).next().unwrap().to_owned()
}

/// Half of a core once made "about 559 MB/s at most" of 2.35 GB/s, without a word.
#[test]
fn what_is_measured_beside_other_work_is_flagged() {
    if !thorough::has_time(20) {
        return;
    }
    let program = program();
    let core = own_core();
    let burners = Burners::on(&core, 3);
    let mut bound = Command::new("taskset");
    bound.args(["-c", &core]);
    let words = ["device", "local", "--quick", "--only", "memory,crypto", "--json=-"];
    let ran = Ran::from(program.command_under(bound, &words).output().unwrap());
    drop(burners);
    let ran = ran.expect(0);
    let (whole, device) = (study(&ran), record(&ran));
    for trial in &whole.trials {
        let [Flag::FiguresDisturbed { figures, of }] = &trial.result.flags[..] else {
            panic!("{:?}", trial.result.flags)
        };
        assert_eq!(figures.len(), *of as usize);
    }
    for figure in device.measured() {
        assert!(figure.is_disturbed(), "{figure:?}");
        assert!(figure.cpu_share.is_some_and(|share| share < 0.8), "{figure:?}");
    }
    let shown = program.run(&["show", &whole.id.0, "--details"]).expect(0).out;
    let algorithms = Algorithm::ALL.len();
    let flagged = format!(
        "! Cryptography: {algorithms} of {algorithms} figures were disturbed: as little as "
    );
    assert!(shown.contains(&flagged), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown.matches("No limit is derived from").count(), 2, "{shown}");
    assert!(!shown.contains("at most about"), "{shown}");
}

#[test]
fn a_program_called_coremark_is_run_and_its_figures_are_called_coremark() {
    let program = program();
    let tool = program.home().join("coremark");
    let printed = include_str!("../crates/device/tests/device/coremark.txt");
    std::fs::write(&tool, format!("#!/bin/sh\ncat <<'END'\n{printed}END\n")).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tool = tool.to_str().unwrap();
    let words = ["device", "local", "--only", "cpu", "--repeats=1", "--coremark", tool, "--json=-"];
    let device = record(&program.run(&words).expect(0));
    let marks = &device.cpu.as_ref().unwrap().coremark;
    assert!(matches!(&marks[0].kind, CoreMarkKind::Program { command } if command == tool));
    assert_eq!(marks[0].iterations_per_second, 1345.714843);
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    if cores > 1 {
        assert_eq!((marks.len(), marks[1].processes_count), (2, cores.min(64)));
        let sum = 1345.714843 * cores as f64;
        assert!((marks[1].iterations_per_second - sum).abs() < 1e-6 * sum);
    }
    // The inventory was not asked for, and is not there.
    assert_eq!((device.parts.len(), &device.inventory), (1, &None));

    std::fs::write(Path::new(tool), "#!/bin/sh\necho 'Errors detected'\nexit 0\n").unwrap();
    let broken = record(&program.run(&words).expect(1));
    assert!(broken.cpu.as_ref().unwrap().coremark.is_empty());
    assert!(!broken.cpu.as_ref().unwrap().cores.is_empty(), "the rounds remain");
    assert_eq!(part(&broken, Part::Cpu).failures.len(), 1);
}

#[test]
fn without_a_probe_what_the_host_has_is_measured_and_the_rest_said_to_be_missing() {
    let program = program();
    let words =
        ["device", "local", "--quick", "--only", "inventory,cpu,memory", "--json=-", NOWHERE];
    let device = record(&program.run(&words).expect(1));
    assert_eq!(device.inventory.as_ref().unwrap().read_by, Some(ReadBy::Shell));
    assert!(part(&device, Part::Inventory).complete);
    let port = &device.cpu.as_ref().unwrap().coremark;
    assert!(!port.is_empty());
    assert!(port.iter().all(|mark| matches!(mark.kind, CoreMarkKind::Port { .. })), "{port:?}");
    let failure = &part(&device, Part::Memory).failures[0];
    assert_eq!(failure.tried, "put the probe on the host");
    let shown = program.run(&["show", "--details"]).expect(0).out;
    assert!(shown.contains("Read with the host's shell"), "{shown}");
}

#[test]
fn an_interrupted_measurement_keeps_what_it_has() {
    let program = program();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_str().unwrap();
    let child = program.start(&["device", "local", "--only", "inventory,disk", "--disk", path]);
    wait_until("the disk is measured", || std::fs::read_dir(path).unwrap().count() > 0);
    signal(&child, "-INT");
    let ran = ended(child).expect(130);
    assert!(ran.out.contains("The study was interrupted, so its results are partial"), "{ran:?}");
    let exported = program.run(&["export"]).expect(0);
    let (whole, device) = (study(&exported), record(&exported));
    assert_eq!(whole.ended, Ended::Interrupted);
    assert_eq!(whole.trials.last().unwrap().result.outcome, Outcome::Stopped);
    assert!(device.inventory.is_some());
    assert!(!part(&device, Part::Disk).complete);
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "the file is removed");
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains("device, interrupted"), "{list}");
}

/// A program of the host's that would go on is ended.
#[test]
fn an_interrupted_program_of_the_host_is_ended_too() {
    let program = program();
    let (tool, started) = (program.home().join("coremark"), program.home().join("started"));
    let script = format!("#!/bin/sh\necho $$ >'{}'\nexec sleep 600\n", started.display());
    std::fs::write(&tool, script).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tool = tool.to_str().unwrap();
    let words = ["device", "local", "--quick", "--only", "cpu", "--coremark", tool];
    let child = program.start(&words);
    let number = || std::fs::read_to_string(&started).ok().filter(|n| n.ends_with('\n'));
    wait_until("the program runs", || number().is_some());
    signal(&child, "-TERM");
    ended(child).expect(143);
    let process = format!("/proc/{}/stat", number().unwrap().trim());
    let gone = || std::fs::read_to_string(&process).is_ok_and(|s| s.contains(") Z "));
    wait_until("it is gone", || gone() || !Path::new(&process).exists());
    let device = record(&program.run(&["export"]).expect(0));
    assert!(!device.cpu.unwrap().cores.is_empty(), "what came before it is kept");
}

#[test]
fn a_path_that_cannot_be_measured_is_told() {
    let program = program();
    let words = ["device", "local", "--only", "inventory,disk", "--disk", "/nowhere", "--json=-"];
    let device = record(&program.run(&words).expect(1));
    assert_eq!(part(&device, Part::Disk).failures[0].cause, Cause::NotPermitted);
    assert!(part(&device, Part::Inventory).complete);
}

#[test]
fn bad_arguments_are_refused_before_anything_is_reached() {
    let program = program();
    for (words, expected) in [
        (&["device"][..], "HOST"),
        (&["device", "router"], "ssh://router"),
        (&["device", "ssh://root:secret@router"], "password"),
        (&["device", "local", "--only", "gpu"], "'gpu' is not a part"),
        (&["device", "local", "--only", "disk"], "--disk PATH"),
        (&["device", "ssh://nowhere.invalid", "--disk", "films"], "absolute path"),
        (&["device", "local", "--json", "/nowhere/x.json"], "/nowhere/x.json"),
    ] {
        let ran = program.run(words).expect(2);
        assert!(ran.err.contains(expected), "{expected} in {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains("No studies yet"), "nothing is kept: {list}");
}

#[test]
fn hosts_that_cannot_be_reached_end_with_their_code() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let with = |configuration: PathBuf| {
        program().with("PLIMSOLL_SSH_CONFIG", configuration.to_str().unwrap())
    };
    let stranger = with(host.configuration_of_a_stranger());
    let ran = stranger.run(&["device", &host.url(), "--quick"]).expect(4);
    assert!(ran.err.contains("why:") && ran.err.contains("next:"), "{}", ran.err);
    let nobody = with(host.configuration());
    nobody.run(&["device", "ssh://root@127.0.0.1:9", "--quick"]).expect(3);
    assert!(nobody.run(&["list"]).expect(0).out.contains("No studies yet"));
}

/// A host as small as a router: no openssl, no cryptsetup, no coremark, BusyBox alone.
#[test]
fn a_router_over_ssh() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let configuration = host.configuration();
    let configuration = configuration.to_str().unwrap();
    let before = support::listing(host.root());
    let url = host.url();
    std::fs::create_dir_all(host.root().join("etc")).unwrap();
    std::fs::write(host.root().join("etc/exports"), "/tmp *(rw,async)\n").unwrap();

    let program = program().with("PLIMSOLL_SSH_CONFIG", configuration);
    let device = record(&program.run(&["device", &url, "--json=-", NOWHERE]).expect(1));
    let inventory = device.inventory.as_ref().unwrap();
    assert_eq!(inventory.read_by, Some(ReadBy::Shell));
    let memory = inventory.memory.as_ref().unwrap().total_bytes;
    assert!(memory.is_some_and(|bytes| bytes > 1 << 20), "{inventory:?}");
    assert_eq!(inventory.nfs_server.as_ref().unwrap().exports_configured, ["/tmp *(rw,async)"]);
    assert_eq!(inventory.paths[0].path.as_deref(), Some("/tmp"), "{:?}", inventory.paths);
    assert!(
        inventory.network.as_ref().unwrap().nics.iter().any(|n| n.name.as_deref() == Some("lo"))
    );
    assert_eq!((&device.cpu, &device.memory, &device.crypto), (&None, &None, &None));

    if !can_run_there(probes()) {
        eprintln!("skipped: this machine's probe is not static, and there is no C library there");
        return;
    }
    let words = ["device", &url, "--quick", "--disk", "/tmp", "--json=-"];
    let device = record(&program.run(&words).expect(0));
    assert_eq!(device.inventory.as_ref().unwrap().read_by, Some(ReadBy::Probe));
    let crypto = device.crypto.as_ref().unwrap();
    let own =
        |means: &CryptoMeans| matches!(means, CryptoMeans::Portable | CryptoMeans::Kernel { .. });
    assert!(crypto.algorithms.len() == 6 && crypto.algorithms.iter().all(|f| own(&f.means)));
    assert!(device.cpu.as_ref().unwrap().coremark.is_empty());
    assert_eq!(device.disk.as_ref().unwrap().phases.len(), 5);
    std::fs::remove_file(host.root().join("etc/exports")).unwrap();
    wait_until("the probe has removed itself", || {
        support::listing(host.root()).len() <= before.len() + 1
    });
    assert!(host.processes().len() <= 2, "nothing runs there: {:?}", host.processes());
}

/// What must hold of a router that is another machine, run again where its programs are executed.
#[test]
fn inner_on_another_machine() {
    let Some(emulated) = Emulated::inner() else { return };
    let stage = Stage::enter().unwrap();
    let host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    emulated.bring_into(host.root());
    let (probes, _) = probe_support::only(emulated.machine).unwrap();
    let program = Plimsoll::new()
        .with("PLIMSOLL_PROBES", probes.path().to_str().unwrap())
        .with("PLIMSOLL_SSH_CONFIG", host.configuration().to_str().unwrap());
    // Not its memory: without floating point, that takes an emulated processor a minute.
    let (url, parts) = (host.url(), "--only=inventory,cpu,crypto,disk");
    let words = ["device", &url, "--quick", "--json=-", parts, "--disk=/tmp"];
    let device = record(&program.run(&words).expect(0));
    assert_eq!(device.inventory.as_ref().unwrap().read_by, Some(ReadBy::Probe));
    assert_eq!(device.crypto.as_ref().unwrap().algorithms.len(), 6);
    assert!(device.cpu.as_ref().unwrap().all.is_some());
    assert_eq!(device.disk.as_ref().unwrap().phases.len(), 5);
    let shown = program.run(&["show", "--details"]).expect(0).out;
    assert!(shown.contains("integer rounds"), "{shown}");
}

/// A router with a MIPS of big-endian order, emulated.
#[test]
fn a_router_of_another_machine() {
    let number = ALL.iter().position(|emulated| emulated.machine == Machine::Mips).unwrap();
    if probe_support::only(Machine::Mips).is_some() {
        ALL[number].run_test(number, "inner_on_another_machine");
    }
}

/// Whether a probe needs nothing of its host.
fn can_run_there(probes: &Path) -> bool {
    let said = Command::new("ldd").arg(probes.join("native/plimsoll-probe")).output();
    said.is_ok_and(|said| !String::from_utf8_lossy(&said.stdout).contains("=>"))
}
