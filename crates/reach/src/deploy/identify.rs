//! What machine a host is.

use super::PATIENCE;
use super::machine::{ELF_BYTES, Machine};
use crate::Reach;
use crate::printed::last_line;
use plimsoll_model::Failure;

/// What a host says of its machine.
pub(crate) struct HostMachine {
    /// What `uname -m` says; empty where it says nothing.
    pub uname: String,
    /// The machines whose programs it may be able to run, the best first.
    pub machines: Vec<Machine>,
}

impl HostMachine {
    pub(crate) fn at(reach: &dyn Reach) -> Result<HostMachine, Failure> {
        // Bytes as they are: not every host has a tool to print them.
        let look = format!(
            "echo \"$(uname -m)\"; for f in /proc/$$/exe /bin/sh; do dd if=$f bs={ELF_BYTES} count=1 2>/dev/null; done"
        );
        let output = reach.run(&look, b"", PATIENCE)?;
        Ok(HostMachine::from_answer(&output.output))
    }

    /// From the answer: a line, then the beginnings of programs.
    pub(super) fn from_answer(answer: &[u8]) -> HostMachine {
        let cut = answer.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let (uname, rest) = answer.split_at(cut);
        let uname = last_line(uname).unwrap_or_default();
        let rest: Vec<&[u8]> =
            rest.get(1..).unwrap_or_default().chunks(ELF_BYTES).take(2).collect();
        let machines = Machine::candidates(&uname, &rest);
        HostMachine { uname, machines }
    }

    /// The host's own word for its machine.
    pub(crate) fn words(&self) -> String {
        let name = if self.uname.is_empty() { "an unknown processor" } else { &self.uname };
        format!("the host calls itself \"{name}\"")
    }
}
