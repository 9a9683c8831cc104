//! The built program under a tracer of the test's own, which stops it before its system calls: what
//! happens between two of them is then no matter of luck.

use super::Ran;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::process::{ChildStdin, Command, Stdio};

/// A system call that is about to be made.
pub struct Call {
    /// Its number.
    pub number: i64,
    /// The name it takes, where it is one of those that take a descriptor and a name.
    pub path: Option<String>,
}

impl Call {
    /// Whether it looks a name up below a directory that is open.
    pub fn looks_up(&self) -> bool {
        self.path.as_ref().is_some_and(|path| !path.is_empty() && !path.starts_with('/'))
    }
}

/// Calls whose second argument is a name below their first.
const BELOW: [i64; 10] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_faccessat2,
];
/// Longest name that is read.
const LONGEST: usize = 4096;

/// Runs a command to its end, with `before` called when each system call of each of its threads is
/// about to be made, and everything of the command standing still that could see the difference:
/// the thread that makes the call. Once `before` breaks off, the rest runs without a stop.
pub fn run(command: &Command, before: &mut dyn FnMut(&Call) -> ControlFlow<()>) -> Ran {
    // The tracer is there before the program is: a shell waits for a line.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r go && exec \"$@\"", "sh"]).arg(command.get_program());
    shell.args(command.get_args()).stdin(Stdio::piped());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    let mut child = shell.spawn().expect("a shell starts");
    let pid = Pid::from_raw(child.id() as i32);
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).expect("a child can be traced");
    ptrace::interrupt(pid).expect("it can be stopped");
    let code = follow(pid, child.stdin.take(), before);
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().map(|mut s| s.read_to_string(&mut out));
    child.stderr.take().map(|mut s| s.read_to_string(&mut err));
    // It was waited for already, as a traced process is.
    let _ = child.wait();
    Ran { code, out, err }
}

/// Until the first process ends; its exit code.
fn follow(
    first: Pid,
    mut go: Option<ChildStdin>,
    before: &mut dyn FnMut(&Call) -> ControlFlow<()>,
) -> Option<i32> {
    let (mut executed, mut is_watched) = (false, true);
    // Other threads of the test have children of their own.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        let (pid, signal) = match waitpid(None, Some(flags)).expect("it is traced") {
            WaitStatus::Exited(pid, code) if pid == first => return Some(code),
            WaitStatus::Signaled(pid, ..) if pid == first => return None,
            WaitStatus::PtraceSyscall(pid) => {
                let looks = executed && is_watched;
                let entry = looks && ptrace::syscall_info(pid).is_ok_and(|i| i.op == ENTRY);
                if let Some(call) = entry.then(|| call(pid)).flatten() {
                    is_watched = before(&call).is_continue();
                }
                (pid, None)
            }
            WaitStatus::PtraceEvent(pid, _, event) => {
                executed |= event == libc::PTRACE_EVENT_EXEC;
                if let Some(mut go) = go.take() {
                    go.write_all(b"\n").expect("the shell reads");
                }
                (pid, None)
            }
            WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
            _ => continue,
        };
        // It may have been killed meanwhile.
        let _ = match is_watched {
            true => ptrace::syscall(pid, signal),
            false => ptrace::cont(pid, signal),
        };
    }
}

/// `PTRACE_SYSCALL_INFO_ENTRY`.
const ENTRY: u8 = 1;

/// The call that a stopped thread is about to make.
fn call(pid: Pid) -> Option<Call> {
    let text = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let argument = words.nth(1)?;
    let at = u64::from_str_radix(argument.trim_start_matches("0x"), 16).ok()?;
    let path = BELOW.contains(&number).then(|| read_text(pid, at)).flatten();
    Some(Call { number, path })
}

fn read_text(pid: Pid, at: u64) -> Option<String> {
    let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = vec![0; LONGEST];
    // The text may lie at the end of what is mapped.
    let length = (1..=16).rev().find_map(|part| {
        let length = LONGEST * part / 16;
        memory.read_at(&mut bytes[..length], at).ok()
    })?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
