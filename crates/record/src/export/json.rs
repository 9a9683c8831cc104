//! JSON in the schema `plimsoll/1`, documented in docs/schema.md.

use super::layout::{ObjectLines, small_objects_in_lines};
use crate::{document, schema};
use plimsoll_model::{Cause, Failure, Study, Trial, printable_json};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

/// The study as JSON in the schema `plimsoll/1`, ending with a newline. Quantities that are not
/// finite are left out. Fails when another number is not finite or a path is not UTF-8, which JSON
/// cannot hold.
pub fn to_json(study: &Study) -> Result<String, Failure> {
    let mut text = String::new();
    let trials = |each: &mut Each<'_>| study.trials.iter().try_for_each(each);
    write(study, &trials, &mut |part| {
        text.push_str(part);
        Ok(())
    })?;
    Ok(text)
}

/// Receiver of each trial.
pub(crate) type Each<'a> = dyn FnMut(&Trial) -> Result<(), Failure> + 'a;
/// Passes all trials of a study in order, on every call.
pub(crate) type Trials<'a> = dyn Fn(&mut Each<'_>) -> Result<(), Failure> + 'a;

/// The same in parts, with one trial in memory at a time; the trials of `head` are ignored. Output
/// starts only after every trial has been checked.
pub(crate) fn write(
    head: &Study,
    trials: &Trials<'_>,
    out: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let what = format!("study {}", head.id);
    let mut measures = head.measures.clone();
    trials(&mut |trial| {
        let trial = document::with_finite_quantities(trial);
        document::write(&trial, &format!("trial {} of {what}", trial.number))?;
        measures = document::measures(&measures, [&trial]);
        Ok(())
    })?;
    let head = Study { measures, ..head.without_trials() };
    document::write(&head, &what)?;
    let around = laid_out(&head, &what)?;
    // Between these two are the trials; no text has a line break of its own in it.
    let place = around.find(NO_TRIALS).map(|at| at + NO_TRIALS.len() - 1);
    let (before, after) = around.split_at(place.unwrap_or(around.len()));
    out(before)?;
    let mut first = true;
    trials(&mut |trial| {
        let alone = Alone { trials: [document::with_finite_quantities(trial)] };
        let text = laid_out(&alone, &what)?;
        let inner = text.strip_prefix(BEFORE_ALONE).and_then(|t| t.strip_suffix(AFTER_ALONE));
        out(if std::mem::take(&mut first) { "" } else { ", " })?;
        out(inner.ok_or_else(|| document::refused(&what, "a trial is not laid out"))?)
    })?;
    out(after)
}

const NO_TRIALS: &str = "\n  \"trials\": []";
const BEFORE_ALONE: &str = "{\n  \"trials\": [";
const AFTER_ALONE: &str = "]\n}\n";

/// A trial in the place that it has in a study.
#[derive(Serialize)]
struct Alone {
    trials: [Trial; 1],
}

/// JSON as people can read it and nothing in it steers a terminal.
fn laid_out(value: &impl Serialize, what: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, ObjectLines::default()))
        .map_err(|e| document::refused(what, e))?;
    let text = String::from_utf8(bytes).map_err(|e| document::refused(what, e))?;
    Ok(printable_json(&small_objects_in_lines(&text)))
}

/// A study from JSON in the schema `plimsoll/1`. Unknown fields are ignored; another major version of the
/// schema, and anything that is not a study, is refused with its line and column.
pub fn from_json(text: &str) -> Result<Study, Failure> {
    const TRIED: &str = "read a study from JSON";
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let failed = |e: serde_json::Error| {
        Failure::new(Cause::Usage, TRIED)
            .on(format!("line {}, column {}", e.line(), e.column()))
            .happened(e)
            .next("Give a file that plimsoll export --json wrote.")
    };
    let head: Head = serde_json::from_str(text).map_err(failed)?;
    schema::check(&head.schema).map_err(|why| {
        let next = "Use the plimsoll that wrote it, or a newer one.";
        Failure::new(Cause::Usage, TRIED).on("the field 'schema'").happened(why).next(next)
    })?;
    Study::from_json(text).map_err(failed)
}
