//! From a URL to a directory on a server: names, ports, exports, limits.

use super::exports;
use super::failures::{Caller, Service, failure, refused_advice};
use super::site::Site;
use crate::advice::MISSING_DIRECTORY;
use crate::open_options::OpenOptions;
use crate::wire::TransferSizes;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    AdvertisedSizes, Cause, Failure, NfsTarget, NfsTransport, NfsVersion, SourcePort,
};
use plimsoll_nfs::mount::{self, Export, MountStatus, Path};
use plimsoll_nfs::nfs3::{
    self, Client, DATAGRAM_TRANSFER, FileHandle, FileSystemInfo, FileType, Name, Skipped, Status,
    Time,
};
use plimsoll_nfs::rpc::{AcceptError, AuthSys, Program, Rejection};
use plimsoll_nfs::{Error, Version, portmap};
use std::sync::Arc;

/// READ and WRITE sizes used unless the user names others, at most, in bytes: what the usual
/// clients use, whatever larger sizes a server prefers.
pub(crate) const USUAL_MOST: u32 = 1 << 20;
/// Largest READ and WRITE that memory is set aside for, in bytes.
const MOST: u32 = 64 << 20;
/// A size that every server takes, for those that name none (NFS version 2's largest).
pub(crate) const SMALLEST: u32 = 8192;

/// A largest size below this is not believed, as with the Linux kernel's client: transfers of a few
/// bytes would take for ever.
const BELIEVED: u32 = 512;
/// What FSINFO says where it says nothing.
const UNKNOWN: FileSystemInfo = FileSystemInfo {
    attributes: Skipped,
    read_most: 0,
    read_preferred: 0,
    read_multiple: 0,
    write_most: 0,
    write_preferred: 0,
    write_multiple: 0,
    directory_preferred: 0,
    longest_file: 0,
    time_precision: Time { seconds: 0, nanoseconds: 0 },
    properties: 0,
};

/// A share that was found.
pub(super) struct Opened {
    pub site: Site,
    pub client: Client,
    /// The directory that the target names.
    pub base: FileHandle,
    pub export: String,
    pub sizes: TransferSizes,
    pub advertised: AdvertisedSizes,
    pub notes: Vec<String>,
}

/// Finds the share and everything there is to know about it.
pub(super) fn open(
    target: &NfsTarget,
    given: &str,
    options: &OpenOptions,
) -> Result<Opened, Failure> {
    let mut site = find_site(target, given, options)?;
    let mut notes = choose_version(&mut site, target)?;
    let mount_port = match (target.mount_port, target.port) {
        (Some(port), _) | (None, Some(port)) => port,
        (None, None) => ask_portmapper(&site, mount::program(site.version), "MOUNT")?,
    };
    let path = WantedPath::new(&target.path);
    let (export, root) = Mounting { site: &site, port: mount_port }.mount(&path)?;
    let mut client = site.client()?;
    client.set_deadline(site.operation());
    let rest = path.below(&export);
    let base = descend(&site, &mut client, root, rest)?;
    let (sizes, advertised) = ask_sizes(&site, &mut client, base, target, &mut notes)?;
    Ok(Opened { site, client, base, export, sizes, advertised, notes })
}

/// The server and who calls it, with its addresses; the port is the usual one where none is named.
pub(crate) fn find_site(
    target: &NfsTarget,
    given: &str,
    options: &OpenOptions,
) -> Result<Site, Failure> {
    let limits = options.limits;
    let mut site = Site {
        given: given.to_owned(),
        target: target.clone(),
        addresses: Vec::new(),
        port: target.port.unwrap_or(nfs3::PORT),
        user: AuthSys::caller(target.uid, target.gid),
        source_port: match target.source_port {
            SourcePort::Auto => plimsoll_transport::SourcePort::Auto,
            SourcePort::Privileged => plimsoll_transport::SourcePort::Privileged,
            SourcePort::Any => plimsoll_transport::SourcePort::Any,
        },
        version: Version::V3,
        transport: target.transport.unwrap_or(NfsTransport::Tcp),
        limits,
        deadline: options.deadline.clone(),
        oddities: Arc::default(),
        largest: Arc::default(),
    };
    site.addresses = options
        .names
        .find(&target.host, limits.connect, &site.deadline)
        .map_err(|e| site.failure("look up the host", Service::Nfs, None, &e.into()))?;
    Ok(site)
}

