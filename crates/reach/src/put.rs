//! Copying a file to a host, by standard input: no scp and no sftp is needed there.

use super::{Reach, quote};
use crate::printed::last_line;
use plimsoll_model::{Cause, Failure};
use std::time::Duration;

/// Writes a file on the host, whole or not at all: under another name (`.part`) beside it first,
/// counted, then renamed. `mode` is its permissions, as in 0o700.
///
/// # Errors
/// [`Cause::NoSpace`]; [`Cause::NotPermitted`] for a place that cannot be written to or is not
/// there; and what [`Reach::run`] fails with.
pub fn put(
    host: &dyn Reach,
    bytes: &[u8],
    path: &str,
    mode: u32,
    limit: Duration,
) -> Result<(), Failure> {
    let name = quote(&if path.starts_with('/') { path.to_owned() } else { format!("./{path}") });
    let (length, mode) = (bytes.len(), mode & 0o7777);
    // Counted, for where the connection is lost, what came so far looks like the whole.
    let command = format!(
        "LC_ALL=C; export LC_ALL; umask 077; f={name}; p=\"$f.part\"; \
         cat >\"$p\" && [ \"$(wc -c <\"$p\")\" -eq {length} ] && chmod {mode:o} \"$p\" && \
         mv -f \"$p\" \"$f\" || {{ rm -f \"$p\"; exit 1; }}"
    );
    let done = host.run(&command, bytes, limit)?;
    if done.status == Some(0) {
        return Ok(());
    }
    let said =
        last_line(&done.errors).unwrap_or_else(|| "fewer bytes arrived than were sent".to_owned());
    let (cause, next) = why(&said);
    Err(Failure::new(cause, format!("write {path}")).on(host.name()).happened(said).next(next))
}

/// Messages of the system there, without translation.
fn why(said: &str) -> (Cause, &'static str) {
    let one_of = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if one_of(&["No space left", "quota exceeded", "File too large"]) {
        (Cause::NoSpace, "Free space there, or name another directory.")
    } else if one_of(&["nonexistent", "No such file", "not a directory", "Not a directory"]) {
        (Cause::NotPermitted, "Name a directory that exists.")
    } else {
        (Cause::NotPermitted, "Name a directory to which this user may write.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Local, Output};

    /// A connection that is lost half-way, as the other side sees it.
    struct Lossy;

    impl Reach for Lossy {
        fn name(&self) -> &str {
            "lossy"
        }

        fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
            Local.run(command, &input[..input.len() / 2], limit)
        }

        fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
            Local.open(command)
        }
    }

    #[test]
    fn half_a_file_is_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, "before").unwrap();
        let failure =
            put(&Lossy, &[1; 1000], path.to_str().unwrap(), 0o600, Duration::from_secs(60))
                .unwrap_err();
        assert!(failure.happened.contains("fewer bytes arrived"), "{failure}");
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
