//! The hosts that are namespaces, the switches, and the cables between them.

use super::BringUp;
use crate::netns::{Starting, cable, group};
use crate::plan::HostKind;
use plimsoll_model::{Cause, Failure};
use std::path::Path;

impl BringUp<'_, '_> {
    /// Starts the holders of hosts, and of the switches between them.
    pub(super) fn namespaces(&mut self) -> Result<(), Failure> {
        let plan = &self.bed.plan;
        let is_netns =
            |host: &String| plan.hosts.get(host).is_some_and(|h| h.kind == HostKind::Netns);
        if let Some(place) = plan.own_places().find(|place| !Path::new(place).is_dir()) {
            let happened = "a host needs this directory, but it does not exist on this machine";
            let next = format!("Create it (mkdir {place}), or use another path in the lab file.");
            return Err(Failure::new(Cause::Usage, "make namespaces")
                .on(place)
                .happened(happened)
                .next(next));
        }
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
            self.group(&name)?;
            starting.push(one);
        }
        starting.into_iter().try_for_each(Starting::go)
    }

    /// Puts a host into a control group, if it has a share of a core.
    pub(super) fn group(&mut self, name: &str) -> Result<(), Failure> {
        if self.bed.plan.hosts.get(name).is_none_or(|host| host.cpu.is_none()) {
            return Ok(());
        }
        let path = group::hierarchy()?.path(&self.bed.group(name));
        self.bed.groups.insert(name.to_owned(), path.clone());
        self.directory.write(&self.bed)?;
        let holder = self.bed.holders.get(name).cloned().unwrap_or_default();
        group::make(&path, &holder)
    }

    /// Limits the groups to their shares of a core. They are limited last: an NFS server with 1% of a core takes two minutes to start.
    pub(super) fn limit(&self) -> Result<(), Failure> {
        let share = |name| self.bed.plan.hosts.get(name).and_then(|host| host.cpu);
        let groups = self.bed.groups.iter();
        groups
            .filter_map(|(name, path)| Some((path, share(name)?)))
            .try_for_each(|(path, share)| group::limit(path, share))
    }

    pub(super) fn cables(&mut self) -> Result<(), Failure> {
        let plan = &self.bed.plan;
        for (name, link) in &plan.links {
            self.watch.step(&format!("{name}: cables"))?;
            let kind = |host: &String| plan.hosts.get(host).map(|host| host.kind);
            if link.between.iter().all(|host| kind(host) == Some(HostKind::Netns)) {
                cable::lay(plan, name, &self.bed.holders)?;
            }
        }
        Ok(())
    }
}
