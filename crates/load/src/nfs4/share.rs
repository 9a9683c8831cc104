//! An opened directory of an NFS server of version 4.

use super::keeper::Keeper;
use super::lane::Nfs4Wire;
use super::{Directories, OpenFiles};
use crate::advice::MISSING_DIRECTORY;
use crate::connection::spread;
use crate::nfs::exports;
use crate::nfs::failures::Service;
use crate::nfs::namespace::NfsNamespace;
use crate::nfs::opening::{SMALLEST, USUAL_MOST, find_site, split};
use crate::nfs::share::in_turn;
use crate::nfs::site::Site;
use crate::oddities::UNKNOWN_SPACE;
use crate::open_files::LaneFiles;
use crate::open_options::OpenOptions;
use crate::round_trip;
use crate::share::{Lane, LaneRequest, Namespace, Share};
use crate::wire::{TransferSizes, pipeline_options, reconnecting};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    AdvertisedSizes, Cause, Failure, Flag, InPlace, NfsTarget, NfsTransport, NfsVersion, Protocol,
    TargetFacts,
};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{FileType, Name, Status};
use plimsoll_nfs::nfs4::{self, Attributes, Client, FileHandle, Identity, Minor, Nfs4};
use plimsoll_transport::Socket;
use std::num::{NonZeroU8, NonZeroU16};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is done where a server revokes open files.
const OPENED_AGAIN: &str = "They were opened again where the server allowed it; read its log.";

/// The server, and who this share is to it.
pub(crate) struct Server {
    pub site: Site,
    pub identity: Arc<Identity>,
}

impl Server {
    /// A new connection for the cold path.
    pub fn client(&self) -> Result<Client, Failure> {
        self.client_of(NonZeroU16::MIN)
    }

    /// A new connection with so many slots, if the server gives as many.
    pub fn client_of(&self, slots: NonZeroU16) -> Result<Client, Failure> {
        let socket = self.site.stream(Service::Nfs, self.site.port)?;
        self.register(socket, slots).map_err(|error| self.not_registered(&error))
    }

    fn register(&self, socket: Socket, slots: NonZeroU16) -> Result<Client, Error> {
        let Server { site, identity } = self;
        let mut client =
            Client::new(socket, &site.credential(), identity, slots, site.limits.call)?;
        let TransferSizes { read, write } = site.largest.get();
        client.limit_transfers(read, write);
        Ok(client)
    }

    fn not_registered(&self, error: &Error) -> Failure {
        let tried = format!("register as a client of NFS version {}", self.identity.minor());
        self.site.failure(tried, Service::Nfs, None, error)
    }
}

/// Why a share cannot be opened in version 4.
pub(crate) struct Refused {
    pub failure: Failure,
    pub older: Older,
}

/// Whether an older version may open what version 4 does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Older {
    /// No: nothing answered, or the directory was found and something else is wrong.
    NoBetter,
    /// The server answered, and not in version 4.
    MayBeSpoken,
    /// Version 4 does not show the directory.
    MayHaveDirectory {
        /// Whether the failure names the exports that version 4 has.
        exports: bool,
    },
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused { failure, older: Older::NoBetter }
    }
}

