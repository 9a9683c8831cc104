//! What went wrong, as failures that one can act on.

use super::site::Site;
use crate::advice::{CHANGED_DURING_RUN, READ_IN_PLACE, USE_LESS};
use crate::connection;
use crate::op::OpError;
use crate::share::LaneDead;
use plimsoll_model::{Cause, ErrorKind, Failure, SmbDialect, SmbProtection};
use plimsoll_smb::{Error, NtStatus, is_not_there};

/// Where on the way to a share something failed, which decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Until there is a connection.
    Reach,
    /// Until it is agreed what is spoken and who speaks.
    LogIn,
    /// Until the share is open.
    Share {
        /// Whether the server took the user for a guest.
        guest: bool,
    },
    /// On the open share.
    Use {
        /// Whether the user may write on it at all.
        writable: bool,
        /// Whether the server took the user for a guest.
        guest: bool,
    },
}

// What MS-ERREF names and the protocol crate does not.
const WRONG_PASSWORD: NtStatus = NtStatus(0xC000_006A);
const NO_SUCH_USER: NtStatus = NtStatus(0xC000_0064);
const LOGON_TYPE_NOT_GRANTED: NtStatus = NtStatus(0xC000_015B);
const QUOTA_EXCEEDED: NtStatus = NtStatus(0xC000_0044);
const MEDIA_WRITE_PROTECTED: NtStatus = NtStatus(0xC000_00A2);

const SERVERS_LOG: &str = "Read the log of the server.";
/// Where the server lists the share that it does not open.
pub(super) const NOT_OPENED: &str = "The share is configured, but the server cannot open it. Read \
the log of the server for the reason, such as a missing directory or a module that does not load \
(on Samba 'path' and 'vfs objects' of the share).";
/// Where the server does not tell its shares.
pub(super) const UNLISTED: &str = "The server does not list its shares for this user. Look up the \
name of the share on the server (on Samba, the name of its section in smb.conf).";

/// A failure, for what was tried.
pub(super) fn failure(tried: impl Into<String>, site: &Site, step: Step, error: &Error) -> Failure {
    let (cause, next) = advice(site, step, error);
    Failure::new(cause, tried).on(&site.given).happened(error).next(next)
}

fn advice(site: &Site, step: Step, error: &Error) -> (Cause, String) {
    let port = site.port;
    let unreachable = |next: String| (Cause::Unreachable, next);
    let refused = |next: &str| (Cause::NotPermitted, next.to_owned());
    match error {
        Error::Tcp(plimsoll_transport::Error::Closed | plimsoll_transport::Error::Connection(_)) if step == Step::LogIn => {
            unreachable(no_smb(site))
        }
        Error::Tcp(error) => connection::advice(
            error,
            &format!(
                "Check that the SMB service is running on the server. Name a port other than {port} as \
                smb://user@HOST:PORT/SHARE."
            ),
            &format!(
                "A firewall may drop packets, or the server hangs: make sure that packets reach TCP port \
                {port}. Name another port as smb://user@HOST:PORT/SHARE."
            ),
        ),
        Error::Malformed(_) | Error::TooLong { .. } | Error::UnknownMessage(_)
            if step == Step::LogIn =>
        {
            unreachable(no_smb(site))
        }
        Error::DialectRefused { .. } => unreachable(match site.target.dialect {
            Some(SmbDialect::Smb2_0_2 | SmbDialect::Smb2_1) => {
                "Omit vers=, or allow this dialect on the server (on Samba 'server min \
                 protocol')."
                    .into()
            }
            Some(_) => "Omit vers=, or give an older dialect (vers=2.1), or allow this dialect on \
            the server (on Samba 'server max protocol')."
                .into(),
            None => "The server only supports SMB 1, which plimsoll does not: enable SMB 2 or 3 on \
            the server (on Samba 'server max protocol')."
                .into(),
        }),
        Error::EncryptionRefused(_) => refused(
            "Omit encrypt=on, or enable encryption on the server: it needs dialect 3.0 or \
             newer (vers=) and on Samba 'server smb encrypt' other than off.",
        ),
        Error::EncryptionRequired(_) => refused(
            "Omit encrypt=off; encryption needs dialect 3.0 or newer, so omit an older vers= too.",
        ),
        Error::SigningRefused(_) => refused(
            "Omit sign=on, or name a user: guests cannot sign messages.",
        ),
        Error::SigningRequired => refused("Omit sign=off."),
        Error::GuestOnly(_) => (
            Cause::Authentication,
            match site.target.user {
                None => "Name a user, smb://USER@HOST/SHARE, or omit sign=on and encrypt=on."
                    .into(),
                Some(_) => format!(
                    "{} To measure as a guest, give sign=off and omit encrypt=on.",
                    wrong(site)
                ),
            },
        ),
        Error::GuestRefused(_) => (Cause::Authentication, guest_refused(site)),
        Error::NoContexts => unreachable(
            "The server implements dialect 3.1.1 incorrectly: give the older vers=3.0. plimsoll \
            does not fall back to it automatically, because an attacker on the network could force \
            that."
                .into(),
        ),
        Error::RefusedUnencrypted(_) => denied(site, step),
        Error::NotFiles(_) => refused("Name a file share."),
        Error::NotAFile(_) => refused(CHANGED_DURING_RUN),
        Error::Downgraded(_) => refused(
            "A device between this machine and the server changes the negotiation: find this \
            device, or give the dialect with vers=3.1.1.",
        ),
        Error::BadSignature | Error::NotSigned | Error::NotDecrypted | Error::NotEncrypted => {
            let mut next = "A device between this machine and the server changes messages, the \
            server does not know the password, or the server is faulty. Check the network path and \
            the log of the server."
                .to_owned();
            if matches!(error, Error::BadSignature | Error::NotSigned)
                && site.target.sign == SmbProtection::Auto
            {
                next += " To measure a server that cannot sign, give sign=off; its identity is \
                then not verified.";
            }
            unreachable(next)
        }
        Error::NoCredits => unreachable(
            "The server grants no more credits: use a smaller --depth, or set a smaller rsize= and \
             wsize=; check the load and the limits of the server (on Samba 'smb2 max credits')."
                .into(),
        ),
        Error::Name { .. } => (
            Cause::Usage,
            "Name a share and a directory without \\ : * ? \" < > | and control characters, and \
             without a dot or a space at the end of a name."
                .into(),
        ),
        Error::Status { status, .. } => status_advice(site, step, *status),
        error if error.is_fatal() => {
            unreachable("Check that the SMB service of the server is running, and read its log.".into())
        }
        _ => (Cause::Trial, SERVERS_LOG.into()),
    }
}

