//! Files of a host, as its shell printed them.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What stands before a file's name.
const HEAD: &str = "@@plimsoll ";
/// Most files that are taken.
const MOST_FILES: usize = 10_000;

/// Files by their names.
#[derive(Debug, Default)]
pub(crate) struct Files(BTreeMap<String, String>);

impl Files {
    /// Takes the output apart. What stands before the first name is passed over: a login shell may
    /// have said something.
    pub(crate) fn parse(output: &str) -> Files {
        let mut files = BTreeMap::new();
        let mut current: Option<(String, String)> = None;
        for line in output.split('\n') {
            match line.strip_prefix(HEAD) {
                Some(name) => {
                    files.extend(current.take());
                    if files.len() >= MOST_FILES {
                        break;
                    }
                    current = Some((name.to_owned(), String::new()));
                }
                None => {
                    if let Some((_, text)) = &mut current {
                        text.push_str(line);
                        text.push('\n');
                    }
                }
            }
        }
        files.extend(current);
        Files(files)
    }

    /// The text of a file without the space around it; `None` where there is none.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name)?.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then_some(text)
    }

    /// A file's whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The lines of a file that hold something and are no comment.
    pub(crate) fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.text(name).into_iter().flat_map(str::lines).map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    }

    /// What is in a directory, of what was printed: `eth0` for `/sys/class/net/eth0/mtu`.
    pub(super) fn entries(&self, directory: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for path in self.0.range(directory.to_owned()..).map(|(path, _)| path) {
            let Some(inside) = path.strip_prefix(directory) else { break };
            let name = inside.split('/').next().unwrap_or_default();
            if !name.is_empty() && names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The names of files that begin so, without that beginning.
    pub(crate) fn beginning(&self, start: &str) -> impl Iterator<Item = (&str, &str)> {
        let from = self.0.range(start.to_owned()..);
        from.map_while(move |(name, text)| Some((name.strip_prefix(start)?, text.as_str())))
    }
}

/// What a key of a section is read from.
pub(super) enum Fact {
    /// The text of a file.
    Text(&'static str),
    /// The number of a file, times this.
    Times(&'static str, u64),
    /// Whether a file holds a 1.
    Truth(&'static str),
    /// The last part of where a link leads.
    Link(&'static str),
}

/// The facts of one directory as JSON.
pub(super) fn facts(files: &Files, directory: &str, keys: &[(&str, Fact)]) -> Map<String, Value> {
    let mut facts = Map::new();
    for (key, fact) in keys {
        let path = |name: &str| format!("{directory}/{name}");
        let value = match fact {
            Fact::Text(name) => files.text(&path(name)).map(Value::from),
            Fact::Times(name, unit) => {
                files.number(&path(name)).and_then(|n| n.checked_mul(*unit)).map(Value::from)
            }
            Fact::Truth(name) => files.text(&path(name)).map(|text| Value::from(text == "1")),
            Fact::Link(name) => {
                files.text(&path(name)).and_then(|to| to.rsplit('/').next()).map(Value::from)
            }
        };
        facts.extend(value.map(|value| ((*key).to_owned(), value)));
    }
    facts
}

/// The same for every entry of a directory that `keep` holds for, with its `name`.
pub(super) fn list(
    files: &Files,
    directory: &str,
    keep: impl Fn(&str) -> bool,
    keys: &[(&str, Fact)],
) -> Vec<Value> {
    let entries = files.entries(&format!("{directory}/"));
    let entries = entries.into_iter().filter(|name| keep(name)).map(|name| {
        let mut entry = facts(files, &format!("{directory}/{name}"), keys);
        entry.insert("name".to_owned(), Value::from(name));
        Value::Object(entry)
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_taken_apart() {
        let files = Files::parse(
            "Welcome\n@@plimsoll /sys/class/net/eth0/mtu\n1500\n@@plimsoll /sys/class/net/lo/mtu\n\
             65536\n\n@@plimsoll /etc/exports\n# none\n\n /a *(rw)\n@@plimsoll empty\n",
        );
        assert_eq!(files.entries("/sys/class/net/"), ["eth0", "lo"]);
        assert_eq!(files.number("/sys/class/net/lo/mtu"), Some(65536));
        assert_eq!(files.lines("/etc/exports").collect::<Vec<_>>(), ["/a *(rw)"]);
        assert_eq!((files.text("empty"), files.text("missing")), (None, None));
    }
}