/// Finds the version to speak and its port: the one that is asked for, else the newest that the server
/// has too. Whether it has one, the portmapper knows, and NULL. What is worth knowing of it comes back.
fn choose_version(site: &mut Site, target: &NfsTarget) -> Result<Vec<String>, Failure> {
    let asked = match target.version {
        Some(NfsVersion::V2) => Some(Version::V2),
        Some(NfsVersion::V3) => Some(Version::V3),
        _ => None,
    };
    site.version = asked.unwrap_or(Version::V3);
    let Err(missing) = try_version(site, target)? else { return Ok(Vec::new()) };
    if asked.is_some() {
        return Err(missing);
    }
    site.version = Version::V2;
    try_version(site, target)?.map_err(|_| missing)?;
    Ok(vec!["the server does not support NFS version 3".to_owned()])
}

/// Whether the server has the site's version, and where. The inner error: it does not have it.
fn try_version(site: &mut Site, target: &NfsTarget) -> Result<Result<(), Failure>, Failure> {
    let name = format!("NFS version {}", site.version);
    if target.port.is_none() {
        match port_of(site, site.version.program())? {
            Ok(port) => site.port = port,
            Err(error @ Error::NotRegistered { .. }) => {
                return Ok(Err(not_found(site, &name, &error)));
            }
            Err(error) => return Err(not_found(site, &name, &error)),
        }
    }
    let mut client = site.client()?;
    client.set_deadline(site.operation());
    match client.null() {
        Ok(()) => Ok(Ok(())),
        Err(error) => {
            let failure =
                site.failure(format!("call {name}"), Service::Nfs, Some(client.socket()), &error);
            let missing = matches!(
                error,
                Error::Rejected(Rejection::Accepted(
                    AcceptError::ProgramMismatch { .. } | AcceptError::ProgramUnavailable
                ))
            );
            if missing { Ok(Err(failure)) } else { Err(failure) }
        }
    }
}

/// The sizes of calls that the server takes now, as far as the user names none, and those that it names.
pub(super) fn ask_sizes(
    site: &Site,
    client: &mut Client,
    base: FileHandle,
    target: &NfsTarget,
    notes: &mut Vec<String>,
) -> Result<(TransferSizes, AdvertisedSizes), Failure> {
    client.set_deadline(site.operation());
    let server = match client.information(base) {
        Err(e) if !e.is_fatal() => {
            let instead = format!("Reads and writes of {} are used.", Bytes(SMALLEST.into()));
            site.oddities.failed(&site.given, "query the limits (FSINFO)", e, &instead);
            UNKNOWN
        }
        asked => asked.map_err(|e| {
            site.failure("query the limits", Service::Nfs, Some(client.socket()), &e)
        })?,
    };
    site.largest.note(TransferSizes {
        read: believed(server.read_most),
        write: believed(server.write_most),
    });
    let (read, write) = sizes(target, &server, own_limits(site), notes);
    // None of them can be 0, which UNKNOWN has throughout.
    let named = |size: u32| (size > 0).then_some(size);
    let advertised = AdvertisedSizes {
        largest_read_bytes: named(server.read_most),
        largest_write_bytes: named(server.write_most),
        preferred_read_bytes: named(server.read_preferred),
        preferred_write_bytes: named(server.write_preferred),
        listing_bytes: named(server.directory_preferred),
    };
    Ok((TransferSizes { read: read.max(1), write: write.max(1) }, advertised))
}

