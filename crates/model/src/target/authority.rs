//! The middle of a URL: who, which host, which port.

use super::usage;
use crate::Failure;
use std::fmt;

/// A host and perhaps a port. A user in front of it is none of theirs, and what a failure says of
/// one would show a password.
pub(crate) fn split(given: &str, text: &str, next: &str) -> Result<(String, Option<u16>), Failure> {
    if text.contains('@') {
        return Err(usage(given, "a user in place of the host", next));
    }
    let (host, port) = if let Some(v6) = text.strip_prefix('[') {
        let (host, after) =
            v6.split_once(']').ok_or_else(|| usage(given, "a '[' without ']'", next))?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(usage(given, format!("'{after}' after the address"), next)),
        }
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(usage(given, "an IPv6 address without brackets", next));
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let odd = |c: char| c.is_whitespace() || matches!(c, '[' | ']');
    if host.is_empty() || host.contains(odd) {
        return Err(usage(given, format!("'{host}' is not a host"), next));
    }
    let port = match port {
        None => None,
        Some(text) => match text.parse::<u16>() {
            Ok(p) if p > 0 => Some(p),
            _ => return Err(usage(given, format!("'{text}' is not a port"), next)),
        },
    };
    match escaped_zone(host) {
        Some((address, zone)) => Ok((format!("{address}%{}", &zone[ESCAPED.len()..]), port)),
        None => Ok((host.to_owned(), port)),
    }
}

/// How a URL writes the "%" between an address and its zone, after that "%". Source: RFC 6874.
const ESCAPED: &str = "25";

/// An address and its zone, if the zone begins as one that is escaped.
fn escaped_zone(host: &str) -> Option<(&str, &str)> {
    let (address, zone) = host.split_once('%').filter(|(address, _)| address.contains(':'))?;
    (zone.len() > ESCAPED.len() && zone.starts_with(ESCAPED)).then_some((address, zone))
}

/// A host as it stands in a URL: an IPv6 address in brackets. Its zone is written as other programs write it, unless that
/// would be taken for an escaped one.
pub(crate) struct Host<'a>(pub &'a str);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match escaped_zone(self.0) {
            Some((address, zone)) => write!(f, "[{address}%{ESCAPED}{zone}]"),
            None if self.0.contains(':') => write!(f, "[{}]", self.0),
            None => f.write_str(self.0),
        }
    }
}

/// Target without possible passwords: hides the text between the first ':' and the last '@' after
/// the scheme, and the value of an option with a name like "password". A password may contain any
/// character, also a delimiter, so too much is hidden rather than too little.
pub fn without_password(text: &str) -> String {
    let as_url = text.find("://").map(|at| at + 3);
    let as_share = || (text.starts_with("//") || text.starts_with(r"\\")).then_some(2);
    let Some(begin) = as_url.or_else(as_share) else { return text.to_owned() };
    let (scheme, rest) = text.split_at(begin);
    let mut shown = match (rest.find(':'), rest.rfind('@')) {
        (Some(colon), Some(at)) if colon < at => {
            format!("{scheme}{}:***{}", &rest[..colon], &rest[at..])
        }
        _ => text.to_owned(),
    };
    let option = shown.find("pass").and_then(|at| Some(at + shown[at..].find('=')?));
    if let Some(equals) = option {
        shown.replace_range(equals + 1.., "***");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taken, they would be written in a form that is not understood again.
    #[test]
    fn brackets_stand_around_an_address_alone() {
        for text in ["[[m]:4", "na[s", "nas]", "[::1]]"] {
            assert!(split("smb://x", text, "").is_err(), "{text}");
        }
        assert_eq!(split("smb://x", "[::1]:445", "").unwrap(), ("::1".to_owned(), Some(445)));
    }

    #[test]
    fn a_zone_may_be_escaped() {
        for (text, host) in [
            ("[fe80::1%eth0]", "fe80::1%eth0"),
            ("[fe80::1%25eth0]", "fe80::1%eth0"),
            ("[fe80::1%25]", "fe80::1%25"),
            ("[fe80::1%2525g]", "fe80::1%25g"),
            ("nas%25eth0", "nas%25eth0"),
        ] {
            assert_eq!(split("ssh://x", text, "").unwrap(), (host.to_owned(), None));
            let again = Host(host).to_string();
            assert_eq!(split("ssh://x", &again, "").unwrap().0, host, "{again}");
        }
        assert_eq!(Host("fe80::1%eth0").to_string(), "[fe80::1%eth0]");
    }

    #[test]
    fn whatever_may_be_a_password_is_hidden() {
        for (text, shown) in [
            ("smb://me:se?cr/et@nas/x", "smb://me:***@nas/x"),
            ("smb://me:secr@et@nas/x", "smb://me:***@nas/x"),
            ("ftp://me:secret@nas", "ftp://me:***@nas"),
            ("smb://me@nas/x?password=se&cret", "smb://me@nas/x?password=***"),
            ("smb://me@nas:445/x", "smb://me@nas:445/x"),
            ("//me:secr@et@nas/x", "//me:***@nas/x"),
            (r"\\me:secret@nas\x", r"\\me:***@nas\x"),
            ("/srv/me:secret@nas", "/srv/me:secret@nas"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }
}
