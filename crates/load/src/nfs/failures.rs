//! What went wrong, as failures that one can act on.

use crate::advice::{CHANGED_DURING_RUN, READ_IN_PLACE, USE_LESS};
use crate::connection;
use crate::op::OpError;
use crate::share::LaneDead;
use plimsoll_model::{Cause, ErrorKind, Failure};
use plimsoll_nfs::Error;
use plimsoll_nfs::mount::MountStatus;
use plimsoll_nfs::nfs3::Status;
use plimsoll_nfs::nfs4;
use plimsoll_nfs::rpc::{AcceptError, Rejection};
use std::fmt;

/// Whom we were talking to, which decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Portmapper,
    Mount,
    Nfs,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Service::Portmapper => "portmapper",
            Service::Mount => "MOUNT service",
            Service::Nfs => "NFS service",
        })
    }
}

/// Who calls, and from where: what a refusal depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub uid: u32,
    pub gid: u32,
    /// Whether the connection comes from a port below 1024.
    pub privileged: bool,
}

const PRIVILEGED_PORT: &str = "Servers often refuse clients whose port is above 1023. Either run \
    plimsoll with the right to bind a port below 1024 (as root, or with CAP_NET_BIND_SERVICE; \
    sourceport=privileged requires it), or add 'insecure' to the export on the server";

const STALE: &str = "It was removed on the server, or earlier file handles became invalid because \
the server restarted or the export changed (a fixed fsid= on the export keeps them valid)";

/// What to do when the server refuses the caller as such.
pub(crate) fn refused_advice(caller: Caller) -> String {
    if caller.privileged {
        "The connection already uses a privileged port: allow the client's address in the client list of the \
        export on the server."
            .to_owned()
    } else {
        format!("{PRIVILEGED_PORT}; and make sure that the export allows the client's address.")
    }
}

/// A failure of one service, for what was tried on something.
pub(crate) fn failure(
    tried: impl Into<String>,
    on: impl fmt::Display,
    service: Service,
    caller: Caller,
    error: &Error,
) -> Failure {
    let (cause, next) = advice(service, caller, error);
    Failure::new(cause, tried).on(on).happened(error).next(next)
}

fn advice(service: Service, caller: Caller, error: &Error) -> (Cause, String) {
    match error {
        Error::Tcp(error) => connection::advice(error, &closed_port(service), &silent_port(service)),
        Error::NotRegistered { .. } => (
            Cause::Unreachable,
            "List the services of the server with 'rpcinfo -p HOST'. Give a version and a protocol \
            in this list (vers=, proto=), or enable one on the server. If the server has no \
            portmapper, name the ports: nfs://HOST:2049/PATH?mountport=PORT."
                .into(),
        ),
        Error::Rejected(rejection) => rejected(service, caller, rejection),
        Error::Mount { status, .. } => mount_refused(caller, *status),
        Error::Nfs { status, .. } => refused(caller, *status),
        Error::Nfs4 { status: nfs4::Status::MinorVersion, .. } => (
            Cause::Unreachable,
            "Give a version that the server supports (vers=), or enable this version on the \
            server.".into(),
        ),
        Error::Nfs4 { .. } if let Some(status) = error.status() => refused(caller, status),
        error if error.is_fatal() => (
            Cause::Unreachable,
            format!("Check that the {service} of the server is running, and read its log."),
        ),
        _ => (Cause::Trial, "Read the log of the server.".into()),
    }
}

fn closed_port(service: Service) -> String {
    match service {
        Service::Portmapper => "Start rpcbind on the server, or name the ports, which needs no \
        portmapper: nfs://HOST:2049/PATH?mountport=PORT."
            .into(),
        Service::Mount => {
            "Find the port of the MOUNT service with 'rpcinfo -p HOST', and name it with \
        mountport=PORT."
                .into()
        }
        Service::Nfs => {
            "Check that the NFS service is running on the server, and on which port ('rpcinfo -p \
        HOST'). Name another port as nfs://HOST:PORT/PATH?mountport=PORT."
                .into()
        }
    }
}

