//! What is up, and how it is.

use super::plan::{Delay, Disk, HostKind, Link, Percent, Rate, Rates};
use super::state::{self, Bed};
use plimsoll_model::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Links of emulated machines carry so much less than asked for.
const SCALE: u64 = 10;

/// So many hosts that do not reach others are named.
const MOST_APART: usize = 10;

/// How a lab is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabState {
    /// All of it runs.
    Up,
    /// It is being brought up.
    ComingUp,
    /// Bringing it up was cut short.
    Incomplete,
    /// A host has died.
    Broken,
}

/// A lab.
#[derive(Clone, Debug, Serialize)]
pub struct LabStatus {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// How it is.
    pub state: LabState,
    /// When it was brought up.
    pub started_unix_seconds: u64,
    /// Whether its machines have KVM; absent without machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kvm: Option<bool>,
    /// Its hosts by name.
    pub hosts: BTreeMap<String, HostStatus>,
    /// Its links by name.
    pub links: BTreeMap<String, LinkStatus>,
    /// What one must know to read figures that were measured in it.
    pub notes: Vec<String>,
}

/// A host of a lab.
#[derive(Clone, Debug, Serialize)]
pub struct HostStatus {
    /// What it is made of.
    pub kind: HostKind,
    /// Whether it runs.
    pub alive: bool,
    /// Whether it is still being made or booted.
    pub starting: bool,
    /// Its addresses by link.
    pub addresses: BTreeMap<String, Ipv4Addr>,
    /// Its share of a core, where that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Percent>,
    /// Its disks by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, DiskStatus>,
}

/// A disk of a host.
#[derive(Clone, Debug, Serialize)]
pub struct DiskStatus {
    /// What was asked for.
    #[serde(flatten)]
    pub asked: Disk,
    /// What a read of 4 KiB took when its latency was set; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_latency: Option<Delay>,
}

/// A link of a lab.
#[derive(Clone, Debug, Serialize)]
pub struct LinkStatus {
    /// The hosts that it joins.
    pub between: Vec<String>,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rates>,
    /// What is set: less than asked for where machines are emulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaped_rate: Option<Rates>,
    /// The longest packet in bytes, where the file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Added to each packet, in each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How many packets are lost in each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percent>,
}

impl Bed {
    /// What a link is shaped to.
    pub(crate) fn rates(&self, link: &str) -> Option<Rates> {
        let link = self.plan.links.get(link)?;
        let rates = link.rate.as_ref()?;
        let scaled = |rate: Rate| Rate((rate.0 / SCALE).max(8_000));
        Some(if self.is_scaled(link) { rates.map(scaled) } else { rates.clone() })
    }

    /// The same for what this host sends.
    pub(super) fn rate(&self, link: &str, host: &str) -> Option<Rate> {
        self.rates(link)?.from(host)
    }

    fn is_scaled(&self, link: &Link) -> bool {
        let emulated = self.kvm == Some(false);
        let is_vm =
            |host: &String| self.plan.hosts.get(host).is_some_and(|h| h.kind == HostKind::Vm);
        emulated && link.rate.is_some() && link.between.iter().any(is_vm)
    }

    /// What one must know of its figures.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.kvm == Some(false) {
            notes.push(
                "Its machines are emulated without KVM: processors are about ten times slower."
                    .to_owned(),
            );
        }
        if self.plan.links.values().any(|link| self.is_scaled(link)) {
            notes.push(format!("Link rates are scaled down to 1/{SCALE} of the requested rate."));
        }
        if self.plan.hosts.values().any(|host| host.cpu.is_some()) {
            notes.push(
                "A host with a share of a core stutters: in each period of 5 ms or more it runs at \
                full speed, then stops. It is not a slower processor."
                    .to_owned(),
            );
        }
        let apart = self.plan.unreachable();
        for (host, others) in apart.iter().take(MOST_APART) {
            notes.push(format!(
                "{host} and these hosts cannot reach each other: {}.",
                others.join(", ")
            ));
        }
        if apart.len() > MOST_APART {
            notes.push(format!(
                "{} more hosts cannot reach some other hosts.",
                apart.len() - MOST_APART
            ));
        }
        notes
    }
}

