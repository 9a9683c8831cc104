//! Kinds of settings on real servers and devices: each takes effect, is read back, and is put back to
//! the byte. Those that need a kernel of their own are in `machines/knobs.rs`.

mod support;

mod knobs {
    mod interfaces;
    mod rules;
    mod samba;
    mod zfs;
}

use plimsoll_load::{OpenOptions, SystemClock};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Clock, Commands, Deadline, Design, Ended, FactorLevel, Failure, Flag, HostName, Length,
    Part, PatternJob, Plan, Rule, StudyId, Switch, Target, Workload,
};
use plimsoll_reach::Local;
use plimsoll_record::MemoryStore;
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_settings::{Factor, Journal, Session, by_commands};
use plimsoll_study::{Conduct, Progress, conduct};
use plimsoll_testkit::enter_or_skip;
use std::fs;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use support::Plimsoll;
use support::own_place::OwnPlace;
use support::setter::{STUDY, Setter, session, set_until_killed};
use support::sound::assert_complete;

/// Started again by the tests, to be killed.
#[test]
#[ignore = "started by other tests"]
fn sets_until_it_is_killed() {
    set_until_killed();
}

/// What a program prints that must end well.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// A block device of a file.
struct LoopDevice {
    device: String,
    _file: tempfile::NamedTempFile,
}

impl LoopDevice {
    fn new() -> LoopDevice {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        file.as_file().set_len(16 << 20).unwrap();
        let attach = printed(Command::new("losetup").args(["-f", "--show"]).arg(file.path()));
        LoopDevice { device: attach.trim().to_owned(), _file: file }
    }

    fn read_ahead(&self) -> String {
        let name = self.device.strip_prefix("/dev/").unwrap();
        fs::read_to_string(format!("/sys/block/{name}/queue/read_ahead_kb")).unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

#[test]
fn what_is_read_ahead_is_set_on_the_device_under_a_directory() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let disk = LoopDevice::new();
    fs::create_dir_all("/run/films/new").unwrap();
    printed(Command::new("mke2fs").args(["-q", "-t", "ext4", &disk.device]));
    printed(Command::new("mount").args([&disk.device, "/run/films"]));
    fs::create_dir_all("/run/films/new").unwrap();
    let found = disk.read_ahead();
    let sets = ["local/read-ahead:/run/films/new=36,1024,as-found,37"];
    let mut session = session(Journal::at(home.path().join("a")), &sets).unwrap();
    assert_eq!(session.found(0), Some(found.trim()));
    for (level, value) in [(0, "36\n"), (1, "1024\n"), (2, &*found), (1, "1024\n")] {
        session.set(0, level).unwrap();
        session.verify_all().unwrap();
        assert_eq!(disk.read_ahead(), value);
    }
    // The kernel rounds to whole pages.
    let failure = session.set(0, 3).unwrap_err();
    assert_eq!(failure.cause, Cause::Trial, "{failure}");
    assert_eq!(disk.read_ahead(), found);
    session.set(0, 0).unwrap();
    // The device is put back, although nothing leads to it any more.
    printed(Command::new("umount").arg("/run/films"));
    session.restore_all().unwrap();
    assert_eq!(disk.read_ahead(), found);
    assert!(is_empty(&home.path().join("a")));
    // By the device itself, and what has none.
    let by_device = format!("local/read-ahead:{}=64", disk.device);
    let mut again = self::session(Journal::at(home.path()), &[&by_device]).unwrap();
    again.set(0, 0).unwrap();
    assert_eq!(disk.read_ahead(), "64\n");
    drop(again);
    assert_eq!(disk.read_ahead(), found);
    for none in ["/run/films/none", "/proc", "/dev/null"] {
        let set = format!("local/read-ahead:{none}=64");
        let failure = self::session(Journal::at(home.path()), &[&set]).err().expect(none);
        assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    }
}

/// That they are dropped is tried on a machine of the test's own: these are the whole machine's.
#[test]
fn where_caches_may_not_be_dropped_a_study_says_so() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let share = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    // On this stage the kernel's file is a read-only one.
    printed(Command::new("mount").args(["--bind", "-o", "ro", "/proc/sys", "/proc/sys"]));
    let target = share.path().to_str().unwrap();
    let words = "--job=scan --directories=2 --files=3 --workers=1 --time=100ms --baseline=0s \
                 --quiet --repeats=2";
    let study = |more: &[&str]| {
        let words = ["check", target].into_iter().chain(words.split_whitespace());
        program.run(&words.chain(more.iter().copied()).collect::<Vec<_>>()).expect(0);
        program.latest()
    };
    let kept = |flag: &&Flag| matches!(flag, Flag::CachesKept { .. });
    let flags = study(&["--drop-caches"]).flags;
    let found: Vec<_> = flags.iter().filter(kept).collect();
    let [Flag::CachesKept { host, reason }] = found[..] else { panic!("once: {flags:?}") };
    assert!(*host == HostName::Local && reason.to_lowercase().contains("read-only"), "{reason}");
    assert_eq!(study(&[]).flags.iter().filter(kept).count(), 0);
}