fn silent_port(service: Service) -> String {
    let ports = match service {
        Service::Portmapper => "port 111 (or name the ports: nfs://HOST:2049/PATH?mountport=PORT)",
        Service::Mount => "the MOUNT service's port (or name another with mountport=PORT)",
        Service::Nfs => "port 2049",
    };
    format!(
        "A firewall may drop packets, or the server hangs: make sure that packets reach {ports}."
    )
}

fn rejected(service: Service, caller: Caller, rejection: &Rejection) -> (Cause, String) {
    match rejection {
        Rejection::Auth(_) => (Cause::NotPermitted, refused_advice(caller)),
        Rejection::Accepted(AcceptError::ProgramUnavailable) if service == Service::Mount => {
            (Cause::Unreachable, closed_port(Service::Mount))
        }
        Rejection::Accepted(
            AcceptError::ProgramUnavailable | AcceptError::ProgramMismatch { .. },
        ) => (
            Cause::Unreachable,
            "Give a version that the server supports (vers=), or enable this version on the \
            server."
                .into(),
        ),
        _ => (Cause::Unreachable, format!("Read the log of the {service} of the server.")),
    }
}

fn mount_refused(caller: Caller, status: MountStatus) -> (Cause, String) {
    match status {
        MountStatus::Access | MountStatus::NotOwner => {
            (Cause::NotPermitted, refused_advice(caller))
        }
        MountStatus::NoEntry | MountStatus::NotDirectory | MountStatus::Invalid => {
            (Cause::NotPermitted, "Name a directory that the server exports.".into())
        }
        _ => (Cause::NotPermitted, "Read the log of the server.".into()),
    }
}

fn refused(caller: Caller, status: Status) -> (Cause, String) {
    match status {
        Status::NoSpace => {
            (Cause::NoSpace, format!("Free some space on the server, or {USE_LESS}."))
        }
        Status::Quota => (Cause::NoSpace, format!("Raise the quota on the server, or {USE_LESS}.")),
        Status::ReadOnly => (
            Cause::NotPermitted,
            format!(
                "The export is read-only: export it as read-write (rw) on the server, or \
                {READ_IN_PLACE}."
            ),
        ),
        Status::Access | Status::NotOwner => (Cause::NotPermitted, refused_advice(caller)),
        Status::NoEntry | Status::NotDirectory => {
            (Cause::NotPermitted, "Name a directory that exists on the server.".into())
        }
        // A file to be read in place is refused before, with the advice to name a file in it.
        Status::IsDirectory => (Cause::NotPermitted, CHANGED_DURING_RUN.into()),
        Status::Stale | Status::BadHandle => (Cause::Trial, format!("{STALE}; run again.")),
        Status::Jukebox => {
            (Cause::Trial, "The server asks the client to try later: wait, then run again.".into())
        }
        _ => (Cause::Trial, "Read the log of the server.".into()),
    }
}

/// What to do when the caller may not change a directory that belongs to `owner` (uid, gid).
pub(crate) fn not_writable_advice(caller: Caller, owner: Option<(u32, u32)>) -> String {
    let belongs = owner.map_or(String::new(), |(uid, gid)| {
        format!(" The directory belongs to uid {uid}, gid {gid}.")
    });
    let (uid, gid) = owner.filter(|o| o.0 != 0).unwrap_or((1000, 1000));
    let ids = format!("give the ids of a user with write access, such as ?uid={uid}&gid={gid}");
    if caller.uid == 0 {
        format!(
            "The server maps root to the user nobody (root_squash), who has no write access there. \
            Either {ids}, or set no_root_squash on the export.{belongs}"
        )
    } else {
        let port = match caller.privileged {
            true => String::new(),
            false => format!(" {PRIVILEGED_PORT}."),
        };
        format!(
            "User {}, group {} has no write access: {ids}, or grant write access on the \
            server.{belongs}{port}",
            caller.uid, caller.gid
        )
    }
}

