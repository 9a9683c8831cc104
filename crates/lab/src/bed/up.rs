//! Bringing a lab up: write down, make, furnish, serve, mount. Where that fails or is interrupted,
//! what was made is taken away again.

use super::netns::{Starting, cable, group};
use super::plan::{Image, Kind, Plan};
use super::state::{self, Bed, Directory, Holder, ProcessId};
use super::vm::{self, Acceleration, Images};
use super::{host_of, machines, services, setup};
use host::reach::Reach;
use model::{Cause, Failure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A machine that is emulated boots in seconds, on a machine that is busy in more.
const BOOT: Duration = Duration::from_secs(120);

/// Who looks on while a lab comes up.
pub struct Watch<'a> {
    /// Is told what is being done.
    pub say: &'a mut dyn FnMut(&str),
    /// Set when it shall not go on.
    pub stop: &'a AtomicBool,
}

impl Watch<'_> {
    fn step(&mut self, what: &str) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(interrupted(what));
        }
        (self.say)(what);
        Ok(())
    }
}

/// Brings a lab up under a name that satisfies [`model::is_lab_name`].
///
/// # Errors
/// [`Cause::Usage`] where the name is in use; [`Cause::Interrupted`]; and what could not be made.
/// Nothing is left then.
pub fn up(name: &str, plan: &Plan, watch: &mut Watch) -> Result<(), Failure> {
    if !model::is_lab_name(name) {
        let next = "Take a-z, 0-9 and '-', at most 24, a letter first: --name NAME.";
        return Err(Failure::new(Cause::Usage, "name the lab", name, "no lab is called so", next));
    }
    watch.step("looking at what is there")?;
    let directory = Directory::of(name);
    // Twice, for the directory may be removed between its making and the lock.
    let lock = match make_and_lock(&directory)? {
        Some(lock) => lock,
        None => make_and_lock(&directory)?.ok_or_else(|| in_use(name))?,
    };
    if !matches!(directory.read(), Ok(None)) {
        return Err(in_use(name));
    }
    let bed = Bed {
        name: name.to_owned(),
        mark: by_chance()?,
        up: false,
        started_unix_seconds: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        plan: plan.clone(),
        holders: BTreeMap::new(),
        groups: BTreeMap::new(),
        latencies: BTreeMap::new(),
        kvm: None,
    };
    directory.write_mark(&bed.mark)?;
    let (done, stop) = (AtomicBool::new(false), watch.stop);
    let mut rising = Rising { directory, bed, watch };
    let risen = std::thread::scope(|scope| {
        let directory = rising.directory.clone();
        let done = &done;
        let guard = scope.spawn(move || interrupt(&directory, stop, done));
        let risen = rising.all();
        done.store(true, Ordering::Relaxed);
        guard.thread().unpark();
        risen
    });
    // What failed, failed for that alone; and what is finished may have been killed meanwhile.
    let stopped = stop.load(Ordering::Relaxed).then(|| interrupted(name));
    if let Some(failure) = stopped.or(risen.err()) {
        let removed = state::remove(&rising.directory, Some(&rising.bed));
        drop(lock);
        return Err(match removed {
            Ok(()) => failure,
            Err(more) => Failure { next: format!("{} And {more}", failure.next), ..failure },
        });
    }
    Ok(())
}