/// A setting of commands: the content of a file.
fn of_file(file: &str, levels: &[&str]) -> Factor {
    let commands = Commands {
        read: format!("cat '{file}'"),
        apply: format!("printf '%s\\n' \"$LEVEL\" >'{file}'"),
        undo: format!("printf '%s\\n' \"$FOUND\" >'{file}'"),
        verify: None,
        switch: Switch::Live,
    };
    let level = |text: &&str| FactorLevel::Set { value: (*text).to_owned() };
    Factor {
        knob: by_commands("own", commands).unwrap(),
        name: HostName::Local,
        host: Arc::new(Local),
        levels: levels.iter().map(level).collect(),
    }
}

/// Started again, to be killed: sets what the file named in its environment holds.
#[test]
#[ignore = "started by other tests"]
fn sets_by_commands_until_it_is_killed() {
    let Ok(file) = std::env::var("PLIMSOLL_TEST_SETS") else { return };
    let factors = vec![of_file(&file, &["one", "two"])];
    let mut session = Session::begin(Journal::of_this_user().unwrap(), STUDY, factors).unwrap();
    for turn in 0.. {
        session.set(0, turn % 2).unwrap();
        if turn == 0 {
            println!("\nset");
        }
    }
}

#[test]
fn a_setting_by_commands_is_undone_by_whoever_restores() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let (program, home) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = home.path().join("setting");
    let (file, found) = (path.to_str().unwrap(), "as it was: '$HOME' \"`id`\"\nand more\n");
    let now = || fs::read_to_string(&path).unwrap();
    fs::write(&path, found).unwrap();
    let mut session =
        Session::begin(Journal::at(home.path().join("j")), STUDY, vec![of_file(file, &["x"])])
            .unwrap();
    session.set(0, 0).unwrap();
    assert_eq!(now(), "x\n");
    drop(session);
    assert_eq!(now(), found);
    for moment in 0..3_u64 {
        let test = "sets_by_commands_until_it_is_killed";
        let mut setter = Setter::start(&program, test, None, &[file]);
        setter.wait_for("set");
        std::thread::sleep(Duration::from_millis(37 * moment));
        setter.kill();
        assert_ne!(now(), found);
        let restored = program.run(&["restore"]).expect(0);
        assert!(restored.out.contains("restored command:own on local"), "{}", restored.out);
        assert_eq!(now(), found);
    }
    // A name alone says nothing of what is done.
    let set = ["local/command:own=one"];
    let failure = self::session(Journal::at(home.path().join("j")), &set).err().unwrap();
    assert_eq!(failure.cause, Cause::Usage, "{failure}");
}

/// The settings of a study that has one factor.
struct OfStudy(Session);

