//! Changing a lab that is up.

use super::netns::group;
use super::plan::{self, HostKind, Percent, Rates};
use super::state::{self, Bed, Directory};
use super::{host_of, machines, services, setup, vm};
use plimsoll_config::nearest;
use plimsoll_model::{Cause, Failure};
use std::str::FromStr;

/// Sets what is asked for, as `key=value`, of a link (`rate`, `rate.HOST` of what that host
/// sends, `mtu`, `delay`, `loss`), a host (`cpu`) or a disk, named as `host/disk` (`latency`, `rate`,
/// `burst`); `none` takes it away, with a rate its burst too. A name that both have means the link.
///
/// # Errors
/// [`Cause::Usage`] for names, keys and values that are not there.
pub fn set(lab: &str, item: &str, changes: &[String]) -> Result<(), Failure> {
    let directory = Directory::for_lab(lab)?;
    let Some(_lock) = directory.exists().then(|| directory.lock()).transpose()?.flatten() else {
        return Err(state::unknown(lab));
    };
    let (directory, mut bed) = state::find(lab)?;
    if bed.plan.links.contains_key(item) {
        set_link(&mut bed, item, changes)?;
        shape(&directory, &bed, item)?;
    } else if bed.plan.hosts.contains_key(item) {
        set_host(&directory, &mut bed, item, changes)?;
    } else if let Some((host, disk)) = item.split_once('/') {
        set_disk(&directory, &mut bed, host, disk, changes)?;
    } else {
        let known: Vec<&String> = bed.plan.links.keys().chain(bed.plan.hosts.keys()).collect();
        return Err(usage(item, "the lab has no such link or host", nearest(item, &known)));
    }
    directory.write(&bed)
}

fn set_link(bed: &mut Bed, name: &str, changes: &[String]) -> Result<(), Failure> {
    let Some(link) = bed.plan.links.get_mut(name) else { return Ok(()) };
    for change in changes {
        match parted(change)? {
            ("rate", value) => link.rate = quantity(change, value)?.map(Rates::Each),
            ("mtu", value) => link.mtu = whole(change, value)?,
            ("delay", value) => link.delay = quantity(change, value)?,
            ("loss", value) => link.loss = quantity(change, value)?,
            (key, value) => match key.strip_prefix("rate.") {
                Some(host) if link.between.iter().any(|other| other == host) => {
                    let rate = quantity(change, value)?;
                    link.rate = Rates::with(link.rate.as_ref(), &link.between, host, rate);
                }
                Some(host) => {
                    let next = nearest(host, &link.between);
                    return Err(usage(change, "the link has no such host", next));
                }
                None => {
                    let next = nearest(key, &["rate", "mtu", "delay", "loss"]);
                    return Err(usage(change, "a link has no such key", next));
                }
            },
        }
    }
    checked(bed)
}

fn shape(directory: &Directory, bed: &Bed, name: &str) -> Result<(), Failure> {
    let Some(link) = bed.plan.links.get(name) else { return Ok(()) };
    for host in &link.between {
        let reach = host_of(directory, bed, host)?;
        setup::shape(name, link, bed.rate(name, host), &*reach)?;
    }
    Ok(())
}

/// The share of a core of a host, whether it was limited before or not.
fn set_host(
    directory: &Directory,
    bed: &mut Bed,
    name: &str,
    changes: &[String],
) -> Result<(), Failure> {
    for change in changes {
        let (key, value) = parted(change)?;
        if key != "cpu" {
            return Err(usage(change, "a host has no such key", nearest(key, &["cpu"])));
        }
        let share: Option<Percent> = quantity(change, value)?;
        let mut wanted = bed.clone();
        let Some(host) = wanted.plan.hosts.get_mut(name) else { return Ok(()) };
        host.cpu = share;
        checked(&wanted)?;
        match (bed.groups.get(name), share) {
            (Some(path), Some(share)) => group::limit(path, share)?,
            (Some(path), None) => group::lift(path)?,
            (None, None) => {}
            (None, Some(share)) => {
                let path = group::hierarchy()?.path(&bed.group(name));
                // Written down before it is made, so that the lab's end removes it.
                bed.groups.insert(name.to_owned(), path.clone());
                directory.write(bed)?;
                let holder = bed.holders.get(name).cloned().unwrap_or_default();
                group::make(&path, &holder)?;
                group::limit(&path, share)?;
                group::take_in(&path, &holder)?;
                wanted.groups.clone_from(&bed.groups);
            }
        }
        *bed = wanted;
    }
    Ok(())
}