fn no_smb(site: &Site) -> String {
    format!(
        "The service on port {} may not be an SMB server, or may only support SMB 1. Check which \
        service listens on that port. Name another port as smb://user@HOST:PORT/SHARE.",
        site.port
    )
}

fn status_advice(site: &Site, step: Step, status: NtStatus) -> (Cause, String) {
    let who = site.target.who();
    match status {
        NtStatus::LOGON_FAILURE | WRONG_PASSWORD | NO_SUCH_USER => {
            (Cause::Authentication, wrong(site))
        }
        NtStatus::ACCOUNT_RESTRICTION
        | NtStatus::INVALID_LOGON_HOURS
        | NtStatus::INVALID_WORKSTATION
        | NtStatus::PASSWORD_EXPIRED
        | NtStatus::PASSWORD_MUST_CHANGE
        | NtStatus::ACCOUNT_DISABLED
        | NtStatus::ACCOUNT_EXPIRED
        | NtStatus::ACCOUNT_LOCKED_OUT
        | LOGON_TYPE_NOT_GRANTED => (
            Cause::Authentication,
            format!("The server knows {who} but denies the login: enable the account or allow its \
            login on the server."),
        ),
        NtStatus::ACCESS_DENIED => denied(site, step),
        MEDIA_WRITE_PROTECTED => (Cause::NotPermitted, read_only(&who)),
        NtStatus::BAD_NETWORK_NAME => (Cause::NotPermitted, UNLISTED.into()),
        NtStatus::PATH_NOT_COVERED => (
            Cause::NotPermitted,
            "The path refers to another server (DFS), which plimsoll does not follow: name that server and share."
                .into(),
        ),
        // A file to be read in place is refused before, with the advice to name a file in it.
        NtStatus::FILE_IS_A_DIRECTORY => (Cause::NotPermitted, CHANGED_DURING_RUN.into()),
        NtStatus::NOT_A_DIRECTORY | NtStatus::STOPPED_ON_SYMLINK => {
            (Cause::NotPermitted, "Name a directory that exists on the share.".into())
        }
        status if is_not_there(status) => {
            (Cause::NotPermitted, "Name a directory that exists on the share.".into())
        }
        NtStatus::OBJECT_NAME_INVALID => (
            Cause::NotPermitted,
            "The server refuses this name: name a directory that every SMB client can see.".into(),
        ),
        NtStatus::DISK_FULL => {
            (Cause::NoSpace, format!("Free some space on the server, or {USE_LESS}."))
        }
        QUOTA_EXCEEDED => {
            (Cause::NoSpace, format!("Raise the quota on the server, or {USE_LESS}."))
        }
        NtStatus::REQUEST_NOT_ACCEPTED
        | NtStatus::INSUFFICIENT_RESOURCES
        | NtStatus::INSUFF_SERVER_RESOURCES => (
            Cause::NotPermitted,
            "The server accepts no more sessions or requests: use fewer --workers and a smaller \
            --depth (each worker has its own session), or raise the limits of the server."
                .into(),
        ),
        NtStatus::SHARING_VIOLATION | NtStatus::FILE_LOCK_CONFLICT | NtStatus::DELETE_PENDING => {
            (Cause::Trial, "Another client has the file open: run again when it has closed the \
            file.".into())
        }
        _ => (Cause::Trial, SERVERS_LOG.into()),
    }
}

