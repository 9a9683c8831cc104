//! An opened NFS export.

use super::failures::Service;
use super::files::OpenFiles;
use super::lane::NfsWire;
use super::namespace::{Held, NfsNamespace};
use super::opening::{self, Opened};
use super::site::Site;
use crate::oddities::UNKNOWN_SPACE;
use crate::open::OpenOptions;
use crate::open_files::LaneFiles;
use crate::share::{Lane, LaneRequest, Namespace, Share};
use crate::wire::{TransferSizes, WireLane, pipeline_options};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Failure, Flag, InPlace, NfsTarget, TargetFacts};
use plimsoll_nfs::nfs3::{FileHandle, Nfs3};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The call that tells the space.
const SPACE: &str = "ask for the space (FSSTAT)";

/// An opened NFS export: a directory on a server, reached without a mount. Each namespace and
/// each lane has a connection of its own.
pub struct NfsShare {
    site: Arc<Site>,
    base: FileHandle,
    held: Arc<Held>,
    files: Arc<OpenFiles>,
    facts: TargetFacts,
    /// What the sizes of calls follow from, and what they are by now.
    target: NfsTarget,
    sizes: Mutex<TransferSizes>,
}

impl NfsShare {
    /// Finds the host, its services, the export and the directory below it, and what the server
    /// can do. `given` is the target as the user wrote it, for messages.
    ///
    /// With a port in the target the portmapper is not asked: MOUNT is looked for at
    /// `mountport`, or else at the same port. The export is the longest prefix of the path that
    /// the server's list names, else what MNT accepts of the path and its parents.
    pub fn open(
        target: &NfsTarget,
        given: &str,
        options: &OpenOptions,
    ) -> Result<NfsShare, Failure> {
        let mut opened = opening::open(target, given, options)?;
        let facts = facts(&mut opened)?;
        let mut share = NfsShare {
            site: Arc::new(opened.site),
            base: opened.base,
            held: Arc::default(),
            files: Arc::default(),
            facts,
            target: target.clone(),
            sizes: Mutex::new(opened.sizes),
        };
        if let Some(file) = &options.file {
            let size = Bytes(share.names()?.size(file)?);
            share.facts.in_place = Some(InPlace { file: file.clone(), size });
        }
        Ok(share)
    }

    fn sizes(&self) -> MutexGuard<'_, TransferSizes> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> Result<NfsNamespace, Failure> {
        NfsNamespace::connect(&self.site, self.base, &self.held, &self.files)
    }
}

fn facts(opened: &mut Opened) -> Result<TargetFacts, Failure> {
    let Opened { site, client, base, .. } = opened;
    client.set_deadline(site.operation());
    let space = match client.space(*base) {
        Ok(space) => (space.total, space.available),
        Err(e) if !e.is_fatal() => {
            site.oddities.failed(&site.given, SPACE, e, UNKNOWN_SPACE);
            (0, 0)
        }
        Err(e) => {
            return Err(site.failure("ask for the space", Service::Nfs, Some(client.socket()), &e));
        }
    };
    if let Some((call, bytes)) = client.take_surplus() {
        site.oddities.surplus(&site.given, call, bytes);
    }
    let (peer, privileged) = (client.socket().peer(), client.socket().is_privileged());
    let TransferSizes { read, write } = opened.sizes;
    let mut notes = vec![
        format!("export {} of {peer}", opened.export),
        format!(
            "uid {}, gid {}, from a port {} 1024",
            site.user.uid(),
            site.user.gid(),
            if privileged { "below" } else { "not below" }
        ),
        format!(
            "reads above {} and writes above {} are split into several calls",
            Bytes(u64::from(read)),
            Bytes(u64::from(write))
        ),
    ];
    notes.append(&mut opened.notes);
    Ok(TargetFacts {
        given: site.given.clone(),
        protocol: "NFSv3 over TCP".into(),
        engine: "plimsoll's NFS client".into(),
        read_size_bytes: read,
        write_size_bytes: write,
        client_cache: "none".into(),
        stability: "UNSTABLE, then COMMIT; or FILE_SYNC".into(),
        space_bytes: space,
        notes,
        memory_below: true,
        ..TargetFacts::default()
    })
}

impl Share for NfsShare {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn take_flags(&self) -> Vec<Flag> {
        self.site.oddities.take()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        Ok(Box::new(self.names()?))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        let socket = self.site.connect(Service::Nfs, self.site.port)?;
        let sizes = *self.sizes();
        let options = pipeline_options(sizes, &request);
        let pipeline = Nfs3::pipeline(socket, &self.site.credential(), options);
        let files = LaneFiles::new(&self.files);
        let names = (&request.paths, request.depth.get());
        let wire = NfsWire::new(&self.site, self.base, &self.held, files, names);
        Ok(Box::new(WireLane::new(pipeline, wire, sizes, request)))
    }

    /// A server that was started anew may take other sizes.
    fn resume(&self) -> Result<(), Failure> {
        let mut client = self.site.client()?;
        let notes = &mut Vec::new();
        let asked = opening::ask_sizes(&self.site, &mut client, self.base, &self.target, notes)?;
        *self.sizes() = asked;
        Ok(())
    }
}