/// Latency and rate of a disk of a machine.
fn set_disk(
    directory: &Directory,
    bed: &mut Bed,
    host: &str,
    name: &str,
    changes: &[String],
) -> Result<(), Failure> {
    let is_vm = |host: &plan::Host| host.kind == HostKind::Vm;
    let shown = format!("{host}/{name}");
    let (Some(device), Some(place)) =
        (machines::device(&bed.plan, host, name), machines::place(&bed.plan, host, name))
    else {
        let next = "List the hosts with plimsoll lab status; the lab file names their \
        disks."
            .to_owned();
        return Err(usage(&shown, "the lab has no disk of this name", next));
    };
    if !bed.plan.hosts.get(host).is_some_and(is_vm) {
        let next = "Name a disk of a virtual machine: only these have a latency and a \
        rate."
            .to_owned();
        return Err(usage(&shown, "this disk is kept in memory", next));
    }
    let mut wanted = bed.clone();
    let disk = wanted.plan.hosts.get_mut(host).and_then(|host| host.disks.get_mut(name));
    let Some(disk) = disk else { return Ok(()) };
    let before = disk.clone();
    for change in changes {
        match parted(change)? {
            ("latency", value) => disk.latency = quantity(change, value)?,
            ("rate", "none") => (disk.rate, disk.burst) = (None, None),
            ("rate", value) => disk.rate = quantity(change, value)?,
            ("burst", "none") => disk.burst = None,
            ("burst", _) => {
                let next = "Give burst=none; to change the burst, change the lab file.".to_owned();
                return Err(usage(change, "a burst can only be removed", next));
            }
            (key, _) => {
                let next = nearest(key, &["latency", "rate", "burst"]);
                return Err(usage(change, "a disk has no such key", next));
            }
        }
    }
    let disk = disk.clone();
    checked(&wanted)?;
    let reach = host_of(directory, bed, host)?;
    if (disk.rate, disk.burst) != (before.rate, before.burst) {
        vm::set_disk_limit(directory.path(), host, place, machines::limit(&disk))?;
    }
    if disk.latency != before.latency {
        services::disk::set_latency(&*reach, name, &device, disk.latency)?;
        wanted.latencies.remove(&shown);
        if disk.latency.is_some() {
            let measured = services::disk::measure_latency(&*reach, name, disk.latency)?;
            wanted.latencies.insert(shown, measured);
        }
    }
    *bed = wanted;
    Ok(())
}

fn parted(change: &str) -> Result<(&str, &str), Failure> {
    change.split_once('=').ok_or_else(|| {
        usage(
            change,
            "it is not KEY=VALUE",
            "Write it as \
        rate=100Mbit/s."
                .to_owned(),
        )
    })
}

fn quantity<T: FromStr<Err = String>>(change: &str, value: &str) -> Result<Option<T>, Failure> {
    if value == "none" {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|error: String| usage(change, &error, String::new()))
}

fn whole(change: &str, value: &str) -> Result<Option<u32>, Failure> {
    if value == "none" {
        return Ok(None);
    }
    let next = "Give bytes, such as mtu=9000.".to_owned();
    value.parse().map(Some).map_err(|_| usage(change, "it is not a whole number", next))
}

/// Whether the lab still makes sense.
fn checked(bed: &Bed) -> Result<(), Failure> {
    bed.plan
        .check()
        .map_err(|problem| usage(&problem.at.join("."), &problem.happened, problem.next))
}

fn usage(on: &str, happened: &str, next: String) -> Failure {
    Failure::new(Cause::Usage, "change the lab").on(on).happened(happened).next(next)
}