fn ask_portmapper(site: &Site, service: Program, name: &str) -> Result<u16, Failure> {
    let name = format!("{name} version {}", service.version);
    port_of(site, service)?.map_err(|error| not_found(site, &name, &error))
}

/// What the portmapper answers. The outer error: there is none.
fn port_of(site: &Site, service: Program) -> Result<Result<u16, Error>, Failure> {
    let channel = site.connect(Service::Portmapper, portmap::PORT)?;
    Ok(portmap::port_of(channel, service, site.limits.connect))
}

fn not_found(site: &Site, name: &str, error: &Error) -> Failure {
    let tried = format!("get the port of {name} from the portmapper");
    site.failure(tried, Service::Portmapper, None, error)
}

/// The path a target names, as its parts.
struct WantedPath<'a> {
    parts: Vec<&'a str>,
}

impl<'a> WantedPath<'a> {
    fn new(path: &'a str) -> Self {
        WantedPath { parts: split(path) }
    }

    /// The path of its first `count` parts.
    fn prefix(&self, count: usize) -> String {
        format!("/{}", self.parts[..count].join("/"))
    }

    /// Whether an export is the path itself or above it; then how many parts they share.
    fn shared_with(&self, export: &str) -> Option<usize> {
        let export = split(export);
        self.parts.starts_with(&export).then_some(export.len())
    }

    /// What follows an export.
    fn below(&self, export: &str) -> &[&'a str] {
        &self.parts[split(export).len().min(self.parts.len())..]
    }

    /// What to try to mount: the longest listed export that the path is in, else the path and
    /// then its parents. With whether the server lists it.
    fn candidates(&self, exports: &[Export]) -> (Vec<String>, bool) {
        let longest = exports
            .iter()
            .filter_map(|e| self.shared_with(&e.path).map(|n| (n, e)))
            .max_by_key(|(n, _)| *n);
        match longest {
            Some((_, export)) => (vec![export.path.clone()], true),
            None => ((0..=self.parts.len()).rev().map(|n| self.prefix(n)).collect(), false),
        }
    }
}

pub(crate) fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// Asking the MOUNT service.
struct Mounting<'a> {
    site: &'a Site,
    port: u16,
}

impl Mounting<'_> {
    fn client(&self) -> Result<(mount::Client, bool), Failure> {
        let mut socket = self.site.connect(Service::Mount, self.port)?;
        socket.set_deadline(self.site.operation());
        let privileged = socket.is_privileged();
        let limit = self.site.limits.call;
        let (version, credential) = (self.site.version, self.site.credential());
        Ok((mount::Client::of_version(version, socket, &credential, limit), privileged))
    }

    /// The export a path is in, and its root.
    fn mount(&self, path: &WantedPath<'_>) -> Result<(String, FileHandle), Failure> {
        let (mut client, privileged) = self.client()?;
        // Some servers keep their list to themselves; then what MNT accepts decides.
        let exports = match client.exports() {
            Ok(exports) => exports,
            Err(Error::Tcp(
                plimsoll_transport::Error::Closed | plimsoll_transport::Error::Connection(_),
            )) => {
                client = self.client()?.0;
                Vec::new()
            }
            Err(error) if error.is_fatal() => return Err(self.failure(privileged, &error)),
            Err(_) => Vec::new(),
        };
        let (candidates, listed) = path.candidates(&exports);
        let mut first = None;
        for candidate in &candidates {
            let Some(wanted) = Path::new(candidate) else { continue };
            let mounted = client.mount(wanted);
            self.site.oddities.datagrams(&self.site.given, client.take_datagrams());
            if let Some((call, bytes)) = client.take_surplus() {
                self.site.oddities.surplus(&self.site.given, call, bytes);
            }
            match mounted {
                Ok(root) => return Ok((candidate.clone(), root)),
                Err(error @ Error::Mount { .. }) => drop(first.get_or_insert(error)),
                Err(error) => return Err(self.failure(privileged, &error)),
            }
        }
        let error = first.unwrap_or(Error::Mount {
            version: self.site.version,
            status: MountStatus::NameTooLong,
        });
        Err(self.not_exported(&error, &exports, listed, privileged))
    }

    fn failure(&self, privileged: bool, error: &Error) -> Failure {
        let caller = Caller { privileged, ..self.site.caller(None) };
        failure("request the export", &self.site.given, Service::Mount, caller, error)
    }

    fn not_exported(
        &self,
        error: &Error,
        exports: &[Export],
        listed: bool,
        privileged: bool,
    ) -> Failure {
        let refusal = matches!(
            error,
            Error::Mount { status: MountStatus::Access | MountStatus::NotOwner, .. }
        );
        if listed {
            return self.failure(privileged, error);
        }
        let mut next = exports::of_mount(&self.site.target, self.site.version, exports)
            .unwrap_or_else(|| {
                "The server lists no exports: export the directory on the server.".into()
            });
        if refusal && exports.is_empty() {
            let caller = Caller { privileged, ..self.site.caller(None) };
            next = format!("{next} {}", refused_advice(caller));
        }
        let happened = format!("no such export ({error})");
        Failure::new(Cause::NotPermitted, "open the export")
            .on(&self.site.given)
            .happened(happened)
            .next(next)
    }
}

