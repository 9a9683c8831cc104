//! From the plan of a lab to the machines that QEMU is told of.

use super::plan::{Image, Kind, Plan};
use super::vm::{DiskFile, Machine, Nic};
use std::path::Path;

/// The machines of a plan, in the order in which they are started: of two at a cable, the one that
/// listens comes first.
pub(super) fn machines(plan: &Plan, directory: &Path) -> Vec<Machine> {
    let machines = plan.hosts.iter().filter(|(_, host)| host.kind == Kind::Vm);
    machines
        .map(|(name, host)| Machine {
            name: name.clone(),
            image: host.image.unwrap_or_default(),
            memory_mib: host.memory_mib(),
            cores: host.cores,
            nics: nics(plan, name, directory),
            disks: host
                .disks
                .iter()
                .map(|(disk, what)| DiskFile {
                    path: directory.join(format!("{name}.{disk}.disk")),
                    bytes: what.size.0,
                })
                .collect(),
            directory: directory.to_owned(),
        })
        .collect()
}

/// Its end of each cable; the first of both in order of names listens, so that no two wait for each
/// other.
fn nics(plan: &Plan, name: &str, directory: &Path) -> Vec<Nic> {
    let nics = plan.nics(name).into_iter();
    nics.map(|nic| {
        let first = plan.links.get(&nic.link).and_then(|link| link.between.iter().min());
        Nic {
            socket: directory.join(format!("{}.link", nic.link)),
            listens: first.is_some_and(|first| first == name),
            mac: nic.mac,
        }
    })
    .collect()
}

/// What a disk of a host is called in it.
pub(super) fn device(plan: &Plan, host: &str, disk: &str) -> Option<String> {
    let host = plan.hosts.get(host)?;
    let place = host.disks.keys().position(|name| name == disk)?;
    let image = host.image.unwrap_or(Image::Debian);
    Some(DiskFile::device(image, u8::try_from(place).ok()?))
}