/// The version that is asked for, or the newest that the server has too, and a first connection.
fn find_version(site: &Site, asked: Option<NfsVersion>) -> Result<(Arc<Server>, Client), Refused> {
    use plimsoll_transport::Error as Transport;
    let (first, older): (Minor, &[Minor]) = match asked {
        Some(NfsVersion::V4_0) => (Minor::V0, &[]),
        Some(NfsVersion::V4_1) => (Minor::V1, &[]),
        Some(NfsVersion::V4_2) => (Minor::V2, &[]),
        _ => (Minor::V2, &[Minor::V1, Minor::V0]),
    };
    let mut older = older.iter();
    let mut minor = first;
    loop {
        let server = Arc::new(Server { site: site.clone(), identity: Identity::new(minor) });
        let socket = site.try_stream(Service::Nfs, site.port).map_err(|error| {
            let older = match error {
                Transport::Connect { .. } => Older::MayBeSpoken,
                _ => Older::NoBetter,
            };
            Refused { failure: site.not_connected(Service::Nfs, site.port, error), older }
        })?;
        match (server.register(socket, NonZeroU16::MIN), older.as_slice()) {
            (Ok(client), _) => return Ok((server, client)),
            (Err(Error::Nfs4 { status: nfs4::Status::MinorVersion, .. }), [next, ..]) => {
                minor = *next;
                older.next();
            }
            (Err(error), _) => {
                let silent = matches!(
                    error,
                    Error::Tcp(
                        Transport::TimedOut { .. } | Transport::Stopped | Transport::OutOfTime
                    )
                );
                let older = if silent { Older::NoBetter } else { Older::MayBeSpoken };
                return Err(Refused { failure: server.not_registered(&error), older });
            }
        }
    }
}

/// An opened directory of a server of version 4.0, 4.1 or 4.2. Each namespace and each lane has a
/// connection of its own, with its own session; all are one client, so that what one opens is open on
/// all.
pub struct Nfs4Share {
    server: Arc<Server>,
    held: Arc<Directories>,
    files: Arc<OpenFiles>,
    facts: TargetFacts,
    /// What the sizes of calls follow from, and what they are by now.
    target: NfsTarget,
    sizes: Mutex<TransferSizes>,
    write_again: bool,
    _keeper: Keeper,
}

impl Nfs4Share {
    /// Finds the host and the directory, from the root of all that the server exports; no portmapper
    /// and no MOUNT service is asked.
    pub fn open(
        target: &NfsTarget,
        given: &str,
        options: &OpenOptions,
    ) -> Result<Nfs4Share, Failure> {
        Self::try_open(target, given, options).map_err(|refused| refused.failure)
    }

