//! An opened SMB share.

use super::failures::Step;
use super::lane::SmbWire;
use super::namespace::SmbNamespace;
use super::site::Site;
use crate::advice::{CHECK_NAME, NAME_FILE_BELOW, NAME_REGULAR_FILE};
use crate::oddities::UNKNOWN_SPACE;
use crate::open_options::OpenOptions;
use crate::round_trip;
use crate::share::{Lane, LaneRequest, Namespace, Share};
use crate::wire::{TransferSizes, WireLane, pipeline_options};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    AdvertisedSizes, Failure, Flag, InPlace, Protection, Protocol, SmbDialect, SmbTarget,
    TargetFacts,
};
use plimsoll_smb::{Access, CreateHow, Dialect, Error, NtStatus, SessionFacts, Tree, TreeFacts};
use std::sync::Arc;

/// READ and WRITE sizes used unless the user names others, at most, in bytes: what the usual
/// clients use, whatever larger sizes a server takes.
const USUAL_MOST: u32 = 1 << 20;
/// Longest READ and WRITE in bytes, whatever a server takes.
const MOST: u32 = 8 << 20;
/// Enough of a directory to know that it is one.
const A_LOOK: usize = 1;

/// The open files of a share: their paths below it, and what is done with them. A handle of SMB is
/// valid on its own session alone, so each lane opens its own.
pub(super) type OpenFiles = crate::open_files::OpenFiles<(String, Access)>;

/// An opened SMB share: a directory on a server, reached without a mount. Each namespace and each
/// lane has a session of its own.
pub struct SmbShare {
    site: Arc<Site>,
    files: Arc<OpenFiles>,
    facts: TargetFacts,
    target: SmbTarget,
}

impl SmbShare {
    /// Finds the host, logs in, opens the share and sees that the directory is there. `given` is
    /// the target as the user wrote it, for messages. The password is asked for once the server
    /// can be reached, and tried once.
    pub fn open(
        target: &SmbTarget,
        given: &str,
        options: &OpenOptions,
    ) -> Result<SmbShare, Failure> {
        let site = Site::find(target, given, options)?;
        let mut tree = site.tree()?;
        let using = Step::on_share(&tree);
        tree.set_deadline(site.operation());
        look(&site, &mut tree).map_err(|e| site.failure("find the directory", using, &e))?;
        let in_place = options.file.as_deref().map(|file| in_place(&site, &mut tree, file));
        let in_place = in_place.transpose()?;
        tree.set_deadline(site.operation());
        let space = match tree.space() {
            Ok(space) => (space.total, space.available),
            Err(e) if !e.is_fatal() => {
                site.oddities.failed(given, "query the free space", e, UNKNOWN_SPACE);
                (0, 0)
            }
            Err(e) => return Err(site.failure("query the free space", using, &e)),
        };
        tree.set_deadline(site.operation());
        let round_trip_seconds = round_trip::shortest(&site.deadline, || tree.echo());
        let mut notes = notes(&site, &tree);
        let sizes = sizes(target, tree.facts(), &mut notes);
        notes.push(format!(
            "reads above {} and writes above {} are split into several requests",
            Bytes(u64::from(sizes.read)),
            Bytes(u64::from(sizes.write))
        ));
        let protection = protection(tree.facts(), tree.tree_facts());
        let facts = TargetFacts {
            given: given.to_owned(),
            identity: identity(tree.facts(), target),
            protocol: protocol(tree.facts(), protection.as_ref()),
            protection,
            engine: "plimsoll's SMB client".into(),
            read_size_bytes: sizes.read,
            write_size_bytes: sizes.write,
            advertised: advertised(tree.facts()),
            client_cache: "none".into(),
            stability: match tree.facts().dialect {
                // It has no such flag (MS-SMB2, section 2.2.21).
                Dialect::Smb2_0_2 => "WRITE, then FLUSH; or FLUSH after each".into(),
                _ => "WRITE, then FLUSH; or write-through".into(),
            },
            space_bytes: space,
            round_trip_seconds,
            in_place,
            notes,
            memory_below: true,
            ..TargetFacts::default()
        };
        tree.disconnect();
        let (site, files) = (Arc::new(site), Arc::default());
        Ok(SmbShare { site, files, facts, target: target.clone() })
    }
}

