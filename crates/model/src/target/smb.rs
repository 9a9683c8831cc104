//! `smb://`: an SMB share, reached without a mount.

use super::authority::{self, Host, without_password};
use super::letters::Escaped;
use super::{PATH_ESCAPES, decode, options, usage, without_parents};
use crate::Failure;
use percent_encoding::AsciiSet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An SMB share and a path below it: `smb://[domain;]user@host[:port]/share/path?option=value`.
/// It never holds a password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SmbTarget {
    /// Host name or address (IPv6 without brackets).
    pub host: String,
    /// Port of the service; `None`: 445.
    pub port: Option<u16>,
    /// Domain of the user; `None`: the server's own.
    pub domain: Option<String>,
    /// Who logs in; `None`: a guest.
    pub user: Option<String>,
    /// Name of the share; empty where the user named none.
    pub share: String,
    /// Path below the share, decoded, without `/` at its ends; empty: the share itself.
    pub path: String,
    /// The only dialect offered; `None`: all that are known.
    #[serde(default)]
    pub dialect: Option<SmbDialect>,
    /// Whether messages are signed.
    #[serde(default)]
    pub sign: SmbProtection,
    /// Whether messages are encrypted.
    #[serde(default)]
    pub encrypt: SmbProtection,
    /// Whether a guest session is accepted for the user; such a server has not checked the
    /// password.
    #[serde(default)]
    pub guest_allowed: bool,
    /// Largest READ in bytes; `None`: the server's limit, up to 1 MiB.
    pub rsize: Option<u32>,
    /// Largest WRITE in bytes; `None`: the server's limit, up to 1 MiB.
    pub wsize: Option<u32>,
}

/// A dialect of SMB 2 or 3 (MS-SMB2, section 1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SmbDialect {
    /// Windows Vista, Server 2008.
    #[serde(rename = "2.0.2")]
    Smb2_0_2,
    /// Windows 7, Server 2008 R2.
    #[serde(rename = "2.1")]
    Smb2_1,
    /// Windows 8, Server 2012.
    #[serde(rename = "3.0")]
    Smb3_0,
    /// Windows 8.1, Server 2012 R2.
    #[serde(rename = "3.0.2")]
    Smb3_0_2,
    /// Windows 10, Server 2016.
    #[serde(rename = "3.1.1")]
    Smb3_1_1,
}

/// Whether messages are protected: signed, or encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmbProtection {
    /// Signing: whenever a user is named. Encryption: as the server asks.
    #[default]
    Auto,
    /// Always, or not at all.
    On,
    /// Never.
    Off,
}

const OPTIONS: &str = "vers=2.0.2|2.1|3.0|3.0.2|3.1.1, sign=auto|on|off, encrypt=auto|on|off, \
                       guest=allow, rsize=, wsize=";
const FORM: &str =
    "Write it as smb://[domain;]user@host[:port]/share/path, an IPv6 address in [brackets].";
const NO_PASSWORD: &str = "Remove the password from the URL. plimsoll reads it from the environment variable \
PLIMSOLL_PASSWORD or a credentials file, or prompts at the terminal (see 'plimsoll check --help'). Change the password if others may have seen the command line.";

/// Characters that a user or a domain cannot contain without escapes.
const USER_ESCAPES: &AsciiSet = &PATH_ESCAPES.add(b'/').add(b':').add(b';').add(b'@');

impl SmbDialect {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::Smb2_0_2, Self::Smb2_1, Self::Smb3_0, Self::Smb3_0_2, Self::Smb3_1_1];
}

impl fmt::Display for SmbDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SmbDialect::Smb2_0_2 => "2.0.2",
            SmbDialect::Smb2_1 => "2.1",
            SmbDialect::Smb3_0 => "3.0",
            SmbDialect::Smb3_0_2 => "3.0.2",
            SmbDialect::Smb3_1_1 => "3.1.1",
        })
    }
}

impl FromStr for SmbDialect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |dialect: &Self| dialect.to_string() == text;
        Self::ALL.into_iter().find(named).ok_or("no such dialect")
    }
}

impl FromStr for SmbProtection {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(SmbProtection::Auto),
            "on" => Ok(SmbProtection::On),
            "off" => Ok(SmbProtection::Off),
            _ => Err("must be auto, on or off"),
        }
    }
}

impl SmbTarget {
    /// Parses the part after `smb://`. Spaces and non-ASCII letters need no escapes.
    pub(super) fn parse(given: &str, rest: &str) -> Result<Self, Failure> {
        Self::understand(given, rest).map_err(|failure| {
            // A password with '/' or '?' in it looks like a port, a path, an option.
            if without_password(given) == given { failure } else { password_in(given) }
        })
    }

