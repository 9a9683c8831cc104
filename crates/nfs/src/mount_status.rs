//! Statuses of MOUNT.

use crate::Version;
use std::fmt;

/// Why MNT was refused (mountstat3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountStatus {
    /// MNT3ERR_PERM.
    NotOwner,
    /// MNT3ERR_NOENT.
    NoEntry,
    /// MNT3ERR_IO.
    Io,
    /// MNT3ERR_ACCES.
    Access,
    /// MNT3ERR_NOTDIR.
    NotDirectory,
    /// MNT3ERR_INVAL.
    Invalid,
    /// MNT3ERR_NAMETOOLONG.
    NameTooLong,
    /// MNT3ERR_NOTSUPP.
    NotSupported,
    /// MNT3ERR_SERVERFAULT.
    ServerFault,
    /// A number the protocol does not have.
    Other(u32),
}

impl MountStatus {
    const ALL: [(u32, MountStatus, &'static str); 9] = [
        (1, MountStatus::NotOwner, "MNT3ERR_PERM"),
        (2, MountStatus::NoEntry, "MNT3ERR_NOENT"),
        (5, MountStatus::Io, "MNT3ERR_IO"),
        (13, MountStatus::Access, "MNT3ERR_ACCES"),
        (20, MountStatus::NotDirectory, "MNT3ERR_NOTDIR"),
        (22, MountStatus::Invalid, "MNT3ERR_INVAL"),
        (63, MountStatus::NameTooLong, "MNT3ERR_NAMETOOLONG"),
        (10004, MountStatus::NotSupported, "MNT3ERR_NOTSUPP"),
        (10006, MountStatus::ServerFault, "MNT3ERR_SERVERFAULT"),
    ];

    pub(crate) fn from_number(number: u32) -> Self {
        Self::ALL.iter().find(|s| s.0 == number).map_or(MountStatus::Other(number), |s| s.1)
    }
}

impl MountStatus {
    /// Its name in the MOUNT protocol of a version of NFS: the one of version 2 answers with the errors of
    /// Unix (RFC 1094, appendix A).
    pub fn name_in(self, version: Version) -> String {
        let name = self.to_string();
        match version {
            Version::V3 => name,
            Version::V2 => match name.strip_prefix("MNT3ERR_") {
                Some(errno) => format!("E{errno}"),
                None => format!("error {}", self.number()),
            },
        }
    }

    pub(crate) fn number(self) -> u32 {
        match self {
            MountStatus::Other(number) => number,
            known => Self::ALL.iter().find(|s| s.1 == known).map_or(10006, |s| s.0),
        }
    }
}

impl fmt::Display for MountStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::ALL.iter().find(|s| s.1 == *self) {
            Some(known) => f.write_str(known.2),
            None => write!(f, "{self:?}"),
        }
    }
}
