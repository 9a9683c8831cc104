//! Where passwords come from: asked of whoever opens a share, at the moment they are needed.

use plimsoll_model::{Cause, Failure, SmbTarget};
use plimsoll_smb::Password;
use std::fmt;
use std::sync::Arc;

/// Finds the password of a target's user. Clones find the same ones. Shows nothing of them.
#[derive(Clone)]
pub struct Passwords(Arc<Find>);

type Find = dyn Fn(&SmbTarget) -> Result<Password, Failure> + Send + Sync;

impl Passwords {
    /// From a function, which is asked once for each share that is opened and has a user. A
    /// failure of it is the failure to open the share.
    pub fn new(
        find: impl Fn(&SmbTarget) -> Result<Password, Failure> + Send + Sync + 'static,
    ) -> Self {
        Passwords(Arc::new(find))
    }

    /// The password of a target's user.
    pub fn find(&self, target: &SmbTarget) -> Result<Password, Failure> {
        (self.0)(target)
    }
}

impl Default for Passwords {
    /// None at all: shares can only be opened as a guest.
    fn default() -> Self {
        Passwords::new(|target| {
            let next = "Omit the user to log in as a guest.";
            Err(Failure::new(
                Cause::Authentication,
                format!("find the password of {}", target.who()),
            )
            .on(target)
            .happened("no source of passwords is configured")
            .next(next))
        })
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passwords(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_password() {
        let password = Password::from("hunter2");
        let passwords = Passwords::new(move |_| Ok(password.clone()));
        let target = SmbTarget { user: Some("me".into()), ..SmbTarget::default() };
        let found = passwords.find(&target).unwrap();
        let options = crate::OpenOptions { passwords, ..crate::OpenOptions::default() };
        let shown = format!("{options:?} {options:#?} {found:?}");
        assert!(shown.contains("***") && !shown.contains("hunter2"), "{shown}");
        let failure = Passwords::default().find(&target).unwrap_err();
        assert_eq!(failure.cause, Cause::Authentication);
    }
}
