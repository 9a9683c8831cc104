//! Commands inside a host made of namespaces.

use super::group;
use crate::died;
use crate::state::Holder;
use plimsoll_model::Failure;
use plimsoll_reach::{Channel, Output, Reach, Through};
use std::io;
use std::path::Path;
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
pub(crate) fn entrance(holder: &Holder, group: Option<&Path>) -> Vec<String> {
    let inside = holder.inside.map_or(0, |process| process.pid);
    let groups = group.into_iter().flat_map(group::both);
    let groups: Vec<String> = groups.map(|path| path.display().to_string()).collect();
    let groups = groups.join(" ");
    let pid = inside.to_string();
    ["/bin/sh", "-c", ENTER, &groups, "-n", "-m", "-u", "-i", "-p", "-t", &pid, "--"]
        .map(str::to_owned)
        .to_vec()
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
