//! Identity of a subject over several studies.

use crate::{Study, SubjectFacts};

/// Names by which a subject is recognised in another study, the most certain first: the name that the user gave, the
/// identity that the server reports, the address as typed.
///
/// None of them is stored apart: all are facts of the study, and follow from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectKey {
    /// Name of `--as`.
    pub name: Option<String>,
    /// Identity that the server reports, with its protocol: an address may lead to another server one day.
    pub reported: Option<String>,
    /// Address as typed, without a slash at its end.
    pub given: String,
}

impl SubjectKey {
    /// Key of a subject of a study, by its number in the plan.
    pub fn new(study: &Study, subject: usize) -> SubjectKey {
        let facts = study.subjects.get(subject);
        let planned = study.plan.subjects.get(subject).map(ToString::to_string);
        let typed = facts.map(|facts| facts.given().to_owned()).filter(|given| !given.is_empty());
        SubjectKey {
            name: study.plan.names.get(subject).cloned(),
            reported: facts
                .and_then(SubjectFacts::storage)
                .and_then(|facts| facts.identity.clone()),
            given: without_slash(&typed.or(planned).unwrap_or_default()).to_owned(),
        }
    }

    /// Keys of all subjects of a study.
    pub fn all(study: &Study) -> Vec<SubjectKey> {
        let count = study.plan.subjects.len().max(study.subjects.len());
        (0..count).map(|subject| SubjectKey::new(study, subject)).collect()
    }

    /// Whether both are keys of one subject. Names of the user decide where both have one; else the reported
    /// identity; else the address. A server that was replaced answers at the same address with another identity: it
    /// is the same subject to the user, and [`SubjectKey::conflicts`] tells them apart.
    pub fn is_same(&self, other: &SubjectKey) -> bool {
        match (&self.name, &other.name) {
            (Some(own), Some(others)) => own == others,
            _ => self.has_same_identity(other) || self.given == other.given,
        }
    }

    /// Whether one name or address stands for two servers.
    pub fn conflicts(&self, other: &SubjectKey) -> bool {
        let reported = self.reported.as_ref().zip(other.reported.as_ref());
        let differs = match reported {
            // Protocols report identities of different kinds.
            Some((own, others)) => kind(own) == kind(others) && own != others,
            None => false,
        };
        self.is_same(other) && differs
    }

    fn has_same_identity(&self, other: &SubjectKey) -> bool {
        self.reported.is_some() && self.reported == other.reported
    }
}

/// "SMB server".
fn kind(identity: &str) -> &str {
    identity.split_once(' ').map_or(identity, |(kind, _)| kind)
}

/// Text of an address without a slash at its end; "/" stays.
pub fn without_slash(given: &str) -> &str {
    match given.trim_end_matches('/') {
        "" => given,
        short if short.ends_with(':') => given,
        short => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: Option<&str>, reported: Option<&str>, given: &str) -> SubjectKey {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        SubjectKey { name: owned(name), reported: owned(reported), given: given.to_owned() }
    }

    #[test]
    fn names_decide_then_identities_then_addresses() {
        let plain = key(None, None, "smb://nas/films");
        assert!(plain.is_same(&plain));
        assert!(!plain.is_same(&key(None, None, "smb://nas/music")));
        // Another address of the same server.
        let one = key(None, Some("SMB 01 films"), "smb://nas/films");
        let other = key(None, Some("SMB 01 films"), "smb://192.0.2.1/films");
        assert!(one.is_same(&other) && !one.conflicts(&other));
        // Another server at the same address.
        let replaced = key(None, Some("SMB 02 films"), "smb://nas/films");
        assert!(one.is_same(&replaced) && one.conflicts(&replaced));
        // What another protocol reports does not contradict.
        assert!(!one.conflicts(&key(None, Some("NFSv3 7 /films"), "smb://nas/films")));
        // Names win.
        let named = key(Some("films"), Some("SMB 01 films"), "smb://nas/films");
        assert!(!named.is_same(&key(Some("backup"), Some("SMB 01 films"), "smb://nas/films")));
        assert!(named.is_same(&key(Some("films"), None, "/mnt/films")));
        assert!(named.is_same(&plain), "studies before the name was given");
    }

    #[test]
    fn slashes_at_the_end_do_not_matter() {
        for (given, short) in [("/mnt/", "/mnt"), ("/", "/"), ("nfs://", "nfs://"), ("a", "a")] {
            assert_eq!(without_slash(given), short);
        }
    }
}
