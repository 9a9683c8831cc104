//! Protocol of a share.

use super::{NfsTransport, NfsVersion, SmbDialect};
use serde::{Deserialize, Serialize};
use std::fmt;

/// File systems whose files are on a server, as the kernel names them.
const OF_SERVERS: [&str; 7] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs"];

/// Protocol in use, as a client and its server agreed on it. It is stored as its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Protocol {
    /// "NFSv4.1 over TCP".
    Nfs {
        /// Version that both support.
        version: NfsVersion,
        /// Transport of the calls.
        transport: NfsTransport,
    },
    /// "SMB 3.1.1, signed with AES-128-GMAC".
    Smb {
        /// Dialect that both support.
        dialect: SmbDialect,
        /// How messages are protected, in words; may be empty.
        protection: String,
    },
    /// "directory on ext4".
    Directory {
        /// Name of the file system.
        file_system: String,
    },
    /// Known by a text alone, as in imported measurements. Empty where it is not known.
    Other(String),
}

impl Protocol {
    /// Whether it is SMB, also where the kernel has mounted the share.
    pub fn is_smb(&self) -> bool {
        match self {
            Protocol::Smb { .. } => true,
            Protocol::Directory { file_system } => matches!(file_system.as_str(), "cifs" | "smb3"),
            Protocol::Nfs { .. } | Protocol::Other(_) => false,
        }
    }

    /// File system of a directory.
    pub fn file_system(&self) -> Option<&str> {
        match self {
            Protocol::Directory { file_system } => Some(file_system),
            _ => None,
        }
    }

    /// Whether files are on a server, also where the kernel has mounted them.
    pub fn is_of_server(&self) -> bool {
        match self {
            Protocol::Nfs { .. } | Protocol::Smb { .. } => true,
            Protocol::Directory { file_system } => OF_SERVERS.contains(&file_system.as_str()),
            Protocol::Other(_) => false,
        }
    }

    /// Version of NFS.
    pub fn nfs_version(&self) -> Option<NfsVersion> {
        match self {
            Protocol::Nfs { version, .. } => Some(*version),
            _ => None,
        }
    }

    /// The protocol with this text, apart from [`Protocol::Other`].
    fn known(text: &str) -> Option<Protocol> {
        if let Some(rest) = text.strip_prefix("NFSv") {
            let (version, name) = rest.split_once(" over ")?;
            let transports = [NfsTransport::Tcp, NfsTransport::Udp];
            let transport = transports.into_iter().find(|transport| transport.name() == name)?;
            return Some(Protocol::Nfs { version: version.parse().ok()?, transport });
        }
        if let Some(rest) = text.strip_prefix("SMB ") {
            let (dialect, protection) = rest.split_once(", ").unwrap_or((rest, ""));
            let protection = protection.to_owned();
            return Some(Protocol::Smb { dialect: dialect.parse().ok()?, protection });
        }
        let file_system = text.strip_prefix("directory on ")?.to_owned();
        Some(Protocol::Directory { file_system })
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol::Other(String::new())
    }
}

impl From<&str> for Protocol {
    fn from(text: &str) -> Self {
        let is_whole = |protocol: &Protocol| protocol.to_string() == text;
        let known = Protocol::known(text).filter(is_whole);
        known.unwrap_or_else(|| Protocol::Other(text.to_owned()))
    }
}

impl From<String> for Protocol {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Protocol> for String {
    fn from(protocol: Protocol) -> Self {
        protocol.to_string()
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::Nfs { version, transport } => {
                write!(f, "NFSv{version} over {}", transport.name())
            }
            Protocol::Smb { dialect, protection } if protection.is_empty() => {
                write!(f, "SMB {dialect}")
            }
            Protocol::Smb { dialect, protection } => write!(f, "SMB {dialect}, {protection}"),
            Protocol::Directory { file_system } => write!(f, "directory on {file_system}"),
            Protocol::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_protocols() {
        let nfs = |version, transport| Protocol::Nfs { version, transport };
        let smb =
            |dialect, protection: &str| Protocol::Smb { dialect, protection: protection.into() };
        for (text, wanted) in [
            ("NFSv2 over UDP", nfs(NfsVersion::V2, NfsTransport::Udp)),
            ("NFSv4.1 over TCP", nfs(NfsVersion::V4_1, NfsTransport::Tcp)),
            ("SMB 3.0", smb(SmbDialect::Smb3_0, "")),
            (
                "SMB 3.1.1, signed with AES-128-GMAC",
                smb(SmbDialect::Smb3_1_1, "signed with AES-128-GMAC"),
            ),
            ("directory on ext4", Protocol::Directory { file_system: "ext4".into() }),
            ("", Protocol::default()),
        ] {
            assert_eq!(Protocol::from(text), wanted);
        }
        assert!(Protocol::from("directory on cifs").is_smb());
        assert!(!Protocol::from("directory on nfs4").is_smb());
        for text in ["NFSv3", "NFSv5 over TCP", "NFSv3 over tcp", "SMB 4", "SMB 3.1.1, ", "none"] {
            assert_eq!(Protocol::from(text), Protocol::Other(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn every_text_is_kept(
            text in "((NFSv|SMB |directory on )(2|3|4\\.1|3\\.1\\.1)?(, | over )?(TCP|UDP)?)?.{0,8}",
        ) {
            let json = serde_json::to_string(&Protocol::from(text.as_str())).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&text).unwrap());
            prop_assert_eq!(serde_json::from_str::<Protocol>(&json).unwrap().to_string(), text);
        }
    }
}
