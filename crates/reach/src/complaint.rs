//! What ssh complains of, in such a form that its reader can act on it.
//!
//! ssh ends with 255 whatever went wrong; its standard error tells it apart. That text is partly
//! the host's own, so it is shown shortened and without control characters, and no more than a
//! choice of words depends on it.

use super::shell::Instead;
use crate::printed::{last_line, lines};
use plimsoll_model::{Cause, Failure, HostName};
use std::fmt::Display;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// The exit code with which ssh speaks of itself.
pub(super) const OWN_STATUS: i32 = 255;

/// What ssh complains of if no name service has an address for a name.
const UNRESOLVED: &str = "Could not resolve hostname";

const LOGIN: &str = "log in over ssh";
const RUN: &str = "run a command over ssh";

/// A complaint of ssh: what it is known by, what it means, what to do. In the last, `{ssh}` stands
/// for the command line that reaches the host by hand. The first one that is found counts.
struct Known {
    sign: &'static str,
    cause: Cause,
    next: &'static str,
}

const fn known(sign: &'static str, cause: Cause, next: &'static str) -> Known {
    Known { sign, cause, next }
}

const CONFIGURATION: &str = "Fix the configuration of ssh: `{ssh}` fails in the same way.";
const ROUTE: &str = "Check the address, the network and whether the host is up.";
const OLD: &str = "The ssh server and this client have no algorithm in common: allow its \
algorithms for this host in ~/.ssh/config (HostKeyAlgorithms, KexAlgorithms or Ciphers).";
const CLOSED: &str = "Check that an ssh server answers at this address, and that it does not block this \
machine (MaxStartups, fail2ban, hosts.allow), and try again.";

const KNOWN: [Known; 18] = [
    known(
        "Connection refused",
        Cause::Unreachable,
        "No program listens on this port: enable ssh on the host, or name its port as ssh://HOST:PORT.",
    ),
    known(
        "timed out",
        Cause::Unreachable,
        "Check the address and whether the host is up; a firewall may drop packets.",
    ),
    known("No route to host", Cause::Unreachable, ROUTE),
    known("Network is unreachable", Cause::Unreachable, ROUTE),
    known("Host is down", Cause::Unreachable, ROUTE),
    known("are too open", Cause::Authentication, "Make the key private: chmod 600 on that file."),
    known(
        "Too many authentication failures",
        Cause::Authentication,
        "Name the key for this host in ~/.ssh/config (IdentityFile, IdentitiesOnly yes).",
    ),
    known(
        "Permission denied (",
        Cause::Authentication,
        "Test the login with `{ssh}`: it must not prompt. Install a key with ssh-copy-id, or load one with ssh-add.",
    ),
    known("Unable to negotiate", Cause::Unreachable, OLD),
    known("no matching", Cause::Unreachable, OLD),
    known("Bad owner or permissions", Cause::Usage, CONFIGURATION),
    known("Bad configuration option", Cause::Usage, CONFIGURATION),
    known("bad configuration option", Cause::Usage, CONFIGURATION),
    known("Can't open user config file", Cause::Usage, CONFIGURATION),
    known(
        "request failed on channel",
        Cause::NotPermitted,
        "Permit this user to run commands over ssh, or name another user: ssh://USER@HOST.",
    ),
    known("onnection closed by", Cause::Unreachable, CLOSED),
    known("onnection reset by", Cause::Unreachable, CLOSED),
    known("kex_exchange_identification", Cause::Unreachable, CLOSED),
];

/// A login that did not come to a shell.
pub(super) fn not_let_in(host: &HostName, instead: &Instead) -> Failure {
    not(LOGIN, host, instead)
}

/// A command that did not begin although the connection stands.
pub(super) fn not_begun(host: &HostName, instead: &Instead) -> Failure {
    not(RUN, host, instead)
}

