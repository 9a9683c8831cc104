//! The hosts that are virtual machines: booted, or begun with what was saved of them.

use super::{BOOT, BringUp, configure};
use crate::netns::cable;
use crate::plan::Image;
use crate::saved::Saved;
use crate::state::Holder;
use crate::vm::{self, Acceleration, Images, Machine};
use plimsoll_model::{Cause, Failure};
use plimsoll_process::{ProcessId, kill_all};
use std::sync::atomic::AtomicBool;

impl<'w> BringUp<'_, 'w> {
    /// The images of machines that there is memory for.
    pub(super) fn images(&mut self, machines: &[Machine]) -> Result<Images<'w>, Failure> {
        let memory = machines.iter().map(|machine| u64::from(machine.memory_mib)).sum();
        vm::fits(memory, machines.len() as u64)?;
        let stop: &'w AtomicBool = self.watch.stop;
        let images = Images::from_environment().until(stop);
        let mut wanted: Vec<Image> = machines.iter().map(|machine| machine.image).collect();
        wanted.sort();
        wanted.dedup();
        for image in wanted {
            self.watch.step("finding images")?;
            images.get(image, &mut |what| (self.watch.say)(what))?;
        }
        Ok(images)
    }

    /// Starts the machines, each of which boots while the next is started, waits for them, and
    /// configures them.
    pub(super) fn boot(&mut self, machines: &[Machine], images: &Images) -> Result<(), Failure> {
        for machine in machines {
            self.watch.step(&format!("{}: starting", machine.name))?;
            self.start(machine, |journal| vm::start(machine, images, journal))?;
        }
        for machine in machines {
            self.watch.step(&format!("{}: booting", machine.name))?;
            vm::ready(machine, BOOT)?;
        }
        configure::all(&self.directory, &self.bed, self.watch)
    }

    /// Starts the machines with what was saved of them. Where that fails it is as if they had never
    /// been started, and what was saved is of no use.
    pub(super) fn resume(
        &mut self,
        saved: &Saved,
        machines: &[Machine],
        images: &Images,
    ) -> Result<bool, Failure> {
        if !saved.is_there() {
            return Ok(false);
        }
        self.watch.step("loading the saved state of its machines")?;
        let Err(failure) = self.try_resume(saved, machines, images) else { return Ok(true) };
        self.watch.step(&format!("the saved state of its machines cannot be used: {failure}"))?;
        self.forget(machines)?;
        saved.remove();
        Ok(false)
    }

    /// Ends the machines; nothing of them is left.
    fn forget(&mut self, machines: &[Machine]) -> Result<(), Failure> {
        for machine in machines {
            let holder = self.bed.holders.remove(&machine.name).unwrap_or_default();
            if !kill_all(&holder.processes, BOOT) {
                let happened = "its process does not end";
                return Err(Failure::new(Cause::Trial, "end a machine")
                    .on(&machine.name)
                    .happened(happened));
            }
            machine.forget();
        }
        self.directory.write(&self.bed)
    }

    fn try_resume(
        &mut self,
        saved: &Saved,
        machines: &[Machine],
        images: &Images,
    ) -> Result<(), Failure> {
        saved.unpack(machines)?;
        for machine in machines {
            let state = saved.state(machine);
            self.start(machine, |journal| vm::resume(machine, images, &state, journal))?;
        }
        machines.iter().try_for_each(vm::taken)?;
        machines.iter().try_for_each(vm::go_on)?;
        machines.iter().try_for_each(|machine| vm::set_clock(machine, BOOT))
    }

    /// Keeps the machines as they are now. They go on from what was saved: a QEMU that has saved a
    /// machine is slow from then on, and so it is seen that it can be used. `false`: it cannot, and
    /// the machines have ended. If nothing could be saved, they go on as they are.
    pub(super) fn save(
        &mut self,
        saved: &Saved,
        machines: &[Machine],
        images: &Images,
    ) -> Result<bool, Failure> {
        self.watch.step("saving its machines for a faster next start")?;
        // All are halted before the first is saved, so that none is ahead of another.
        machines.iter().try_for_each(vm::pause)?;
        match saved.make(machines) {
            Ok(true) => {
                self.forget(machines)?;
                return self.resume(saved, machines, images);
            }
            Ok(false) => {}
            Err(failure) => self.unsaved = Some(failure),
        }
        machines.iter().try_for_each(vm::go_on)?;
        Ok(true)
    }

    fn start(
        &mut self,
        machine: &Machine,
        start: impl FnOnce(&mut dyn FnMut(u32) -> Result<(), Failure>) -> Result<Acceleration, Failure>,
    ) -> Result<(), Failure> {
        let (bed, directory) = (&mut self.bed, &self.directory);
        let mut journal = |pid: u32| {
            let processes = ProcessId::from_pid(pid).into_iter().collect();
            bed.holders.insert(machine.name.clone(), Holder { processes, inside: None });
            directory.write(bed)
        };
        let acceleration = start(&mut journal)?;
        self.bed.kvm = Some(self.bed.kvm.unwrap_or(true) && acceleration == Acceleration::Kvm);
        cable::move_taps(&self.bed.plan, &machine.name, &self.bed.holders)
    }
}
