//! Cables between namespaces: a pair of interfaces, or several pairs and a bridge in a namespace
//! of its own. Cables from a namespace to a machine: a tap device. None of them is ever in this
//! machine's own namespace.

use super::holder::find;
use crate::plan::{Link, Plan};
use crate::state::Holder;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::collections::BTreeMap;

/// The name among holders of the switch that a link with more than two hosts needs.
pub(crate) fn switch_of(link: &str) -> String {
    format!("link.{link}")
}

/// Whether a link needs a switch.
pub(crate) fn has_switch(link: &Link) -> bool {
    link.between.len() > 2
}

/// Lays the cables of a link of namespaces.
pub(crate) fn lay(
    plan: &Plan,
    name: &str,
    holders: &BTreeMap<String, Holder>,
) -> Result<(), Failure> {
    let Some(link) = plan.links.get(name) else { return Ok(()) };
    let end = |host: &String| End::of(plan, name, host, holders);
    if !has_switch(link) {
        let [a, b] = link.between.as_slice() else { return Ok(()) };
        return pair(name, &end(a), &end(b));
    }
    let switch = inside(holders, &switch_of(name));
    let bridge = ["link", "add", "name", "switch", "type", "bridge"];
    ip(name, Some(switch), &bridge.map(str::to_owned))?;
    ip(name, Some(switch), &["link", "set", "dev", "switch", "up"].map(str::to_owned))?;
    for (number, host) in link.between.iter().enumerate() {
        let port = format!("port{}", number + 1);
        pair(name, &end(host), &End { pid: switch, interface: port.clone(), mac: None })?;
        // How long a packet may be is the hosts' matter.
        let join = ["link", "set", "dev", &port, "mtu", "65535", "master", "switch", "up"];
        ip(name, Some(switch), &join.map(str::to_owned))?;
    }
    Ok(())
}

/// Moves the tap devices of a machine that runs into the namespaces at their other ends.
pub(crate) fn move_taps(
    plan: &Plan,
    machine: &str,
    holders: &BTreeMap<String, Holder>,
) -> Result<(), Failure> {
    let qemu = holders.get(machine).and_then(|holder| holder.processes.first());
    for nic in plan.nics(machine) {
        let (Some(host), Some(qemu)) = (plan.tap_host(&nic.link), qemu) else { continue };
        let mut words = ["link", "set", "dev", &nic.link].map(str::to_owned).to_vec();
        words.extend(End::of(plan, &nic.link, host, holders).words());
        ip(&nic.link, Some(qemu.pid), &words)?;
    }
    Ok(())
}

/// The end of a cable in a namespace.
struct End {
    pid: u32,
    interface: String,
    mac: Option<String>,
}

impl End {
    /// That of a host.
    fn of(plan: &Plan, link: &str, host: &str, holders: &BTreeMap<String, Holder>) -> End {
        let nic = plan.nics(host).into_iter().find(|nic| nic.link == link);
        End { pid: inside(holders, host), interface: link.to_owned(), mac: nic.map(|nic| nic.mac) }
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec!["name".to_owned(), self.interface.clone()];
        if let Some(mac) = &self.mac {
            words.extend(["address".to_owned(), mac.clone()]);
        }
        words.extend(["netns".to_owned(), self.pid.to_string()]);
        words
    }
}

fn pair(link: &str, a: &End, b: &End) -> Result<(), Failure> {
    let mut words = vec!["link".to_owned(), "add".to_owned()];
    words.extend(a.words());
    words.extend(["type", "veth", "peer"].map(str::to_owned));
    words.extend(b.words());
    ip(link, None, &words)
}

fn inside(holders: &BTreeMap<String, Holder>, name: &str) -> u32 {
    holders.get(name).and_then(|holder| holder.inside).map_or(0, |process| process.pid)
}

/// Runs `ip`, in a network namespace if one is named.
fn ip(link: &str, inside: Option<u32>, words: &[String]) -> Result<(), Failure> {
    let ip = find("ip")?;
    let mut command = match inside {
        None => child::command(ip),
        Some(pid) => {
            let mut command = child::command(find("nsenter")?);
            command.args(["-n", "-t", &pid.to_string(), "--"]).arg(ip);
            command
        }
    };
    let failed = |happened: String| {
        let next = "plimsoll lab doctor shows what this machine supports.";
        Failure::new(Cause::Trial, "connect the hosts of a link")
            .on(link)
            .happened(happened)
            .next(next)
    };
    let output = command.args(words).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
