//! What is measured: a directory or an NFS export, as the user writes it.

use crate::{Cause, Failure, StoredOn};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A storage target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Target {
    /// A directory on any mounted file system.
    Directory(DirectoryTarget),
    /// An NFS export, reached without a mount.
    Nfs(NfsTarget),
}

/// A directory on any mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DirectoryTarget {
    /// Its path.
    pub path: PathBuf,
}

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

/// How a directory target is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// One io_uring per worker.
    IoUring,
    /// Threads of pread and pwrite.
    Psync,
}

/// What a target turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The target as the user wrote it.
    pub given: String,
    /// What is spoken: "NFSv3 over TCP", "directory on ext4".
    pub protocol: String,
    /// How it is driven: "plimsoll's NFS client", "io_uring", "psync".
    pub engine: String,
    /// Largest read in one operation on the wire, in bytes; 0 where there is no limit.
    pub read_size_bytes: u32,
    /// Largest write in one operation on the wire, in bytes; 0 where there is no limit.
    pub write_size_bytes: u32,
    /// What can serve a read from memory on this machine: "none", "O_DIRECT", "page cache".
    pub client_cache: String,
    /// What a completed write and a flush mean: "UNSTABLE, then COMMIT".
    pub stability: String,
    /// Whether every write is committed before it completes, whatever was asked for: O_DIRECT on an
    /// NFS mount.
    #[serde(default)]
    pub commits_each_write: bool,
    /// Space on the target when it was opened, in bytes: (total, available).
    pub space_bytes: (u64, u64),
    /// Whether reads may be served by a memory that this client cannot bypass: a server's, a page
    /// cache, tmpfs. Then the two-size probe tells memory and disk apart.
    #[serde(default)]
    pub memory_below: bool,
    /// Where reads came from, by the two-size probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<StoredOn>,
    /// Anything else worth knowing, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

const NFS_OPTIONS: &str = "vers=3, proto=tcp, uid=, gid=, rsize=, wsize=, mountport=, \
                           sourceport=auto|privileged|any";

const PATH_ESCAPES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'?').add(b'#').add(b'%').add(b'"').add(b'\'').add(b'<').add(b'>');

fn usage(on: &str, happened: impl fmt::Display, next: &str) -> Failure {
    Failure::new(Cause::Usage, "understand the target", on, happened, next)
}

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Err(usage("''", "it is empty", "Give a directory or nfs://host/export."));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Target::Directory(DirectoryTarget { path: PathBuf::from(text) }));
        };
        match scheme {
            "nfs" => NfsTarget::parse(text, rest).map(Target::Nfs),
            "file" => {
                let path = decode(text, rest)?;
                Ok(Target::Directory(DirectoryTarget { path: PathBuf::from(path) }))
            }
            other => Err(usage(
                text,
                format!("targets of kind '{other}://' are not known"),
                "Give a directory or nfs://host/export.",
            )),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Directory(d) => write!(f, "{}", d.path.display()),
            Target::Nfs(n) => n.fmt(f),
        }
    }
}

fn decode(given: &str, part: &str) -> Result<String, Failure> {
    let decoded = percent_decode_str(part).decode_utf8().map_err(|_| {
        usage(given, "its %-escapes do not make valid UTF-8", "Write %25 for a percent sign.")
    })?;
    if decoded.contains('\0') {
        return Err(usage(given, "it contains a NUL byte", "No path can; leave %00 out."));
    }
    Ok(decoded.into_owned())
}

