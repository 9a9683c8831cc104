//! An entry of an undo journal: what one setting of one host was, and whose change it is.

use super::{Origin, Original, Owner, Scope, knob};
use plimsoll_model::HostName;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "plimsoll-undo/2";

/// Largest entry that is written or read, in bytes.
pub const MOST_BYTES: usize = 3 << 20;

/// What one setting of one host was before a study changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    schema: String,
    /// The host as the study's user named it.
    pub host: HostName,
    /// Which host that was.
    pub origin: Origin,
    /// The setting, by its canonical name.
    pub knob: String,
    /// What undoing takes.
    pub original: Original,
    /// The study.
    pub study: String,
    /// The run that changes it.
    pub owner: Owner,
}

impl Entry {
    /// An entry of this process.
    pub fn new(
        host: HostName,
        origin: Origin,
        knob: String,
        original: Original,
        study: &str,
    ) -> Entry {
        let (schema, study) = (SCHEMA.to_owned(), study.to_owned());
        Entry { schema, host, origin, knob, original, study, owner: Owner::this_process() }
    }

    /// Whether it is of the host that is `now` reached.
    pub fn is_of(&self, now: &Origin) -> bool {
        self.origin.is(now, self.scope())
    }

    fn scope(&self) -> Scope {
        knob(&self.knob).map_or(Scope::Host, |knob| knob.scope())
    }

    /// As stored; `None` where it would be too large.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok().filter(|bytes| bytes.len() <= MOST_BYTES)
    }

    /// From what was stored, which may be anything.
    ///
    /// # Errors
    /// Why it is no entry.
    pub fn from_bytes(bytes: &[u8]) -> Result<Entry, String> {
        if bytes.len() > MOST_BYTES {
            return Err(format!("it is larger than {MOST_BYTES} bytes"));
        }
        let entry: Entry = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if entry.schema != SCHEMA {
            return Err(format!("its schema is not {SCHEMA}"));
        }
        let named = knob(&entry.knob).map_err(|failure| failure.happened)?;
        if named.name() != entry.knob {
            return Err("the name of its setting is not in canonical form".into());
        }
        named.check_original(&entry.original)?;
        if entry.study.is_empty()
            || entry.study.len() > 16
            || !entry.study.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err("its study id is invalid".into());
        }
        entry.origin.check()?;
        entry.owner.check()?;
        Ok(entry)
    }

    /// The name of its file on the host: one for each setting, so that two runs cannot both change
    /// one. Hosts of a namespace lab may have one disk, and have their settings apart.
    pub(super) fn name_on_host(&self) -> String {
        format!("{:016x}.json", digest(&[self.origin.key(self.scope()), &self.knob]))
    }

    /// The name of its file on this machine.
    pub(super) fn name_here(&self) -> String {
        format!("{:016x}.json", digest(&[&self.host.to_string(), &self.knob]))
    }
}

/// Whether this is a name that entries have.
pub(super) fn is_name(name: &str) -> bool {
    name.strip_suffix(".json")
        .is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// FNV-1a, for names that stay the same over versions.
pub(super) fn digest(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn entry() -> Entry {
        let knob = knob("sysctl:net.ipv4.tcp_congestion_control").unwrap();
        let key = "net/ipv4/tcp_congestion_control".to_owned();
        let original = Original([(key, "cubic".to_owned())].into());
        let host = "ssh://root@nas".parse().unwrap();
        let origin = Origin { network: "net:[1]".into(), ..Origin::default() };
        Entry::new(host, origin, knob.name(), original, "0123abcd")
    }

    #[test]
    fn an_entry_comes_back_and_nothing_else_passes_for_one() {
        let whole = entry().to_bytes().unwrap();
        assert_eq!(Entry::from_bytes(&whole), Ok(entry()));
        for length in 0..whole.len() {
            assert!(Entry::from_bytes(&whole[..length]).is_err());
        }
        let text = String::from_utf8(whole).unwrap();
        for (from, to) in [
            ("plimsoll-undo/2", "plimsoll-undo/3"),
            ("ssh://root@nas", "ssh://-oProxyCommand=id"),
            ("sysctl:net.ipv4", "sysctl:net/ipv4"),
            ("sysctl:net.ipv4.tcp_congestion_control", "sysctl:kernel.modprobe"),
            ("net/ipv4/tcp_congestion_control\":", "kernel/modprobe\":"),
            ("\"cubic\"", "\"a\\nb\""),
            ("net:[1]", "net:[1]/.."),
            ("0123abcd", "../../etc"),
            ("{\"schema\"", "{\"more\":1,\"schema\""),
        ] {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text, "{from}");
            assert!(Entry::from_bytes(other.as_bytes()).is_err(), "{to}");
        }
    }

    #[test]
    fn names_of_entries() {
        let [here, there] = [entry().name_here(), entry().name_on_host()];
        assert!(is_name(&here) && is_name(&there) && here != there);
        for name in ["", ".json", "../x.json", "0123456789abcdef", "0123456789abcdeg.json"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
