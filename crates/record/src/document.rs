//! JSON documents, which can be read back.

use plimsoll_model::{Cause, Failure, Measure, MeasureInfo, PartResult, Trial};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

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
    Failure::new(Cause::Trial, "write a record as JSON")
        .on(what)
        .happened(why)
        .next("The record contains a number that is not finite, or a path that is not UTF-8.")
}

/// The trial without quantities that are not finite: a rate over no time is no figure, and absent
/// is how the schema says so.
pub(crate) fn with_finite_quantities(trial: &Trial) -> Trial {
    let mut trial = trial.clone();
    let points = trial.points.iter_mut().flat_map(|point| &mut point.parts);
    for part in trial.result.parts.iter_mut().chain(points) {
        part.quantities.retain(|_, value| value.is_finite());
    }
    trial
}

/// Properties of the less common measures of these trials, and the properties that are already
/// stored: the version that stored them knows measures that this version does not know.
pub(crate) fn measures<'a>(
    noted: &[MeasureInfo],
    trials: impl IntoIterator<Item = &'a Trial>,
) -> Vec<MeasureInfo> {
    let noted = noted.iter().map(|info| (info.measure, info.clone()));
    let mut all: BTreeMap<Measure, MeasureInfo> = noted.collect();
    for part in trials.into_iter().flat_map(results) {
        for measure in part.quantities.keys().map(|metric| metric.measure) {
            if let Some(info) = measure.info()
                && (all.contains_key(&measure) || !measure.is_common())
            {
                all.insert(measure, info);
            }
        }
    }
    all.into_values().collect()
}

/// Results of the parts of a trial and of its points.
pub(crate) fn results(trial: &Trial) -> impl Iterator<Item = &PartResult> {
    let points = trial.points.iter().flat_map(|point| &point.parts);
    trial.result.parts.iter().chain(points)
}
