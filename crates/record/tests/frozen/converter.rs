//! Changes of the format since the exports were frozen.

use serde_json::Value;

/// A frozen export in today's format.
pub fn converted(mut study: Value) -> Value {
    assert_eq!(study["schema"], "plimsoll/2");
    study["schema"] = "plimsoll/1".into();
    study
}
