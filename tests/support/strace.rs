//! The built program under `strace`, which can kill it at a chosen system call.

use super::{Plimsoll, Ran};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// Calls that change neither a file's content nor a name.
const HARMLESS: [&str; 17] = [
    "access",
    "close",
    "faccessat",
    "fcntl",
    "fstat",
    "fstatfs",
    "getcwd",
    "getdents64",
    "lseek",
    "lstat",
    "newfstatat",
    "pread64",
    "read",
    "readlink",
    "stat",
    "statfs",
    "statx",
];

/// What is traced, and when it kills.
pub struct Tracer<'a> {
    /// The calls that are logged, in the words of strace's `--trace`.
    pub calls: &'a str,
    /// Only calls on these paths count, by name or by descriptor; all where there are none.
    pub paths: &'a [PathBuf],
    /// Kills before the nth call of this name of a thread, counted from 1, is carried out.
    pub kill_before: Option<(&'a str, usize)>,
}

/// The calls made, a line each.
pub struct Log(String);

impl Tracer<'_> {
    /// Runs the program with these arguments to its end or to the kill.
    pub fn run<S: AsRef<str>>(&self, program: &Plimsoll, arguments: &[S]) -> (Ran, Log) {
        let log = program.db().with_file_name("strace.log");
        let mut strace = Command::new("strace");
        // Not `--seccomp-bpf`, though faster: strace 6.1 then does not deliver the signal.
        // All threads, and no programs that it starts: to kill one of those is to kill something else.
        strace.args(["-f", "--detach-on=execve", "-qq", "-o"]).arg(&log);
        let killing = self.kill_before.map_or(String::new(), |(call, _)| format!(",{call}"));
        strace.arg(format!("--trace={}{killing}", self.calls));
        if let Some((call, nth)) = self.kill_before {
            strace.arg(format!("--inject={call}:signal=KILL:when={nth}"));
        }
        for path in self.paths {
            strace.arg("-P").arg(path);
        }
        let ran = program.command_under(strace, arguments).output().expect("strace starts").into();
        (ran, Log(std::fs::read_to_string(log).unwrap_or_default()))
    }
}

impl Log {
    /// The names of the calls, without those that change nothing.
    pub fn writing_calls(&self) -> BTreeSet<String> {
        let name = |line: &str| {
            let (_process, call) = line.split_once(' ')?;
            Some(call.trim_start().split_once('(')?.0.to_owned())
        };
        let is_call = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let names = self.0.lines().filter_map(name).filter(is_call);
        names.filter(|name| !HARMLESS.contains(&name.as_str())).collect()
    }

    /// Commits of SQLite: each ends with the removal of the rollback journal.
    pub fn commits(&self) -> usize {
        let commit = |line: &&str| line.contains("unlink(") && line.contains("-journal\") = 0");
        self.0.lines().filter(commit).count()
    }

    /// How often a file of this name was opened to be made or written anew.
    pub fn written(&self, name: &str) -> usize {
        let name = format!("\"{name}\", ");
        let opened = |line: &&str| line.contains("openat(") && line.contains(&name);
        let made = |line: &&str| line.contains("O_CREAT") && !line.ends_with('?');
        self.0.lines().filter(opened).filter(made).count()
    }
}
