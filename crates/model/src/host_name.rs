//! The host a user names: `local`, `ssh://[user@]host[:port]`, `lab://name/host` or `iperf3://host[:port]`.

use crate::target::authority;
use crate::{Cause, Failure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A host as the user named it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostName {
    /// This machine.
    #[default]
    Local,
    /// By the system's own OpenSSH client and its configuration.
    Ssh {
        /// The user; `None` leaves it to ssh.
        user: Option<String>,
        /// A name, an address (IPv6 without brackets), or an alias of ssh's configuration.
        host: String,
        /// The port; `None` leaves it to ssh.
        port: Option<u16>,
    },
    /// A host of a test bed that is up on this machine. Both names satisfy [`is_lab_name`].
    Lab {
        /// The test bed.
        lab: String,
        /// Its host.
        host: String,
    },
    /// An iperf3 server: the far end of a network path, and no host on which anything else can be done.
    Iperf3 {
        /// A name or an address (IPv6 without brackets).
        host: String,
        /// The port; `None` is iperf3's own.
        port: Option<u16>,
    },
}

impl HostName {
    /// The host of that name or address (IPv6 without brackets), as a target names its server, by
    /// ssh as whoever ssh takes.
    ///
    /// # Errors
    /// [`Cause::Usage`] for a name that ssh must not be given.
    pub fn by_ssh(host: &str) -> Result<HostName, Failure> {
        check(host, "host", Some(host))?;
        Ok(HostName::Ssh { user: None, host: host.to_owned(), port: None })
    }

    /// Whether both lead to the same host, as far as names tell: the user may differ.
    pub fn is_same_host(&self, other: &HostName) -> bool {
        match (self, other) {
            (
                HostName::Ssh { host, port, .. },
                HostName::Ssh { host: other_host, port: other_port, .. },
            ) => host == other_host && port == other_port,
            _ => self == other,
        }
    }

    /// Name of the host, without its transport.
    pub fn name(&self) -> &str {
        match self {
            HostName::Local => "this machine",
            HostName::Ssh { host, .. }
            | HostName::Lab { host, .. }
            | HostName::Iperf3 { host, .. } => host,
        }
    }
}

/// Whether it is a valid name of a lab or a lab host: at most 24 of a-z, 0-9 and '-', and a letter
/// first. Names of processes, interfaces and directories contain it unchanged.
pub fn is_lab_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 24
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(allowed)
}

const KINDS: &str = "Give local, ssh://[user@]host[:port] or lab://name/host.";

/// Longer names are no names: 255 bytes is the most a name of the DNS can have.
const LONGEST: usize = 255;

/// Host that cannot be parsed, shown without a possible password, with or without a scheme.
fn usage(on: &str, happened: impl fmt::Display, next: impl Into<String>) -> Failure {
    let on = if scheme(on).is_some() {
        authority::without_password(on)
    } else {
        authority::without_password(&format!("ssh://{on}")).split_off("ssh://".len())
    };
    Failure::new(Cause::Usage, "understand the host").on(on).happened(happened).next(next)
}

/// Text before and after "://", if the first can be a scheme.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let letters = |scheme: &str| scheme.chars().all(|c| c.is_ascii_alphanumeric());
    text.split_once("://").filter(|(scheme, _)| letters(scheme))
}

impl FromStr for HostName {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if text == "local" {
            return Ok(HostName::Local);
        }
        let Some((scheme, rest)) = scheme(text) else {
            return Err(usage(text, "the URL scheme is missing", nearest(text)));
        };
        match scheme {
            "ssh" => ssh(text, rest),
            "lab" => lab(text, rest),
            "iperf3" => iperf3(text, rest),
            _ => Err(usage(text, format!("hosts of kind '{scheme}://' are not known"), KINDS)),
        }
    }
}

/// Suggestion for a host without a scheme.
fn nearest(text: &str) -> String {
    match text {
        "" => KINDS.to_owned(),
        "localhost" | "127.0.0.1" | "::1" => {
            "Give local for this machine without ssh, or ssh://localhost.".to_owned()
        }
        _ => match ssh(text, text) {
            Ok(name) => format!("Give {name}, or local for this machine."),
            Err(_) => KINDS.to_owned(),
        },
    }
}

