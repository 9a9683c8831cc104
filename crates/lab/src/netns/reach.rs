//! Commands inside a host made of namespaces.

use super::group;
use crate::died;
use crate::state::Holder;
use nix::sched::{CloneFlags, setns};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Channel, Output, Reach, Through};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Joins the control groups of the host, if it has any, and leads inside. Daemons lie where the
/// search path of ordinary users does not lead.
const ENTER: &str = r#"
for group in $0; do echo $$ >"$group/cgroup.procs" || exit 125; done
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
exec nsenter "$@"
"#;

/// The words that stand before a command and lead it inside.
fn entrance(holder: &Holder, group: Option<&Path>) -> Vec<String> {
    let inside = holder.inside.map_or(0, |process| process.pid);
    let groups = group.into_iter().flat_map(group::both);
    let groups: Vec<String> = groups.map(|path| path.display().to_string()).collect();
    let groups = groups.join(" ");
    let pid = inside.to_string();
    ["/bin/sh", "-c", ENTER, &groups, "-n", "-m", "-u", "-i", "-p", "-t", &pid, "--"]
        .map(str::to_owned)
        .to_vec()
}

/// The namespaces and control groups of a host, for a program that starts a command there itself.
pub struct Namespaces {
    name: String,
    holder: Holder,
    groups: Vec<PathBuf>,
}

impl Namespaces {
    /// Those of the host of this name, as the user names it.
    pub(crate) fn new(name: &str, holder: &Holder, group: Option<&Path>) -> Namespaces {
        let groups = group.into_iter().flat_map(group::both).collect();
        Namespaces { name: name.to_owned(), holder: holder.clone(), groups }
    }

    /// Joins them: what this process starts from now on runs on the host, in its root directory. The
    /// process has a single thread, and can start no other afterwards.
    ///
    /// # Errors
    /// [`Cause::Unreachable`] for a host that has stopped; [`Cause::Trial`] for what cannot be joined.
    pub fn join(&self) -> Result<(), Failure> {
        self.join_each().map_err(|error| match there(&self.name, &self.holder) {
            Err(stopped) => stopped,
            Ok(()) => Failure::new(Cause::Trial, "enter the host").on(&self.name).happened(error),
        })
    }

    fn join_each(&self) -> io::Result<()> {
        for group in &self.groups {
            // 0 stands for the process that writes it.
            fs::write(group.join("cgroup.procs"), "0")?;
        }
        let inside = self.holder.inside.map_or(0, |process| process.pid);
        // The mounts come last: /proc is another one with them.
        let kinds = [
            ("ipc", CloneFlags::CLONE_NEWIPC),
            ("uts", CloneFlags::CLONE_NEWUTS),
            ("net", CloneFlags::CLONE_NEWNET),
            ("pid", CloneFlags::CLONE_NEWPID),
            ("mnt", CloneFlags::CLONE_NEWNS),
        ];
        for (name, kind) in kinds {
            setns(File::open(format!("/proc/{inside}/ns/{name}"))?, kind)?;
        }
        Ok(())
    }
}

/// A host made of namespaces.
pub(crate) struct Inside {
    through: Through,
    holder: Holder,
}

impl Inside {
    /// The host of this name, as the user names it.
    pub fn new(name: String, holder: Holder, group: Option<&Path>) -> Inside {
        let words = entrance(&holder, group);
        Inside { through: Through::new(name, words), holder }
    }

    /// Its number may be another process's by now.
    fn there(&self) -> Result<(), Failure> {
        there(self.name(), &self.holder)
    }
}

fn there(name: &str, holder: &Holder) -> Result<(), Failure> {
    if holder.alive() {
        return Ok(());
    }
    Err(died(name))
}

impl Reach for Inside {
    fn name(&self) -> &str {
        self.through.name()
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        self.there()?;
        let output = self.through.run(command, input, limit)?;
        ended(self.name(), &self.holder, output)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        self.there()?;
        let channel = self.through.open(command)?;
        Ok(Box::new(Talk { channel, name: self.name().to_owned(), holder: self.holder.clone() }))
    }
}

/// A command that was killed with its host has not ended by itself.
fn ended(name: &str, holder: &Holder, output: Output) -> Result<Output, Failure> {
    match output.status {
        Some(0) => Ok(output),
        _ => there(name, holder).map(|()| output),
    }
}

struct Talk {
    channel: Box<dyn Channel>,
    name: String,
    holder: Holder,
}

impl Channel for Talk {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.channel.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        self.channel.read(buffer, until)
    }

    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        let output = self.channel.finish(limit)?;
        ended(&self.name, &self.holder, output)
    }
}
