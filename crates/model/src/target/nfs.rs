//! `nfs://`: an NFS export, reached without a mount.

use super::authority::{self, Host};
use super::letters::Escaped;
use super::{PATH_ESCAPES, decode, options, usage, without_parents};
use crate::Failure;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU8;
use std::str::FromStr;

/// An NFS export and a path below it: `nfs://host[:port]/path?option=value`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NfsTarget {
    /// Host name or address (IPv6 without brackets).
    pub host: String,
    /// Port of the NFS service; with it the portmapper is not asked.
    pub port: Option<u16>,
    /// Absolute path on the server, decoded: the export and what follows it.
    pub path: String,
    /// Port of the MOUNT service; `None`: the portmapper is asked, or `port` is tried.
    pub mount_port: Option<u16>,
    /// User id in AUTH_SYS; `None`: the caller's.
    pub uid: Option<u32>,
    /// Group id in AUTH_SYS; `None`: the caller's.
    pub gid: Option<u32>,
    /// Largest READ in bytes; `None`: the server's preference.
    pub rsize: Option<u32>,
    /// Largest WRITE in bytes; `None`: the server's preference.
    pub wsize: Option<u32>,
    /// Whether to connect from a privileged port.
    pub source_port: SourcePort,
    /// The version spoken; `None`: the newest that both sides have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<NfsVersion>,
    /// Transport of the calls; `None`: TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<NfsTransport>,
    /// Connections of each worker, which its calls are spread over: 1 to [`Self::MOST_CONNECTIONS`];
    /// `None`: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nconnect: Option<NonZeroU8>,
}

/// Requested version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NfsVersion {
    /// RFC 1094.
    #[serde(rename = "2")]
    V2,
    /// RFC 1813.
    #[serde(rename = "3")]
    V3,
    /// Newest of 4.0, 4.1 and 4.2 that both sides support. The version in use is never this value,
    /// but one of the three.
    #[serde(rename = "4")]
    V4,
    /// RFC 7530.
    #[serde(rename = "4.0")]
    V4_0,
    /// RFC 8881.
    #[serde(rename = "4.1")]
    V4_1,
    /// RFC 7862.
    #[serde(rename = "4.2")]
    V4_2,
}

/// Transport of NFS calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NfsTransport {
    /// A connection.
    Tcp,
    /// Datagrams, sent again until they are answered; versions 2 and 3.
    Udp,
}

/// Which source port an NFS connection comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourcePort {
    /// Privileged (below 1024) where this process may bind one, else any.
    #[default]
    Auto,
    /// Privileged or fail.
    Privileged,
    /// Any.
    Any,
}

const OPTIONS: &str = "vers=2|3|4|4.0|4.1|4.2, proto=tcp|udp, nconnect=, uid=, gid=, rsize=, \
                       wsize=, mountport=, sourceport=auto|privileged|any";
const FORM: &str = "Write it as nfs://host[:port]/export, an IPv6 address in [brackets].";

impl NfsVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 6] = [Self::V2, Self::V3, Self::V4, Self::V4_0, Self::V4_1, Self::V4_2];

    /// Whether it is one of version 4, which has no MOUNT protocol and no datagrams.
    pub fn is_4(self) -> bool {
        self >= Self::V4
    }
}

impl NfsTarget {
    /// Whether version 4 may be spoken: it is not excluded by another version, MOUNT or datagrams.
    pub fn may_be_4(&self) -> bool {
        self.version.is_none_or(NfsVersion::is_4)
            && self.transport != Some(NfsTransport::Udp)
            && self.mount_port.is_none()
    }
}

impl fmt::Display for NfsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NfsVersion::V2 => "2",
            NfsVersion::V3 => "3",
            NfsVersion::V4 => "4",
            NfsVersion::V4_0 => "4.0",
            NfsVersion::V4_1 => "4.1",
            NfsVersion::V4_2 => "4.2",
        })
    }
}

impl FromStr for NfsVersion {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |version: &Self| version.to_string() == text;
        Self::ALL.into_iter().find(named).ok_or("no such version")
    }
}

impl NfsTransport {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            NfsTransport::Tcp => "TCP",
            NfsTransport::Udp => "UDP",
        }
    }
}

/// As it is written in a target.
impl fmt::Display for NfsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NfsTransport::Tcp => "tcp",
            NfsTransport::Udp => "udp",
        })
    }
}