/// What to do where user or password are wrong, or a guest is not wanted.
fn wrong(site: &Site) -> String {
    match &site.target.user {
        None => "The server does not allow guests: name a user, smb://USER@HOST/SHARE.".into(),
        Some(user) => {
            let domain = match site.target.domain {
                None => ", and the domain if the user has one, smb://DOMAIN;USER@HOST/SHARE",
                Some(_) => "",
            };
            format!(
                "Check the spelling of the user '{user}' and the password (PLIMSOLL_PASSWORD, the \
                 credentials file or the prompt){domain}. plimsoll tried once."
            )
        }
    }
}

/// What to do where anybody is let in.
fn guest_refused(site: &Site) -> String {
    format!(
        "The server accepts unknown users as guests, so its identity is not proven. {} To log in \
        as a guest, omit the user (smb://HOST/SHARE), or give guest=allow.",
        wrong(site)
    )
}

fn denied(site: &Site, step: Step) -> (Cause, String) {
    let who = site.target.who();
    let taken_for_a_guest = site.target.user.is_some();
    match step {
        Step::Reach | Step::LogIn => (Cause::Authentication, wrong(site)),
        Step::Share { guest: true } | Step::Use { guest: true, writable: true }
            if taken_for_a_guest =>
        {
            (
                Cause::Authentication,
                format!(
                    "The server treats {who} as a guest, as it does with unknown users. {}",
                    wrong(site)
                ),
            )
        }
        Step::Share { guest: true } => (
            Cause::Authentication,
            "The share does not allow guests: name a user, smb://USER@HOST/SHARE.".into(),
        ),
        Step::Share { guest: false } => {
            let encryption = "; if the share requires encryption, omit encrypt=off and any dialect below 3.0 (vers=)";
            let next = format!("Give {who} access to the share on the server{encryption}.");
            (Cause::NotPermitted, next)
        }
        Step::Use { writable: false, .. } => (Cause::NotPermitted, read_only(&who)),
        Step::Use { .. } => (
            Cause::NotPermitted,
            format!(
                "Give {who} write access on the server: check both the settings of the share and \
                the permissions of the directory. Or name another user, smb://USER@HOST/SHARE."
            ),
        ),
    }
}

fn read_only(who: &str) -> String {
    format!(
        "The share is read-only for {who}: give them write access on the server (on Samba 'read only = \
         no'), or {READ_IN_PLACE}."
    )
}

/// The kind under which an error is counted.
fn kind(error: &Error) -> ErrorKind {
    let status = match error {
        Error::Tcp(error) => return connection::kind(error),
        Error::Status { status, .. } => *status,
        Error::Name { .. } | Error::OverLimit(_) => return ErrorKind::Io,
        _ => return ErrorKind::Protocol,
    };
    match status {
        NtStatus::DISK_FULL | QUOTA_EXCEEDED => ErrorKind::NoSpace,
        NtStatus::ACCESS_DENIED | MEDIA_WRITE_PROTECTED => ErrorKind::NotPermitted,
        status if is_not_there(status) => ErrorKind::Gone,
        NtStatus::FILE_CLOSED | NtStatus::DELETE_PENDING => ErrorKind::Gone,
        // The connection is there, and none of its files.
        _ if error.ends_session() => ErrorKind::Protocol,
        _ => ErrorKind::Io,
    }
}

/// The error of one operation.
pub(super) fn op_error(error: &Error) -> OpError {
    OpError { kind: kind(error), detail: error.to_string().into() }
}

