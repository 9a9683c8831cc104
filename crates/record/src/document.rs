//! JSON documents: what is written can be read again.

use plimsoll_model::{Cause, Failure, Study, Trial};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// `value` as one line of JSON that reads back. JSON has no infinities and no NaN: it would hold
/// `null` in their place and could not be read again, so such a value is refused.
pub(crate) fn write<T: Serialize + DeserializeOwned>(
    value: &T,
    what: &str,
) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|e| refused(what, e))?;
    if text.contains("null") {
        serde_json::from_str::<T>(&text).map_err(|e| refused(what, e))?;
    }
    Ok(text)
}

pub(crate) fn refused(what: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(
        Cause::Trial,
        "write a record as JSON",
        what,
        why,
        "A number in it is not finite or a path is not UTF-8; nothing was written.",
    )
}

/// The trial without quantities that are not finite: a rate over no time is no figure, and absent
/// is how the schema says so.
pub(crate) fn with_finite_quantities(trial: &Trial) -> Trial {
    let mut trial = trial.clone();
    trial.result.quantities.retain(|_, value| value.is_finite());
    trial
}

/// The same for every trial of a study.
pub(crate) fn study_with_finite_quantities(study: &Study) -> Study {
    let trials = study.trials.iter().map(with_finite_quantities).collect();
    Study { trials, ..study.clone() }
}