/// Waits until all is done. Where it shall not go on, hosts are killed, so that nobody waits for
/// what they are doing: a boot, a mount.
fn interrupt(directory: &Directory, stop: &AtomicBool, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        if stop.load(Ordering::Relaxed) {
            state::kill_holders(directory);
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn interrupted(on: &str) -> Failure {
    Failure::new(Cause::Interrupted, "bring the lab up", on, "it was interrupted", "")
}

fn make_and_lock(directory: &Directory) -> Result<Option<state::Lock>, Failure> {
    directory.make()?;
    directory.lock()
}

fn in_use(name: &str) -> Failure {
    let happened = "a lab of this name is up, or was left over by a crash";
    let next = format!("plimsoll lab down {name} removes it; or take another name: --name NAME.");
    Failure::new(Cause::Usage, "bring the lab up", name, happened, next)
}

/// 16 letters that nobody else has.
fn by_chance() -> Result<String, Failure> {
    use std::io::Read;
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|e| Failure::new(Cause::Trial, "name the lab by chance", "/dev/urandom", e, ""))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Rising<'a, 'w> {
    directory: Directory,
    bed: Bed,
    watch: &'a mut Watch<'w>,
}

impl Rising<'_, '_> {
    fn all(&mut self) -> Result<(), Failure> {
        self.directory.write(&self.bed)?;
        self.namespaces()?;
        self.cables()?;
        self.machines()?;
        let hosts: Vec<String> = self.bed.plan.hosts.keys().cloned().collect();
        let mut reached = BTreeMap::new();
        for host in hosts {
            self.watch.step(&format!("{host}: addresses and disks"))?;
            let reach = host_of(&self.directory, &self.bed, &host)?;
            self.furnish(&host, &*reach)?;
            reached.insert(host, reach);
        }
        for (host, reach) in &reached {
            setup::carrier(&self.bed.plan, host, &**reach)?;
        }
        self.serve(&reached)?;
        self.bed.up = true;
        self.directory.write(&self.bed)
    }

    /// Starts the holders of hosts, and of the switches between them.
    fn namespaces(&mut self) -> Result<(), Failure> {
        let plan = &self.bed.plan;
        let is_netns = |host: &String| plan.hosts.get(host).is_some_and(|h| h.kind == Kind::Netns);
        let mut names: Vec<String> = plan.hosts.keys().filter(|h| is_netns(h)).cloned().collect();
        for (name, link) in &plan.links {
            if cable::has_switch(link) && link.between.iter().all(is_netns) {
                names.push(cable::switch_of(name));
            }
        }
        let mut starting = Vec::new();
        for name in names {
            self.watch.step(&format!("{name}: namespaces"))?;
            let one = Starting::spawn(&name, &self.bed.mark, &self.directory)?;
            self.bed.holders.insert(name.clone(), one.holder.clone());
            self.directory.write(&self.bed)?;
            self.limit(&name)?;
            starting.push(one);
        }
        starting.into_iter().try_for_each(Starting::go)
    }

    /// Puts a host into its control group.
    fn limit(&mut self, name: &str) -> Result<(), Failure> {
        let Some(share) = self.bed.plan.hosts.get(name).and_then(|host| host.cpu) else {
            return Ok(());
        };
        let path = group::hierarchy()?.path(&format!("plimsoll-lab-{}-{name}", self.bed.mark));
        self.bed.groups.insert(name.to_owned(), path.clone());
        self.directory.write(&self.bed)?;
        let holder = self.bed.holders.get(name).cloned().unwrap_or_default();
        group::make(&path, share, &holder)
    }

    fn cables(&mut self) -> Result<(), Failure> {
        let plan = &self.bed.plan;
        for (name, link) in &plan.links {
            self.watch.step(&format!("{name}: cables"))?;
            let kind = |host: &String| plan.hosts.get(host).map(|host| host.kind);
            if link.between.iter().all(|host| kind(host) == Some(Kind::Netns)) {
                cable::lay(plan, name, &self.bed.holders)?;
            }
        }
        Ok(())
    }

    /// Starts the machines, each of which boots while the next is started, and waits for them.
    fn machines(&mut self) -> Result<(), Failure> {
        let machines = machines::machines(&self.bed.plan, self.directory.path());
        if machines.is_empty() {
            return Ok(());
        }
        let memory = machines.iter().map(|machine| u64::from(machine.memory_mib)).sum();
        vm::fits(memory, machines.len() as u64)?;
        let images = Images::from_environment().until(self.watch.stop);
        let mut wanted: Vec<Image> = machines.iter().map(|machine| machine.image).collect();
        wanted.sort();
        wanted.dedup();
        for image in wanted {
            self.watch.step("looking for images")?;
            images.get(image, &mut |what| (self.watch.say)(what))?;
        }
        let mut kvm = true;
        for machine in &machines {
            self.watch.step(&format!("{}: starting", machine.name))?;
            let (bed, directory) = (&mut self.bed, &self.directory);
            let mut journal = |pid: u32| {
                let processes = ProcessId::of(pid).into_iter().collect();
                bed.holders.insert(machine.name.clone(), Holder { processes, inside: None });
                directory.write(bed)
            };
            kvm &= vm::start(machine, &images, &mut journal)? == Acceleration::Kvm;
        }
        self.bed.kvm = Some(kvm);
        for machine in &machines {
            self.watch.step(&format!("{}: booting", machine.name))?;
            vm::ready(machine, BOOT)?;
        }
        Ok(())
    }

    fn furnish(&mut self, name: &str, reach: &dyn Reach) -> Result<(), Failure> {
        let plan = &self.bed.plan;
        setup::network(plan, name, reach)?;
        for nic in plan.nics(name) {
            if let Some(link) = plan.links.get(&nic.link) {
                setup::shape(&nic.link, link, self.bed.rate(&nic.link), reach)?;
            }
        }
        let Some(host) = plan.hosts.get(name) else { return Ok(()) };
        if let Some(rules) = &host.rules {
            setup::rules(rules, reach)?;
        }
        if host.kind == Kind::Netns {
            return setup::tmpfs(host, reach);
        }
        for (disk, what) in &host.disks {
            let device = machines::device(&self.bed.plan, name, disk).unwrap_or_default();
            services::disk::attach(reach, disk, &device, what)?;
            if what.latency.is_some() {
                let measured = services::disk::measure_latency(reach, disk, what.latency)?;
                self.bed.latencies.insert(format!("{name}/{disk}"), measured);
            }
        }
        Ok(())
    }

    /// Services first, mounts when all of them serve.
    fn serve(&mut self, reached: &BTreeMap<String, Arc<dyn Reach>>) -> Result<(), Failure> {
        for (name, reach) in reached {
            let Some(host) = self.bed.plan.hosts.get(name) else { continue };
            if let Some(ganesha) = &host.ganesha {
                self.watch.step(&format!("{name}: NFS-Ganesha"))?;
                services::ganesha::start(&**reach, ganesha)?;
            }
            if let Some(nfsd) = &host.nfsd {
                self.watch.step(&format!("{name}: NFS server"))?;
                services::nfsd::start(&**reach, nfsd)?;
            }
            if let Some(samba) = &host.samba {
                self.watch.step(&format!("{name}: Samba"))?;
                services::samba::start(&**reach, samba)?;
            }
        }
        for (name, reach) in reached {
            for mount in self.bed.plan.hosts.get(name).iter().flat_map(|host| &host.mounts) {
                self.watch.step(&format!("{name}: mounting {}", mount.from))?;
                let plan = &self.bed.plan;
                let server = &mount.from.host;
                let Some(address) = plan.address_of(server, name) else { continue };
                let samba = plan.hosts.get(server).and_then(|host| host.samba.as_ref());
                services::mount::mount(&**reach, mount, address, samba)?;
            }
        }
        Ok(())
    }
}
