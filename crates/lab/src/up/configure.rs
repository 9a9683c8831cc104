//! What a host is given once it can be reached: addresses, shaped links, rules, disks, services,
//! mounts. All hosts at the same time.

use super::Watch;
use crate::plan::{Delay, HostKind};
use crate::state::{Bed, Directory};
use crate::{host_of, machines, services, setup};
use plimsoll_model::Failure;
use plimsoll_reach::Reach;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Configures all hosts. Mounts come when all services serve.
pub(super) fn all(directory: &Directory, bed: &Bed, watch: &mut Watch) -> Result<(), Failure> {
    let hosts = bed.plan.hosts.keys();
    let reached: BTreeMap<&String, Arc<dyn Reach>> = hosts
        .map(|name| Ok((name, host_of(directory, bed, name)?)))
        .collect::<Result<_, Failure>>()?;
    let inside = |name: &String| {
        reached.get(name).map(|reach| Inside { bed, name: name.clone(), reach: &**reach })
    };
    let insides: Vec<Inside> = reached.keys().filter_map(|name| inside(name)).collect();
    at_once(&insides, watch, Inside::network)?;
    at_once(&insides, watch, Inside::serve)?;
    at_once(&insides, watch, Inside::mount)
}

/// What a read takes of the disks that were asked for a latency, by `host/disk`: measured when all
/// else is done, one after the other.
pub(super) fn latencies(
    directory: &Directory,
    bed: &Bed,
    watch: &mut Watch,
) -> Result<BTreeMap<String, Delay>, Failure> {
    let mut measured = BTreeMap::new();
    for (name, host) in bed.plan.hosts.iter().filter(|(_, host)| host.kind == HostKind::Vm) {
        for (disk, what) in host.disks.iter().filter(|(_, disk)| disk.latency.is_some()) {
            let shown = format!("{name}/{disk}");
            watch.step(&format!("{shown}: measuring its latency"))?;
            let reach = host_of(directory, bed, name)?;
            let latency = services::disk::measure_latency(&*reach, disk, what.latency)?;
            measured.insert(shown, latency);
        }
    }
    Ok(measured)
}

/// Configures one host again: a machine that was started again, while its lab is up.
pub(crate) fn again(directory: &Directory, bed: &Bed, name: &str) -> Result<(), Failure> {
    let reach = host_of(directory, bed, name)?;
    let inside = Inside { bed, name: name.to_owned(), reach: &*reach };
    let (said, _) = channel();
    let steps = Steps { said, stop: &AtomicBool::new(false) };
    inside.network(&steps)?;
    inside.serve(&steps)?;
    inside.mount(&steps)
}

/// Does something in all hosts at once. Of several failures the first host's is returned.
fn at_once<'a>(
    hosts: &[Inside<'a>],
    watch: &mut Watch,
    what: fn(&Inside<'a>, &Steps) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (said, heard) = channel();
    let stop = watch.stop;
    thread::scope(|scope| {
        let work = |host| {
            let steps = Steps { said: said.clone(), stop };
            scope.spawn(move || what(host, &steps))
        };
        let working: Vec<_> = hosts.iter().map(work).collect();
        drop(said);
        for step in heard {
            (watch.say)(&step);
        }
        let ended = working
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Tells what is being done.
struct Steps<'a> {
    said: Sender<String>,
    stop: &'a AtomicBool,
}

impl Steps<'_> {
    fn step(&self, what: String) -> Result<(), Failure> {
        super::go_on(self.stop, &what)?;
        // If nobody listens, it is done all the same.
        let _ = self.said.send(what);
        Ok(())
    }
}

/// A host that can be reached.
struct Inside<'a> {
    bed: &'a Bed,
    name: String,
    reach: &'a dyn Reach,
}

impl Inside<'_> {
    fn network(&self, steps: &Steps) -> Result<(), Failure> {
        let (plan, name, reach) = (&self.bed.plan, &self.name, self.reach);
        steps.step(format!("{name}: addresses"))?;
        setup::network(plan, name, reach)?;
        for nic in plan.nics(name) {
            if let Some(link) = plan.links.get(&nic.link) {
                setup::shape(&nic.link, link, self.bed.rate(&nic.link, name), reach)?;
            }
        }
        match plan.hosts.get(name).and_then(|host| host.rules.as_ref()) {
            Some(rules) => setup::rules(rules, reach),
            None => Ok(()),
        }
    }

    fn serve(&self, steps: &Steps) -> Result<(), Failure> {
        let (plan, name, reach) = (&self.bed.plan, &self.name, self.reach);
        let Some(host) = plan.hosts.get(name) else { return Ok(()) };
        setup::carrier(plan, name, reach)?;
        match host.kind {
            HostKind::Netns => setup::tmpfs(host, reach)?,
            HostKind::Vm => {
                for (disk, what) in &host.disks {
                    steps.step(format!("{name}: the disk {disk}"))?;
                    let device = machines::device(plan, name, disk).unwrap_or_default();
                    services::disk::attach(reach, disk, &device, what)?;
                }
            }
        }
        if let Some(ganesha) = &host.ganesha {
            steps.step(format!("{name}: NFS-Ganesha"))?;
            services::ganesha::start(reach, ganesha)?;
        }
        if let Some(nfsd) = &host.nfsd {
            steps.step(format!("{name}: NFS server"))?;
            services::nfsd::start(reach, nfsd)?;
        }
        if let Some(samba) = &host.samba {
            steps.step(format!("{name}: Samba"))?;
            services::samba::start(reach, samba)?;
        }
        // Takes a while where machines are emulated, and the servers take longer.
        services::mount::prepare(reach, &host.mounts)
    }

    fn mount(&self, steps: &Steps) -> Result<(), Failure> {
        let (plan, name) = (&self.bed.plan, &self.name);
        for mount in plan.hosts.get(name).iter().flat_map(|host| &host.mounts) {
            steps.step(format!("{name}: mounting {}", mount.from))?;
            let server = &mount.from.host;
            let Some(address) = plan.address_of(server, name) else { continue };
            let samba = plan.hosts.get(server).and_then(|host| host.samba.as_ref());
            services::mount::mount(self.reach, mount, address, samba)?;
        }
        Ok(())
    }
}
