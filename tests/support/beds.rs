//! Labs in tests: a place of their own, a look at what they leave, and a sender.

use super::lab_file::LabFile;
use super::{Plimsoll, Ran};
use plimsoll_reach::{Reach, Through};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// The program with a place for labs of its own.
pub struct Beds {
    /// The program.
    pub program: Plimsoll,
    place: PathBuf,
    _home: tempfile::TempDir,
}

/// What a lab holds, to be looked for after it is gone.
#[derive(Debug, Default, Clone)]
pub struct Traces {
    /// Its processes outside and inside, by number.
    pub processes: Vec<u32>,
    /// Its network namespaces.
    pub namespaces: BTreeSet<PathBuf>,
    /// Its control groups.
    pub groups: Vec<PathBuf>,
    mark: String,
    directory: PathBuf,
    /// When it was looked at, in clock ticks since boot.
    taken: u64,
}

impl Beds {
    /// An empty place.
    pub fn new() -> Beds {
        Beds::with_program(Plimsoll::new())
    }

    /// The same for a program that has other things in its environment too.
    pub fn with_program(program: Plimsoll) -> Beds {
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = home.path().join("labs");
        let program = program.with("PLIMSOLL_LABS", place.to_str().expect("letters"));
        Beds { program, place, _home: home }
    }

    /// The same for a program that deploys its runner on hosts of labs.
    pub fn with_runner() -> Beds {
        Beds::with_program(Plimsoll::new().with_runner())
    }

    /// Brings a lab up.
    #[track_caller]
    pub fn up(&self, name: &str, lab: &LabFile) {
        let file = self.file(name, &lab.to_string());
        self.lab(&["up", &file, "--quiet"]).expect(0);
    }

    /// A lab file.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.program.home().join(format!("{name}.toml"));
        fs::write(&path, text).expect("a lab file");
        path.to_str().expect("letters").to_owned()
    }

    /// `plimsoll lab …`
    pub fn lab(&self, words: &[&str]) -> Ran {
        self.program.run(&[&["lab"], words].concat())
    }

    /// A line of shell on a host, which must end well; what it wrote.
    #[track_caller]
    pub fn on(&self, host: &str, line: &str) -> String {
        self.lab(&["exec", host, "--", "/bin/sh", "-c", line]).expect(0).out
    }

    /// A way to a host of a lab.
    pub fn reach(&self, host: &str) -> Arc<dyn Reach> {
        let place = format!("PLIMSOLL_LABS={}", self.place.display());
        let words = ["env", &place, env!("CARGO_BIN_EXE_plimsoll"), "lab", "exec", host, "--"];
        Arc::new(Through::new(format!("lab://{host}"), words))
    }

    /// Where a lab is written down.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// What a lab holds now, of what is written down and what runs.
    pub fn traces(&self, name: &str) -> Traces {
        let directory = self.directory(name);
        let text = fs::read_to_string(directory.join("bed.json")).unwrap_or_default();
        let bed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let mark = bed["mark"].as_str().unwrap_or("none is there").to_owned();
        let groups = bed["groups"].as_object().into_iter().flatten();
        let groups = groups.filter_map(|(_, path)| Some(PathBuf::from(path.as_str()?))).collect();
        let taken = processes().filter_map(started).max().unwrap_or(0);
        let mut traces = Traces { mark, directory, groups, taken, ..Traces::default() };
        traces.processes = marked(&traces.mark);
        let own = fs::read_link("/proc/self/ns/net").expect("a namespace");
        let spaces = traces.processes.iter().filter_map(|pid| namespace(*pid));
        traces.namespaces = spaces.filter(|space| *space != own).collect();
        traces
    }
}

impl Drop for Beds {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.place).into_iter().flatten().flatten() {
            self.lab(&["down", &entry.file_name().to_string_lossy()]);
        }
    }
}

impl Traces {
    /// Fails if anything of it is left.
    #[track_caller]
    pub fn are_gone(&self) {
        assert!(!self.directory.exists(), "{}", self.directory.display());
        assert_eq!(marked(&self.mark), Vec::<u32>::new(), "processes are left");
        assert_eq!(machines_in(&self.directory), Vec::<u32>::new(), "machines are left");
        // The number of a namespace that is gone is soon another one's, with later processes.
        let left: Vec<u32> = processes()
            .filter(|pid| started(*pid).is_some_and(|at| at <= self.taken))
            .filter(|pid| namespace(*pid).is_some_and(|space| self.namespaces.contains(&space)))
            .collect();
        assert_eq!(left, Vec::<u32>::new(), "something still runs in its namespaces");
        for group in &self.groups {
            assert!(!group.exists(), "{}", group.display());
        }
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// When a process was started, in clock ticks since boot.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// Processes that were started with this mark, and run.
fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("PLIMSOLL_LAB_MARK={mark}");
    let has = |pid: &u32| {
        let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
    };
    processes().filter(has).collect()
}

/// Machines whose files lie there.
pub fn machines_in(directory: &Path) -> Vec<u32> {
    let sign = format!("path={}/", directory.display());
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let program = line.split('\0').next().unwrap_or_default();
        program.contains("qemu-system-") && line.contains(&sign)
    };
    processes().filter(has).collect()
}

/// What this machine has whatever labs are up: interfaces, mounts, and the processes of a stranger.
pub fn of_this_machine() -> (Vec<String>, String) {
    let interfaces = fs::read_dir("/sys/class/net").expect("/sys").flatten();
    let mut names: Vec<String> =
        interfaces.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    (names, fs::read_to_string("/proc/self/mounts").expect("mounts"))
}

/// Takes a connection, and says what came in each second once it is warm.
const RECEIVER: &str = "
import socket, time
s = socket.create_server(('', 5001)); print('ready', flush=True)
c, _ = s.accept(); buffer = bytearray(1 << 18)
until = time.monotonic() + 0.7
while time.monotonic() < until: c.recv_into(buffer)
begin, count = time.monotonic(), 0
while time.monotonic() < begin + 2: count += c.recv_into(buffer)
print(count * 8 / (time.monotonic() - begin))
";

const SENDER: &str = "
import socket, sys
s = socket.create_connection((sys.argv[1], 5001)); block = bytes(1 << 17)
try:
    while True: s.sendall(block)
except OSError: pass
";

/// What TCP carries from one host to another, in bits of payload per second.
pub fn goodput(beds: &Beds, lab: &str, from: &str, to: &str) -> f64 {
    let python = |host: &str, text: &str, more: &[&str]| -> Child {
        let host = format!("{lab}/{host}");
        let words = ["lab", "exec", &host, "--", "python3", "-c", text];
        let mut command: Command = beds.program.command(&[&words[..], more].concat());
        command.stdout(Stdio::piped()).spawn().expect("python3")
    };
    let mut receiver = python(to, RECEIVER, &[]);
    let mut said = BufReader::new(receiver.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it is ready");
    let mut sender = python(from, SENDER, &[to]);
    line.clear();
    said.read_to_string(&mut line).expect("a figure");
    assert!(receiver.wait().expect("it ends").success());
    sender.wait().expect("it ends");
    line.trim().parse().expect("a figure")
}