/// The kind under which an error is counted.
pub(crate) fn kind(error: &Error) -> ErrorKind {
    match error {
        Error::Tcp(error) => connection::kind(error),
        Error::RecordTooLong { .. }
        | Error::EmptyFragments
        | Error::UnknownTransaction(_)
        | Error::Malformed(_)
        | Error::TooMuch { .. }
        | Error::NotStable { .. }
        | Error::Beyond32Bits { .. }
        | Error::DirectoryTooLong(_)
        | Error::ListingRepeats { .. } => ErrorKind::Protocol,
        Error::Rejected(Rejection::Auth(_)) | Error::Mount { .. } => ErrorKind::NotPermitted,
        Error::Rejected(_) | Error::NotRegistered { .. } => ErrorKind::Protocol,
        Error::DataLost => ErrorKind::Lost,
        Error::Revoked(_) => ErrorKind::Gone,
        Error::Nfs { .. } | Error::Nfs4 { .. } => match error.status() {
            Some(Status::NoSpace | Status::Quota) => ErrorKind::NoSpace,
            Some(Status::Access | Status::NotOwner | Status::ReadOnly) => ErrorKind::NotPermitted,
            Some(Status::Stale | Status::BadHandle | Status::NoEntry) => ErrorKind::Gone,
            _ => ErrorKind::Io,
        },
    }
}

/// The error of one operation.
pub(crate) fn op_error(error: &Error) -> OpError {
    let detail = match error.status() {
        Some(Status::Stale) => format!("{error}. {STALE}"),
        _ => error.to_string(),
    };
    OpError { kind: kind(error), detail: detail.into() }
}

/// The end of a lane.
pub(crate) fn lane_dead(error: &Error) -> LaneDead {
    LaneDead { kind: kind(error), detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_nfs::Version;
    use plimsoll_nfs::nfs3::Procedure;

    const ROOT: Caller = Caller { uid: 0, gid: 0, privileged: true };
    const USER: Caller = Caller { uid: 1000, gid: 1000, privileged: false };

    fn nfs_error(status: Status) -> Error {
        Error::Nfs { version: Version::V3, procedure: Procedure::MakeDirectory, status }
    }

    #[test]
    fn a_refused_unprivileged_port_names_both_ways_out() {
        let (version, status) = (Version::V3, MountStatus::Access);
        for error in [Error::Mount { version, status }, nfs_error(Status::NotOwner)] {
            let failure = failure("open the export", "nfs://nas/x", Service::Mount, USER, &error);
            assert_eq!(failure.cause, Cause::NotPermitted);
            for way in ["CAP_NET_BIND_SERVICE", "insecure"] {
                assert!(failure.next.contains(way), "{failure}");
            }
            assert!(!advice(Service::Mount, ROOT, &error).1.contains("insecure"));
        }
    }

    #[test]
    fn squashed_root_is_told_so() {
        let next = not_writable_advice(ROOT, Some((1001, 100)));
        assert!(next.contains("root_squash") && next.contains("?uid=1001&gid=100"), "{next}");
        let next = not_writable_advice(USER, Some((0, 0)));
        assert!(next.ends_with('.'), "{next}");
        assert!(!next.contains("root_squash") && next.contains("User 1000"), "{next}");
    }

    #[test]
    fn causes_lead_to_the_right_exit_codes() {
        let codes = [
            (nfs_error(Status::NoSpace), 6),
            (nfs_error(Status::Quota), 6),
            (nfs_error(Status::ReadOnly), 5),
            (nfs_error(Status::IsDirectory), 5),
            (nfs_error(Status::Io), 1),
            (Error::Tcp(plimsoll_transport::Error::Closed), 3),
            (
                plimsoll_transport::Error::UnknownHost { host: "x".into(), detail: String::new() }
                    .into(),
                3,
            ),
            (
                plimsoll_transport::Error::PrivilegedPort(std::io::ErrorKind::PermissionDenied)
                    .into(),
                5,
            ),
        ];
        for (error, code) in codes {
            let (cause, next) = advice(Service::Nfs, USER, &error);
            assert_eq!(cause.exit_code(), code, "{error}");
            assert!(next.ends_with('.'), "{next}");
        }
    }
}
