//! What the server says to an operation (nfsstat4; RFC 8881, section 15.1; RFC 7862, section 11.1).

use crate::wire::statuses;

statuses! {
    /// Why an operation failed.
    Status, "nfsstat4":
    1 "NFS4ERR_PERM" NotOwner "not the owner",
    2 "NFS4ERR_NOENT" NoEntry "no such file or directory",
    5 "NFS4ERR_IO" Io "input/output error",
    6 "NFS4ERR_NXIO" NoDevice "no such device or address",
    13 "NFS4ERR_ACCESS" Access "permission denied",
    17 "NFS4ERR_EXIST" Exists "it already exists",
    18 "NFS4ERR_XDEV" CrossDevice "across file systems",
    20 "NFS4ERR_NOTDIR" NotDirectory "not a directory",
    21 "NFS4ERR_ISDIR" IsDirectory "it is a directory",
    22 "NFS4ERR_INVAL" Invalid "invalid argument",
    27 "NFS4ERR_FBIG" FileTooBig "file too large",
    28 "NFS4ERR_NOSPC" NoSpace "no space left",
    30 "NFS4ERR_ROFS" ReadOnly "read-only file system",
    31 "NFS4ERR_MLINK" TooManyLinks "too many links",
    63 "NFS4ERR_NAMETOOLONG" NameTooLong "name too long",
    66 "NFS4ERR_NOTEMPTY" NotEmpty "directory not empty",
    69 "NFS4ERR_DQUOT" Quota "quota used up",
    70 "NFS4ERR_STALE" Stale "the file is gone",
    10001 "NFS4ERR_BADHANDLE" BadHandle "not a file handle of this server",
    10003 "NFS4ERR_BAD_COOKIE" BadCookie "the directory changed while it was read",
    10004 "NFS4ERR_NOTSUPP" NotSupported "not supported",
    10005 "NFS4ERR_TOOSMALL" TooSmall "buffer too small",
    10006 "NFS4ERR_SERVERFAULT" ServerFault "internal error of the server",
    10007 "NFS4ERR_BADTYPE" BadType "the server does not support this type of file",
    10008 "NFS4ERR_DELAY" Delay "try again later",
    10009 "NFS4ERR_SAME" Same "the attributes are the same",
    10010 "NFS4ERR_DENIED" Denied "it conflicts with another lock",
    10011 "NFS4ERR_EXPIRED" Expired "the lease has run out",
    10012 "NFS4ERR_LOCKED" Locked "it is locked",
    10013 "NFS4ERR_GRACE" Grace "the server has restarted and waits for its old clients",
    10014 "NFS4ERR_FHEXPIRED" HandleExpired "the file handle has expired",
    10015 "NFS4ERR_SHARE_DENIED" ShareDenied "it conflicts with another open (share reservation)",
    10016 "NFS4ERR_WRONGSEC" WrongSecurity "another security flavor is required",
    10017 "NFS4ERR_CLID_INUSE" ClientInUse "the name of this client is in use",
    10018 "NFS4ERR_RESOURCE" Resource "the server has run out of resources",
    10019 "NFS4ERR_MOVED" Moved "the file system has moved to another server",
    10020 "NFS4ERR_NOFILEHANDLE" NoHandle "no current file handle",
    10021 "NFS4ERR_MINOR_VERS_MISMATCH" MinorVersion "the server does not have this minor version",
    10022 "NFS4ERR_STALE_CLIENTID" StaleClient "the server does not know this client; it may have \
    restarted",
    10023 "NFS4ERR_STALE_STATEID" StaleState "the server does not know this open file; it may have \
    restarted",
    10024 "NFS4ERR_OLD_STATEID" OldState "an outdated state of an open file",
    10025 "NFS4ERR_BAD_STATEID" BadState "not an open file of this client",
    10026 "NFS4ERR_BAD_SEQID" BadSequence "out of sequence",
    10027 "NFS4ERR_NOT_SAME" NotSame "the attributes are not the same",
    10028 "NFS4ERR_LOCK_RANGE" LockRange "a lock of this range is not supported",
    10029 "NFS4ERR_SYMLINK" Link "it is a symbolic link",
    10030 "NFS4ERR_RESTOREFH" NoSavedHandle "no saved file handle",
    10032 "NFS4ERR_ATTRNOTSUPP" NoAttribute "an attribute is not supported",
    10033 "NFS4ERR_NO_GRACE" NoGrace "it is too late to reclaim",
    10034 "NFS4ERR_RECLAIM_BAD" ReclaimBad "it cannot be reclaimed",
    10035 "NFS4ERR_RECLAIM_CONFLICT" ReclaimConflict "it cannot be reclaimed; another client has \
    it",
    10036 "NFS4ERR_BADXDR" BadXdr "the server cannot read the arguments",
    10037 "NFS4ERR_LOCKS_HELD" LocksHeld "locks are held",
    10038 "NFS4ERR_OPENMODE" OpenMode "the file is not open for this access",
    10039 "NFS4ERR_BADOWNER" BadOwner "the server does not know this owner",
    10040 "NFS4ERR_BADCHAR" BadCharacter "the name has a character that the server does not accept",
    10041 "NFS4ERR_BADNAME" BadName "the server does not accept this name",
    10042 "NFS4ERR_BAD_RANGE" BadRange "the server cannot lock this range",
    10043 "NFS4ERR_LOCK_NOTSUPP" LockNotSupported "locks of this kind are not supported",
    10044 "NFS4ERR_OP_ILLEGAL" Illegal "the server does not have this operation",
    10045 "NFS4ERR_DEADLOCK" Deadlock "the lock would wait forever",
    10046 "NFS4ERR_FILE_OPEN" FileOpen "the file is open",
    10047 "NFS4ERR_ADMIN_REVOKED" Revoked "the administrator of the server revoked it",
    10048 "NFS4ERR_CB_PATH_DOWN" CallbackDown "the server cannot call the client back",
    10049 "NFS4ERR_BADIOMODE" BadMode "invalid mode of a layout",
    10052 "NFS4ERR_BADSESSION" BadSession "the server does not know this session",
    10053 "NFS4ERR_BADSLOT" BadSlot "the session does not have this slot",
    10054 "NFS4ERR_COMPLETE_ALREADY" CompleteAlready "reclaiming was already completed",
    10055 "NFS4ERR_CONN_NOT_BOUND_TO_SESSION" NotBound "the connection does not belong to the session",
    10063 "NFS4ERR_SEQ_MISORDERED" Misordered "the calls of a slot are out of order",
    10064 "NFS4ERR_SEQUENCE_POS" SequencePosition "SEQUENCE must come first",
    10065 "NFS4ERR_REQ_TOO_BIG" RequestTooBig "the call is too long for the session",
    10066 "NFS4ERR_REP_TOO_BIG" ReplyTooBig "the reply is too long for the session",
    10067 "NFS4ERR_REP_TOO_BIG_TO_CACHE" ReplyTooBigToCache "the reply is too long for the reply \
    cache",
    10068 "NFS4ERR_RETRY_UNCACHED_REP" NotCached "the reply is not in the reply cache",
    10070 "NFS4ERR_TOO_MANY_OPS" TooManyOperations "too many operations in a compound",
    10071 "NFS4ERR_OP_NOT_IN_SESSION" NotInSession "the operation needs a session",
    10074 "NFS4ERR_CLIENTID_BUSY" ClientBusy "the client still has sessions or open files",
    10076 "NFS4ERR_SEQ_FALSE_RETRY" FalseRetry "a slot was reused for another call",
    10077 "NFS4ERR_BAD_HIGH_SLOT" BadHighSlot "the session does not have so many slots",
    10078 "NFS4ERR_DEADSESSION" DeadSession "the session has ended",
    10081 "NFS4ERR_NOT_ONLY_OP" NotAlone "the operation must be alone",
    10082 "NFS4ERR_WRONG_CRED" WrongCredential "this state belongs to another user",
    10083 "NFS4ERR_WRONG_TYPE" WrongType "not possible for files of this type",
    10085 "NFS4ERR_REJECT_DELEG" NoDelegation "no delegation",
    10087 "NFS4ERR_DELEG_REVOKED" DelegationRevoked "a delegation was revoked",
}

