//! One subject in many studies.

use plimsoll_model::{Study, SubjectKey};

/// Subject of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index of the study.
    pub study: usize,
    /// Number of the subject in the plan.
    pub subject: u16,
}

/// Places of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// Its keys, each once, in the order of the studies.
    pub keys: Vec<SubjectKey>,
    /// Its places, one for each study at most: a subject may be given twice, as a check of the noise.
    pub places: Vec<Place>,
}

impl Recognised {
    /// Pairs of keys that are recognised as one subject though servers, or addresses of one name, differ.
    pub fn conflicts(&self) -> Vec<(&SubjectKey, &SubjectKey)> {
        let mut found = Vec::new();
        for (number, one) in self.keys.iter().enumerate() {
            for other in &self.keys[number + 1..] {
                let is_one_name = one.name.is_some() && one.name == other.name;
                let is_elsewhere = one.given != other.given
                    && (one.reported.is_none() || one.reported != other.reported);
                if one.conflicts(other) || is_one_name && is_elsewhere {
                    found.push((one, other));
                }
            }
        }
        found
    }
}

/// The subject whose keys are wanted, wherever it is recognised: also under another address, if the server reports
/// the same identity, and in studies before it had its name.
pub fn recognise(studies: &[Study], is_wanted: &dyn Fn(&SubjectKey) -> bool) -> Recognised {
    let mut keys: Vec<(SubjectKey, Vec<Place>)> = Vec::new();
    for (study, whole) in studies.iter().enumerate() {
        for (subject, key) in (0..).zip(SubjectKey::all(whole)) {
            let place = Place { study, subject };
            match keys.iter_mut().find(|(known, _)| *known == key) {
                Some((_, places)) => places.push(place),
                None => keys.push((key, vec![place])),
            }
        }
    }
    let mut is_member: Vec<bool> = keys.iter().map(|(key, _)| is_wanted(key)).collect();
    while let Some(more) = another(&keys, &is_member) {
        is_member[more] = true;
    }
    let members = keys.into_iter().zip(is_member).filter(|(_, is_member)| *is_member);
    let mut found = Recognised::default();
    for ((key, places), _) in members {
        found.keys.push(key);
        found.places.extend(places);
    }
    found.places.sort_unstable();
    found.places.dedup_by_key(|place| place.study);
    found
}

/// A key that is the same as a member's, and has no other name than the members have.
fn another(keys: &[(SubjectKey, Vec<Place>)], is_member: &[bool]) -> Option<usize> {
    let members = || keys.iter().zip(is_member).filter(|(_, is)| **is).map(|((key, _), _)| key);
    let has_name = members().any(|key| key.name.is_some());
    (0..keys.len()).find(|number| {
        let key = &keys[*number].0;
        let is_named_otherwise =
            has_name && key.name.is_some() && members().all(|member| member.name != key.name);
        !is_member[*number] && !is_named_otherwise && members().any(|member| member.is_same(key))
    })
}
