//! Settings of hosts are put back, whatever becomes of the program that changed them.
//!
//! `PLIMSOLL_SEED` sets the seed of the random moments.

mod support;

mod settings {
    mod hosts;
}

use plimsoll_model::Cause;
use plimsoll_settings::Journal;
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage, enter_or_skip};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::own::{FOUND, own_settings, parameter, value, values};
use support::setter::{STUDY, Setter, session, set_until_killed};
use support::{Plimsoll, wait_until};

const SEED: u64 = 14;
/// Moments of each test; with `make measure-settings` so many.
const MOMENTS: usize = 5;
const MANY_MOMENTS: usize = 30;

const PLACE: &str = "/var/lib/plimsoll";

/// Started again by the tests, to be killed.
#[test]
#[ignore = "started by other tests"]
fn sets_until_it_is_killed() {
    set_until_killed();
}

/// What a setter on this host does: once both are set, one of them at least is always changed.
fn sets(host: &str) -> [String; 2] {
    [
        format!("{host}/sysctl:net.ipv4.tcp_keepalive_time=300,as-found,600"),
        format!("{host}/sysctl:net.ipv4.tcp_wmem=4096 20000 4000000,8192 30000 6000000,as-found"),
    ]
}

fn start(program: &Plimsoll, host: &str, patience: Option<u64>) -> Setter {
    let sets = sets(host);
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    Setter::start(program, "sets_until_it_is_killed", patience, &sets)
}

/// Timers on the hosts of this stage.
fn guards() -> usize {
    let own = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let guards = processes.filter(|process| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let here = fs::read_link(process.join("ns/net")).is_ok_and(|space| space == own);
        here && String::from_utf8_lossy(&line).contains("\0plimsoll-guard ")
    });
    guards.count()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Kills setters at random moments, restores, and counts those that had changed something.
#[track_caller]
fn killed_at_any_moment(program: &Plimsoll, host: &str, journal: &Path, moments: usize) -> usize {
    let seed = std::env::var("PLIMSOLL_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Pcg64::seed_from_u64(seed.unwrap_or(SEED));
    let found = values();
    let mut changed = 0;
    for moment in 0..moments {
        let mut setter = start(program, host, None);
        // Some while it has just begun to write things down.
        setter.wait_for(if moment % 3 == 0 { "begun" } else { "set" });
        std::thread::sleep(Duration::from_micros(random.random_range(0..300_000)));
        setter.kill();
        changed += usize::from(values() != found);
        // The journal of this machine is lost, and the host's own is there.
        let kept = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        if moment % 4 == 3 && files(journal).iter().all(kept) && !files(journal).is_empty() {
            fs::remove_dir_all(program.home().join("plimsoll/settings")).unwrap();
        }
        let restored = program.run(&["restore", host]).expect(0);
        assert_eq!(values(), found, "moment {moment}: {}", restored.out);
        assert_eq!(files(journal), [] as [PathBuf; 0], "moment {moment}");
        assert_eq!(files(&program.home().join("plimsoll/settings")), [] as [PathBuf; 0]);
        let again = program.run(&["restore", host]).expect(0);
        assert_eq!(again.out, format!("nothing to restore on {host}\n"));
    }
    wait_until("no timer is left", || guards() == 0);
    eprintln!("{host}: {moments} of {moments} restored, {changed} were changed at the kill");
    changed
}

#[track_caller]
fn on_this_machine(moments: usize) {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let changed = killed_at_any_moment(&Plimsoll::new(), "local", Path::new(PLACE), moments);
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}

#[track_caller]
fn over_ssh(moments: usize) {
    let stage = enter_or_skip!(Need::Sshd);
    let _settings = own_settings(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program =
        Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", server.configuration().to_str().unwrap());
    let changed = killed_at_any_moment(&program, &server.url(), Path::new(PLACE), moments);
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}

/// A host whose files are not this machine's, and a program that reaches it.
fn small_host(stage: &Stage) -> (Dropbear, Plimsoll) {
    let server = Dropbear::start(stage, Dropbear::PORT).unwrap();
    let configuration = server.configuration().to_str().unwrap().to_owned();
    (server, Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", &configuration))
}

#[track_caller]
fn on_a_small_host(moments: usize) {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox);
    let _settings = own_settings(&stage);
    let (server, program) = small_host(&stage);
    let journal = server.root().join("etc/plimsoll");
    let changed = killed_at_any_moment(&program, &server.url(), &journal, moments);
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}

#[test]
fn what_a_killed_run_changed_here_is_put_back() {
    on_this_machine(MOMENTS);
}

#[test]
fn what_a_killed_run_changed_over_ssh_is_put_back() {
    over_ssh(MOMENTS);
}

#[test]
fn what_a_killed_run_changed_on_a_small_host_is_put_back() {
    on_a_small_host(MOMENTS);
}

/// A run that was killed before its first entry was whole changed nothing, and only its files are left.
#[test]
fn what_a_killed_run_had_not_finished_writing_is_removed() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let program = Plimsoll::new();
    let journal = program.home().join("plimsoll/settings");
    for directory in [journal.as_path(), Path::new(PLACE)] {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).unwrap();
    }
    let space = fs::read_link("/proc/self/ns/pid").unwrap();
    let space: String = space.to_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    // No process has such a number.
    let gone = u32::MAX;
    fs::write(journal.join(format!(".part-{gone}-x")), "{").unwrap();
    for name in [".try", "0123456789abcdef.json"] {
        fs::write(Path::new(PLACE).join(format!("{name}.{space}.{gone}")), "{").unwrap();
    }
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
    assert_eq!(files(&journal), [] as [PathBuf; 0]);
    let restored = program.run(&["restore", "local"]).expect(0);
    assert_eq!(restored.out, "nothing to restore on local\n");
    assert_eq!(files(Path::new(PLACE)), [] as [PathBuf; 0]);
}

