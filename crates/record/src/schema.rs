//! The schemas that are read here, by the names that documents give them.

use plimsoll_model::SCHEMA;

/// A schema that is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    /// Studies in the current schema.
    Study,
    /// Studies of the first stage.
    FirstStudy,
    /// Devices of the first stage.
    FirstDevice,
}

/// The schema of the first stage's studies.
pub(crate) const FIRST_SCHEMA: &str = "plimsoll/1";
/// The schema of the first stage's devices.
const FIRST_DEVICE_SCHEMA: &str = "plimsoll-device/1";

impl Schema {
    const ALL: [(Schema, &str); 3] = [
        (Schema::Study, SCHEMA),
        (Schema::FirstStudy, FIRST_SCHEMA),
        (Schema::FirstDevice, FIRST_DEVICE_SCHEMA),
    ];

    /// The schema of this name: `plimsoll/2`, or any `plimsoll/2.x`, whose additions can be ignored.
    pub(crate) fn named(name: &str) -> Option<Schema> {
        let is = |major: &str| {
            name.strip_prefix(major).is_some_and(|minor| minor.is_empty() || minor.starts_with('.'))
        };
        Schema::ALL.into_iter().find(|(_, major)| is(major)).map(|(schema, _)| schema)
    }

    /// All of them, for messages.
    pub(crate) fn names() -> String {
        Schema::ALL.map(|(_, name)| name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_are_different_schemas() {
        for (name, schema) in [
            ("plimsoll/2", Schema::Study),
            ("plimsoll/2.4", Schema::Study),
            ("plimsoll/1", Schema::FirstStudy),
            ("plimsoll/1.7", Schema::FirstStudy),
            ("plimsoll-device/1.1", Schema::FirstDevice),
        ] {
            assert_eq!(Schema::named(name), Some(schema), "{name}");
        }
        for other in ["plimsoll/10", "plimsoll/20", "plimsoll/3", "plimsoll", "fio/1", ""] {
            assert_eq!(Schema::named(other), None, "{other}");
        }
    }
}
