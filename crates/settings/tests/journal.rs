//! The undo journals against another user of the host, and with several hosts: nothing of somebody
//! else's is run, nothing else is changed, and no host's entry is undone or removed for another's.

use plimsoll_model::{Failure, HostName};
use plimsoll_reach::{Channel, Local, Output, Reach, Through, quote};
use plimsoll_settings::{Entry, Journal, Origin, device, knob, restore};
use plimsoll_testkit::{Stage, enter_or_skip};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PARAMETER: &str = "/proc/sys/net/ipv4/tcp_keepalive_time";
const KNOB: &str = "sysctl:net.ipv4.tcp_keepalive_time";
/// The attacker's user.
const OTHER: u32 = 65_534;

/// An entry whose run has died.
fn dead(name: &HostName, host: &dyn Reach, name_of_knob: &str) -> Entry {
    let original = knob(name_of_knob).unwrap().read(host).unwrap().original;
    let origin = Origin::read(host).unwrap();
    let mut entry = Entry::new(name.clone(), origin, name_of_knob.to_owned(), original, "0123abcd");
    entry.owner.started += 1;
    entry
}

/// A directory of the disk in the place of this machine's `/var/lib`, on a stage, so that nothing of
/// this machine's own is written to.
struct OwnPlace {
    _directory: tempfile::TempDir,
}

impl OwnPlace {
    fn new(_stage: &Stage) -> OwnPlace {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut mount = Command::new("mount");
        assert!(
            mount.arg("--bind").arg(directory.path()).arg("/var/lib").status().unwrap().success()
        );
        OwnPlace { _directory: directory }
    }
}

impl Drop for OwnPlace {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy", "/var/lib"]).status();
    }
}

/// This machine with another HOME, and an attacker who stops the shell before its commands: `before`
/// is a line of shell that sees the number of the command that comes next in `n`.
struct Attacked<'a> {
    home: &'a Path,
    before: String,
    /// Numbers of commands that concern what is in HOME.
    concern: Mutex<Vec<usize>>,
}

impl Attacked<'_> {
    fn text(&self, command: &str) -> String {
        // The shell expands PS4 before each command that it traces.
        let home = quote(self.home.to_str().unwrap());
        let hook = quote(&format!("|$((n=n+1))|$({})", self.before));
        format!("HOME={home}; export HOME; n=0; PS4={hook}; set -x\n{command}")
    }
}

impl Reach for Attacked<'_> {
    fn name(&self) -> &str {
        "local"
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        let output = Local.run(&self.text(command), input, limit)?;
        let errors = String::from_utf8_lossy(&output.errors);
        let home = self.home.to_str().unwrap();
        let concern = |line: &str| {
            let (number, command) = line.strip_prefix('|')?.split_once('|')?;
            let concerns = command.contains(home) || command.contains(".plimsoll");
            number.parse::<usize>().ok().filter(|_| concerns)
        };
        self.concern.lock().unwrap().extend(errors.lines().filter_map(concern));
        Ok(output)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Local.open(&self.text(command))
    }
}

/// This machine, where the run of an entry ends after its name was read.
struct Ending<'a> {
    entry: &'a Entry,
    commands: AtomicUsize,
}

impl Reach for Ending<'_> {
    fn name(&self) -> &str {
        "local"
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        if self.commands.fetch_add(1, Ordering::Relaxed) == 1 {
            device::remove(&Local, self.entry).unwrap();
        }
        Local.run(command, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Local.open(command)
    }
}

/// Where root has its home, and somebody else was first to make the journal there.
struct Ground {
    base: tempfile::TempDir,
}

/// A setting by commands, which are in the journal.
struct Planted {
    entry: Entry,
    /// Its file, as the program itself names it.
    name: OsString,
}

impl Planted {
    fn new() -> Planted {
        let mut entry = dead(&HostName::Local, &Local, "sysctl:vm.swappiness");
        entry.knob = "command:planted".into();
        let path = device::add(&Local, &entry).unwrap();
        device::remove(&Local, &entry).unwrap();
        Planted { entry, name: Path::new(&path).file_name().unwrap().to_owned() }
    }