#[test]
#[ignore = "takes minutes: make measure-settings"]
fn measure_what_killed_runs_changed_here() {
    on_this_machine(MANY_MOMENTS);
}

#[test]
#[ignore = "takes minutes: make measure-settings"]
fn measure_what_killed_runs_changed_over_ssh() {
    over_ssh(MANY_MOMENTS);
}

#[test]
#[ignore = "takes minutes: make measure-settings"]
fn measure_what_killed_runs_changed_on_a_small_host() {
    on_a_small_host(MANY_MOMENTS);
}

/// The arguments of a study of two levels that goes on for a while.
fn study<'a>(target: &'a str, set: &'a str, repeats: &'a str) -> Vec<&'a str> {
    let scan =
        "--job=scan --directories=2 --files=3 --workers=1 --time=100ms --baseline=0s --quiet";
    ["check", target, "--set", set, repeats].into_iter().chain(scan.split(' ')).collect()
}

const SET: &str = "sysctl:net.ipv4.tcp_keepalive_time=as-found,300";

#[test]
fn check_compares_levels_within_blocks_and_puts_them_back() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let program = Plimsoll::new();
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let mut child = program.start(&study(target, SET, "--repeats=4"));
    // Somebody else sees the level, and what was found, in turn.
    let mut seen = std::collections::BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        seen.insert(value("tcp_keepalive_time"));
        std::thread::sleep(Duration::from_millis(2));
    }
    let shown = support::ended(child).expect(0).out;
    assert_eq!(seen, ["300", "4321"].map(String::from).into());
    assert_eq!(values(), found);
    assert_eq!(files(&program.home().join("plimsoll/settings")), [] as [PathBuf; 0]);
    assert!(shown.contains("tcp_keepalive_time=300"), "{shown}");
    let study = program.latest();
    assert_eq!((study.plan.factors.len(), study.trials.len()), (1, 8));
    for block in study.trials.chunks(2) {
        let levels: Vec<u16> = block.iter().map(|trial| trial.cell.setting).collect();
        assert!(levels == [0, 1] || levels == [1, 0], "{levels:?}");
        assert_eq!(block[0].block, block[1].block);
    }
    let found = plimsoll_explain::findings(&study);
    assert!(found.workloads[0].pairs[0].claim.is_some(), "the levels are compared");
}

#[test]
fn a_level_that_check_cannot_set_ends_it_and_nothing_is_left() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let program = Plimsoll::new();
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    // The kernel takes the first number of it.
    let set = "sysctl:net.ipv4.tcp_keepalive_time=as-found,300 400";
    let ran = program.run(&study(target, set, "--repeats=3"));
    assert_ne!(ran.code, Some(0), "{}", ran.out);
    assert!(format!("{}{}", ran.out, ran.err).contains("tcp_keepalive_time"), "{}", ran.err);
    assert_eq!(values(), found);
    for one in ["sysctl:net.ipv4.tcp_keepalive_time=300", "sysctl:no.such.parameter=1,2"] {
        let ran = program.run(&study(target, one, "--repeats=3"));
        assert!([Some(2), Some(5)].contains(&ran.code), "{one}: {:?} {}", ran.code, ran.err);
    }
    assert_eq!(values(), found);
    assert!(support::run_directories(share.path()).is_empty());
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}

