//! A property of a ZFS dataset (zfsprops(7)). It is on the disk, and stays so after a reboot.

use super::{Found, Knob, Original, Scope, command, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "zfs";

/// Properties that change how data are read and written, and neither grant access, mount nor remove anything.
const PROPERTIES: [&str; 13] = [
    "atime",
    "checksum",
    "compression",
    "copies",
    "dnodesize",
    "logbias",
    "prefetch",
    "primarycache",
    "recordsize",
    "redundant_metadata",
    "relatime",
    "secondarycache",
    "sync",
];

/// Keys of an [`Original`]: the value, and where it comes from.
const VALUE: &str = "value";
const SOURCE: &str = "source";

/// Sources of values that are restored: set on the dataset, or not set there, or received with it.
const SOURCES: [&str; 4] = ["local", "default", "inherited", "received"];

#[derive(Debug)]
struct Zfs {
    dataset: String,
    property: &'static str,
}

/// From `DATASET:PROPERTY`.
pub(super) fn make(text: &str) -> Result<Box<dyn Knob>, String> {
    let (dataset, property) = text
        .rsplit_once(':')
        .ok_or("the property is missing; an example is tank/films:recordsize")?;
    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.: ".contains(c);
    let part = |part: &str| !part.is_empty() && part.chars().all(letter);
    let sound = dataset.len() <= 255
        && dataset.starts_with(|c: char| c.is_ascii_alphabetic())
        && dataset.split('/').all(part)
        && !dataset.ends_with(' ');
    if !sound {
        return Err("it does not name a dataset of ZFS, such as tank/films".into());
    }
    let Some(property) = PROPERTIES.iter().find(|known| **known == property) else {
        return Err(format!("the property is not one of {}", PROPERTIES.join(", ")));
    };
    Ok(Box::new(Zfs { dataset: dataset.to_owned(), property }))
}

fn is_value(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(letter) && !text.starts_with('-')
}

/// Bytes of a size: "128K", "1M", "131072".
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['b', 'B']);
    let (number, shift) = match digits.char_indices().next_back()? {
        (at, 'k' | 'K') => (&digits[..at], 10),
        (at, 'm' | 'M') => (&digits[..at], 20),
        (at, 'g' | 'G') => (&digits[..at], 30),
        _ => (digits, 0),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn same(one: &str, other: &str) -> bool {
    one == other || bytes(one).is_some_and(|size| Some(size) == bytes(other))
}

impl Zfs {
    fn failed(&self, host: &dyn Reach, cause: Cause, happened: &str, next: &str) -> Failure {
        let tried = format!("change {} of {}", self.property, self.dataset);
        Failure::new(cause, tried).on(host.name()).happened(happened).next(next)
    }

    fn zfs(&self, host: &dyn Reach, words: &[&str]) -> Result<String, Failure> {
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let text = format!("zfs {}", words.join(" "));
        command(host, &format!("run {text}"), &text, b"").map_err(|failure| Failure {
            next: "To change datasets, plimsoll needs ZFS on the host, and root or the right that zfs allow gives."
                .into(),
            ..failure
        })
    }

    /// The value and its source.
    fn get(&self, host: &dyn Reach) -> Result<Original, Failure> {
        let names = self.zfs(host, &["list", "-H", "-o", "name"])?;
        if !names.lines().any(|name| name == self.dataset) {
            let names: Vec<&str> = names.lines().take(32).collect();
            let next =
                format!("Give one of the datasets of {}: {}.", host.name(), names.join(", "));
            return Err(self.failed(
                host,
                Cause::Usage,
                "the host has no dataset with this name",
                &next,
            ));
        }
        let text = self
            .zfs(host, &["get", "-H", "-p", "-o", "value,source", self.property, &self.dataset])?;
        let (value, source) = text.trim_end().split_once('\t').unwrap_or_default();
        // "inherited from tank"
        let source = source.split(' ').next().unwrap_or_default();
        let pairs = [(VALUE, value), (SOURCE, source)];
        let original = Original(pairs.map(|(key, text)| (key.to_owned(), text.to_owned())).into());
        match self.check_original(&original) {
            Ok(()) => Ok(original),
            Err(why) => Err(self.failed(host, Cause::NotPermitted, &why, "Use another setting.")),
        }
    }

    fn put(&self, host: &dyn Reach, value: &str) -> Result<(), Failure> {
        self.zfs(host, &["set", &format!("{}={value}", self.property), &self.dataset]).map(drop)
    }
}

impl Knob for Zfs {
    fn name(&self) -> String {
        format!("{KIND}:{}:{}", self.dataset, self.property)
    }

    fn scope(&self) -> Scope {
        Scope::Kernel
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match is_value(level) {
            true => Ok(()),
            false => Err("it is not a value of a property, such as 128K, lz4 or off".into()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [value, source] = original.values([VALUE, SOURCE]);
        match is_value(value) && SOURCES.contains(&source) && original.0.len() == 2 {
            true => Ok(()),
            false => Err(format!("its value '{value}' from '{source}' cannot be restored")),
        }
    }

    /// ZFS lists no values: only trying tells.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let original = self.get(host)?;
        let level = original.0.get(VALUE).cloned().unwrap_or_default();
        Ok(Found { level, original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        self.put(host, level)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let now = self.get(host)?;
        let now = now.0.get(VALUE).map_or("", String::as_str);
        match same(now, level) {
            true => Ok(()),
            false => Err(kernel_file::not_in_effect(host, &self.name(), now, level)),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [value, source] = original.values([VALUE, SOURCE]);
        match source {
            "local" => self.put(host, value)?,
            "received" => {
                self.zfs(host, &["inherit", "-S", self.property, &self.dataset]).map(drop)?
            }
            _ => self.zfs(host, &["inherit", self.property, &self.dataset]).map(drop)?,
        }
        let now = self.get(host)?;
        match now == *original {
            true => Ok(()),
            false => {
                let value_and_source = |of: &Original| {
                    [VALUE, SOURCE].map(|key| of.0.get(key).cloned().unwrap_or_default())
                };
                let ([now, from], [wanted, by]) =
                    (value_and_source(&now), value_and_source(original));
                let happened =
                    format!("its value is '{now}' ({from}) instead of '{wanted}' ({by})");
                Err(self.failed(
                    host,
                    Cause::Trial,
                    &happened,
                    "Set the property manually with zfs set or zfs inherit.",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_levels_and_originals() {
        for name in [
            "",
            "tank",
            "tank:",
            "tank/:sync",
            "/tank:sync",
            "-x:sync",
            "tank:sharenfs",
            "tank:quota",
            "t;id:sync",
        ] {
            assert!(make(name).is_err(), "{name}");
        }
        let why = make("tank/films:mountpoint").err().unwrap();
        assert!(why.contains("recordsize") && why.contains("sync"), "{why}");
        let knob = make("tank/films:recordsize").unwrap();
        for level in ["", "-r", "a b", "1M;id", "$(id)"] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        assert!(
            same("131072", "128K")
                && same("1048576", "1M")
                && !same("lz4", "zstd")
                && same("on", "on")
        );
        assert!(
            bytes("").is_none() && bytes("K").is_none() && bytes("99999999999999999999").is_none()
        );
        let original = |value: &str, source: &str| {
            Original(
                [(VALUE.to_owned(), value.to_owned()), (SOURCE.to_owned(), source.to_owned())]
                    .into(),
            )
        };
        knob.check_original(&original("131072", "default")).unwrap();
        for (value, source) in [("131072", "temporary"), ("-", "-"), ("a;b", "local"), ("1M", "")] {
            assert!(knob.check_original(&original(value, source)).is_err(), "{value} {source}");
        }
    }
}
