//! The study that a reference names.

use crate::failures;
use plimsoll_model::{Failure, StudyId};
use std::path::Path;

/// Latest studies that a message names.
pub(crate) const RECENT: usize = 5;
/// Studies with the same beginning that a message names.
pub(crate) const ALIKE: usize = 6;

/// The study of the store at `path` that a reference names. `recent` are the latest studies, the latest first; `found`
/// has the study with exactly this id, or else the studies whose ids begin so.
pub(crate) fn study(
    path: &Path,
    reference: &str,
    recent: Vec<StudyId>,
    mut found: Vec<StudyId>,
) -> Result<StudyId, Failure> {
    if reference == "latest" {
        let empty = || failures::empty_store(path, reference);
        return recent.into_iter().next().ok_or_else(empty);
    }
    let wrong = |why: String| failures::no_such_study(path, reference, why);
    let listed =
        |ids: &[StudyId]| ids.iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ");
    match found.len() {
        1 => Ok(found.remove(0)),
        0 if recent.is_empty() => Err(failures::empty_store(path, reference)),
        0 => Err(wrong(format!("no study has this id; the latest are: {}", listed(&recent)))),
        _ => Err(wrong(format!("several studies start with it: {}", listed(&found)))),
    }
}