impl plimsoll_study::Settings for OfStudy {
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        self.0.set(factor, level)
    }

    fn restore(&mut self) -> Vec<Flag> {
        self.0.restore_all().unwrap();
        Vec::new()
    }
}

/// What is the target of a study is let go of while it is unmounted, and gone on with after that.
#[test]
fn a_study_goes_on_in_a_directory_that_is_mounted_anew_for_each_level() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let (home, disk) = (tempfile::tempdir().unwrap(), LoopDevice::new());
    fs::create_dir_all("/run/films").unwrap();
    printed(Command::new("mke2fs").args(["-q", "-t", "ext4", &disk.device]));
    printed(Command::new("mount").args(["-o", "data=ordered", &disk.device, "/run/films"]));
    let mount = |options: &str| {
        format!("umount /run/films && mount -o \"{options}\" {} /run/films", disk.device)
    };
    let has = "sed -n 's/.* \\/run\\/films ext4 .*\\(commit=[0-9]*\\).*/\\1/p' /proc/self/mounts";
    let commands = Commands {
        read: has.to_owned(),
        apply: mount("$LEVEL"),
        undo: mount("${FOUND:-data=ordered}"),
        verify: None,
        switch: Switch::Restart,
    };
    let level = |text: &str| FactorLevel::Set { value: text.to_owned() };
    let levels = ["commit=7", "commit=9"].map(level).to_vec();
    let knob = by_commands("mount", commands).unwrap();
    let name = HostName::Local;
    let journal = Journal::at(home.path());
    let asked = Factor { knob, name: name.clone(), host: Arc::new(Local), levels: levels.clone() };
    let session = Session::begin(journal, STUDY, vec![asked]).unwrap();
    let target: Target = "/run/films".parse().unwrap();
    let workload = |pattern: &str| {
        let mut job = PatternJob::new(pattern.parse().unwrap(), Bytes(64 << 10), Bytes(1 << 20));
        job.verify = true;
        let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 0.5, warm_up_seconds: 0.0 })
    };
    let rule = Rule::Fixed { blocks: 3 };
    let design = Design { rule, baseline_seconds: 0.0, ..Design::default() };
    let workloads = vec![workload("sequential-write"), workload("random-read")];
    let mut plan = Plan::new(vec![target.clone().into()], workloads, design);
    let (name, host, switch) = ("command:mount".to_owned(), HostName::Local, Switch::Restart);
    plan.factors = vec![plimsoll_model::Factor { name, host, levels, switch }];
    let (id, clock) = (StudyId(STUDY.into()), SystemClock::new());
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let deadline = Deadline::new(clock.clone(), Arc::default());
    let options = RunnerOptions::of_plan(&plan, id.clone(), 0, deadline);
    let shares = vec![plimsoll_load::open(&target, &OpenOptions::default()).unwrap()];
    let mut seen = Vec::new();
    let study = conduct(Conduct {
        id,
        started_unix_seconds: 0,
        version: "test".into(),
        plan,
        runner: Box::new(Runner::new(options, shares)),
        settings: Box::new(OfStudy(session)),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop: Arc::default(),
        store: &MemoryStore::default(),
        observer: &mut |progress| {
            if let Progress::Trial { cell, .. } = progress {
                seen.push((cell.setting, printed(Command::new("sh").args(["-c", has]))));
            }
        },
    })
    .unwrap();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 12));
    assert_complete(&study);
    for (setting, mounted) in &seen {
        assert_eq!(mounted, ["commit=7\n", "commit=9\n"][usize::from(*setting)]);
    }
    assert!(
        seen.len() == 12 && !study.flags.iter().any(|flag| matches!(flag, Flag::NotCleaned { .. }))
    );
    // All that was made is removed, and it is mounted as it was.
    let left = fs::read_dir("/run/films").unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lost+found"]);
    assert_eq!(printed(Command::new("sh").args(["-c", has])), "");
    printed(Command::new("umount").arg("/run/films"));
}
