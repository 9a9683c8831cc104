//! Bringing a lab up: write down, make, configure, serve, mount. Where that fails or is interrupted,
//! what was made is taken away again.

mod boot;
mod configure;
mod namespaces;

pub(super) use configure::again;

use super::machines;
use super::plan::{Plan, Risk};
use super::saved::Saved;
use super::state::{self, Bed, Directory};
use plimsoll_model::{Cause, Failure};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A machine that is emulated boots in seconds, on a machine that is busy in more.
pub(super) const BOOT: Duration = Duration::from_secs(120);

/// How a lab is brought up.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Its machines boot, though they were saved.
    pub afresh: bool,
    /// The [risks](Plan::risks) of its file are agreed to.
    pub trusted: bool,
}

/// Who looks on while a lab comes up.
pub struct Watch<'a> {
    /// Called with what is being done.
    pub say: &'a mut dyn FnMut(&str),
    /// Set when it shall not go on.
    pub stop: &'a AtomicBool,
}

impl Watch<'_> {
    fn step(&mut self, what: &str) -> Result<(), Failure> {
        go_on(self.stop, what)?;
        (self.say)(what);
        Ok(())
    }
}

/// Refuses the next step where it shall stop.
fn go_on(stop: &AtomicBool, what: &str) -> Result<(), Failure> {
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted(what));
    }
    Ok(())
}

/// Brings a lab up under a name that satisfies [`plimsoll_model::is_lab_name`]. A lab of machines is saved
/// when it is up for the first time, and is there at once from then on.
///
/// Returns why it could not be saved, if that is so: it is up all the same.
///
/// # Errors
/// [`Cause::Usage`] where the name is in use, or for risks that nobody agreed to; [`Cause::Interrupted`]; and what could not be made.
/// Nothing is left then.
pub fn up(
    name: &str,
    plan: &Plan,
    how: How,
    watch: &mut Watch,
) -> Result<Option<Failure>, Failure> {
    if !plimsoll_model::is_lab_name(name) {
        let next = "Give --name NAME with at most 24 characters from a-z, 0-9 and '-', starting \
        with a letter.";
        return Err(Failure::new(Cause::Usage, "name the lab")
            .on(name)
            .happened("it is not a valid name")
            .next(next));
    }
    if !how.trusted {
        plan.refuse_risks(Risk::what)?;
    }
    watch.step("checking for an existing lab")?;
    let directory = Directory::for_lab(name)?;
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
    let mut bring_up = BringUp { directory, bed, watch, unsaved: None };
    let brought = std::thread::scope(|scope| {
        let directory = bring_up.directory.clone();
        let done = &done;
        let guard = scope.spawn(move || interrupt(&directory, stop, done));
        let brought = bring_up.all(how.afresh);
        done.store(true, Ordering::Relaxed);
        guard.thread().unpark();
        brought
    });
    // What failed, failed for that alone; and what is finished may have been killed meanwhile.
    let stopped = stop.load(Ordering::Relaxed).then(|| interrupted(name));
    if let Some(failure) = stopped.or(brought.err()) {
        let removed = state::remove(&bring_up.directory, Some(&bring_up.bed));
        drop(lock);
        return Err(match removed {
            Ok(()) => failure,
            Err(more) => Failure { next: format!("{} And {more}", failure.next), ..failure },
        });
    }
    Ok(bring_up.unsaved)
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
    Failure::new(Cause::Interrupted, "bring the lab up").on(on).happened("it was interrupted")
}

fn make_and_lock(directory: &Directory) -> Result<Option<state::Lock>, Failure> {
    directory.make()?;
    directory.lock()
}

fn in_use(name: &str) -> Failure {
    let happened = "a lab of this name is up, or was left over by a crash";
    let next = format!(
        "Remove it with plimsoll lab down {name}, or give another name with --name \
    NAME."
    );
    Failure::new(Cause::Usage, "bring the lab up").on(name).happened(happened).next(next)
}

/// 16 letters that nobody else has.
fn by_chance() -> Result<String, Failure> {
    use std::io::Read;
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).map_err(
        |e| Failure::new(Cause::Trial, "choose a random mark").on("/dev/urandom").happened(e),
    )?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct BringUp<'a, 'w> {
    directory: Directory,
    bed: Bed,
    watch: &'a mut Watch<'w>,
    /// Why its machines could not be saved.
    unsaved: Option<Failure>,
}

impl BringUp<'_, '_> {
    fn all(&mut self, afresh: bool) -> Result<(), Failure> {
        self.directory.write(&self.bed)?;
        self.namespaces()?;
        self.cables()?;
        let machines = machines::machines(&self.bed.plan, self.directory.path());
        if machines.is_empty() {
            configure::all(&self.directory, &self.bed, self.watch)?;
        } else {
            let images = self.images(&machines)?;
            let saved = Saved::find(&self.bed.plan, &machines, &images)?;
            if let Some(saved) = saved.iter().find(|_| afresh) {
                saved.remove();
            }
            let resumed = match &saved {
                Some(saved) => self.resume(saved, &machines, &images)?,
                None => false,
            };
            if !resumed {
                self.boot(&machines, &images)?;
                if let Some(saved) = saved
                    && !self.save(&saved, &machines, &images)?
                {
                    self.boot(&machines, &images)?;
                }
            }
        }
        self.bed.latencies = configure::latencies(&self.directory, &self.bed, self.watch)?;
        machines.iter().try_for_each(|machine| self.group(&machine.name))?;
        self.limit()?;
        self.bed.up = true;
        self.directory.write(&self.bed)
    }
}
