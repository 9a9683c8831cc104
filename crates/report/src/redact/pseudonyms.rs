//! Made-up names, the same for the same.

use std::collections::HashMap;
use std::net::IpAddr;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Address,
    Domain,
    Host,
    Name,
    Path,
    Serial,
    Share,
    User,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Address => "address",
            Kind::Domain => "domain",
            Kind::Host => "host",
            Kind::Name => "name",
            Kind::Path => "path",
            Kind::Serial => "serial",
            Kind::Share => "share",
            Kind::User => "user",
        }
    }
}

const KINDS: [Kind; 8] = [
    Kind::Address,
    Kind::Domain,
    Kind::Host,
    Kind::Name,
    Kind::Path,
    Kind::Serial,
    Kind::Share,
    Kind::User,
];

/// The made-up names so far.
#[derive(Default)]
pub(super) struct Pseudonyms {
    made: HashMap<(Kind, String), usize>,
    counts: HashMap<Kind, usize>,
    /// Words to look for in any text, with what replaces them, the longest first.
    known: Vec<(String, String)>,
}

impl Pseudonyms {
    /// The made-up name of `name`; a made-up name is its own, and so are the addresses that are
    /// the same on all machines.
    pub(super) fn pseudonym(&mut self, kind: Kind, name: &str) -> String {
        if is_made_up(name) || (matches!(kind, Kind::Address | Kind::Host) && is_loopback(name)) {
            return name.to_owned();
        }
        let count = self.counts.entry(kind).or_default();
        let number = *self.made.entry((kind, name.to_owned())).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{}-{number}", kind.word())
    }

    /// From now on this word is looked for in every text. Where it has no letter or digit, it names
    /// nothing.
    pub(super) fn learn(&mut self, kind: Kind, word: &str) {
        let word = word.trim_end_matches('/');
        if !word.contains(char::is_alphanumeric) || self.known.iter().any(|(k, _)| k == word) {
            return;
        }
        let made = match kind {
            Kind::Path => self.path(word),
            Kind::Host if word.parse::<IpAddr>().is_ok() => self.pseudonym(Kind::Address, word),
            kind => self.pseudonym(kind, word),
        };
        self.learn_as(word, made);
    }

    /// From now on this word is looked for in every text and replaced by `made`.
    pub(super) fn learn_as(&mut self, word: &str, made: String) {
        self.known.push((word.to_owned(), made));
        self.known.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    }

    /// A path with every part of it replaced.
    pub(super) fn path(&mut self, path: &str) -> String {
        let parts = path.split('/').map(|part| match part {
            "" | "." | ".." | "~" => part.to_owned(),
            // A run's directory has a made-up name already.
            ours if ours.trim_start_matches('.').starts_with("plimsoll-")
                && !ours.contains(' ') =>
            {
                ours.to_owned()
            }
            part => self.pseudonym(Kind::Path, part),
        });
        let parts: Vec<String> = parts.collect();
        parts.join("/")
    }

    /// A field that is a name as a whole.
    pub(super) fn replace_all(&mut self, kind: Kind, name: &str) -> String {
        let known = self.known.iter().find(|(word, _)| word == name);
        match known.map(|(_, made)| made.clone()) {
            Some(made) => made,
            None if name.is_empty() => String::new(),
            None => self.pseudonym(kind, name),
        }
    }

    /// A text with every known word in it replaced, where it stands for itself and not inside a word.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(c) = rest.chars().next() {
            // A path begins where it begins; a name does not begin inside a word.
            let inside = before.is_some_and(char::is_alphanumeric) && c.is_alphanumeric();
            let known = self.known.iter().find(|(word, _)| !inside && stands(word, rest));
            if let Some((word, made)) = known {
                out.push_str(made);
                before = word.chars().next_back();
                rest = &rest[word.len()..];
                continue;
            }
            out.push(c);
            before = Some(c);
            rest = &rest[c.len_utf8()..];
        }
        out
    }
}

/// Whether the text begins with the word and the word ends there.
fn stands(word: &str, text: &str) -> bool {
    text.strip_prefix(word).is_some_and(|after| {
        let ends = !word.ends_with(char::is_alphanumeric);
        ends || !after.starts_with(char::is_alphanumeric)
    })
}

/// Whether every machine calls itself so.
fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether this is a name that was made up here: "host-1".
pub(super) fn is_made_up(name: &str) -> bool {
    name.split_once('-').is_some_and(|(word, number)| {
        KINDS.iter().any(|kind| kind.word() == word)
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}