/// The end of a lane.
pub(super) fn lane_dead(error: &Error) -> LaneDead {
    LaneDead { kind: kind(error), detail: error.to_string() }
}

impl Step {
    /// On a share that is open.
    pub fn on_share(tree: &plimsoll_smb::Tree) -> Self {
        Step::Use { writable: !tree.tree_facts().read_only, guest: tree.facts().guest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeLimits;
    use plimsoll_smb::Command;

    const USED: Step = Step::Use { writable: true, guest: false };

    fn site(url: &str) -> Site {
        let Ok(plimsoll_model::Target::Smb(target)) = url.parse() else { panic!("{url}") };
        let limits = TimeLimits::default();
        let guest = plimsoll_model::SmbTarget { user: None, ..target.clone() };
        // Without a user nothing is connected to yet.
        let mut site =
            Site::find(&guest, url, &crate::OpenOptions { limits, ..Default::default() }).unwrap();
        site.target = target;
        site
    }

    fn status(status: NtStatus) -> Error {
        Error::Status { command: Command::Create, status }
    }

    #[test]
    fn causes_lead_to_the_right_exit_codes() {
        let site = site("smb://me@127.0.0.1/films");
        let closed = || Error::Tcp(plimsoll_transport::Error::Closed);
        for (step, error, code, word) in [
            (Step::LogIn, status(NtStatus::LOGON_FAILURE), 4, "'me'"),
            (Step::LogIn, status(NtStatus::ACCOUNT_LOCKED_OUT), 4, "me"),
            (Step::LogIn, closed(), 3, "may not be an SMB server"),
            (Step::LogIn, Error::Malformed(String::new()), 3, "port 445"),
            (Step::LogIn, Error::DialectRefused { offered: Vec::new() }, 3, "SMB 1"),
            (Step::LogIn, Error::EncryptionRefused(String::new()), 5, "encrypt=on"),
            (Step::LogIn, Error::EncryptionRequired(String::new()), 5, "encrypt=off"),
            (Step::LogIn, Error::SigningRequired, 5, "sign=off"),
            (Step::LogIn, Error::GuestOnly("signed"), 4, "'me'"),
            (Step::LogIn, Error::GuestRefused("a guest"), 4, "guest=allow"),
            (Step::LogIn, Error::NoContexts, 3, "vers=3.0"),
            (Step::LogIn, Error::NotSigned, 3, "sign=off"),
            (Step::LogIn, Error::Downgraded(String::new()), 5, "between"),
            (Step::LogIn, Error::BadSignature, 3, "between"),
            (Step::Share { guest: true }, status(NtStatus::ACCESS_DENIED), 4, "a guest"),
            (Step::Share { guest: false }, status(NtStatus::ACCESS_DENIED), 5, "me"),
            (USED, closed(), 3, "log"),
            (USED, Error::NoCredits, 3, "--depth"),
            (USED, status(NtStatus::DISK_FULL), 6, "--size"),
            (USED, status(QUOTA_EXCEEDED), 6, "quota"),
            (USED, status(MEDIA_WRITE_PROTECTED), 5, "read-only"),
            (USED, status(NtStatus::ACCESS_DENIED), 5, "write access"),
            (USED, status(NtStatus::REQUEST_NOT_ACCEPTED), 5, "--workers"),
            (USED, status(NtStatus::PATH_NOT_COVERED), 5, "DFS"),
            (USED, status(NtStatus::FILE_IS_A_DIRECTORY), 5, "Another program"),
            (USED, Error::Name { name: "a:b".into(), why: "" }, 2, "without"),
        ] {
            let (cause, next) = advice(&site, step, &error);
            assert_eq!(cause.exit_code(), code, "{step:?} {error}: {next}");
            assert!(next.ends_with('.') && next.contains(word), "{step:?} {error}: {next}");
        }
        let read_only = Step::Use { writable: false, guest: false };
        let (_, next) = advice(&site, read_only, &status(NtStatus::ACCESS_DENIED));
        assert!(next.contains("read-only"), "{next}");
    }

    #[test]
    fn guests_are_told_to_name_a_user() {
        let site = site("smb://127.0.0.1/films");
        for step in [Step::LogIn, Step::Share { guest: true }] {
            let (cause, next) = advice(&site, step, &status(NtStatus::ACCESS_DENIED));
            assert_eq!(cause, Cause::Authentication);
            assert!(next.contains("does not allow guests") && next.contains("USER@"), "{next}");
        }
    }
}
