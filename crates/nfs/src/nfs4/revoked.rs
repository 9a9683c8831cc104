//! What SEQUENCE says of what a client has at the server, as bits (sr_status_flags; RFC 8881, section
//! 18.46.3). A server repeats a bit in each reply until the client has done what it wants.
//!
//! This client has open files, and neither delegations nor layouts nor a back channel. It acts on three of
//! the bits, [`Revoked`]. The others need nothing:
//!
//! - CB_PATH_DOWN, CB_PATH_DOWN_SESSION, CB_GSS_CONTEXTS_EXPIRING, CB_GSS_CONTEXTS_EXPIRED and BACKCHANNEL_FAULT:
//!   no session has a back channel, as nobody wants to be called back.
//! - RECALLABLE_STATE_REVOKED: delegations are given back as they come, and one that the server took back
//!   itself was of no use.
//! - DEVID_CHANGED and DEVID_DELETED: they are about pNFS.
//! - LEASE_MOVED: no other server is looked for. Calls on a file system that has moved fail, and their status
//!   says why (NFS4ERR_MOVED).
//! - RESTART_RECLAIM_NEEDED: no session is asked to outlast a restart of the server. It ends with
//!   NFS4ERR_BADSESSION, files are opened again for that, and the bit is there until this is done.

use std::fmt;

/// The bits that are acted on.
const NAMES: [(u32, &str); 3] = [
    (0x08, "SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED"),
    (0x10, "SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED"),
    (0x20, "SEQ4_STATUS_ADMIN_STATE_REVOKED"),
];

/// That a server has revoked open files: all as the lease ran out, some for that, or as its administrator
/// wanted it.
///
/// Which files, it does not say, and calls on them fail one by one. So the client registers as one that has
/// restarted and opens all of its files again. With the old registration the server forgets what it revoked,
/// and says it no more. Pipelines end, as with a lost session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked(u32);

impl Revoked {
    /// All of the bits.
    pub(super) const BITS: u32 = NAMES[0].0 | NAMES[1].0 | NAMES[2].0;

    /// What a status says, of the bits that are watched.
    #[inline]
    pub(super) fn of(status: u32, watched: u32) -> Option<Revoked> {
        let bits = status & watched;
        (bits != 0).then_some(Revoked(bits))
    }
}

/// The names of the bits.
impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_are_revoked_by_three_bits_and_no_others() {
        let names = |status| Revoked::of(status, Revoked::BITS).map(|of| of.to_string());
        assert_eq!(names(0x30 | 1), Some(format!("{}, {}", NAMES[1].1, NAMES[2].1)));
        assert_eq!(names(!0x38), None);
        assert_eq!(Revoked::of(0x38, Revoked::BITS & !0x38), None);
    }
}
