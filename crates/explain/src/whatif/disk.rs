//! Changes of the server's storage: another disk, more memory, encryption.

use super::demands::{Applied, Demands, refused};
use super::{Part, Settle, Unknown, Why};
use crate::stored::reads_from;
use crate::{Resource, Role, Unseen, Use};
use plimsoll_model::device::{DiskFigures, DiskPhase};
use plimsoll_model::what_if::{Encryption, NewDisk};
use plimsoll_model::{Protection, StoredOn, Target};

impl Demands<'_> {
    /// The server's disk that worked for the row.
    pub(super) fn server_disk(&self) -> Option<&Use> {
        let is_disk = |one: &&Use| matches!(one.resource, Resource::Disk { .. });
        self.slow.iter().find(is_disk)
    }

    /// Another disk.
    pub(super) fn disk(&mut self, new: &NewDisk) -> Applied {
        let Some(disk) = self.server_disk().cloned() else {
            return match self.is_unseen(Unseen::Server) && !self.is_from_memory() {
                true => refused(Why::NotMonitored(Part::Disk), Settle::Monitor),
                // Memory served it.
                false => Ok(()),
            };
        };
        let is_disk = |one: &Use| matches!(one.resource, Resource::Disk { .. });
        match new {
            NewDisk::Times(factor) => {
                self.faster(is_disk, |_| *factor);
                self.threads(disk.demand_seconds * (1.0 - 1.0 / factor));
                self.note(*factor);
            }
            NewDisk::Like(figures) => {
                let Some(alone) = self.capacity(figures) else {
                    return refused(Why::NoDiskFigure, Settle::Change);
                };
                let demand_seconds = 1.0 / alone;
                for one in self.slow.iter_mut().chain(&mut self.fast).filter(|one| is_disk(one)) {
                    one.demand_seconds = demand_seconds;
                    one.servers = 1.0;
                    one.alone_per_second = Some(alone);
                }
                self.threads(disk.demand_seconds - demand_seconds);
                self.note(disk.demand_seconds / demand_seconds);
                let is_one_by_one = !self.is_sequential() && self.in_flight > 1.0;
                self.knows_new_disk = !is_one_by_one;
                self.unknown.extend(is_one_by_one.then_some(Unknown::DiskDepth));
            }
        }
        Ok(())
    }

    /// Kind of its job: "random-read".
    fn kind(&self) -> &'static str {
        self.main().map_or("", |part| part.job.kind())
    }

    fn is_sequential(&self) -> bool {
        self.kind().starts_with("sequential-")
    }

    /// Whether its reads came from the server's memory.
    pub(super) fn is_from_memory(&self) -> bool {
        let from = reads_from(self.study, usize::from(self.limits.cell.subject));
        self.kind().ends_with("-read")
            && matches!(from, Some(StoredOn::ServerMemory | StoredOn::ClientMemory))
    }

    /// Operations per second that a measured disk does of this work.
    fn capacity(&self, figures: &DiskFigures) -> Option<f64> {
        let phase = self.kind().replace('-', "_");
        let is_phase = |one: &&DiskPhase| one.phase.as_deref() == Some(&*phase);
        let found =
            figures.phases.iter().find(is_phase).filter(|_| figures.direct != Some(false))?;
        let rate = match self.is_sequential() {
            true => found.bytes_per_second? as f64 / self.limits.bytes_per_operation,
            false if found.block_bytes == self.main()?.job.block().map(|block| block.0) => {
                found.operations_per_second? as f64
            }
            false => return None,
        };
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// The cipher's time on the server's cores is the least that encryption takes. It is no part of one saturated core:
    /// another one may do it.
    pub(super) fn encrypt(&mut self, layer: Encryption, seconds_per_byte: f64) -> Applied {
        let subject = usize::from(self.limits.cell.subject);
        let facts = self.study.subjects.get(subject).and_then(|facts| facts.storage());
        match (layer, facts.and_then(|facts| facts.protection.as_ref())) {
            (Encryption::Smb, Some(Protection::Encryption { .. })) => return Ok(()),
            (Encryption::Smb, Some(Protection::Signing { .. })) => {
                return refused(Why::Signed, Settle::Change);
            }
            (Encryption::Smb, None)
                if !matches!(self.study.plan.target(subject), Some(Target::Smb(_))) =>
            {
                return refused(Why::NotSmb, Settle::Change);
            }
            (Encryption::Disk, _) if self.server_disk().is_none() => {
                return match self.is_unseen(Unseen::Server) {
                    true => refused(Why::NotMonitored(Part::Disk), Settle::Monitor),
                    false => Ok(()),
                };
            }
            _ => {}
        }
        if !self.knows_server_processor() {
            return refused(Why::NotMonitored(Part::ServerProcessor), Settle::Monitor);
        }
        let more = seconds_per_byte * self.limits.bytes_per_operation;
        let is_processor = |one: &&mut Use| {
            one.role != Role::Client
                && matches!(one.resource, Resource::Processor | Resource::Quota { .. })
        };
        for one in self.slow.iter_mut().chain(&mut self.fast).filter(is_processor) {
            one.demand_seconds += more;
        }
        self.is_worse = true;
        self.may_lose = true;
        self.unknown.push(Unknown::Encryption);
        Ok(())
    }

    /// More memory of the server: at most nothing of what is read comes from its disk.
    pub(super) fn memory(&mut self, times: f64) -> Applied {
        let Some(disk) = self.server_disk().cloned() else {
            return match self.is_unseen(Unseen::Server) && !self.is_from_memory() {
                true => refused(Why::NotMonitored(Part::Disk), Settle::Monitor),
                false if times < 1.0 => refused(Why::LessMemory, Settle::Change),
                false => Ok(()),
            };
        };
        if times < 1.0 {
            return refused(Why::LessMemory, Settle::Change);
        }
        if times > 1.0 {
            self.fast.retain(|one| !matches!(one.resource, Resource::Disk { .. }));
            for one in &mut self.fast {
                if matches!(one.resource, Resource::Threads { .. }) {
                    let left = (one.demand_seconds - disk.demand_seconds).max(0.0);
                    one.demand_seconds = left;
                }
            }
            self.is_better = true;
            self.unknown.push(Unknown::Memory);
        }
        Ok(())
    }
}
