//! JSON in the schema `plimsoll/1`, documented in docs/schema.md.

use super::layout::ObjectLines;
use crate::document;
use plimsoll_model::{Cause, Failure, SCHEMA, Study, printable_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

/// The study as JSON in the schema `plimsoll/1`, ending with a newline. Quantities that are not
/// finite are left out. Fails when another number is not finite or a path is not UTF-8, which JSON
/// cannot hold.
pub fn to_json(study: &Study) -> Result<String, Failure> {
    let study = document::study_with_finite_quantities(study);
    write(&study, &format!("study {}", study.id))
}

/// A study from JSON in the schema `plimsoll/1`. Unknown fields are ignored; another major version
/// of the schema, and anything that is not a study, is refused with its line and column.
pub fn from_json(text: &str) -> Result<Study, Failure> {
    read(text, "read a study from JSON", SCHEMA)
}

/// A record as JSON, ending with a newline; one that could not be read again is refused.
pub(super) fn write<T: Serialize + DeserializeOwned>(
    record: &T,
    what: &str,
) -> Result<String, Failure> {
    document::write(record, what)?;
    let mut bytes = Vec::new();
    record
        .serialize(&mut Serializer::with_formatter(&mut bytes, ObjectLines::default()))
        .map_err(|e| document::refused(what, e))?;
    bytes.push(b'\n');
    let text = String::from_utf8(bytes).map_err(|e| document::refused(what, e))?;
    Ok(printable_json(&text))
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// A record from JSON that names this schema and major version.
pub(super) fn read<T: DeserializeOwned>(
    text: &str,
    tried: &str,
    schema: &str,
) -> Result<T, Failure> {
    let told = |e: serde_json::Error| {
        Failure::new(
            Cause::Usage,
            tried,
            format!("line {}, column {}", e.line(), e.column()),
            e,
            "Give a file that plimsoll export --json wrote.",
        )
    };
    let head: Head = serde_json::from_str(text).map_err(told)?;
    if !is_version_of(&head.schema, schema) {
        return Err(Failure::new(
            Cause::Usage,
            tried,
            format!("schema '{}'", head.schema.escape_debug()),
            format!("this plimsoll reads {schema}"),
            "Use the plimsoll that wrote it, or a newer one.",
        ));
    }
    serde_json::from_str(text).map_err(told)
}

/// Whether JSON names this schema.
pub(super) fn is_major(text: &str, schema: &str) -> bool {
    serde_json::from_str::<Head>(text).is_ok_and(|head| is_version_of(&head.schema, schema))
}

/// `plimsoll/1` and any `plimsoll/1.x`, whose additions can be ignored.
pub(crate) fn same_major(schema: &str) -> bool {
    is_version_of(schema, SCHEMA)
}

fn is_version_of(schema: &str, major: &str) -> bool {
    schema.strip_prefix(major).is_some_and(|minor| minor.is_empty() || minor.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_are_told_apart() {
        assert!(same_major("plimsoll/1") && same_major("plimsoll/1.4"));
        for other in ["plimsoll/10", "plimsoll/2", "plimsoll", "fio/1", ""] {
            assert!(!same_major(other), "{other}");
        }
    }
}