/// All labs of this machine. Those that cannot be read are left out, with the failure beside.
///
/// # Errors
/// Where this is not root.
pub fn status() -> Result<(Vec<LabStatus>, Vec<Failure>), Failure> {
    state::allowed()?;
    let (mut labs, mut failures) = (Vec::new(), Vec::new());
    for name in state::names() {
        match state::Directory::for_lab(&name)?.read() {
            Ok(Some(bed)) => labs.push(lab_status(&bed, is_busy(&name)?)),
            Ok(None) => {}
            Err(failure) => failures.push(failure),
        }
    }
    Ok((labs, failures))
}

/// One lab.
pub fn status_of(name: &str) -> Result<LabStatus, Failure> {
    let (_, bed) = state::find(name)?;
    Ok(lab_status(&bed, is_busy(name)?))
}

fn is_busy(name: &str) -> Result<bool, Failure> {
    Ok(state::Directory::for_lab(name)?.is_busy())
}

/// A lab as it is written down; `busy`: a command is at work on it.
fn lab_status(bed: &Bed, busy: bool) -> LabStatus {
    let state = match bed.up {
        // Its machines are started one after the other, and again where they were saved.
        false if busy => LabState::ComingUp,
        _ if !bed.holders.values().all(|holder| holder.alive()) => LabState::Broken,
        true => LabState::Up,
        false => LabState::Incomplete,
    };
    let alive = |name: &String| bed.holders.get(name).is_some_and(|holder| holder.alive());
    let host = |(name, host): (&String, &super::plan::Host)| {
        let nics = bed.plan.nics(name).into_iter();
        let addresses = nics.map(|nic| (nic.link, nic.address)).collect();
        let disk = |(disk, what): (&String, &Disk)| {
            let measured_latency = bed.latencies.get(&format!("{name}/{disk}")).copied();
            (disk.clone(), DiskStatus { asked: what.clone(), measured_latency })
        };
        let status = HostStatus {
            kind: host.kind,
            alive: alive(name),
            starting: state == LabState::ComingUp,
            addresses,
            cpu: host.cpu,
            disks: host.disks.iter().map(disk).collect(),
        };
        (name.clone(), status)
    };
    let link = |(name, link): (&String, &Link)| {
        let status = LinkStatus {
            between: link.between.clone(),
            rate: link.rate.clone(),
            shaped_rate: bed.rates(name),
            mtu: link.mtu,
            delay: link.delay,
            loss: link.loss,
        };
        (name.clone(), status)
    };
    LabStatus {
        name: bed.name.clone(),
        about: bed.plan.about.clone(),
        state,
        started_unix_seconds: bed.started_unix_seconds,
        kvm: bed.kvm,
        hosts: bed.plan.hosts.iter().map(host).collect(),
        links: bed.plan.links.iter().map(link).collect(),
        notes: bed.notes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::state::Holder;
    use plimsoll_process::ProcessId;

    #[test]
    fn machines_that_boot_are_starting_and_not_dead() {
        let text = "[host.a]\nkind = \"vm\"\n[host.b]\nkind = \"vm\"\n\
                    [link.l]\nbetween = [\"a\", \"b\"]\n";
        let this = ProcessId::from_pid(std::process::id()).unwrap();
        let holder = Holder { processes: vec![this], inside: None };
        let mut bed = Bed {
            name: "lab".to_owned(),
            mark: "mark".to_owned(),
            up: false,
            started_unix_seconds: 0,
            plan: Plan::read(text, "lab.toml").unwrap(),
            holders: BTreeMap::from([("a".to_owned(), holder)]),
            groups: BTreeMap::new(),
            latencies: BTreeMap::new(),
            kvm: Some(false),
        };
        // The second is not started yet.
        let hosts = |status: &LabStatus| {
            let host = |name: &str| (status.hosts[name].starting, status.hosts[name].alive);
            [host("a"), host("b")]
        };
        let status = lab_status(&bed, true);
        assert_eq!(status.state, LabState::ComingUp);
        assert_eq!(hosts(&status), [(true, true), (true, false)]);
        let status = lab_status(&bed, false);
        assert_eq!(status.state, LabState::Incomplete, "whoever brought it up has ended");
        assert_eq!(hosts(&status), [(false, true), (false, false)]);
        bed.up = true;
        bed.holders.insert("b".to_owned(), Holder::default());
        assert_eq!(lab_status(&bed, true).state, LabState::Broken, "one that was up and has died");
    }
}