fn not(tried: &str, host: &HostName, instead: &Instead) -> Failure {
    match instead.status {
        Some(OWN_STATUS) => by_ssh(tried, host, &instead.errors),
        Some(status) => {
            let said = last_line(&[&instead.errors[..], b"\n", &instead.output].concat())
                .map_or(String::new(), |line| format!(": \"{line}\""));
            let happened = format!(
                "the login succeeded, but no shell runs commands on the host (exit code {status}{said})"
            );
            no_shell(tried, host, happened)
        }
        None if instead.output.is_empty() => {
            let said = last_line(&instead.errors).map_or(String::new(), |line| format!(": {line}"));
            let next = by_hand("Run `{ssh} true`: it must end without a prompt.", host);
            let happened = format!("no answer in time{said}");
            Failure::new(Cause::Unreachable, tried).on(host).happened(happened).next(next)
        }
        None => {
            let said = last_line(&instead.output).unwrap_or_default();
            no_shell(tried, host, format!("the host did not start a shell: \"{said}\""))
        }
    }
}

fn no_shell(tried: &str, host: &HostName, happened: String) -> Failure {
    let next = "Name a user with a shell: ssh://USER@HOST, or give this user a shell on the host.";
    Failure::new(Cause::NotPermitted, tried).on(host).happened(happened).next(next)
}

/// Whether a login failed because the name of the host, or of a host on the way to it, has no address.
pub fn is_unresolved(failure: &Failure) -> bool {
    failure.cause == Cause::Unreachable && failure.happened.contains(UNRESOLVED)
}

/// What ssh said of itself.
fn by_ssh(tried: &str, host: &HostName, errors: &[u8]) -> Failure {
    let lines = lines(errors);
    let with = |sign: &str| lines.iter().find(|line| line.contains(sign));
    if with("IDENTIFICATION HAS CHANGED").is_some() {
        return other_key(tried, host, with("Offending"));
    }
    if with("Host key verification failed").is_some() {
        let next = by_hand(
            "Run `{ssh}`, compare the fingerprint with the one on the host, and accept it once.",
            host,
        );
        let happened = "the key of the host is not known on this machine";
        return Failure::new(Cause::Authentication, tried).on(host).happened(happened).next(next);
    }
    if let Some(line) = with(UNRESOLVED) {
        let next = "Check the spelling, and that DNS or /etc/hosts has the name. An alias needs a Host entry in \
                    ~/.ssh/config.";
        return Failure::new(Cause::Unreachable, "find the address of the host")
            .on(host)
            .happened(line)
            .next(next);
    }
    for known in &KNOWN {
        if let Some(line) = with(known.sign) {
            return Failure::new(known.cause, tried)
                .on(host)
                .happened(line)
                .next(by_hand(known.next, host));
        }
    }
    let happened = lines.last().map_or("ssh ended without a message", String::as_str);
    let next = by_hand("Run `{ssh}`; -v shows each step.", host);
    Failure::new(Cause::Unreachable, tried).on(host).happened(happened).next(next)
}

/// Another key than before may be an attack. What ssh-keygen would do to hide that is not named.
fn other_key(tried: &str, host: &HostName, offending: Option<&String>) -> Failure {
    let known = offending.map_or(String::new(), |line| format!(" ({line})"));
    let happened = format!(
        "the key of the host has changed: this machine knows another key{known}. It may be another host, a \
        reinstalled host, or an attacker on the path"
    );
    let next = "Do not log in before you know why: compare the fingerprint with the one on the \
    console of the host. Only then replace the known key.";
    Failure::new(Cause::Authentication, tried).on(host).happened(happened).next(next)
}

/// A connection that ended by itself.
pub(super) fn lost(host: &HostName, errors: &[u8]) -> Failure {
    let said = last_line(errors).map_or(String::new(), |line| format!(": {line}"));
    let next = "Check the network and whether the host is still up, then try again.";
    let happened = format!("the connection was lost{said}");
    Failure::new(Cause::Unreachable, RUN).on(host).happened(happened).next(next)
}

/// A command that did not end as it should have.
pub(super) fn not_ended(host: &dyn Display, error: &Error, limit: Duration) -> Failure {
    let happened = match error.kind() {
        ErrorKind::TimedOut => format!("it did not end within {:.0} s", limit.as_secs_f64()),
        _ => error.to_string(),
    };
    let next = "Check whether the host is overloaded or the network slow, then try again.";
    Failure::new(Cause::Unreachable, "run a command to its end")
        .on(host)
        .happened(happened)
        .next(next)
}

