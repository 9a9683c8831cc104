//! JSON in the schema `plimsoll/1`, documented in docs/schema.md.

use super::layout::ObjectLines;
use crate::document;
use model::{Cause, Failure, SCHEMA, Study};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

const TRIED: &str = "read a study from JSON";

/// The study as JSON in the schema `plimsoll/1`, ending with a newline. Quantities that are not
/// finite are left out. Fails when another number is not finite or a path is not UTF-8, which JSON
/// cannot hold.
pub fn to_json(study: &Study) -> Result<String, Failure> {
    let study = document::study_with_finite_quantities(study);
    document::write(&study, &format!("study {}", study.id))?;
    let mut bytes = Vec::new();
    study
        .serialize(&mut Serializer::with_formatter(&mut bytes, ObjectLines::default()))
        .map_err(|e| document::refused("study", e))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|e| document::refused("study", e))
}

/// A study from JSON in the schema `plimsoll/1`. Unknown fields are ignored; another major version
/// of the schema, and anything that is not a study, is refused with its line and column.
pub fn from_json(text: &str) -> Result<Study, Failure> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let told = |e: serde_json::Error| {
        Failure::new(
            Cause::Usage,
            TRIED,
            format!("line {}, column {}", e.line(), e.column()),
            e,
            "Give a file that plimsoll export --json wrote.",
        )
    };
    let head: Head = serde_json::from_str(text).map_err(told)?;
    if !same_major(&head.schema) {
        return Err(Failure::new(
            Cause::Usage,
            TRIED,
            format!("schema '{}'", head.schema.escape_debug()),
            format!("this plimsoll reads {SCHEMA}"),
            "Use the plimsoll that wrote it, or a newer one.",
        ));
    }
    serde_json::from_str(text).map_err(told)
}

/// `plimsoll/1` and any `plimsoll/1.x`, whose additions can be ignored.
pub(crate) fn same_major(schema: &str) -> bool {
    schema.strip_prefix(SCHEMA).is_some_and(|minor| minor.is_empty() || minor.starts_with('.'))
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
