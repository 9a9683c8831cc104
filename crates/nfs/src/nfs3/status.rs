//! What the server says to a call (nfsstat3; RFC 1813, section 2.6).

use crate::Version;
use crate::wire::statuses;

statuses! {
    /// Why a call failed.
    Status, "nfsstat3":
    1 "NFS3ERR_PERM" NotOwner "not the owner",
    2 "NFS3ERR_NOENT" NoEntry "no such file or directory",
    5 "NFS3ERR_IO" Io "input/output error",
    6 "NFS3ERR_NXIO" NoDevice "no such device or address",
    13 "NFS3ERR_ACCES" Access "permission denied",
    17 "NFS3ERR_EXIST" Exists "it already exists",
    18 "NFS3ERR_XDEV" CrossDevice "across file systems",
    19 "NFS3ERR_NODEV" NotADevice "no such device",
    20 "NFS3ERR_NOTDIR" NotDirectory "not a directory",
    21 "NFS3ERR_ISDIR" IsDirectory "it is a directory",
    22 "NFS3ERR_INVAL" Invalid "invalid argument",
    27 "NFS3ERR_FBIG" FileTooBig "file too large",
    28 "NFS3ERR_NOSPC" NoSpace "no space left",
    30 "NFS3ERR_ROFS" ReadOnly "read-only file system",
    31 "NFS3ERR_MLINK" TooManyLinks "too many links",
    63 "NFS3ERR_NAMETOOLONG" NameTooLong "name too long",
    66 "NFS3ERR_NOTEMPTY" NotEmpty "directory not empty",
    69 "NFS3ERR_DQUOT" Quota "quota used up",
    70 "NFS3ERR_STALE" Stale "the file is gone",
    71 "NFS3ERR_REMOTE" Remote "too many levels of remote",
    10001 "NFS3ERR_BADHANDLE" BadHandle "not a file handle of this server",
    10002 "NFS3ERR_NOT_SYNC" NotSync "changed during the call",
    10003 "NFS3ERR_BAD_COOKIE" BadCookie "the directory changed while it was read",
    10004 "NFS3ERR_NOTSUPP" NotSupported "not supported",
    10005 "NFS3ERR_TOOSMALL" TooSmall "buffer too small",
    10006 "NFS3ERR_SERVERFAULT" ServerFault "internal error of the server",
    10007 "NFS3ERR_BADTYPE" BadType "the server does not support this type of file",
    10008 "NFS3ERR_JUKEBOX" Jukebox "try again later",
}

impl Status {
    /// Its name and meaning in a version: the names of version 2 begin with NFSERR (RFC 1094, section
    /// 2.3.1), and there are fewer of them.
    pub fn name_in(self, version: Version) -> String {
        match (version, self) {
            (Version::V3, _) => self.to_string(),
            (Version::V2, Status::NotSupported) => "NFS version 2 does not have it".into(),
            (Version::V2, Status::Other(99)) => {
                "NFSERR_WFLUSH (the server's write cache was flushed)".into()
            }
            (Version::V2, Status::Other(other)) => format!("NFS version 2 status {other}"),
            (Version::V2, _) => self.to_string().replacen("NFS3ERR_", "NFSERR_", 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        assert_eq!(Status::from_number(0), None);
        for number in 1..11_000 {
            assert_eq!(Status::from_number(number).map(Status::number), Some(number));
        }
        assert!(Status::NoSpace.to_string().starts_with("NFS3ERR_NOSPC"));
        assert_eq!(Status::from_number(12345).unwrap().to_string(), "nfsstat3 12345");
    }

    #[test]
    fn no_status_of_version_2_has_a_name_of_version_3() {
        let name = Status::NoEntry.name_in(Version::V2);
        assert_eq!(name, "NFSERR_NOENT (no such file or directory)");
        assert!(Status::Other(99).name_in(Version::V2).starts_with("NFSERR_WFLUSH"));
        for number in 1..11_000 {
            let status = Status::from_number(number).unwrap();
            let name = status.name_in(Version::V2);
            assert!(!name.contains("NFS3") && !name.contains("nfsstat3"), "{status}: {name}");
            assert_eq!(status.name_in(Version::V3), status.to_string());
        }
    }
}
