//! `nfs://`: an NFS export, reached without a mount.

use super::authority::{self, Host};
use super::{PATH_ESCAPES, decode, options, usage, without_parents};
use crate::Failure;
use percent_encoding::utf8_percent_encode;
use serde::{Deserialize, Serialize};
use std::fmt;

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

const OPTIONS: &str = "vers=3, proto=tcp, uid=, gid=, rsize=, wsize=, mountport=, \
                       sourceport=auto|privileged|any";
const FORM: &str = "Write it as nfs://host[:port]/export, an IPv6 address in [brackets].";

impl NfsTarget {
    /// Parses what follows `nfs://`. Spaces and non-ASCII letters may stand as they are.
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
        Ok(target)
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
            "vers" if value == "3" => {}
            "vers" => return Err(bad("only version 3 is implemented")),
            "proto" if value == "tcp" => {}
            "proto" => return Err(bad("only tcp is implemented")),
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
        write!(f, "{}", utf8_percent_encode(&self.path, PATH_ESCAPES))?;
        let mut options = Vec::new();
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