/// As of a tunnel: where its last end does not come up, the others were left set to the end of the study.
#[test]
fn of_settings_that_are_one_all_are_put_back_at_once_where_one_fails() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let home = tempfile::tempdir().unwrap();
    let journal = home.path().join("j");
    let sets = [
        "local/sysctl:net.ipv4.tcp_keepalive_time=300,600",
        "local/sysctl:net.ipv4.tcp_wmem=4096 20000 4000000,nonsense",
    ];
    let mut session = session(Journal::at(&journal), &sets).unwrap();
    session.set_together(0..2, 0).unwrap();
    assert_eq!(value("tcp_keepalive_time"), "300");
    let failure = session.set_together(0..2, 1).unwrap_err();
    assert!(failure.tried.contains("tcp_wmem"), "{failure}");
    assert_eq!((values(), files(&journal)), (found, vec![]));
    assert_eq!(files(Path::new(PLACE)), [] as [PathBuf; 0]);
}

#[test]
fn a_value_that_the_kernel_does_not_list_and_does_not_take_is_refused_before_a_trial() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = value("tcp_congestion_control");
    let program = Plimsoll::new();
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let set = format!("sysctl:net.ipv4.tcp_congestion_control={found},nosuch");
    let ran = program.run(&study(target, &set, "--repeats=3")).expect(2);
    let listed = value("tcp_available_congestion_control").replace(' ', ", ");
    assert!(ran.err.contains("nosuch") && ran.err.contains(&listed), "{}", ran.err);
    assert!(!ran.err.contains("root"), "{}", ran.err);
    assert!(program.exported("latest").is_none(), "no study was begun");
    assert_eq!(value("tcp_congestion_control"), found);
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}

/// Stops a study while it has changed the setting: what stands still puts nothing back before it is killed.
fn stop_while_changed(study: &std::process::Child, random: &mut Pcg64) {
    loop {
        wait_until("it is changed", || value("tcp_keepalive_time") == "300");
        std::thread::sleep(Duration::from_micros(random.random_range(0..20_000)));
        support::signal(study, "-STOP");
        if value("tcp_keepalive_time") == "300" {
            return;
        }
        support::signal(study, "-CONT");
    }
}

/// Kills studies that vary a setting at random moments, and restores; counts those that had changed
/// it.
#[track_caller]
fn studies_killed(moments: usize) {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let program = Plimsoll::new();
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let mut random = Pcg64::seed_from_u64(SEED);
    let mut changed = 0;
    for moment in 0..moments {
        let mut child = program.start(&study(target, SET, "--repeats=1000"));
        wait_until("the study has begun to change it", || value("tcp_keepalive_time") == "300");
        std::thread::sleep(Duration::from_micros(random.random_range(0..400_000)));
        // Most while it is changed, some at any moment.
        if moment % 3 != 0 {
            stop_while_changed(&child, &mut random);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        changed += usize::from(values() != found);
        if !files(&program.home().join("plimsoll/settings")).is_empty() {
            let ran = program.run(&study(target, SET, "--repeats=1")).expect(2);
            assert!(ran.err.contains("plimsoll restore local"), "{}", ran.err);
        }
        program.run(&["restore"]).expect(0);
        assert_eq!(values(), found, "moment {moment}");
        program.run(&["clean", target]).expect(0);
    }
    eprintln!("{moments} of {moments} studies restored, {changed} had changed it at the kill");
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}

#[test]
fn what_a_killed_study_changed_is_put_back() {
    studies_killed(MOMENTS);
}

#[test]
#[ignore = "takes minutes: make measure-settings"]
fn measure_what_killed_studies_changed() {
    studies_killed(MANY_MOMENTS);
}

#[test]
fn nothing_is_measured_while_a_setting_is_changed() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox);
    let _settings = own_settings(&stage);
    let found = values();
    let (server, program) = small_host(&stage);
    let url = server.url();
    let target = tempfile::tempdir().unwrap();
    let target = target.path().to_str().unwrap();
    let check = ["check", target, "--host", &url, "--quick", "--quiet"];
    let device = ["device", &url, "--quiet"];
    let mut setter = start(&program, &url, None);
    setter.wait_for("set");
    // By a run that is alive: neither measured, nor restored.
    let runs = format!("process {}", setter.id());
    for words in [&check[..], &device[..]] {
        let ran = program.run(words).expect(2);
        assert!(ran.err.contains(&runs) && ran.err.contains(STUDY), "{}", ran.err);
    }
    let restore = program.run(&["restore", &url]).expect(1);
    assert!(restore.out.contains(&format!("is still running, as {runs}")), "{}", restore.out);
    let forced = program.run(&["restore", "--force"]).expect(1);
    assert!(forced.out.contains(&runs), "{}", forced.out);
    setter.kill();
    // By one that died, as this machine's journal has it; then as the host's own alone has it.
    let next = format!("plimsoll restore {url}");
    // Also where the target alone names the host.
    let ran = program.run(&["check", "nfs://127.0.0.1/films", "--quick", "--quiet"]).expect(2);
    assert!(ran.err.contains(&next), "{}", ran.err);
    for _ in 0..2 {
        for words in [&check[..], &device[..]] {
            let ran = program.run(words).expect(2);
            assert!(ran.err.contains(&next), "{}", ran.err);
        }
        fs::remove_dir_all(program.home().join("plimsoll/settings")).unwrap_or_default();
    }
    assert!(support::run_directories(Path::new(target)).is_empty());
    program.run(&["restore", &url]).expect(0);
    assert_eq!(values(), found);
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}