    /// The same, with whether an older version may do.
    pub(crate) fn try_open(
        target: &NfsTarget,
        given: &str,
        options: &OpenOptions,
    ) -> Result<Nfs4Share, Refused> {
        let site = find_site(target, given, options)?;
        let (server, mut client) = find_version(&site, target.version)?;
        let site = &server.site;
        client.set_deadline(site.operation());
        let base = descend(site, &mut client, &split(&target.path))?;
        let about = ask_limits(site, &mut client, base)?;
        let (sizes, notes) = sizes(target, &client, &about);
        let mut facts = facts(site, &mut client, &about, sizes, notes);
        facts.notes.extend(target.nconnect.and_then(in_turn));
        let lease = Duration::from_secs(about.lease_seconds.unwrap_or(90).into());
        let mut share = Nfs4Share {
            _keeper: Keeper::start(&server, lease),
            held: Arc::new(Directories::new(base)),
            files: Arc::default(),
            facts,
            target: target.clone(),
            sizes: Mutex::new(sizes),
            write_again: options.write_again,
            server,
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

    fn names(&self) -> Result<NfsNamespace<Server>, Failure> {
        NfsNamespace::connect(&self.server, &self.held, &self.files)
    }
}

/// From the root down to the directory wanted; links are not followed.
fn descend(site: &Site, client: &mut Client, parts: &[&str]) -> Result<FileHandle, Refused> {
    let tried = "find the directory on the server";
    let bad = |happened: String, next: &str| {
        Refused::from(
            Failure::new(Cause::NotPermitted, tried).on(&site.given).happened(happened).next(next),
        )
    };
    let (mut directory, root) =
        client.root().map_err(|e| site.failure(tried, Service::Nfs, Some(client.socket()), &e))?;
    // Directories above the exports are of the root's file system.
    let mut is_in_export = false;
    for part in parts {
        let name = Name::new(part).ok_or_else(|| {
            bad(
                format!("'{part}' is not a valid name"),
                "Names have at most 255 bytes and no '..'.",
            )
        })?;
        let (found, attributes) = match client.lookup(directory, name) {
            Ok(found) => found,
            Err(e) if e.status() == Some(Status::NoEntry) => {
                let next = match is_in_export {
                    true => MISSING_DIRECTORY,
                    false => {
                        "In version 4, paths start at the root of the server (fsid=0 of Linux, Pseudo of \
                        NFS-Ganesha): name a directory below that, or create it on the server."
                    }
                };
                let refused = bad(format!("'{part}' does not exist (NFS4ERR_NOENT)"), next);
                return Err(not_shown(site, client, refused.failure, is_in_export));
            }
            Err(e) => {
                let failure = site.failure(tried, Service::Nfs, Some(client.socket()), &e);
                return Err(match e.status() {
                    Some(Status::Access | Status::NotOwner) => {
                        let older = Older::MayHaveDirectory { exports: false };
                        Refused { failure, older }
                    }
                    _ => failure.into(),
                });
            }
        };
        is_in_export = attributes.file_system != root.file_system;
        match attributes.kind {
            Some(FileType::Directory) => directory = found,
            Some(FileType::Link) => {
                // The MOUNT service of version 3 may follow it.
                let next = "Name the directory that it points to.";
                let Refused { failure, .. } = bad(format!("'{part}' is a symbolic link"), next);
                let older = Older::MayHaveDirectory { exports: false };
                return Err(Refused { failure, older });
            }
            _ => return Err(bad(format!("'{part}' is not a directory"), "Name a directory.")),
        }
    }
    Ok(directory)
}

/// A directory that is not there: with the exports that version 4 has instead; where an export was found, after the advice
/// on the directory.
fn not_shown(
    site: &Site,
    client: &mut Client,
    mut failure: Failure,
    is_in_export: bool,
) -> Refused {
    client.set_deadline(site.operation());
    let paths = super::exports::paths(client).unwrap_or_default();
    let advice = exports::of_version_4(&site.target, &paths);
    let exports = advice.is_some();
    if let Some(advice) = advice {
        failure.next = match is_in_export {
            true => format!("{} {advice}", failure.next),
            false => advice,
        };
    }
    Refused { failure, older: Older::MayHaveDirectory { exports } }
}

/// Space, lease, and the largest calls.
fn ask_limits(site: &Site, client: &mut Client, base: FileHandle) -> Result<Attributes, Failure> {
    client.set_deadline(site.operation());
    let about = client.file_system(base).map_err(|e| {
        let tried = "query the free space and the limits";
        site.failure(tried, Service::Nfs, Some(client.socket()), &e)
    })?;
    let (read, write) = (largest(about.read_most), largest(about.write_most));
    site.largest.note(TransferSizes { read, write });
    Ok(about)
}

/// The largest transfer that a server takes for a file system, where it names this, in bytes.
fn largest(named: Option<u64>) -> u32 {
    named.map_or(SMALLEST, |most| u32::try_from(most).unwrap_or(u32::MAX)).max(1)
}

/// READ and WRITE sizes: those given, as far as the server and the session take them.
fn sizes(target: &NfsTarget, client: &Client, about: &Attributes) -> (TransferSizes, Vec<String>) {
    let mut notes = Vec::new();
    let session = client.limits();
    let mut size = |name: &str, given: Option<u32>, most: Option<u64>, session: Option<u32>| {
        let most = largest(most).min(session.unwrap_or(u32::MAX)).min(USUAL_MOST);
        let size = given.unwrap_or(most).clamp(1, most);
        if let Some(given) = given.filter(|given| *given > size) {
            notes.push(format!("{name}={given} exceeds the limit of the server: {size} is used"));
        }
        size
    };
    let largest = session.map(|limits| (limits.largest_read(), limits.largest_write()));
    let read = size("rsize", target.rsize, about.read_most, largest.map(|of| of.0));
    let write = size("wsize", target.wsize, about.write_most, largest.map(|of| of.1));
    (TransferSizes { read, write }, notes)
}

/// The sizes that the server names: of the file system, and of what the session has room for.
fn advertised(client: &Client, about: &Attributes) -> AdvertisedSizes {
    let session = client.limits();
    let named = |most: Option<u64>, session: Option<u32>| {
        let most = most.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        most.into_iter().chain(session).min()
    };
    AdvertisedSizes {
        largest_read_bytes: named(about.read_most, session.map(|of| of.largest_read())),
        largest_write_bytes: named(about.write_most, session.map(|of| of.largest_write())),
        ..AdvertisedSizes::default()
    }
}

fn facts(
    site: &Site,
    client: &mut Client,
    about: &Attributes,
    sizes: TransferSizes,
    mut more: Vec<String>,
) -> TargetFacts {
    let space = about.space_total.zip(about.space_available);
    if space.is_none() {
        let reason = "the server does not report it";
        site.oddities.failed(&site.given, "query the free space", reason, UNKNOWN_SPACE);
    }
    let (peer, privileged) = (client.socket().peer(), client.socket().is_privileged());
    client.set_deadline(site.operation());
    let round_trip_seconds = round_trip::shortest(&site.deadline, || client.null());
    let mut notes = vec![
        format!("server {peer}"),
        format!(
            "uid {}, gid {}, from a port {} 1024",
            site.user.uid(),
            site.user.gid(),
            if privileged { "below" } else { "not below" }
        ),
        format!(
            "reads above {} and writes above {} are split into several calls",
            Bytes(u64::from(sizes.read)),
            Bytes(u64::from(sizes.write))
        ),
    ];
    notes.append(&mut more);
    let version = match client.minor() {
        Minor::V0 => NfsVersion::V4_0,
        Minor::V1 => NfsVersion::V4_1,
        Minor::V2 => NfsVersion::V4_2,
    };
    TargetFacts {
        given: site.given.clone(),
        protocol: Protocol::Nfs { version, transport: NfsTransport::Tcp },
        engine: "plimsoll's NFS client".into(),
        read_size_bytes: sizes.read,
        write_size_bytes: sizes.write,
        advertised: advertised(client, about),
        client_cache: "none".into(),
        stability: "UNSTABLE, then COMMIT; or FILE_SYNC".into(),
        space_bytes: space.unwrap_or_default(),
        round_trip_seconds,
        notes,
        memory_below: true,
        ..TargetFacts::default()
    }
}

impl Share for Nfs4Share {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn take_flags(&self) -> Vec<Flag> {
        let Server { site, identity } = &*self.server;
        if let Some(revoked) = identity.take_revoked() {
            let reason = format!("the server revoked them ({revoked})");
            site.oddities.failed(&site.given, "keep its files open", reason, OPENED_AGAIN);
        }
        site.oddities.take()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        Ok(Box::new(self.names()?))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        let sizes = *self.sizes();
        let options = pipeline_options(sizes, &request);
        let server = self.server.clone();
        let connect = move || {
            let client = server.client_of(options.depth)?;
            let tried = "open a connection for the measurement";
            Nfs4::pipeline(client, options)
                .map_err(|e| server.site.failure(tried, Service::Nfs, None, &e))
        };
        let files = LaneFiles::new(&self.files);
        let (server, held, again) = (&self.server, &self.held, self.write_again);
        let wire = Nfs4Wire::new(server, held, files, &request, sizes, again);
        // Half of what an operation may take: the rest is for doing it once it was sent again.
        let (deadline, limit) = (&self.server.site.deadline, self.server.site.limits.call / 2);
        match self.target.nconnect.map_or(1, NonZeroU8::get) {
            1 => reconnecting(connect, wire, sizes, request, deadline, limit),
            several => {
                reconnecting(spread(several, connect), wire, sizes, request, deadline, limit)
            }
        }
    }

    /// A server that was started anew may take other sizes.
    fn resume(&self) -> Result<(), Failure> {
        let mut client = self.server.client()?;
        let about = ask_limits(&self.server.site, &mut client, self.held.base())?;
        *self.sizes() = sizes(&self.target, &client, &about).0;
        Ok(())
    }
}
