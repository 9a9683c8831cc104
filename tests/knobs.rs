//! Kinds of settings on real servers and devices: each takes effect, is read back, and is put back to
//! the byte. Those that need a kernel of their own are in `machines/knobs.rs`.

mod support;

use plimsoll_host::reach::Local;
use plimsoll_host::settings::{Factor, Journal, Session, by_commands};
use plimsoll_load::{
    Content, LaidOut, Means, OpenOptions, Passwords, SystemClock, lay_out, verify,
};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Clock, Commands, Deadline, Design, Ended, FactorLevel, Failure, Flag, HostName, Length,
    Outcome, Part, PatternJob, Plan, Rule, StudyId, Switch, Target, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_study::{Conduct, InMemory, Progress, conduct};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare, Sshd, SshdConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use support::own_place::OwnPlace;
use support::setter::{STUDY, Setter, session, set_until_killed};
use support::{Plimsoll, wait_until};

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

/// What comes of a new session with these options of a URL: how it is protected, or why there is none.
fn session_of(server: &Samba, options: &str) -> String {
    let target = format!("{}?{options}", server.url("films")).parse().unwrap();
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let opened = plimsoll_load::open(&target, &OpenOptions { passwords, ..OpenOptions::default() });
    match opened {
        Ok(share) => share.facts().protocol,
        Err(failure) => failure.happened,
    }
}

#[test]
fn samba_has_its_options_in_effect_for_new_sessions_and_its_file_back_to_the_byte() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    // The share's own word stands before what is set, and its last line goes on.
    let share = SambaShare::new("films").line("oplocks = no \\");
    let server = Samba::start(&stage, SambaConfig::one(share)).unwrap();
    let file = server.configuration();
    let found = fs::read_to_string(&file).unwrap();
    let signs = || session_of(&server, "sign=off").contains("insists on signing");
    let encrypts = || session_of(&server, "sign=off").contains("3.1.1, encrypted");
    assert_eq!(session_of(&server, "sign=off"), "SMB 3.1.1, not signed");
    let sets = [
        "local/samba:server signing=mandatory,as-found",
        "local/samba:smb encrypt@films=off,required",
        "local/samba:use sendfile@films=yes,no",
        "local/samba:aio read size=16KiB",
        "local/samba:oplocks@films=yes,no",
    ];
    let mut session = session(Journal::at(home.path()), &sets).unwrap();
    let levels: Vec<_> = (0..5).map(|n| session.found(n).unwrap().to_lowercase()).collect();
    assert_eq!(levels, ["if_required", "if_required", "no", "1", "no"]);
    session.set(0, 0).unwrap();
    assert!(signs());
    session.set(0, 1).unwrap();
    assert!(!signs());
    for (level, encrypted) in [(1, true), (0, false), (1, true)] {
        session.set(1, level).unwrap();
        assert_eq!(encrypts(), encrypted);
    }
    for factor in 2..5 {
        session.set(factor, 0).unwrap();
    }
    session.verify_all().unwrap();
    let shown = |share: &str, option: &str| {
        let (section, name) =
            (format!("--section-name={share}"), format!("--parameter-name={option}"));
        let words = ["-s", &section, &name, file.to_str().unwrap()];
        printed(Command::new("testparm").args(words)).trim().to_owned()
    };
    assert_eq!(shown("films", "oplocks"), "Yes");
    assert_eq!(shown("films", "use sendfile"), "Yes");
    assert_eq!(shown("films", "aio read size"), "16384");
    // Somebody edits the file meanwhile, and somebody else's word wins.
    fs::write(&file, fs::read_to_string(&file).unwrap() + "[films]\nuse sendfile = no\n").unwrap();
    let failure = session.verify_all().unwrap_err();
    assert!(failure.tried.contains("use sendfile"), "{failure}");
    session.restore_all().unwrap();
    let expected = format!("{found}\n[films]\nuse sendfile = no\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(session_of(&server, "sign=off"), "SMB 3.1.1, not signed");
    assert!(is_empty(home.path()));
    // Who takes no such share, and no such level.
    for (set, cause) in [
        ("local/samba:oplocks@music=yes", Cause::NotPermitted),
        ("local/samba:oplocks@films=maybe", Cause::Usage),
        ("local/samba:root preexec=id", Cause::Usage),
        ("local/samba:server signing@films=auto", Cause::Usage),
    ] {
        let failure = self::session(Journal::at(home.path()), &[set]).err().expect(set);
        assert_eq!(failure.cause, cause, "{failure}");
    }
}

