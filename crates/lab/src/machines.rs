//! From the plan of a lab to the machines that QEMU is given.

use super::plan::{Disk, DiskKind, HostKind, Plan};
use super::services;
use super::vm::{Cable, DiskFile, DiskLimit, Machine, Nic};
use std::path::Path;

/// The machines of a plan, in the order in which they are started: of two at a cable, the one that
/// listens comes first.
pub(super) fn machines(plan: &Plan, directory: &Path) -> Vec<Machine> {
    let machines = plan.hosts.iter().filter(|(_, host)| host.kind == HostKind::Vm);
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
                .filter_map(|(disk, what)| file(name, disk, what, directory))
                .collect(),
            directory: directory.to_owned(),
        })
        .collect()
}

/// Its end of each cable.
fn nics(plan: &Plan, name: &str, directory: &Path) -> Vec<Nic> {
    let nics = plan.nics(name).into_iter();
    nics.map(|nic| Nic { cable: cable(plan, name, nic.link, directory), mac: nic.mac }).collect()
}

/// The cable of a machine at a link. Of two machines, the first in order of names listens, so that no two wait for
/// each other.
fn cable(plan: &Plan, name: &str, link: String, directory: &Path) -> Cable {
    if plan.tap_host(&link).is_some() {
        return Cable::Tap(link);
    }
    let first = plan.links.get(&link).and_then(|link| link.between.iter().min());
    let listens = first.is_some_and(|first| first == name);
    Cable::Socket { at: directory.join(format!("{link}.link")), listens }
}

/// The file of a disk, if it has one.
fn file(host: &str, name: &str, disk: &Disk, directory: &Path) -> Option<DiskFile> {
    (disk.kind == DiskKind::File).then(|| DiskFile {
        path: directory.join(format!("{host}.{name}.disk")),
        bytes: disk.size.0,
        limit: limit(disk),
        discards: disk.discards,
    })
}

/// What QEMU lets through of a disk.
pub(super) fn limit(disk: &Disk) -> Option<DiskLimit> {
    let rate = disk.rate?.0;
    let burst = disk.burst.map(|burst| (burst.rate.0, burst.seconds));
    Some(DiskLimit { rate, burst })
}

/// The place of a disk among those of its host that are of the same kind, from 0.
pub(super) fn place(plan: &Plan, host: &str, disk: &str) -> Option<u8> {
    let disks = &plan.hosts.get(host)?.disks;
    let kind = disks.get(disk)?.kind;
    let place = disks.iter().filter(|(_, d)| d.kind == kind).position(|(name, _)| name == disk)?;
    u8::try_from(place).ok()
}

/// What a disk of a host is called in it.
pub(super) fn device(plan: &Plan, host: &str, disk: &str) -> Option<String> {
    let place = place(plan, host, disk)?;
    let host = plan.hosts.get(host)?;
    Some(match host.disks.get(disk)?.kind {
        DiskKind::File => DiskFile::device(host.image.unwrap_or_default(), place),
        DiskKind::Null => services::disk::null_device(place),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = r#"
        [host.a]
        kind = "vm"
        [host.a.disk]
        b-null = { kind = "null", size = "16MiB", at = "/b", discards = false }
        c-file = { size = "32MiB", at = "/c", rate = "20MB/s", burst = { rate = "50MB/s", seconds = 9 } }
        d-null = { kind = "null", size = "16MiB", at = "/d" }
        e-file = { size = "64MiB", at = "/e", discards = false }
    "#;

    #[test]
    fn disks_are_files_or_memory_with_names_of_their_own() {
        let plan = Plan::read(LAB, "lab.toml").unwrap();
        let devices =
            ["b-null", "c-file", "d-null", "e-file"].map(|d| device(&plan, "a", d).unwrap());
        assert_eq!(devices, ["/dev/nullb0", "/dev/vdb", "/dev/nullb1", "/dev/vdc"]);
        assert_eq!(device(&plan, "a", "f"), None);
        let machines = machines(&plan, Path::new("/run/lab"));
        let file = |name: &str, mib: u64, limit, discards| {
            let path = Path::new("/run/lab").join(name);
            DiskFile { path, bytes: mib << 20, limit, discards }
        };
        let limit = DiskLimit { rate: 20_000_000, burst: Some((50_000_000, 9)) };
        let files =
            [file("a.c-file.disk", 32, Some(limit), true), file("a.e-file.disk", 64, None, false)];
        assert_eq!(machines[0].disks, files);
    }

    #[test]
    fn a_link_to_a_namespace_is_a_tap_and_one_between_machines_a_socket() {
        let text = r#"
            [host]
            far = { kind = "vm" }
            lan = { kind = "netns" }
            router = { kind = "vm", forward = true }
            wan = { kind = "netns" }
            [link]
            beside = { between = ["wan", "lan"] }
            deep = { between = ["router", "far"] }
            inner = { between = ["lan", "router"] }
            outer = { between = ["router", "wan"] }
        "#;
        let plan = Plan::read(text, "lab.toml").unwrap();
        let taps = ["beside", "deep", "inner", "outer"].map(|link| plan.tap_host(link));
        assert_eq!(taps, [None, None, Some("lan"), Some("wan")]);
        let socket =
            |listens| Cable::Socket { at: Path::new("/run/lab/deep.link").into(), listens };
        let tap = |name: &str| Cable::Tap(name.to_owned());
        let nic = |mac: &str, cable| Nic { mac: mac.to_owned(), cable };
        let machines = machines(&plan, Path::new("/run/lab"));
        let [far, router] = &machines[..] else { panic!("{machines:?}") };
        assert_eq!(far.nics, [nic("02:00:0a:4d:02:02", socket(true))]);
        let of_router = [
            nic("02:00:0a:4d:02:01", socket(false)),
            nic("02:00:0a:4d:03:02", tap("inner")),
            nic("02:00:0a:4d:04:01", tap("outer")),
        ];
        assert_eq!(router.nics, of_router);
    }
}
