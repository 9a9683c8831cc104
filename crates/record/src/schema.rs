//! The schema of documents, by the name that they give.

use plimsoll_model::SCHEMA;

/// Checks that a document of this schema can be read: `plimsoll/1`, or any `plimsoll/1.x`, whose additions can
/// be ignored.
///
/// # Errors
/// The reason why not.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let major = |name: &str| Some(name.strip_prefix("plimsoll/")?.split('.').next()?.to_owned());
    let number = |name: &str| major(name)?.parse::<u32>().ok();
    let shown = name.escape_debug();
    if major(name).is_some() && major(name) == major(SCHEMA) {
        Ok(())
    } else if number(name) > number(SCHEMA) {
        Err(format!(
            "schema '{shown}' was made by a newer version, or by a development version before the first release; this \
             plimsoll reads {SCHEMA}"
        ))
    } else {
        Err(format!("schema '{shown}' is not known; this plimsoll reads {SCHEMA}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_major_version_is_refused() {
        for name in ["plimsoll/1", "plimsoll/1.7"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["plimsoll/2", "plimsoll/10", "plimsoll/2.4"] {
            assert!(check(name).unwrap_err().contains("newer version"), "{name}");
        }
        for name in ["plimsoll/0", "plimsoll/01", "plimsoll", "plimsoll-device/1", "fio/1", ""] {
            assert!(check(name).unwrap_err().contains("is not known"), "{name}");
        }
    }
}