/// A command that no shell can take.
pub(super) fn nul(host: &str) -> Failure {
    let next = "Remove it: paths and arguments cannot contain one.";
    Failure::new(Cause::Usage, "run a command")
        .on(host)
        .happened("it contains a NUL byte")
        .next(next)
}

/// A program of this machine that could not be started.
pub(super) fn not_started(host: &HostName, program: &Path, error: &Error) -> Failure {
    let happened = format!("{} cannot be started: {error}", program.display());
    Failure::new(Cause::Unreachable, LOGIN)
        .on(host)
        .happened(happened)
        .next("Fix this, and try again.")
}

/// Advice with the command line that reaches the host without plimsoll.
fn by_hand(advice: &str, host: &HostName) -> String {
    let HostName::Ssh { user, host, port } = host else { return advice.to_owned() };
    let user = user.as_ref().map_or(String::new(), |user| format!("{user}@"));
    let port = port.map_or(String::new(), |port| format!("-p {port} "));
    advice.replace("{ssh}", &format!("ssh {port}{user}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostName {
        HostName::Ssh { user: Some("me".into()), host: "nas".into(), port: Some(2222) }
    }

    /// What ssh 9.2 says, word for word.
    #[test]
    fn complaints_are_distinguished() {
        for (said, cause, next) in [
            (
                "ssh: Could not resolve hostname nas: Name or service not known\r\n",
                Cause::Unreachable,
                "Check the spelling",
            ),
            (
                "ssh: connect to host nas port 2222: No route to host\r\n",
                Cause::Unreachable,
                "Check the address",
            ),
            (
                "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. \
                 Their offer: ssh-rsa,ssh-dss\r\n",
                Cause::Unreachable,
                "~/.ssh/config (HostKeyAlgorithms",
            ),
            (
                "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\r\n\
                 Disconnected from 10.0.0.1 port 22\r\n",
                Cause::Authentication,
                "IdentitiesOnly",
            ),
            (
                "@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\r\n\
                 Permissions 0644 for '/home/me/.ssh/id' are too open.\r\n\
                 me@nas: Permission denied (publickey).\r\n",
                Cause::Authentication,
                "chmod 600",
            ),
            (
                "me@nas: Permission denied (publickey,password).\r\n",
                Cause::Authentication,
                "`ssh -p 2222 me@nas`",
            ),
            (
                "No ED25519 host key is known for nas and you have requested strict checking.\r\n\
                 Host key verification failed.\r\n",
                Cause::Authentication,
                "accept it once",
            ),
            (
                "Bad owner or permissions on /home/me/.ssh/config\r\n",
                Cause::Usage,
                "Fix the configuration",
            ),
            ("exec request failed on channel 0\r\n", Cause::NotPermitted, "name another"),
            (
                "kex_exchange_identification: read: Connection reset by peer\r\n\
                 Connection reset by 10.0.0.1 port 22\r\n",
                Cause::Unreachable,
                "fail2ban",
            ),
            ("something never heard of\r\n", Cause::Unreachable, "-v shows each step"),
            ("", Cause::Unreachable, "-v shows each step"),
        ] {
            let instead = Instead { status: Some(OWN_STATUS), output: vec![], errors: said.into() };
            let failure = not_let_in(&host(), &instead);
            assert_eq!(failure.cause, cause, "{failure}");
            assert!(failure.next.contains(next), "{failure}");
            assert_eq!(failure.happened.lines().count(), 1, "{failure}");
            assert_eq!(is_unresolved(&failure), said.contains("resolve"), "{failure}");
        }
    }

    #[test]
    fn by_hand_names_the_host_as_ssh_takes_it() {
        let named = |name: &str| by_hand("{ssh}", &name.parse().unwrap());
        assert_eq!(named("ssh://nas"), "ssh nas");
        assert_eq!(named("ssh://me@[fe80::1%eth0]:2222"), "ssh -p 2222 me@fe80::1%eth0");
    }
}
