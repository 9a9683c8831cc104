//! Frozen exports of `crates/record/tests/frozen` as studies of today.

#[path = "../../crates/record/tests/frozen/converter.rs"]
mod converter;

use plimsoll_model::Study;
use std::path::Path;

/// Frozen studies that the program measured or imported, each with an id of its own.
pub const MEASURED: [&str; 16] = [
    "compare",
    "single",
    "repeats",
    "design",
    "on",
    "watched",
    "interrupted",
    "killed",
    "failed",
    "device-local",
    "device-ssh",
    "import-json",
    "import-json-2",
    "import-text",
    "import-terse",
    "import-text-runs",
];

/// The frozen study of this name.
pub fn study(name: &str) -> Study {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/frozen");
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let export = converter::converted(serde_json::from_str(&text).expect("JSON"));
    plimsoll_record::from_json(&export.to_string()).expect("a study of today")
}