impl NfsTarget {
    /// Parses what follows `nfs://`. Spaces and non-ASCII letters may stand as they are.
    fn parse(given: &str, rest: &str) -> Result<Self, Failure> {
        let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) =
            before_query.find('/').map_or((before_query, ""), |i| before_query.split_at(i));
        let (host, port) = split_authority(given, authority)?;
        let path = decode(given, path)?;
        if path.split('/').any(|part| part == "..") {
            return Err(usage(given, "its path contains '..'", "Write the path without it."));
        }
        let mut target = NfsTarget { host, port, ..NfsTarget::default() };
        target.path = if path.is_empty() { "/".to_owned() } else { path };
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            target.set_option(given, key, value)?;
        }
        Ok(target)
    }

    fn set_option(&mut self, given: &str, key: &str, value: &str) -> Result<(), Failure> {
        let known = format!("The options are: {NFS_OPTIONS}.");
        let bad = |what: &str| usage(given, format!("{key}={value}: {what}"), &known);
        let number = || value.parse::<u32>().map_err(|_| bad("not a number"));
        let port = || match value.parse::<u16>() {
            Ok(p) if p > 0 => Ok(Some(p)),
            _ => Err(bad("not a port")),
        };
        let transfer = || match number()? {
            n @ 512..=0x0400_0000 => Ok(Some(n)),
            _ => Err(bad("must be from 512 bytes to 64 MiB")),
        };
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

fn split_authority(given: &str, authority: &str) -> Result<(String, Option<u16>), Failure> {
    let next = "Write it as nfs://host[:port]/export, an IPv6 address in [brackets].";
    let (host, port) = if let Some(v6) = authority.strip_prefix('[') {
        let (host, after) =
            v6.split_once(']').ok_or_else(|| usage(given, "a '[' without ']'", next))?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(usage(given, format!("'{after}' after the address"), next)),
        }
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(usage(given, "an IPv6 address without brackets", next));
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() || host.contains(char::is_whitespace) || host.contains('@') {
        return Err(usage(given, format!("'{authority}' is not a host"), next));
    }
    let port = match port {
        None => None,
        Some(text) => match text.parse::<u16>() {
            Ok(p) if p > 0 => Some(p),
            _ => return Err(usage(given, format!("'{text}' is not a port"), next)),
        },
    };
    Ok((host.to_owned(), port))
}

impl fmt::Display for NfsTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "nfs://{host}")?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nfs(text: &str) -> NfsTarget {
        match text.parse::<Target>() {
            Ok(Target::Nfs(t)) => t,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn spaces_and_letters_may_stand_as_they_are() {
        assert_eq!(nfs("nfs://nas/my films/Übung").path, "/my films/Übung");
        assert_eq!(nfs("nfs://nas/my%20films").path, "/my films");
        assert_eq!(nfs("nfs://nas").path, "/");
        assert_eq!(nfs("nfs://[::1]:2049/x").host, "::1");
        assert_eq!(nfs("nfs://nas:2049/x?mountport=20048&uid=7").mount_port, Some(20048));
    }

    #[test]
    fn bad_targets_say_what_would_be_good() {
        for (text, part) in [
            ("nfs://nas/x?rsze=1", "The options are: vers=3"),
            ("nfs://nas/x?rsize=1", "from 512 bytes"),
            ("nfs://nas:99999/x", "not a port"),
            ("nfs:///x", "not a host"),
            ("nfs://::1/x", "brackets"),
            ("nfs://nas/../x", "'..'"),
            ("nfs://nas/%00", "NUL"),
            ("ftp://nas/x", "ftp://"),
            ("", "empty"),
        ] {
            let failure = text.parse::<Target>().unwrap_err();
            assert_eq!(failure.cause, Cause::Usage);
            assert!(failure.to_string().contains(part), "{text}: {failure}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_without_panic(text in "\\PC{0,60}") {
            let _ = text.parse::<Target>();
            let _ = format!("nfs://{text}").parse::<Target>();
        }

        #[test]
        fn what_is_printed_reads_back(path in "/[a-zA-Z0-9 %?#&=äöü/]{0,30}", port in 1u16.., uid in any::<Option<u32>>()) {
            let target = Target::Nfs(NfsTarget {
                host: "nas".into(), port: Some(port), path, uid, ..NfsTarget::default()
            });
            prop_assume!(!target.to_string().contains(".."));
            prop_assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        }
    }
}