impl FromStr for NfsTransport {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "tcp" => Ok(NfsTransport::Tcp),
            "udp" => Ok(NfsTransport::Udp),
            _ => Err("must be tcp or udp"),
        }
    }
}

impl NfsTarget {
    /// Most connections of one worker, as with the Linux kernel's client.
    pub const MOST_CONNECTIONS: u8 = 16;

    /// Parses the part after `nfs://`. Spaces and non-ASCII letters need no escapes.
    pub(super) fn parse(given: &str, rest: &str) -> Result<Self, Failure> {
        let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) =
            before_query.find('/').map_or((before_query, ""), |i| before_query.split_at(i));
        let (host, port) = authority::split(given, authority, FORM)?;
        let path = without_parents(given, decode(given, path)?)?;
        let mut target = NfsTarget { host, port, ..NfsTarget::default() };
        target.path = if path.is_empty() { "/".to_owned() } else { path };
        for (key, value) in options::pairs(query) {
            target.set_option(given, key, value)?;
        }
        target.check(given)?;
        Ok(target)
    }

    /// Refuses what cannot be had together.
    fn check(&self, given: &str) -> Result<(), Failure> {
        if self.transport != Some(NfsTransport::Udp) {
            return Ok(());
        }
        let refused = |happened: String, next| Err(usage(given, happened, next));
        match (self.version, self.nconnect) {
            (Some(version), _) if version.is_4() => refused(
                format!("version {version} does not run over UDP (RFC 7530, section 3.1)"),
                "Omit proto=, or give vers=3 or vers=2.",
            ),
            (_, Some(_)) => refused(
                "nconnect= needs TCP: UDP has no connections".into(),
                "Omit nconnect=, or give proto=tcp.",
            ),
            _ => Ok(()),
        }
    }

    fn set_option(&mut self, given: &str, key: &str, value: &str) -> Result<(), Failure> {
        let known = format!("The options are: {OPTIONS}.");
        let bad = |what: &str| usage(given, format!("{key}={value}: {what}"), &known);
        let number = || value.parse::<u32>().map_err(|_| bad("not a number"));
        let port = || match value.parse::<u16>() {
            Ok(p) if p > 0 => Ok(Some(p)),
            _ => Err(bad("not a port")),
        };
        let transfer = || options::transfer_size(value).map(Some).map_err(bad);
        match key {
            "vers" => self.version = Some(value.parse().map_err(bad)?),
            "proto" => self.transport = Some(value.parse().map_err(bad)?),
            "nconnect" => match value.parse::<NonZeroU8>() {
                Ok(count) if count.get() <= Self::MOST_CONNECTIONS => self.nconnect = Some(count),
                _ => return Err(bad("must be from 1 to 16")),
            },
            "uid" => self.uid = Some(number()?),
            "gid" => self.gid = Some(number()?),
            "rsize" => self.rsize = transfer()?,
            "wsize" => self.wsize = transfer()?,
            "mountport" => self.mount_port = port()?,
            "sourceport" => {
                self.source_port = match value {
                    "auto" => SourcePort::Auto,
                    "privileged" => SourcePort::Privileged,
                    "any" => SourcePort::Any,
                    _ => return Err(bad("must be auto, privileged or any")),
                }
            }
            _ => return Err(usage(given, format!("unknown option '{key}'"), &known)),
        }
        Ok(())
    }
}

impl fmt::Display for NfsTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nfs://{}", Host(&self.host))?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "{}", Escaped(&self.path, PATH_ESCAPES))?;
        let mut options: Vec<String> = [
            self.version.map(|version| format!("vers={version}")),
            self.transport.map(|transport| format!("proto={transport}")),
            self.nconnect.map(|count| format!("nconnect={count}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let numbers = [
            ("mountport", self.mount_port.map(u32::from)),
            ("uid", self.uid),
            ("gid", self.gid),
            ("rsize", self.rsize),
            ("wsize", self.wsize),
        ];
        options.extend(numbers.iter().filter_map(|(k, v)| v.map(|v| format!("{k}={v}"))));
        match self.source_port {
            SourcePort::Auto => {}
            SourcePort::Privileged => options.push("sourceport=privileged".into()),
            SourcePort::Any => options.push("sourceport=any".into()),
        }
        if options.is_empty() { Ok(()) } else { write!(f, "?{}", options.join("&")) }
    }
}
