//! Names of open sets: kinds of operations, measures, units. Known ones are constants; others come
//! from records of other versions and are kept once for the life of the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Longest name, in bytes.
const LONGEST: usize = 96;
/// Most names that are not known beforehand; a record with more of them is refused.
const MOST: usize = 4096;

static OTHERS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The one copy of a name that is made of `a-z`, `0-9` and `_`.
///
/// # Errors
/// Why it cannot be a name, or is one too many.
pub(crate) fn intern(text: &str) -> Result<&'static str, String> {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    if text.is_empty() || text.len() > LONGEST || !text.bytes().all(plain) {
        let text: String = text.chars().take(LONGEST).collect();
        return Err(format!("'{}' is not the name of a figure", text.escape_debug()));
    }
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = others.get(text) {
        return Ok(known);
    }
    if others.len() >= MOST {
        return Err(format!("more than {MOST} names of figures that this version does not know"));
    }
    let kept: &'static str = Box::leak(text.into());
    others.insert(kept);
    Ok(kept)
}

/// A `Copy` type over a name of an open set. The type says what is known beforehand: `rank` is the
/// place in the order of tables (others follow in the order of the alphabet), `named` finds a name.
macro_rules! open_set {
    ($type:ident) => {
        impl $type {
            /// Its name: lower-case letters, digits and `_`.
            pub const fn name(self) -> &'static str {
                self.0
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.rank().cmp(&other.rank()).then_with(|| self.0.cmp(other.0))
            }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                $type::named(text)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use open_set;

#[cfg(test)]
mod tests {
    use super::intern;

    #[test]
    fn names_are_plain_and_kept_once() {
        let first = intern("some_new_figure_2").unwrap();
        assert!(std::ptr::eq(first, intern("some_new_figure_2").unwrap()));
        for bad in ["", "Up", "a b", "a\u{1b}[2J", &"x".repeat(97)] {
            assert!(intern(bad).is_err(), "{bad:?}");
        }
    }
}
