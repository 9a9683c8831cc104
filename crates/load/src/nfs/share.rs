//! An opened NFS export.

use super::directories::Directories;
use super::failures::Service;
use super::files::OpenFiles;
use super::lane::NfsWire;
use super::namespace::NfsNamespace;
use super::opening::{self, Opened};
use super::site::Site;
use crate::connection::spread;
use crate::oddities::UNKNOWN_SPACE;
use crate::open_files::LaneFiles;
use crate::open_options::OpenOptions;
use crate::round_trip;
use crate::share::{Lane, LaneRequest, Namespace, Share};
use crate::wire::{TransferSizes, WireLane, pipeline_options, reconnecting};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Failure, Flag, InPlace, NfsTarget, NfsTransport, NfsVersion, Protocol, TargetFacts,
};
use plimsoll_nfs::Version;
use plimsoll_nfs::nfs3::{FileHandle, Nfs3};
use std::num::NonZeroU8;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The call that tells the space.
const SPACE: &str = "query the free space (FSSTAT)";

/// An opened NFS export: a directory on a server, reached without a mount. Each namespace and
/// each lane has a connection of its own.
pub struct NfsShare {
    site: Arc<Site>,
    held: Arc<Directories<FileHandle>>,
    files: Arc<OpenFiles>,
    facts: TargetFacts,
    /// What the sizes of calls follow from, and what they are by now.
    target: NfsTarget,
    sizes: Mutex<TransferSizes>,
    /// Whether what the server loses in a restart is written again.
    write_again: bool,
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
        let mut facts = facts(&mut opened)?;
        facts.notes.extend(target.nconnect.and_then(in_turn));
        let mut share = NfsShare {
            site: Arc::new(opened.site),
            held: Arc::new(Directories::new(opened.base)),
            files: Arc::default(),
            facts,
            target: target.clone(),
            sizes: Mutex::new(opened.sizes),
            write_again: options.write_again,
        };
        if let Some(file) = &options.file {
            let size = Bytes(share.names()?.size(file)?);
            share.facts.in_place = Some(InPlace { file: file.clone(), size });
        }
        Ok(share)
    }

    /// The same, with something that is worth knowing of it.
    pub(crate) fn noted(mut self, note: String) -> NfsShare {
        self.facts.notes.push(note);
        self
    }

    fn sizes(&self) -> MutexGuard<'_, TransferSizes> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> Result<NfsNamespace<Site>, Failure> {
        NfsNamespace::connect(&self.site, &self.held, &self.files)
    }
}

/// What is worth knowing where a worker has several connections.
pub(crate) fn in_turn(count: NonZeroU8) -> Option<String> {
    (count.get() > 1).then(|| format!("each worker uses {count} connections in turn"))
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
            return Err(site.failure(
                "query the free space",
                Service::Nfs,
                Some(client.socket()),
                &e,
            ));
        }
    };
    site.oddities.datagrams(&site.given, client.take_datagrams());
    if let Some((call, bytes)) = client.take_surplus() {
        site.oddities.surplus(&site.given, call, bytes);
    }
    let (peer, privileged) = (client.socket().peer(), client.socket().is_privileged());
    let TransferSizes { read, write } = opened.sizes;
    client.set_deadline(site.operation());
    let round_trip_seconds = round_trip::shortest(&site.deadline, || client.null());
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
    let version = match site.version {
        Version::V2 => NfsVersion::V2,
        Version::V3 => NfsVersion::V3,
    };
    Ok(TargetFacts {
        given: site.given.clone(),
        protocol: Protocol::Nfs { version, transport: site.transport },
        engine: "plimsoll's NFS client".into(),
        read_size_bytes: read,
        write_size_bytes: write,
        advertised: opened.advertised,
        client_cache: "none".into(),
        stability: match site.version {
            Version::V2 => "stable with each WRITE".into(),
            Version::V3 => "UNSTABLE, then COMMIT; or FILE_SYNC".into(),
        },
        commits_each_write: site.version == Version::V2,
        space_bytes: space,
        round_trip_seconds,
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
        let sizes = *self.sizes();
        let options = pipeline_options(sizes, &request);
        let (site, port) = (self.site.clone(), self.site.port);
        let (version, credential) = (site.version, site.credential());
        let files = LaneFiles::new(&self.files);
        let wire = NfsWire::new(&self.site, &self.held, files, &request, self.write_again);
        match site.transport {
            NfsTransport::Tcp => {
                let connect = move || {
                    let socket = site.stream(Service::Nfs, port)?;
                    Ok::<_, Failure>(Nfs3::pipeline_of(version, socket, &credential, options))
                };
                // Half of what an operation may take: the rest is for doing it once it was sent again.
                let (deadline, limit) = (&self.site.deadline, self.site.limits.call / 2);
                match self.target.nconnect.map_or(1, NonZeroU8::get) {
                    1 => reconnecting(connect, wire, sizes, request, deadline, limit),
                    several => {
                        let connect = spread(several, connect);
                        reconnecting(connect, wire, sizes, request, deadline, limit)
                    }
                }
            }
            // What is not answered is sent again in any case.
            NfsTransport::Udp => {
                let socket = site.datagrams(Service::Nfs, port)?;
                let datagrams = Nfs3::datagrams(version, socket, &credential, options);
                Ok(Box::new(WireLane::new(datagrams, wire, sizes, request)))
            }
        }
    }

    /// A server that was started anew may take other sizes.
    fn resume(&self) -> Result<(), Failure> {
        let mut client = self.site.client()?;
        let notes = &mut Vec::new();
        let base = self.held.base();
        let (asked, _) = opening::ask_sizes(&self.site, &mut client, base, &self.target, notes)?;
        *self.sizes() = asked;
        Ok(())
    }
}
