//! Where passwords come from: the environment, a credentials file, the terminal. Never from the
//! command line, which every user of a machine can see; never to the store, to a log or a message.

mod file;
mod prompt;

use crate::signals::Signals;
use plimsoll_load::{Password, Passwords};
use plimsoll_model::{Cause, Failure, SmbTarget, printable};
use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Holds the password, for every target that has a user; empty is as good as not set.
const VARIABLE: &str = plimsoll_process::child::PASSWORD_VARIABLE;

/// Finds passwords: in the environment variable, else in the credentials file (the one given, or
/// the user's own), else by asking at the terminal, once for each host and user.
pub fn passwords(file: Option<&Path>, signals: &Signals) -> Passwords {
    let sources = Sources { file: file.map(Path::to_owned), signals: signals.clone() };
    Passwords::new(move |target| sources.find(target))
}

struct Sources {
    file: Option<PathBuf>,
    signals: Signals,
}

/// What was typed, by whom it is for: so that nobody is asked twice.
static TYPED: Mutex<BTreeMap<String, Password>> = Mutex::new(BTreeMap::new());

impl Sources {
    fn find(&self, target: &SmbTarget) -> Result<Password, Failure> {
        match env::var(VARIABLE) {
            Ok(password) if !password.is_empty() => return Ok(Password::new(password)),
            Ok(_) | Err(VarError::NotPresent) => {}
            Err(VarError::NotUnicode(_)) => {
                let next = "Set it to the password, encoded in UTF-8.";
                return Err(no_password(target, format!("{VARIABLE} is not UTF-8"), next));
            }
        }
        let (file, must_exist) = match &self.file {
            Some(path) => (Some(path.clone()), true),
            None => (usual_file(), false),
        };
        if let Some(path) = &file
            && let Some(found) = file::password(path, target, must_exist)?
        {
            return Ok(found);
        }
        let account = account(target);
        let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(password) = typed.get(&account) {
            return Ok(password.clone());
        }
        let asked = prompt::ask(&printable(&format!("Password of {account}: ")), &self.signals);
        let password = match asked.map_err(|why| interrupted_or(target, why, &self.signals))? {
            Some(password) => password,
            None => {
                let file = file.unwrap_or_else(|| "a credentials file".into());
                let next = format!(
                    "Set {VARIABLE}, or write '[{account}]' and 'password = …' to {} (mode 600), \
                     or run plimsoll at a terminal.",
                    file.display()
                );
                let happened = "no password was found, and there is no terminal for a prompt";
                return Err(no_password(target, happened, &next));
            }
        };
        typed.insert(account, password.clone());
        Ok(password)
    }
}

/// Whom a password is for, as in the section of a credentials file: `[domain;]user@host`.
fn account(target: &SmbTarget) -> String {
    let domain = target.domain.as_ref().map_or(String::new(), |domain| format!("{domain};"));
    let user = target.user.as_deref().unwrap_or_default();
    format!("{domain}{user}@{}", target.host)
}

/// The user's own file: `$XDG_CONFIG_HOME/plimsoll/credentials`, else `~/.config/plimsoll/…` (XDG
/// Base Directory Specification: paths that are not absolute do not count).
fn usual_file() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("plimsoll/credentials"))
}

fn no_password(target: &SmbTarget, happened: impl std::fmt::Display, next: &str) -> Failure {
    let tried = format!("find the password of {}", target.who());
    Failure::new(Cause::Authentication, tried).on(target).happened(happened).next(next)
}

fn interrupted_or(target: &SmbTarget, error: std::io::Error, signals: &Signals) -> Failure {
    let next = format!("Set {VARIABLE}, or write the password to a credentials file.");
    let failure_kind = error.kind();
    let failure = no_password(target, error, &next);
    // What reads the keys may see Ctrl-C before the signal is.
    let typed = (failure_kind == ErrorKind::Interrupted).then_some(Cause::Interrupted);
    match signals.cause().or(typed) {
        Some(cause) => Failure { cause, happened: "interrupted".into(), ..failure },
        None => failure,
    }
}