/// As somebody may have put it there who wants more than to undo.
#[test]
fn what_is_no_entry_of_a_journal_is_named_and_changes_nothing() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox);
    let _settings = own_settings(&stage);
    let found = values();
    let (server, program) = small_host(&stage);
    let url = server.url();
    let mut setter = start(&program, &url, None);
    setter.wait_for("set");
    setter.kill();
    let journal = server.root().join("etc/plimsoll");
    let mine = files(&journal);
    assert_eq!(mine.len(), FOUND.len());
    let text = fs::read_to_string(&mine[0]).unwrap();
    let name = |n: u32| journal.join(format!("{n:016x}.json"));
    fs::write(name(1), "{").unwrap();
    fs::write(name(2), text.replace("net.ipv4.tcp_", "kernel.modprobe.")).unwrap();
    fs::write(name(3), &text).unwrap();
    fs::write(name(4), vec![b' '; 1 << 20]).unwrap();
    let others = files(&journal).len() - mine.len();
    let ran = program.run(&["device", &url, "--quiet"]).expect(2);
    assert!(ran.err.contains("plimsoll restore"), "{}", ran.err);
    let restored = program.run(&["restore", &url]).expect(1);
    assert_eq!(restored.out.matches("restored ").count(), mine.len(), "{}", restored.out);
    assert_eq!(restored.out.matches("kept /etc/plimsoll/").count(), others, "{}", restored.out);
    assert_eq!((values(), files(&journal).len()), (found.clone(), others));
    let ran = program.run(&["device", &url, "--quiet"]).expect(2);
    assert!(ran.err.contains("/etc/plimsoll/0000000000000001.json"), "{}", ran.err);
    // Another user's directory is no journal: whatever is in it, nobody acts on it, and it is named.
    fs::write(journal.join(mine[0].file_name().unwrap()), &text).unwrap();
    std::os::unix::fs::chown(&journal, Some(65_534), None).unwrap();
    let ran = program.run(&["restore", &url]).expect(1);
    let why =
        "other users can write to it or to a directory above it, so its entries are not used.";
    let named = format!("kept /etc/plimsoll on {url}: {why}");
    assert!(ran.out.starts_with(&named) && ran.out.lines().count() == 1, "{}", ran.out);
    assert_eq!(values(), found);
}

