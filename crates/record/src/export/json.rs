//! JSON in the schema `plimsoll/2`, documented in docs/schema.md, and what is read of older ones.

use super::layout::{ObjectLines, small_objects_in_lines};
use crate::schema::Schema;
use crate::{document, first_stage};
use plimsoll_model::{Cause, Failure, Study, printable_json};
use serde::de::Error;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

/// The study as JSON in the schema `plimsoll/2`, ending with a newline. Quantities that are not
/// finite are left out. Fails when another number is not finite or a path is not UTF-8, which JSON
/// cannot hold.
pub fn to_json(study: &Study) -> Result<String, Failure> {
    let study = document::complete(study);
    let what = format!("study {}", study.id);
    document::write(&study, &what)?;
    let mut bytes = Vec::new();
    study
        .serialize(&mut Serializer::with_formatter(&mut bytes, ObjectLines::default()))
        .map_err(|e| document::refused(&what, e))?;
    let text = String::from_utf8(bytes).map_err(|e| document::refused(&what, e))?;
    Ok(printable_json(&small_objects_in_lines(&text)))
}

/// A study from JSON in the schema `plimsoll/2`, or of the first stage: `plimsoll/1` or
/// `plimsoll-device/1`. Unknown fields are ignored; another major version of the schema, and anything
/// that is not a study, is refused with its line and column.
pub fn from_json(text: &str) -> Result<Study, Failure> {
    const TRIED: &str = "read a study from JSON";
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let failed = |e: serde_json::Error| {
        Failure::new(
            Cause::Usage,
            TRIED,
            format!("line {}, column {}", e.line(), e.column()),
            e,
            "Give a file that plimsoll export --json wrote.",
        )
    };
    let head: Head = serde_json::from_str(text).map_err(failed)?;
    let schema = Schema::named(&head.schema).ok_or_else(|| {
        Failure::new(
            Cause::Usage,
            TRIED,
            format!("schema '{}'", head.schema.escape_debug()),
            format!("this plimsoll reads {}", Schema::names()),
            "Use the plimsoll that wrote it, or a newer one.",
        )
    })?;
    parse(text, schema).map_err(failed)
}

/// A study from JSON in this schema.
pub(crate) fn parse(text: &str, schema: Schema) -> serde_json::Result<Study> {
    match schema {
        Schema::Study => serde_json::from_str(text),
        Schema::FirstStudy => {
            let study: first_stage::Study = serde_json::from_str(text)?;
            study.converted().map_err(serde_json::Error::custom)
        }
        Schema::FirstDevice => serde_json::from_str(text).map(first_stage::Device::converted),
    }
}
