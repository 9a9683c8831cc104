//! What reads journals, for fuzz targets. Not part of the interface.

use super::export::file::{Writes, clients, path_of, with_sync, with_sync_of};
use super::samba::block::{Place, with, without};
use super::{Entry, FactorRequest, knob};

/// An entry of an undo journal, as it may lie on a host.
///
/// # Panics
/// If what came of it is not sound: that is what is looked for.
pub fn entry(bytes: &[u8]) {
    let Ok(entry) = Entry::from_bytes(bytes) else { return };
    let knob = knob(&entry.knob).expect("an entry has a setting");
    assert_eq!(knob.name(), entry.knob);
    knob.check_original(&entry.original).expect("it was checked");
    let line = knob.undo_by_shell(&entry.original).unwrap_or_default();
    assert!(!line.contains('\n'), "{line:?}");
    let programs = ["printf ", "ip link set dev ", "ethtool -K ", "tc qdisc del dev "];
    assert!(
        line.is_empty() || programs.iter().any(|program| line.starts_with(program)),
        "{line:?}"
    );
    let again = entry.to_bytes().map(|bytes| Entry::from_bytes(&bytes));
    assert!(again.is_none_or(|again| again == Ok(entry)));
}

/// A file of exports(5), or what exportfs and the kernel have of one: the path that is meant in the
/// first line.
///
/// # Panics
/// If a level is not at every client afterwards, or a client is lost.
pub fn exports(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (path, text) = text.split_once('\n').unwrap_or_default();
    let before = clients(text, path);
    for level in Writes::LEVELS {
        let changed = with_sync(text, path, level);
        let after = clients(&changed, path);
        assert!(after.iter().all(|client| client.writes() == level), "{changed:?}");
        let names = |of: &[super::export::file::Client]| -> Vec<String> {
            of.iter().map(|client| client.name.clone()).collect()
        };
        assert_eq!(names(&before), names(&after), "{changed:?}");
        let _ = with_sync_of(&changed, path, text);
    }
    let _ = path_of(text);
}

/// Files of other servers, and what kernels list: the kernel's NFS server, smb.conf, mounts.
///
/// # Panics
/// If what is put into a file is not taken out without a trace, or what comes of a listing is none.
pub fn listings(text: &str) {
    super::nfsd::fuzz(text);
    let setting = "samba:oplocks@films";
    let found = without(text, setting);
    for place in [Place::End, Place::BeforeShares] {
        let set = with(&found, setting, place, "films", "oplocks = no");
        assert_eq!(without(&set, setting), found);
    }
    super::mount::options::fuzz(text);
}

/// A factor on the command line.
pub fn factor_request(text: &str) {
    let _ = text.parse::<FactorRequest>();
}