/// From an export's root down to the directory wanted; links are not followed.
fn descend(
    site: &Site,
    client: &mut Client,
    root: FileHandle,
    parts: &[&str],
) -> Result<FileHandle, Failure> {
    let tried = "find the directory on the server";
    let bad = |happened: String, next: &str| {
        Failure::new(Cause::NotPermitted, tried).on(&site.given).happened(happened).next(next)
    };
    let mut directory = root;
    for part in parts {
        let name = Name::new(part).ok_or_else(|| {
            bad(
                format!("'{part}' is not a valid name"),
                "Names have at most 255 bytes and no '..'.",
            )
        })?;
        let (found, attributes) = match client.lookup(directory, name) {
            Ok(found) => found,
            Err(error @ Error::Nfs { status: Status::NoEntry, .. }) => {
                let happened = format!("'{part}' does not exist ({error})");
                return Err(bad(happened, MISSING_DIRECTORY));
            }
            Err(e) => return Err(site.failure(tried, Service::Nfs, Some(client.socket()), &e)),
        };
        match attributes.kind {
            FileType::Directory => directory = found,
            FileType::Link => {
                let next = "Name the directory that it points to.";
                return Err(bad(format!("'{part}' is a symbolic link"), next));
            }
            kind => return Err(bad(format!("'{part}' is a {kind}"), "Name a directory.")),
        }
    }
    Ok(directory)
}

/// Largest READ and WRITE in bytes: used unless others are named, taken at all, and who sets that.
#[derive(Clone, Copy)]
struct OwnLimits {
    usual: u32,
    most: u32,
    who: &'static str,
}

/// The limits of this client over connections.
const OVER_TCP: OwnLimits = OwnLimits { usual: USUAL_MOST, most: MOST, who: "this client" };
/// Over datagrams: what the usual clients used, and what just fits.
const OVER_UDP: OwnLimits =
    OwnLimits { usual: 32 << 10, most: DATAGRAM_TRANSFER, who: "a datagram" };

fn own_limits(site: &Site) -> OwnLimits {
    let limits = match site.transport {
        NfsTransport::Tcp => OVER_TCP,
        NfsTransport::Udp => OVER_UDP,
    };
    match site.version.longest_transfer() {
        Some(most) => OwnLimits { usual: most, most, who: "NFS version 2" },
        None => limits,
    }
}

/// The largest transfer that a server takes, where it names this.
fn believed(most: u32) -> u32 {
    if most < BELIEVED { SMALLEST } else { most }
}