/// What a session may ask for at once is what its own negotiation came to, not that of an earlier one.
#[test]
fn requests_are_as_large_as_samba_takes_by_then() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let target = server.url("films").parse().unwrap();
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    let share = plimsoll_load::open(&target, &options).unwrap();
    assert_eq!(share.facts().write_size_bytes, 1 << 20);
    let sets = ["local/samba:smb2 max write=64KiB", "local/samba:smb2 max read=64KiB"];
    let mut session = session(Journal::at(home.path()), &sets).unwrap();
    [0, 1].into_iter().for_each(|factor| session.set(factor, 0).unwrap());
    let means = Means {
        content: Arc::new(Content::new(7)),
        paths: Arc::default(),
        deadline: SystemClock::no_deadline(),
        operation_timeout: Duration::from_secs(20),
    };
    let file = share.namespace().unwrap().create("f").unwrap();
    let file = LaidOut { file, generation: 1 };
    lay_out(&*share, &means, file, 4 << 20, &mut |_| {}).unwrap();
    let read = verify(&*share, &means, file, 4 << 20, None, &mut |_| {}).unwrap();
    assert_eq!((read.bytes, read.stale, read.misplaced, read.corrupt), (4 << 20, 0, 0, 0));
}

#[test]
fn a_study_compares_options_of_samba_and_a_killed_one_is_undone() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let found = fs::read_to_string(server.configuration()).unwrap();
    let now = || fs::read_to_string(server.configuration()).unwrap();
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let url = server.url("films");
    let set = "local/samba:server signing=mandatory,auto";
    let words = "--job=scan --directories=2 --files=3 --workers=1 --time=500ms --baseline=0s \
                 --quiet --repeats=3";
    let study = ["check", &url, "--set", set].into_iter().chain(words.split_whitespace());
    let shown = program.run(&study.collect::<Vec<_>>()).expect(0).out;
    assert!(shown.contains("mandatory"), "{shown}");
    assert_eq!((now(), program.latest().trials.len()), (found.clone(), 6));
    for moment in 0..3_u64 {
        let sets = [set, "local/samba:strict sync@films=no,as-found,yes"];
        let mut setter = Setter::start(&program, "sets_until_it_is_killed", None, &sets);
        setter.wait_for("set");
        std::thread::sleep(Duration::from_millis(61 * moment));
        setter.kill();
        assert_ne!(now(), found, "one of them is always changed");
        if moment == 1 {
            fs::remove_dir_all(program.home().join("plimsoll/settings")).unwrap();
        }
        program.run(&["restore", "local"]).expect(0);
        assert_eq!(now(), found);
        assert_eq!(
            program.run(&["restore", "local"]).expect(0).out,
            "nothing to restore on local\n"
        );
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
    assert!(host == "local" && reason.to_lowercase().contains("read-only"), "{reason}");
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
        Workload::of(part, Length::For { seconds: 0.5, warm_up_seconds: 0.0 })
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
        clock,
        stop: Arc::default(),
        keep: &mut InMemory,
        observer: &mut |progress| {
            if let Progress::Trial { cell, .. } = progress {
                seen.push((cell.setting, printed(Command::new("sh").args(["-c", has]))));
            }
        },
    })
    .unwrap();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 12));
    assert!(study.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
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

/// Rules as a user has them, with a counter that counts on.
const FOUND_RULES: &str = "table inet user {\n\tset nets {\n\t\ttype ipv4_addr\n\t\tflags interval\n\
    \t\telements = { 10.0.0.0/8, 192.0.2.0/24 }\n\t}\n\tchain input {\n\
    \t\ttype filter hook input priority filter; policy accept;\n\
    \t\ttcp dport 9 counter packets 7 bytes 420 drop comment \"it's \\\\ 100%\"\n\t}\n}\n";

fn listed() -> String {
    printed(Command::new("nft").args(["list", "ruleset"]))
}

/// A stage with the user's rules in force.
fn with_rules() {
    let rules = Path::new("/run/found.nft");
    fs::write(rules, FOUND_RULES).unwrap();
    printed(Command::new("nft").arg("-f").arg(rules));
    assert!(listed().contains("packets 7 bytes 420"), "{}", listed());
}

fn rules_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn rules_of_the_packet_filter_come_whole_and_go_whole() {
    let stage = enter_or_skip!(Need::Nftables);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    with_rules();
    let found = listed();
    let nat = rules_file(
        "table ip nat { chain post { type nat hook postrouting priority 100; masquerade; }; }\n",
    );
    let wrong = rules_file("table ip half { chain x { } }\nno statement\n");
    let [nat, wrong] = [&nat, &wrong].map(|file| file.path().to_str().unwrap().to_owned());
    let set = format!("local/nft-ruleset=none,{nat},as-found,{wrong}");
    let mut session = session(Journal::at(home.path()), &[&set]).unwrap();
    assert_eq!(listed(), found, "to begin changes nothing");
    session.set(0, 0).unwrap();
    assert_eq!(listed(), "");
    session.set(0, 1).unwrap();
    assert!(listed().contains("masquerade") && !listed().contains("user"), "{}", listed());
    session.verify_all().unwrap();
    printed(Command::new("nft").args(["add", "table", "ip", "more"]));
    let failure = session.verify_all().unwrap_err();
    assert!(failure.happened.contains("changed the rules"), "{failure}");
    session.set(0, 2).unwrap();
    assert_eq!(listed(), found);
    // The kernel takes none of a file that has a mistake.
    session.set(0, 1).unwrap();
    let failure = session.set(0, 3).unwrap_err();
    assert!(failure.tried.contains("packet filter"), "{failure}");
    assert_eq!(listed(), found, "with the counter");
    session.set(0, 0).unwrap();
    drop(session);
    assert_eq!(listed(), found);
    assert!(is_empty(home.path()));
    for bad in ["/no/such/file", "on", "/dev/zero"] {
        let set = format!("local/nft-ruleset={bad}");
        let failure = self::session(Journal::at(home.path()), &[&set]).err().expect(bad);
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
    }
}

/// As in the field: the rules let nobody in any more, so nobody can take them back.
#[test]
fn rules_that_cut_the_link_are_undone_by_the_host_itself() {
    let stage = enter_or_skip!(Need::Nftables, Need::Sshd);
    let _place = OwnPlace::new(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program =
        Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", server.configuration().to_str().unwrap());
    with_rules();
    let found = listed();
    let cut = rules_file(
        "table inet cut { chain input { type filter hook input priority 0; policy drop; }; }\n",
    );
    let set = format!("{}/nft-ruleset={}", server.url(), cut.path().display());
    let setter = Setter::start(&program, "sets_until_it_is_killed", Some(8), &[&set]);
    wait_until("the link is cut", || listed().contains("table inet cut"));
    wait_until("the host undoes it", || listed() == found);
    drop(setter);
    program.run(&["restore"]);
    let restored = program.run(&["restore", &server.url()]).expect(0);
    assert_eq!(restored.out, format!("nothing to restore on {}\n", server.url()));
    assert_eq!(listed(), found);
}