    fn understand(given: &str, rest: &str) -> Result<Self, Failure> {
        let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) =
            before_query.find('/').map_or((before_query, ""), |i| before_query.split_at(i));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(password_in(given));
        }
        let (host, port) = authority::split(given, host, FORM)?;
        let (domain, user) = who(given, user.unwrap_or(""))?;
        let path = without_parents(given, decode(given, path)?)?;
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let share = parts.next().unwrap_or("").to_owned();
        if share == "." {
            return Err(usage(given, "its share is '.'", "Write the name of a share."));
        }
        let below: Vec<&str> = parts.filter(|part| *part != ".").collect();
        for name in below.iter().copied().chain([&*share]) {
            check_name(given, name)?;
        }
        let path = below.join("/");
        let mut target =
            SmbTarget { host, port, domain, user, share, path, ..SmbTarget::default() };
        for (key, value) in options::pairs(query) {
            target.set_option(given, key, value)?;
        }
        if target.encrypt == SmbProtection::On
            && let Some(old) = target.dialect.filter(|d| *d < SmbDialect::Smb3_0)
        {
            let happened = format!("encrypt=on: dialect {old} does not support encryption");
            return Err(usage(given, happened, "Omit vers=, or give vers=3.0 or newer."));
        }
        Ok(target)
    }

    fn set_option(&mut self, given: &str, key: &str, value: &str) -> Result<(), Failure> {
        let known = format!("The options are: {OPTIONS}.");
        let bad = |what: &str| usage(given, format!("{key}={value}: {what}"), &known);
        match key {
            "vers" => self.dialect = Some(value.parse().map_err(bad)?),
            "sign" => self.sign = value.parse().map_err(bad)?,
            "encrypt" => self.encrypt = value.parse().map_err(bad)?,
            "guest" if value == "allow" => self.guest_allowed = true,
            "guest" => return Err(bad("must be allow, or omitted")),
            "rsize" => self.rsize = Some(options::transfer_size(value).map_err(bad)?),
            "wsize" => self.wsize = Some(options::transfer_size(value).map_err(bad)?),
            _ if key.starts_with("pass") => return Err(password_in(given)),
            _ => return Err(usage(given, format!("unknown option '{key}'"), &known)),
        }
        Ok(())
    }

    /// Who logs in, as people write it: `me`, `DOMAIN\me`, `guest`.
    pub fn who(&self) -> String {
        match (&self.domain, &self.user) {
            (_, None) => "guest".to_owned(),
            (None, Some(user)) => user.clone(),
            (Some(domain), Some(user)) => format!("{domain}\\{user}"),
        }
    }
}

fn password_in(given: &str) -> Failure {
    usage(given, "it contains a password, which every user of this machine can see", NO_PASSWORD)
}

/// The domain and the user of `[domain;]user`.
fn who(given: &str, text: &str) -> Result<(Option<String>, Option<String>), Failure> {
    let (domain, user) = match text.split_once(';') {
        Some((domain, user)) => (Some(decode(given, domain)?), user),
        None => (None, text),
    };
    let user = Some(decode(given, user)?).filter(|user| !user.is_empty());
    let domain = domain.filter(|domain| !domain.is_empty());
    if domain.is_some() && user.is_none() {
        return Err(usage(given, "a domain without a user", FORM));
    }
    Ok((domain, user))
}

/// Refuses what SMB cannot carry as a name (MS-FSCC, section 2.1.5).
fn check_name(given: &str, name: &str) -> Result<(), Failure> {
    let bad = |c: char| c.is_control() || "\\:*?\"<>|".contains(c);
    let why = if let Some(bad) = name.chars().find(|c| bad(*c)) {
        format!("{bad:?} in '{}'", name.escape_debug())
    } else if name.ends_with(['.', ' ']) {
        format!("'{name}' ends with a dot or a space")
    } else {
        return Ok(());
    };
    let next = "Name a directory that an SMB client can see: without \\ : * ? \" < > | and control \
                characters, and no dot or space at the end of a name.";
    Err(usage(given, format!("it is not a valid name in SMB: {why}"), next))
}

impl fmt::Display for SmbTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("smb://")?;
        if let Some(user) = &self.user {
            if let Some(domain) = &self.domain {
                write!(f, "{};", Escaped(domain, USER_ESCAPES))?;
            }
            write!(f, "{}@", Escaped(user, USER_ESCAPES))?;
        }
        write!(f, "{}", Host(&self.host))?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        for part in std::iter::once(&*self.share).chain(self.path.split('/')) {
            if !part.is_empty() {
                write!(f, "/{}", Escaped(part, PATH_ESCAPES))?;
            }
        }
        let protection = |name: &str, value: SmbProtection| match value {
            SmbProtection::Auto => None,
            SmbProtection::On => Some(format!("{name}=on")),
            SmbProtection::Off => Some(format!("{name}=off")),
        };
        let options: Vec<String> = [
            self.dialect.map(|dialect| format!("vers={dialect}")),
            protection("sign", self.sign),
            protection("encrypt", self.encrypt),
            self.guest_allowed.then(|| "guest=allow".to_owned()),
            self.rsize.map(|bytes| format!("rsize={bytes}")),
            self.wsize.map(|bytes| format!("wsize={bytes}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if options.is_empty() { Ok(()) } else { write!(f, "?{}", options.join("&")) }
    }
}