/// READ and WRITE sizes: those given, as far as the server takes them, else its preference.
fn sizes(
    target: &NfsTarget,
    limits: &FileSystemInfo,
    own: OwnLimits,
    notes: &mut Vec<String>,
) -> (u32, u32) {
    let mut size = |name: &str, given: Option<u32>, most: u32, preferred: u32| {
        let most = believed(most);
        let (most, who) = if own.most <= most { (own.most, own.who) } else { (most, "the server") };
        let size = given.unwrap_or(preferred.clamp(1, own.usual).max(SMALLEST)).min(most);
        if let Some(given) = given.filter(|given| *given > size) {
            notes.push(format!("{name}={given} exceeds the limit of {who}: {size} is used"));
        }
        size
    };
    let read = size("rsize", target.rsize, limits.read_most, limits.read_preferred);
    let write = size("wsize", target.wsize, limits.write_most, limits.write_preferred);
    (read, write)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exports(paths: &[&str]) -> Vec<Export> {
        paths.iter().map(|p| Export { path: (*p).to_owned(), groups: Vec::new() }).collect()
    }

    #[test]
    fn the_longest_listed_export_is_taken() {
        let path = WantedPath::new("/srv/data/films//new/");
        let listed = exports(&["/", "/srv/data", "/srv/data/film", "/srv"]);
        assert_eq!(path.candidates(&listed), (vec!["/srv/data".to_owned()], true));
        assert_eq!(path.below("/srv/data/"), ["films", "new"]);
        assert_eq!(path.below("/"), ["srv", "data", "films", "new"]);
    }

    #[test]
    fn without_a_list_the_path_and_its_parents_are_tried() {
        let (candidates, listed) = WantedPath::new("/a b/c").candidates(&exports(&["/other"]));
        assert_eq!((candidates, listed), (vec!["/a b/c".into(), "/a b".into(), "/".into()], false));
    }

    #[test]
    fn sizes_are_what_the_server_takes() {
        let limits = FileSystemInfo {
            read_most: 65536,
            read_preferred: 32768,
            read_multiple: 4096,
            write_preferred: u32::MAX,
            ..UNKNOWN
        };
        let mut notes = Vec::new();
        let mut target = NfsTarget::default();
        assert_eq!(sizes(&target, &limits, OVER_TCP, &mut notes), (32768, SMALLEST));
        assert!(notes.is_empty());
        target.rsize = Some(1 << 20);
        target.wsize = Some(512);
        assert_eq!(sizes(&target, &limits, OVER_TCP, &mut notes), (65536, 512));
        assert_eq!(notes, ["rsize=1048576 exceeds the limit of the server: 65536 is used"]);
        let huge = FileSystemInfo { read_most: u32::MAX, read_preferred: u32::MAX, ..limits };
        assert_eq!(sizes(&NfsTarget::default(), &huge, OVER_TCP, &mut notes).0, USUAL_MOST);
        // A server that takes single bytes at most is not believed; a user may try them.
        let lie = FileSystemInfo { read_most: 1, read_preferred: 1, write_most: 511, ..UNKNOWN };
        assert_eq!(sizes(&NfsTarget::default(), &lie, OVER_TCP, &mut notes), (SMALLEST, SMALLEST));
        let one = NfsTarget { rsize: Some(1), ..NfsTarget::default() };
        assert_eq!(sizes(&one, &lie, OVER_TCP, &mut notes), (1, SMALLEST));
        notes.clear();
        assert_eq!(sizes(&NfsTarget::default(), &huge, OVER_UDP, &mut notes).0, 32768);
        target.rsize = Some(49152);
        assert_eq!(sizes(&target, &huge, OVER_UDP, &mut notes).0, 49152);
        target.rsize = Some(1 << 20);
        assert_eq!(sizes(&target, &huge, OVER_UDP, &mut notes).0, DATAGRAM_TRANSFER);
        assert_eq!(notes, ["rsize=1048576 exceeds the limit of a datagram: 57344 is used"]);
        target.rsize = Some(u32::MAX);
        assert_eq!(sizes(&target, &huge, OVER_TCP, &mut notes).0, MOST);
    }
}
