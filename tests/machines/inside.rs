//! Commands and shells in a machine.

use super::super::support::beds::Beds;
use super::super::support::{ended, wait_until};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

/// What a command says is there before it ends, output and errors apart, and none of it is lost.
pub fn streams(beds: &Beds) {
    let line = "echo out; echo err >&2; read -r word; echo \"got $word\"; exit 5";
    let words = ["lab", "exec", "disks/a", "--", "/bin/sh", "-c", line];
    let mut command = beds.program.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut out).unwrap();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut err).unwrap();
    assert_eq!((&*out, &*err), ("out\n", "err\n"), "it has not ended, for it waits for a word");
    child.stdin.take().unwrap().write_all(b"a word\n").unwrap();
    output.read_to_string(&mut out).unwrap();
    assert_eq!(out, "out\ngot a word\n");
    assert_eq!(ended(child).code, Some(5));

    // More than is kept of a command, in both directions at once.
    let file = beds.program.home().join("much");
    let much: Vec<u8> = (0..6_000_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
    std::fs::write(&file, &much).unwrap();
    let mut cat = beds.program.command(&["lab", "exec", "disks/a", "--", "cat"]);
    let back = cat.stdin(File::open(&file).unwrap()).output().unwrap();
    assert!(back.stdout == much, "{} bytes came back", back.stdout.len());
    let loud = ["lab", "exec", "disks/a", "--", "/bin/sh", "-c", "head -c 1000000 /dev/zero >&2"];
    assert_eq!(beds.program.command(&loud).output().unwrap().stderr.len(), 1_000_000);
    beds.lab(&["exec", "disks/a", "--", "/bin/sh", "-c", "kill -TERM $$"]).expect(128 + 15);
}

/// A terminal of this side, with the program on the other.
struct Keys {
    master: File,
    seen: String,
}

impl Keys {
    /// A copy, which no program inherits.
    fn new(master: OwnedFd) -> Keys {
        Keys { master: File::from(master.try_clone().unwrap()), seen: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.seen.clear();
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is on the screen, after what was seen before.
    #[track_caller]
    fn see(&mut self, what: &str) {
        let mut bytes = [0; 4096];
        loop {
            if let Some((_, rest)) = self.seen.split_once(what) {
                self.seen = rest.to_owned();
                return;
            }
            let mut fds = [PollFd::new(self.master.as_fd(), PollFlags::POLLIN)];
            let ready = poll(&mut fds, PollTimeout::from(60_000_u16)).unwrap();
            assert!(ready > 0, "no {what:?} in {:?}", self.seen);
            let count = self.master.read(&mut bytes).unwrap_or(0);
            assert!(count > 0, "it has ended; no {what:?} in {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }
}

/// Editing, Ctrl-C to what runs there, the size of the window, and the exit code.
pub fn a_shell_has_a_terminal(beds: &Beds) {
    let size = Winsize { ws_row: 33, ws_col: 101, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let (slave, mut keys) = (File::from(terminal.slave), Keys::new(terminal.master));
    let settings = || {
        let said = Command::new("stty").arg("-g").stdin(slave.try_clone().unwrap()).output();
        said.unwrap().stdout
    };
    let before = settings();
    // It is to be notified of a new size, as the leader of a terminal's session is.
    let mut first = Command::new("setsid");
    first.args(["--ctty", "--wait"]);
    let mut shell = beds.program.command_under(first, &["lab", "shell", "disks/a"]);
    let end = || slave.try_clone().unwrap();
    let mut child =
        shell.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    keys.see("# ");
    assert_ne!(settings(), before, "every key is passed on");
    keys.press("stty size; tty; echo $TERM\r");
    keys.see("\r33 101\r\n/dev/pts/");
    keys.see("xterm\r\n");
    // What is typed before its prompt is there, it does not edit.
    keys.see("# ");
    let stty = ["rows", "44", "cols", "111"];
    assert!(Command::new("stty").args(stty).stdin(end()).status().unwrap().success());
    // The shell there hears of it by a signal.
    keys.press("until [ \"$(stty size)\" = '44 111' ]; do sleep 0.1; done; echo it is larg''er\r");
    keys.see("it is larger");
    keys.see("# ");
    // The cursor goes left over an o and an l; the l before it is taken away.
    keys.press("echo =hallo\u{1b}[D\u{1b}[D\u{7f}X=\r");
    keys.see("\r=haX=lo\r\n");
    keys.see("# ");
    keys.press("sleep 600.25\r");
    // Before that, Ctrl-C is the shell's own.
    wait_until("it sleeps", || beds.on("disks/a", "pgrep -cx sleep || :").trim() == "1");
    keys.press("\u{3}");
    keys.see("# ");
    keys.press("echo code=$?\r");
    keys.see("code=130");
    keys.see("# ");
    keys.press("exit 7\r");
    wait_until("the shell has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(settings(), before, "the terminal is as it was");
}

/// A terminal that is closed takes along what runs in it.
pub fn a_closed_terminal_ends_its_shell(beds: &Beds) {
    let terminal = openpty(None, None).unwrap();
    let (slave, mut keys) = (File::from(terminal.slave), Keys::new(terminal.master));
    let mut first = Command::new("setsid");
    first.args(["--ctty", "--wait"]);
    let mut shell = beds.program.command_under(first, &["lab", "shell", "disks/a"]);
    let end = || slave.try_clone().unwrap();
    let mut child = shell.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop((shell, slave));
    keys.see("# ");
    keys.press("sleep 600.75\r");
    let sleepers = || beds.on("disks/a", "pgrep -cx sleep || :");
    wait_until("it sleeps", || sleepers().trim() == "1");
    drop(keys);
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    wait_until("so has what ran in it", || sleepers().trim() == "0");
}