/// What no kernel takes, and what it takes for something else.
#[test]
fn a_level_that_does_not_take_effect_is_named_and_undone() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let home = tempfile::tempdir().unwrap();
    let begin = |sets: &[&str]| session(Journal::at(home.path()), sets);
    let sets = [
        "local/sysctl:net.ipv4.tcp_wmem=4096 20000 4000000",
        // The first is refused; of the second the kernel takes the first number.
        "local/sysctl:net.ipv4.tcp_keepalive_time=many,300 400,500",
    ];
    let mut session = begin(&sets).unwrap();
    assert_eq!(session.found(1), Some("4321"));
    session.set(0, 0).unwrap();
    for (level, cause) in [(0, Cause::NotPermitted), (1, Cause::Trial)] {
        let failure = session.set(1, level).unwrap_err();
        assert_eq!(failure.cause, cause, "{failure}");
        assert!(failure.to_string().contains("tcp_keepalive_time"), "{failure}");
        assert_eq!(value("tcp_keepalive_time"), "4321");
        assert_eq!(value("tcp_wmem"), "4096\t20000\t4000000", "the other one stays");
    }
    session.set(1, 2).unwrap();
    session.verify_all().unwrap();
    assert_eq!(value("tcp_keepalive_time"), "500");
    fs::write(parameter("tcp_keepalive_time"), "501").unwrap();
    let failure = session.verify_all().unwrap_err();
    assert!(failure.happened.contains("501"), "{failure}");
    session.restore_all().unwrap();
    assert_eq!((values(), files(home.path())), (found.clone(), vec![]));
    // What is not there, and what could not be put back, is not begun.
    for bad in ["net.ipv4.no_such_parameter=1", "net.ipv4.route.flush=1", "kernel.ostype=x"] {
        let failure = begin(&[&format!("local/sysctl:{bad}")]).err().expect(bad);
        assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    }
    let failure = begin(&["local/export-sync:/no/such/export=async"]).err().unwrap();
    assert!(failure.tried.contains("/no/such/export"), "{failure}");
    let twice = begin(&[sets[0], "local/sysctl:net/ipv4/tcp_wmem=1 2 3"]).err().unwrap();
    assert_eq!(twice.cause, Cause::Usage, "{twice}");
    assert_eq!(values(), found);
}

#[test]
fn a_panic_puts_everything_back_and_a_setting_has_one_run_at_a_time() {
    let stage = enter_or_skip!(Need::Sshd);
    let _settings = own_settings(&stage);
    let found = values();
    let home = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| Journal::at(home.path().join(name)));
    let sets = ["local/sysctl:net.ipv4.tcp_keepalive_time=300"];
    let outcome = std::panic::catch_unwind(|| {
        let mut session = session(one.clone(), &sets).unwrap();
        // Another user's, who has another journal, begun before anything was changed.
        let mut second = self::session(other.clone(), &sets).unwrap();
        session.set(0, 0).unwrap();
        let failure = second.set(0, 0).unwrap_err();
        assert!(failure.happened.contains("has changed sysctl:net.ipv4"), "{failure}");
        assert_eq!(value("tcp_keepalive_time"), "300", "the first has it still");
        let failure = self::session(other.clone(), &sets).err().unwrap();
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
        drop(second);
        assert_eq!(value("tcp_keepalive_time"), "300", "the first has it still");
        panic!("on purpose");
    });
    let said = outcome.unwrap_err();
    assert_eq!(said.downcast_ref(), Some(&"on purpose"), "{:?}", said.downcast_ref::<String>());
    assert_eq!(values(), found);
    assert_eq!(files(Path::new(PLACE)), [] as [PathBuf; 0]);
    assert!(files(one.directory()).is_empty() && files(other.directory()).is_empty());
}

/// As where the change cuts the link: nobody is left to undo it but the host.
#[track_caller]
fn undone_by_the_host_itself(program: &Plimsoll, url: &str, journal: &Path) {
    let found = values();
    let mut setter = start(program, url, Some(8));
    setter.wait_for("set");
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_secs(17) {
        // One that has just been started is not named so yet.
        wait_until("the timers run", || guards() > 0);
        std::thread::sleep(Duration::from_millis(50));
    }
    setter.kill();
    wait_until("the host undoes it", || values() == found && guards() == 0);
    assert_eq!(files(journal).len(), FOUND.len(), "what was undone can be seen");
    let restored = program.run(&["restore"]).expect(0);
    assert_eq!(restored.out.matches("restored ").count(), FOUND.len(), "{}", restored.out);
    assert_eq!((values(), files(journal)), (found, vec![]));
}

#[test]
fn a_host_that_is_cut_off_undoes_by_itself() {
    let stage = enter_or_skip!(Need::Sshd);
    let _settings = own_settings(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program =
        Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", server.configuration().to_str().unwrap());
    undone_by_the_host_itself(&program, &server.url(), Path::new(PLACE));
}

#[test]
fn a_small_host_that_is_cut_off_undoes_by_itself() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox);
    let _settings = own_settings(&stage);
    let (server, program) = small_host(&stage);
    let journal = server.root().join("etc/plimsoll");
    undone_by_the_host_itself(&program, &server.url(), &journal);
}