fn ssh(given: &str, rest: &str) -> Result<HostName, Failure> {
    const NEXT: &str = "Write it as ssh://[user@]host[:port], an IPv6 address in brackets.";
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(usage(
            given,
            "it contains a password",
            "Remove it: ssh uses a key or an agent, or prompts at the terminal.",
        ));
    }
    if rest.contains(['/', '?', '#']) {
        return Err(usage(given, "there is text after the host", NEXT));
    }
    let (host, port) = authority::split(given, rest, NEXT)
        .map_err(|failure| Failure { tried: "understand the host".into(), ..failure })?;
    check(given, "user", user)?;
    check(given, "host", Some(&host))?;
    Ok(HostName::Ssh { user: user.map(str::to_owned), host, port })
}

fn iperf3(given: &str, rest: &str) -> Result<HostName, Failure> {
    const NEXT: &str = "Write it as iperf3://host[:port], an IPv6 address in brackets.";
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        return Err(usage(given, "it is more than a host and a port", NEXT));
    }
    let (host, port) = authority::split(given, rest, NEXT)
        .map_err(|failure| Failure { tried: "understand the host".into(), ..failure })?;
    check(given, "host", Some(&host))?;
    Ok(HostName::Iperf3 { host, port })
}

fn lab(given: &str, rest: &str) -> Result<HostName, Failure> {
    const NEXT: &str = "Write it as lab://name/host; plimsoll lab status lists the running labs.";
    match rest.strip_suffix('/').unwrap_or(rest).split_once('/') {
        Some((lab, host)) if is_lab_name(lab) && is_lab_name(host) => {
            Ok(HostName::Lab { lab: lab.to_owned(), host: host.to_owned() })
        }
        Some(_) => Err(usage(given, "it names no lab and no host", NEXT)),
        None => Err(usage(given, "it names no host of the lab", NEXT)),
    }
}