    /// As stored; its command leaves this file.
    fn to_bytes(&self, mark: &Path) -> Vec<u8> {
        let mut entry = self.entry.clone();
        let pairs =
            [("found", ""), ("read", "true"), ("undo", &*format!("touch {}", mark.display()))];
        entry.original.0 = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        entry.to_bytes().unwrap()
    }
}

impl Ground {
    /// `mode` is of the directory above the journal.
    fn new(mode: u32, planted: &Planted) -> Ground {
        let ground = Ground { base: tempfile::tempdir().unwrap() };
        for (directory, mode) in [("home", mode), ("home/.plimsoll", 0o700), ("roots", 0o755)] {
            fs::create_dir(ground.at(directory)).unwrap();
            fs::set_permissions(ground.at(directory), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(ground.at("roots"), ground.at("home/link")).unwrap();
        let file = ground.at("home/.plimsoll").join(&planted.name);
        fs::write(&file, planted.to_bytes(&ground.at("planted"))).unwrap();
        for path in [file, ground.at("home/.plimsoll")] {
            chown(path, Some(OTHER), None).unwrap();
        }
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Exchanges the journal and the link before command `first`, and back before command `last`.
    fn exchange(&self, first: usize, last: usize) -> String {
        let home = self.at("home");
        let exchange = |from: &str, to: &str| {
            let home = home.display();
            format!("cd {home} && mv .plimsoll {from} && mv {to} .plimsoll")
        };
        format!(
            "set +x; if [ $n = {first} ] && [ -e {0}/link ]; then {1}; fi; \
             if [ $n = {last} ] && [ -e {0}/mine ]; then {2}; fi",
            home.display(),
            exchange("mine", "link"),
            exchange("link", "mine"),
        )
    }

    /// What the attacker has got.
    fn lost(&self) -> Vec<&'static str> {
        let mode = fs::metadata(self.at("roots")).unwrap().permissions().mode() & 0o7777;
        let all = [
            ("a planted command ran", self.at("planted").exists()),
            ("the mode of a directory of root's", mode != 0o755),
            (
                "a file in a directory of root's",
                fs::read_dir(self.at("roots")).unwrap().count() > 0,
            ),
        ];
        all.into_iter().filter(|(_, lost)| *lost).map(|(what, _)| what).collect()
    }
}

/// A journal that is read as it is to be: by names, each tested before it is used.
const BY_NAMES: &str = r#"
d=$HOME/.plimsoll
[ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] && chmod 700 "$d" || exit 0
undo=$(sed 's/.*"undo":"\([^"]*\)".*/\1/' "$d"/*.json 2>/dev/null)
sh -c "$undo"
"#;

/// Another user exchanges the journal and a link to a directory of root's at any moment.
#[test]
fn another_user_who_exchanges_the_journal_gets_nothing() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path());
    let planted = Planted::new();
    // Where all may exchange names, and where the sticky bit keeps what is root's.
    for mode in [0o777, 0o1777] {
        let attacked = |first: usize, last: usize| {
            let ground = Ground::new(mode, &planted);
            let before = ground.exchange(first, last);
            let host = Attacked { home: &ground.at("home"), before, concern: Mutex::default() };
            let restored = restore(&journal, &HostName::Local, &host, true).unwrap();
            let what = format!("mode {mode:o}, commands {first} to {last}");
            assert!(restored.done.is_empty() && restored.failed.is_empty(), "{what}");
            assert!(ground.lost().is_empty(), "{what}: {:?}", ground.lost());
            host.concern.into_inner().unwrap()
        };
        let concern = attacked(0, 0);
        let (begin, end) = (concern.iter().min().unwrap(), concern.iter().max().unwrap());
        assert!(end - begin < 100, "{concern:?}");
        for first in *begin..end + 3 {
            (1..=3).for_each(|later| drop(attacked(first, first + later)));
        }
    }
    // What is written goes elsewhere too.
    let ground = Ground::new(0o777, &planted);
    let host = Attacked { home: &ground.at("home"), before: ":".into(), concern: Mutex::default() };
    let entry = dead(&HostName::Local, &Local, KNOB);
    assert!(device::add(&host, &entry).unwrap().starts_with("/var/lib/plimsoll/"));
    device::remove(&host, &entry).unwrap();
}

/// A journal that is skipped was not named: "nothing to restore", with the setting still changed.
#[test]
fn a_journal_that_others_can_write_to_is_named() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let here = tempfile::tempdir().unwrap();
    let journal = Journal::at(here.path());
    let planted = Planted::new();
    let why_unreadable = |above: u32, owner: u32, has_entries: bool| {
        let ground = Ground::new(above, &planted);
        let place = ground.at("home/.plimsoll");
        chown(&place, Some(owner), None).unwrap();
        if !has_entries {
            fs::read_dir(&place).unwrap().for_each(|e| fs::remove_file(e.unwrap().path()).unwrap());
        }
        let host =
            Attacked { home: &ground.at("home"), before: ":".into(), concern: Mutex::default() };
        let restored = restore(&journal, &HostName::Local, &host, true).unwrap();
        assert!(restored.done.is_empty(), "{restored:?}");
        let own = |place: &str| place == ground.at("home/.plimsoll").to_str().unwrap();
        restored.unreadable.into_iter().find(|left| own(&left.path)).map(|left| left.why)
    };
    let (root, can) = (0, "other users can write to it");
    assert!(why_unreadable(0o777, OTHER, true).is_some_and(|why| why.contains(can)));
    assert!(why_unreadable(0o775, root, true).is_some_and(|why| why.contains(can)));
    assert_eq!(why_unreadable(0o775, root, false), None, "nothing is in it");
}

/// The attack above is one: it wins against a journal that is read by names.
#[test]
fn a_journal_that_is_read_by_names_loses_to_that() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let planted = Planted::new();
    let mut lost = std::collections::BTreeSet::new();
    for first in 1..8 {
        for last in first + 1..first + 4 {
            let ground = Ground::new(0o777, &planted);
            let before = ground.exchange(first, last);
            let host = Attacked { home: &ground.at("home"), before, concern: Mutex::default() };
            host.run(BY_NAMES, b"", Duration::from_secs(30)).unwrap();
            lost.extend(ground.lost());
        }
    }
    assert!(lost.contains("a planted command ran"), "{lost:?}");
    assert!(lost.contains("the mode of a directory of root's"), "{lost:?}");
}

/// A host that is a network namespace, with this machine's disk.
struct Namespace {
    holder: Child,
    name: HostName,
}

impl Namespace {
    fn new(name: &str) -> Namespace {
        let mut holder = Command::new("unshare")
            .args(["--net", "--mount", "sh", "-c", "echo; exec sleep 600"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It is there once it has written.
        let mut ready = [0];
        std::io::Read::read_exact(&mut holder.stdout.take().unwrap(), &mut ready).unwrap();
        Namespace { holder, name: name.parse().unwrap() }
    }

    fn reach(&self) -> Through {
        let process = self.holder.id().to_string();
        let words = ["nsenter", "--net", "--mount", "--target", &process];
        Through::new(self.name.to_string(), words)
    }

    fn value(&self) -> String {
        value(&self.reach())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn value(host: &dyn Reach) -> String {
    let read = format!("cat {PARAMETER}");
    let output = host.run(&read, b"", Duration::from_secs(30)).unwrap();
    String::from_utf8(output.output).unwrap().trim().to_owned()
}

/// What a run that was killed has left of a host.
fn leave_changed(journal: &Journal, name: &HostName, host: &dyn Reach) {
    let entry = dead(name, host, KNOB);
    journal.add(&entry).unwrap();
    device::add(host, &entry).unwrap();
    knob(KNOB).unwrap().apply(host, &entry.original, "300").unwrap();
}

/// It is neither an entry nor a file that cannot be read.
#[test]
fn an_entry_whose_run_ends_meanwhile_is_gone() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let entry = dead(&HostName::Local, &Local, KNOB);
    device::add(&Local, &entry).unwrap();
    assert_eq!(device::list(&Local).unwrap().0.len(), 1);
    let ending = Ending { entry: &entry, commands: AtomicUsize::new(0) };
    let (entries, unreadable) = device::list(&ending).unwrap();
    assert_eq!(ending.commands.into_inner(), 3, "names, the entry, and whether it is there");
    assert!(entries.is_empty() && unreadable.is_empty(), "{unreadable:?}");
}

/// Hosts of a lab have process numbers of their own, and may have this machine's disk: the shell of one that writes an
/// entry is not gone because nobody has its number here.
#[test]
fn what_is_written_in_another_space_of_processes_is_left_alone() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let place = Path::new("/var/lib/plimsoll");
    device::add(&Local, &dead(&HostName::Local, &Local, KNOB)).unwrap();
    let space = fs::read_link("/proc/self/ns/pid").unwrap();
    let own: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    // Higher than any process number.
    let [gone, elsewhere, long_ago] =
        [own.as_str(), "1", "2"].map(|space| place.join(format!("x.json.{space}.99999999")));
    for file in [&gone, &elsewhere, &long_ago] {
        fs::write(file, b"{").unwrap();
    }
    let hours = Duration::from_secs(7200);
    let file = fs::File::options().write(true).open(&long_ago).unwrap();
    file.set_modified(std::time::SystemTime::now() - hours).unwrap();
    assert_eq!(device::list(&Local).unwrap().0.len(), 1);
    let left = [&gone, &elsewhere, &long_ago].map(|file| file.exists());
    assert_eq!(left, [false, true, false]);
}

#[test]
fn restoring_one_host_leaves_the_entries_of_others() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path());
    // Hosts of a lab have one disk, which is this machine's: the journals of all lie in one place.
    let hosts = ["lab://router/lan", "lab://router/wan"].map(Namespace::new);
    let found = value(&Local);
    let all = || [value(&Local), hosts[0].value(), hosts[1].value()];
    let local = HostName::Local;
    // One setting of all three, at the same time.
    leave_changed(&journal, &local, &Local);
    hosts.iter().for_each(|host| leave_changed(&journal, &host.name, &host.reach()));
    assert_eq!(all(), ["300", "300", "300"]);
    let restored = restore(&journal, &hosts[0].name, &hosts[0].reach(), false).unwrap();
    assert_eq!((restored.done.len(), restored.failed.len()), (1, 0));
    assert_eq!(all(), ["300", &found, "300"]);
    assert_eq!(journal.list().unwrap().0.len(), 2, "those of the others are still there");
    let restored = restore(&journal, &local, &Local, false).unwrap();
    assert_eq!((restored.done.len(), all()), (1, [found.clone(), found.clone(), "300".into()]));
    // Its own journal alone still knows of it.
    let kept = journal.list().unwrap().0;
    kept.iter().for_each(|entry| journal.remove(entry).unwrap());
    let restored = restore(&journal, &hosts[1].name, &hosts[1].reach(), false).unwrap();
    assert_eq!(restored.done.len(), 1);
    assert_eq!(all(), [found.clone(), found.clone(), found.clone()]);
    for host in [&Local as &dyn Reach, &hosts[0].reach(), &hosts[1].reach()] {
        assert_eq!(device::list(host).unwrap(), (vec![], vec![]));
    }
}

#[test]
fn an_entry_is_not_undone_on_another_host_of_that_name() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path());
    let [one, other] = ["ssh://root@ha", "ssh://root@ha"].map(Namespace::new);
    let found = value(&Local);
    leave_changed(&journal, &one.name, &one.reach());
    // The name leads to another host now.
    let restored = restore(&journal, &other.name, &other.reach(), true).unwrap();
    assert_eq!((restored.done.len(), restored.elsewhere.len()), (0, 1));
    assert!(restored.elsewhere[0].1.exists(), "the file that has it is named");
    assert_eq!((one.value(), other.value()), ("300".into(), found.clone()));
    assert_eq!(journal.list().unwrap().0.len(), 1);
    let restored = restore(&journal, &one.name, &one.reach(), false).unwrap();
    assert_eq!((restored.done.len(), one.value()), (1, found));
    assert_eq!(journal.list().unwrap().0.len(), 0);
}
