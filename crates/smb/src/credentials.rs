//! Who the user is.

use std::fmt;
use zeroize::Zeroizing;

/// Who the user is, and how that is proved.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user's name; empty: a guest.
    pub user: String,
    /// The domain or workgroup of the account; mostly empty.
    pub domain: String,
    /// The password.
    pub password: Password,
}

impl Credentials {
    /// Nobody in particular: what shares open to guests take.
    pub fn guest() -> Self {
        Credentials {
            user: String::new(),
            domain: String::new(),
            password: Password::new(String::new()),
        }
    }
}

/// A password: never shown, and wiped from memory when it is dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Takes a password over.
    pub fn new(password: String) -> Self {
        Password(Zeroizing::new(password))
    }

    /// The password itself, to be sent where it is needed and kept nowhere.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Password::new(password.to_owned())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let credentials =
            Credentials { user: "me".into(), domain: String::new(), password: "secret".into() };
        let shown = format!("{credentials:?} {credentials:#?}");
        assert!(shown.contains("***") && !shown.contains("secret"));
    }
}
