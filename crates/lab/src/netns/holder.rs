//! The process that holds a host.

use crate::state::{DIRECTORY_VARIABLE, Directory, Holder, MARK_VARIABLE};
use plimsoll_model::{Cause, Failure};
use plimsoll_process::ProcessId;
use plimsoll_process::child;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// What the first process inside does. It waits for a word first: until it is written down it is
/// nobody's, and where whoever started it dies before that, its input ends, and so does it.
///
/// `/sys` shows the interfaces of the namespace that mounts it, with the control groups as they are
/// mounted on this machine, so that what the host uses can be read. The places that servers and disks
/// use are the host's own, so that nothing is left in those of this machine. The shell at the end
/// reaps what is left behind inside.
const SCRIPT: &str = r#"
IFS= read -r word && [ "$word" = go ] || exit 1
set -e
hostname "$1"
if [ -d /mnt ]; then mount --rbind /sys/fs/cgroup /mnt; fi
mount -t sysfs sysfs /sys
if [ -d /mnt ]; then mount --move /mnt /sys/fs/cgroup; fi
for place in /run /srv /mnt /media /var/lib/nfs /var/lib/samba /var/cache/samba /var/log/samba; do
    [ ! -d "$place" ] || mount -t tmpfs -o mode=0755 lab "$place"
done
mkdir -p /run/lock /run/plimsoll /run/rpcbind
for file in hosts resolv.conf; do
    : >"/run/plimsoll/$file"
    [ ! -f "/etc/$file" ] || mount --bind "/run/plimsoll/$file" "/etc/$file"
done
ip link set dev lo up
echo ready
exec </dev/null >/dev/null 2>&1
set +e
while :; do sleep 86400; done
"#;

/// Its namespace is made by another process so quickly, or not at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// A holder that waits for its word.
pub(crate) struct Starting {
    name: String,
    child: Child,
    /// To be written down before [`Starting::go`].
    pub holder: Holder,
}

impl Starting {
    /// Starts a holder.
    ///
    /// # Errors
    /// Where namespaces cannot be had: [`Cause::NotPermitted`].
    pub fn spawn(name: &str, mark: &str, lab: &Directory) -> Result<Starting, Failure> {
        let mut child = child::command(find("setsid")?)
            .arg(find("unshare")?)
            .args(["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"])
            .args(["--mount-proc", "--", "/bin/sh", "-c", SCRIPT, "plimsoll-lab", name])
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env(MARK_VARIABLE, mark)
            .env(DIRECTORY_VARIABLE, lab.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(name, error.to_string()))?;
        match both(&child) {
            Some((outside, inside)) => {
                let holder = Holder { processes: vec![outside, inside], inside: Some(inside) };
                Ok(Starting { name: name.to_owned(), child, holder })
            }
            None => {
                let _ = child.kill();
                let said = rest(child.stderr.take());
                let _ = child.wait();
                Err(failed(name, said))
            }
        }
    }

    /// Gives it the word, and waits until its host is configured.
    pub fn go(mut self) -> Result<(), Failure> {
        let sent = self.child.stdin.take().map(|mut input| input.write_all(b"go\n"));
        // No more than the word: `unshare`, which stands by, keeps the pipe open.
        let mut ready = [0; 6];
        let mut output = self.child.stdout.take();
        let read = output.as_mut().map(|output| output.read_exact(&mut ready));
        match (sent, read) {
            (Some(Ok(())), Some(Ok(()))) if &ready == b"ready\n" => Ok(()),
            _ => {
                let _ = self.child.kill();
                Err(failed(&self.name, rest(self.child.stderr.take())))
            }
        }
    }
}

/// `unshare` and its child, the first process inside, once that is there.
fn both(child: &Child) -> Option<(ProcessId, ProcessId)> {
    let deadline = Instant::now() + PATIENCE;
    let outside = ProcessId::from_pid(child.id())?;
    while Instant::now() < deadline && outside.alive() {
        if let Some(inside) = outside.children().first() {
            return Some((outside, *inside));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

fn rest(pipe: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(64 << 10).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// A program that labs use, or a failure that says who brings it.
pub(crate) fn find(name: &str) -> Result<std::path::PathBuf, Failure> {
    child::find(name).ok_or_else(|| {
        let next = "plimsoll lab doctor shows the packages to install.";
        Failure::new(Cause::Usage, "find a program")
            .on(name)
            .happened("it is not installed")
            .next(next)
    })
}

fn failed(name: &str, said: String) -> Failure {
    let denied = said.contains("Operation not permitted") || said.contains("Permission denied");
    let cause = if denied { Cause::NotPermitted } else { Cause::Trial };
    let happened = if said.is_empty() { "it ended without a message".to_owned() } else { said };
    let next = "Labs need root; plimsoll lab doctor shows what this machine supports.";
    Failure::new(cause, "create the namespaces of a host").on(name).happened(happened).next(next)
}