impl Status {
    /// Whether the server asks to be asked again later.
    pub fn is_later(self) -> bool {
        matches!(self, Status::Delay | Status::Grace)
    }

    /// Whether a new session, perhaps of a new registration, helps.
    pub fn is_session_lost(self) -> bool {
        use Status::{BadSession, DeadSession, Expired, NotBound, StaleClient, StaleState};
        matches!(self, BadSession | DeadSession | NotBound | StaleClient | StaleState | Expired)
    }

    /// The same status of version 3, where that has it: numbers are the same.
    pub fn of_version_3(self) -> Option<crate::nfs3::Status> {
        let same = crate::nfs3::Status::from_number(self.number())?;
        (!matches!(same, crate::nfs3::Status::Other(_))).then_some(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_are_those_of_version_3_where_it_has_them() {
        for number in 1..11_000 {
            let status = Status::from_number(number).unwrap();
            assert_eq!(status.number(), number);
            if let Some(same) = status.of_version_3() {
                assert_eq!(same.number(), number);
            }
        }
        assert_eq!(Status::Delay.of_version_3(), Some(crate::nfs3::Status::Jukebox));
        assert_eq!(Status::BadSession.of_version_3(), None);
        assert!(Status::NoSpace.to_string().starts_with("NFS4ERR_NOSPC ("));
    }
}
