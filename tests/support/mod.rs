//! What every end-to-end test needs: the built program with a store of its own, and a look at what
//! it left behind.
#![allow(dead_code)]

pub mod beds;
pub mod browser;
pub mod content;
pub mod frozen;
pub mod full;
pub mod interrupted;
pub mod lab_file;
pub mod liar;
pub mod own;
pub mod own_place;
pub mod pair;
pub mod router;
pub mod rows;
pub mod runner_program;
pub mod served;
pub mod server_lab;
pub mod setter;
pub mod sound;
pub mod stepped;
pub mod strace;
pub mod terminal;
pub mod trial;
pub mod via;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The lease of a run on another machine that ended long ago.
const DEAD_LEASE: &str = r#"{"study":"0123abcd","host":"x","process_space":"x","process":1,"process_start":1,"expires_unix_seconds":1}"#;

/// What a dead run left on a target: its directory, with its lease and the files that it measured.
pub fn leftover(target: &Path, number: u32) -> PathBuf {
    let directory = target.join(format!(".plimsoll-0123abcd-{number:08x}"));
    std::fs::create_dir(&directory).expect("a directory");
    std::fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("ours");
    std::fs::write(directory.join("lease.json"), DEAD_LEASE).expect("a lease");
    // The first and the last as earlier versions had it.
    for name in ["read.data", "read-0.data", "write-7.data", "write.data"] {
        std::fs::write(directory.join(name), "left").expect("a file");
    }
    directory
}

/// The built program, with a store in a directory of its own.
pub struct Plimsoll {
    home: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What one run of the program did.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Plimsoll {
    /// A fresh store.
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        Plimsoll { home, variables: Vec::new() }
    }

    /// The same with an environment variable.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Where the program's user is at home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the store is.
    pub fn db(&self) -> PathBuf {
        self.home.path().join("studies.db")
    }

    /// A command of the program, not yet started.
    pub fn command<S: AsRef<str>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .env("PLIMSOLL_DB", self.db())
            .env("XDG_RUNTIME_DIR", self.home.path())
            .env("NO_COLOR", "1")
            .env("XDG_CONFIG_HOME", self.home())
            .env("XDG_STATE_HOME", self.home())
            .env_remove("PLIMSOLL_PASSWORD")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// The same, run by another program such as a tracer, whose own words come first.
    pub fn command_under<S: AsRef<str>>(&self, first: Command, arguments: &[S]) -> Command {
        let (inner, mut command) = (self.command(arguments), first);
        command.arg(inner.get_program()).args(inner.get_args()).stdin(Stdio::null());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Runs it to its end.
    pub fn run<S: AsRef<str>>(&self, arguments: &[S]) -> Ran {
        self.command(arguments).output().expect("the program starts").into()
    }

    /// Starts it, with its output kept for [`ended`].
    pub fn start<S: AsRef<str>>(&self, arguments: &[S]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// The newest study, as exported.
    pub fn latest(&self) -> plimsoll_model::Study {
        self.exported("latest").expect("the store is not empty")
    }

    /// A study by its id, or the `latest`, as exported; `None` where the store is empty.
    #[track_caller]
    pub fn exported(&self, reference: &str) -> Option<plimsoll_model::Study> {
        let ran = self.run(&["export", reference, "--json"]);
        if ran.code == Some(2) && ran.err.contains("the store is empty") {
            return None;
        }
        Some(serde_json::from_str(&ran.expect(0).out).expect("an export is a study"))
    }
}

/// A directory with this machine's probe, built by the system's compiler.
pub fn probes() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
        let made = Command::new("make")
            .args(["-s", "-C"])
            .arg(root.join("probe"))
            .arg(format!("TARGET={}", target.display()))
            .arg("probe")
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "make probe");
        target.join("probes")
    })
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Asserts the exit code, with everything said in the message.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

/// Waits for a started program and hands back what it said.
#[track_caller]
pub fn ended(child: Child) -> Ran {
    child.wait_with_output().expect("the program ends").into()
}

/// Text in one line, without the breaks of its lines.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until `ready` is true; fails after a generous time.
#[track_caller]
pub fn wait_until(what: &str, ready: impl FnMut() -> bool) {
    wait_until_within(Duration::from_secs(60), what, ready);
}

/// The same, for so long.
#[track_caller]
pub fn wait_until_within(patience: Duration, what: &str, mut ready: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !ready() {
        assert!(begin.elapsed() < patience, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every path below a directory with its length (directories: none), sorted.
pub fn listing(directory: &Path) -> Vec<(PathBuf, Option<u64>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let length = entry.metadata().ok().filter(|_| kind.is_file()).map(|m| m.len());
            if kind.is_dir() {
                open.push(entry.path());
            }
            found.push((entry.path(), length));
        }
    }
    found.sort();
    found
}

/// Whether a run's directory holds what is copied.
pub fn has_copy(run: &Path) -> bool {
    let copy = |e: std::fs::DirEntry| e.file_name().to_string_lossy().starts_with("copy-");
    std::fs::read_dir(run).is_ok_and(|entries| entries.flatten().any(copy))
}

/// The run directories on a target.
pub fn run_directories(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(".plimsoll-"))
        .map(|e| e.path())
        .collect()
}

/// The files that the first run in a directory reads, once they are laid out: `size` bytes together.
pub fn read_files(directory: &Path, size: u64) -> Option<Vec<PathBuf>> {
    let run = run_directories(directory).into_iter().next()?;
    let files: Vec<PathBuf> = (0..8).map(|n| run.join(format!("read-{n}.data"))).collect();
    let whole = |file: &PathBuf| file.metadata().is_ok_and(|m| m.len() == size / 8);
    files.iter().all(whole).then_some(files)
}

/// Sends a signal to a child by its number.
pub fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|s| s.success()), "kill {signal}");
}