/// A user or host becomes a word of ssh's command line and of its configuration (`%r`, `%h`), so
/// options and characters with a meaning in a shell are refused.
fn check(given: &str, what: &str, name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    // Users of domains are DOMAIN\user or user@domain; IPv6 has colons and zones.
    let further = if what == "user" { "-_.+@\\" } else { "-_.:%" };
    let allowed = |c: char| c.is_alphanumeric() || further.contains(c);
    let next = "Give the name that ssh accepts, or an alias of ~/.ssh/config.";
    if name.is_empty() || name.len() > LONGEST {
        return Err(usage(given, format!("its {what} is empty or too long"), next));
    }
    if name.starts_with('-') {
        return Err(usage(given, format!("its {what} begins with '-'"), next));
    }
    if name.ends_with('\\') {
        return Err(usage(given, format!("its {what} ends with '\\'"), next));
    }
    if let Some(c) = name.chars().find(|c| !allowed(*c)) {
        return Err(usage(given, format!("its {what} contains {c:?}"), next));
    }
    Ok(())
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostName::Local => f.write_str("local"),
            HostName::Ssh { user, host, port } => {
                f.write_str("ssh://")?;
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
                write!(f, "{}", authority::Host(host))?;
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
            HostName::Lab { lab, host } => write!(f, "lab://{lab}/{host}"),
            HostName::Iperf3 { host, port } => {
                write!(f, "iperf3://{}", authority::Host(host))?;
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

/// A host equals the text that names it.
impl PartialEq<str> for HostName {
    fn eq(&self, text: &str) -> bool {
        text.parse::<HostName>().is_ok_and(|named| named == *self)
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> String {
        name.to_string()
    }
}

impl TryFrom<String> for HostName {
    type Error = Failure;

    fn try_from(text: String) -> Result<Self, Failure> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ssh(user: Option<&str>, host: &str, port: Option<u16>) -> HostName {
        HostName::Ssh { user: user.map(str::to_owned), host: host.to_owned(), port }
    }

    #[test]
    fn hosts_are_understood_and_written_the_same() {
        for (text, host) in [
            ("local", HostName::Local),
            ("ssh://nas", ssh(None, "nas", None)),
            ("ssh://me@nas.local:2222", ssh(Some("me"), "nas.local", Some(2222))),
            ("ssh://root@[fe80::1%eth0]:22", ssh(Some("root"), "fe80::1%eth0", Some(22))),
            ("ssh://[::1]", ssh(None, "::1", None)),
            ("ssh://me@domain@nas", ssh(Some("me@domain"), "nas", None)),
            ("ssh://DOMAIN\\me@nas", ssh(Some("DOMAIN\\me"), "nas", None)),
            ("ssh://bücher", ssh(None, "bücher", None)),
            ("iperf3://nas", HostName::Iperf3 { host: "nas".into(), port: None }),
            ("iperf3://[::1]:5202", HostName::Iperf3 { host: "::1".into(), port: Some(5202) }),
            ("lab://n750/router-2", HostName::Lab { lab: "n750".into(), host: "router-2".into() }),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap(), host);
            assert_eq!(host.to_string(), text);
            assert!(host == *text && host != *"ssh://other");
            let json = serde_json::to_string(&host).unwrap();
            assert_eq!(serde_json::from_str::<HostName>(&json).unwrap(), host);
        }
        assert_eq!("ssh://nas/".parse::<HostName>().unwrap(), ssh(None, "nas", None));
        let escaped = "iperf3://[fe80::1%25eth0]:5201".parse::<HostName>().unwrap();
        assert_eq!(escaped.to_string(), "iperf3://[fe80::1%eth0]:5201");
    }

    #[test]
    fn a_targets_server_by_ssh() {
        for host in ["nas", "fe80::1%eth0", "192.0.2.7"] {
            assert_eq!(HostName::by_ssh(host).unwrap(), super::tests::ssh(None, host, None));
        }
        for host in ["", "-oProxyCommand=id", "a b", "a;b"] {
            assert!(HostName::by_ssh(host).is_err(), "{host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_a_way_out() {
        for (text, happened, next) in [
            ("", "URL scheme is missing", "local, ssh://"),
            ("nas", "URL scheme is missing", "Give ssh://nas, or local"),
            ("me@nas:22", "URL scheme is missing", "Give ssh://me@nas:22, or local"),
            ("localhost", "URL scheme is missing", "local for this machine without ssh"),
            ("two words", "URL scheme is missing", "local, ssh://"),
            ("nfs://nas/export", "'nfs://' are not known", "local, ssh://"),
            ("lab://bed", "names no host", "lab status"),
            ("lab://bed/", "names no host", "lab status"),
            ("lab://Bed/server", "names no lab", "lab://name/host"),
            ("lab://bed/a/b", "names no lab", "lab://name/host"),
            ("lab://bed/../x", "names no lab", "lab://name/host"),
            ("ssh://", "'' is not a host", "ssh://[user@]host"),
            ("iperf3://me@nas", "more than a host", "iperf3://host[:port]"),
            ("iperf3://nas:0", "'0' is not a port", "iperf3://host[:port]"),
            ("ssh://@nas", "its user is empty", "that ssh accepts"),
            ("ssh://nas:0", "'0' is not a port", "ssh://[user@]host"),
            ("ssh://fe80::1", "without brackets", "in brackets"),
            ("ssh://nas/volume1", "there is text after the host", "ssh://[user@]host"),
            ("ssh://me:secret@nas", "contains a password", "Remove it"),
            ("ssh://-oProxyCommand=id", "begins with '-'", "that ssh accepts"),
            ("ssh://-l@nas", "begins with '-'", "that ssh accepts"),
            ("ssh://a;b@nas", "its user contains ';'", "that ssh accepts"),
            ("ssh://$(id)", "its host contains '$'", "that ssh accepts"),
            ("ssh://a\nb", "is not a host", "ssh://[user@]host"),
        ] {
            let failure = text.parse::<HostName>().unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{failure}");
            assert_eq!(failure.tried, "understand the host");
            assert!(failure.happened.contains(happened), "{failure}");
            assert!(failure.next.contains(next), "{failure}");
        }
        assert!(format!("ssh://{}", "a".repeat(256)).parse::<HostName>().is_err());
        assert!(serde_json::from_str::<HostName>("\"nas\"").is_err());
    }

    proptest! {
        #[test]
        fn a_password_is_never_shown(
            before in "(|ssh|lab|s sh)(|://|:/)(me|)",
            secret in "SECRET[^\0]{0,8}",
            after in "@(nas|)(:22|)(/x|)",
        ) {
            let failure = format!("{before}:{secret}{after}").parse::<HostName>().unwrap_err();
            prop_assert!(!failure.to_string().contains("SECRET"), "{failure}");
        }

        #[test]
        fn what_is_understood_is_written_so(text in "(ssh://|lab://)?([a-z\\\\@.-]{0,5}@)?\\[?[a-z:.%-]{0,9}\\]?(:[0-9]{0,6})?/?") {
            if let Ok(host) = text.parse::<HostName>() {
                prop_assert_eq!(host.to_string().parse::<HostName>().unwrap(), host);
            }
        }
    }
}