/// Sees whether the directory is there, however much is in it.
fn look(site: &Site, tree: &mut Tree) -> Result<(), Error> {
    match tree.list(&site.path(""), A_LOOK) {
        Ok(_) | Err(Error::OverLimit(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Finds a file that is read where it is.
fn in_place(site: &Site, tree: &mut Tree, file: &str) -> Result<InPlace, Failure> {
    let using = Step::on_share(tree);
    let opened = tree.create(&site.path(file), CreateHow::Open, Access::Read);
    let found = opened.and_then(|(open, info)| tree.close(open).map(|()| info));
    let info = found.map_err(|error| {
        let failure = site.failure(format!("open the file '{file}' to be read"), using, &error);
        let next = match (&error, error.status()) {
            (Error::NotAFile(_), _) | (_, Some(NtStatus::STOPPED_ON_SYMLINK)) => NAME_REGULAR_FILE,
            (_, Some(NtStatus::FILE_IS_A_DIRECTORY)) => NAME_FILE_BELOW,
            (_, Some(NtStatus::NOT_A_DIRECTORY)) => CHECK_NAME,
            _ if error.is_not_there() => CHECK_NAME,
            _ => return failure,
        };
        Failure { next: next.to_owned(), ..failure }
    })?;
    Ok(InPlace { file: file.to_owned(), size: Bytes(info.size) })
}

/// GUID of the server and name of the share; `None` of a server that calls itself by zeros.
fn identity(session: &SessionFacts, target: &SmbTarget) -> Option<String> {
    let guid = session.server_guid;
    let digits: String = guid.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = [&target.share, &target.path].map(|part| part.trim_matches('/').to_lowercase());
    (guid != [0; 16]).then(|| format!("SMB {digits} {}", path.join("/").trim_end_matches('/')))
}

fn protection(session: &SessionFacts, share: &TreeFacts) -> Option<Protection> {
    match (session.cipher, session.signing) {
        (Some(cipher), _) if share.encrypted => {
            Some(Protection::Encryption { algorithm: cipher.to_string() })
        }
        (_, Some(signing)) => Some(Protection::Signing { algorithm: signing.to_string() }),
        _ => None,
    }
}

fn protocol(session: &SessionFacts, protection: Option<&Protection>) -> Protocol {
    let dialect = match session.dialect {
        Dialect::Smb2_0_2 => SmbDialect::Smb2_0_2,
        Dialect::Smb2_1 => SmbDialect::Smb2_1,
        Dialect::Smb3_0 => SmbDialect::Smb3_0,
        Dialect::Smb3_0_2 => SmbDialect::Smb3_0_2,
        Dialect::Smb3_1_1 => SmbDialect::Smb3_1_1,
    };
    let protection = match protection {
        Some(Protection::Encryption { algorithm }) => format!("encrypted with {algorithm}"),
        Some(Protection::Signing { algorithm }) => format!("signed with {algorithm}"),
        None => "not signed".to_owned(),
    };
    Protocol::Smb { dialect, protection }
}

fn notes(site: &Site, tree: &Tree) -> Vec<String> {
    let target = &site.target;
    let mut notes = vec![format!("share {} of {}", target.share, tree.socket().peer())];
    notes.push(match (tree.facts().guest, &target.user) {
        (false, _) => format!("user {}", target.who()),
        (true, None) => "as a guest".into(),
        (true, Some(_)) => format!("the server treats {} as a guest", target.who()),
    });
    notes
}

/// READ and WRITE sizes: those given, as far as the server takes them, else what it takes.
fn sizes(target: &SmbTarget, session: &SessionFacts, notes: &mut Vec<String>) -> TransferSizes {
    let mut size = |name: &str, given: Option<u32>, most: u32| {
        let size = given.unwrap_or(USUAL_MOST).min(most.min(MOST)).max(1);
        if let Some(given) = given.filter(|given| *given > size) {
            notes.push(format!("{name}={given} exceeds the limit: {size} is used"));
        }
        size
    };
    let read = size("rsize", target.rsize, session.read_most);
    let write = size("wsize", target.wsize, session.write_most);
    TransferSizes { read, write }
}

/// The sizes that were negotiated.
fn advertised(session: &SessionFacts) -> AdvertisedSizes {
    AdvertisedSizes {
        largest_read_bytes: Some(session.read_most),
        largest_write_bytes: Some(session.write_most),
        listing_bytes: Some(session.transact_most),
        ..AdvertisedSizes::default()
    }
}

impl Share for SmbShare {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn take_flags(&self) -> Vec<Flag> {
        self.site.oddities.take()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        let tree = self.site.tree()?;
        Ok(Box::new(SmbNamespace::new(&self.site, &self.files, tree)))
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        let mut tree = self.site.tree()?;
        tree.set_deadline(self.site.operation());
        let using = Step::on_share(&tree);
        let files = self.files.known().try_map(|file| {
            let (path, access) = &**file;
            let opened = tree.create(path, CreateHow::Open, *access);
            opened
                .map(|(file, _)| file)
                .map_err(|e| self.site.failure(format!("open the file '{path}'"), using, &e))
        })?;
        // A server that was set otherwise meanwhile may take other sizes.
        let sizes = sizes(&self.target, tree.facts(), &mut Vec::new());
        let options = pipeline_options(sizes, &request);
        let wire = SmbWire::new(&self.site, files, &self.files, &request, sizes);
        Ok(Box::new(WireLane::new(tree.into_pipeline(options), wire, sizes, request)))
    }
}
