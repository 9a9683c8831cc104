//! The credentials file: passwords by host and user.
//!
//! ```text
//! # comments and empty lines do not count
//! [me@nas]
//! password = what I type there
//!
//! [HOME;me@192.0.2.7]
//! password = " with spaces at its ends "
//! ```
//!
//! A section is named like the beginning of a target: `[domain;]user@host`, as the target says it,
//! in any case of letters for domain and host. A password goes to the end of its line, without the spaces
//! around it; double quotes around it are taken off.

use plimsoll_load::Password;
use plimsoll_model::{Cause, Failure, SmbTarget};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest file that is read, in bytes.
const LIMIT: u64 = 1 << 20;

/// The password of a target's user, if the file has it. A file that others can read is refused,
/// and so is one that is missing where it must exist.
pub fn password(
    path: &Path,
    target: &SmbTarget,
    must_exist: bool,
) -> Result<Option<Password>, Failure> {
    let failure = |cause, happened: String, next: &str| {
        Failure::new(cause, "read the credentials file")
            .on(path.display())
            .happened(happened)
            .next(next)
    };
    let mut file = match plimsoll_record::open_regular(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(None),
        Err(e) => {
            let next = "Name a regular file that you can read.";
            return Err(failure(Cause::Usage, e.to_string(), next));
        }
    };
    // Of the open file: nobody can put another in its place meanwhile.
    let status = file
        .metadata()
        .map_err(|e| failure(Cause::Authentication, e.to_string(), "Check the file."))?;
    let user = nix::unistd::geteuid().as_raw();
    if status.uid() != user {
        let happened = format!("it belongs to user {}, not to user {user}", status.uid());
        let next = "Use a file that belongs to you: its owner decides which password is sent.";
        return Err(failure(Cause::Authentication, happened, next));
    }
    let mode = status.mode() & 0o777;
    if mode & 0o077 != 0 {
        let happened = format!("other users can read or change it (mode {mode:03o})");
        let next = format!("Run 'chmod 600 {}', and change the passwords in it.", path.display());
        return Err(failure(Cause::Authentication, happened, &next));
    }
    if let Some((directory, why)) = unsafe_directory(path, user) {
        let happened = format!("other users can replace it: {directory} {why}");
        let next = format!(
            "Run 'chmod go-w {directory}', or move the file to a directory that only you can write to."
        );
        return Err(failure(Cause::Authentication, happened, &next));
    }
    let mut text = zeroize::Zeroizing::new(String::new());
    file.by_ref()
        .take(LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(|e| failure(Cause::Authentication, e.to_string(), "Save it as UTF-8."))?;
    if text.len() as u64 > LIMIT {
        let next = "Name a credentials file.";
        return Err(failure(Cause::Usage, format!("it is longer than {LIMIT} bytes"), next));
    }
    find(&text, target).map_err(|(line, expected)| {
        let happened = format!("line {line} is invalid: {expected}");
        let next = "Write a line '[user@host]' and below it 'password = …'; see 'plimsoll check \
                    --help'.";
        failure(Cause::Usage, happened, next)
    })
}

/// A directory above the file that somebody else than its reader and root may change, as ssh looks
/// for them (StrictModes): of the path as it is written and as it is without links. In a sticky
/// directory nobody moves the files of others.
fn unsafe_directory(path: &Path, user: u32) -> Option<(String, String)> {
    let written = std::path::absolute(path).ok();
    let resolved = path.canonicalize().ok();
    let paths = [written, resolved].into_iter().flatten().collect::<Vec<_>>();
    paths.iter().flat_map(|path| path.ancestors().skip(1)).find_map(|directory| {
        let unsafe_place = |why: String| Some((directory.display().to_string(), why));
        let status = match directory.metadata() {
            Ok(status) => status,
            Err(error) => return unsafe_place(format!("cannot be checked: {error}")),
        };
        let mode = status.mode() & 0o7777;
        if ![0, user].contains(&status.uid()) {
            return unsafe_place(format!("belongs to user {}", status.uid()));
        }
        let open = mode & 0o022 != 0 && mode & 0o1000 == 0;
        if open {
            unsafe_place(format!("other users can write to it (mode {mode:03o})"))
        } else {
            None
        }
    })
}

/// The password of a target's user in the text of a credentials file. What is wrong is reported by its
/// line and never shown: it may hold a password.
fn find(text: &str, target: &SmbTarget) -> Result<Option<Password>, (usize, &'static str)> {
    let mut section: Option<bool> = None;
    let mut found = None;
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or((number, "a '[' without ']'"))?;
            let wanted = names(name, target).ok_or((number, "expected [user@host]"))?;
            section = Some(wanted);
            continue;
        }
        let (key, value) = line.split_once('=').ok_or((number, "expected 'password = …'"))?;
        if key.trim_end() != "password" {
            return Err((number, "the only key is 'password'"));
        }
        match section {
            None => return Err((number, "a password before the first [user@host]")),
            Some(false) => {}
            Some(true) if found.is_some() => {
                return Err((number, "a second password for this user"));
            }
            Some(true) => found = Some(Password::new(unquoted(value.trim_start()).to_owned())),
        }
    }
    Ok(found)
}

/// Whether a section's name means the target's user; `None` if it is no such name.
fn names(section: &str, target: &SmbTarget) -> Option<bool> {
    let (who, host) = section.trim().rsplit_once('@')?;
    let (domain, user) = match who.split_once(';') {
        Some((domain, user)) => (domain, user),
        None => ("", who),
    };
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    if user.is_empty() || host.is_empty() {
        return None;
    }
    let domain_is = target.domain.as_deref().unwrap_or_default().eq_ignore_ascii_case(domain);
    let host_is = target.host.eq_ignore_ascii_case(host);
    Some(domain_is && host_is && target.user.as_deref() == Some(user))
}

fn unquoted(value: &str) -> &str {
    match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(inside) => inside,
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn target(text: &str) -> SmbTarget {
        match text.parse() {
            Ok(plimsoll_model::Target::Smb(target)) => target,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Passwords show nothing of themselves, so they are distinguished by what finds them.
    fn found(text: &str, who: &str) -> bool {
        find(text, &target(who)).unwrap().is_some()
    }

    #[test]
    fn sections_are_found_by_host_and_user() {
        let text = "# mine\n\n[me@nas]\npassword = a = b \n[HOME;me@NAS]\npassword=\"  \"\n\
                    [you@[::1]]\npassword =\n";
        for who in
            ["smb://me@nas/x", "smb://me@NAS:4445/y", "smb://home;me@nas/x", "smb://you@[::1]/x"]
        {
            assert!(found(text, who), "{who}");
        }
        for who in ["smb://you@nas/x", "smb://Me@nas/x", "smb://me@nas2/x", "smb://WORK;me@nas/x"] {
            assert!(!found(text, who), "{who}");
        }
    }

    #[test]
    fn passwords_go_to_the_end_of_their_line() {
        for (value, password) in
            [("a = b", "a = b"), ("\" a \"", " a "), ("\"", "\""), ("\"\"", ""), ("a#b;c", "a#b;c")]
        {
            assert_eq!(unquoted(value), password);
        }
    }

    #[test]
    fn bad_lines_are_named_and_not_shown() {
        for (text, line) in [
            ("[me@nas]\nhunter2", 2),
            ("password = hunter2", 1),
            ("[me@nas\npassword = hunter2", 1),
            ("\n[nas]\n", 2),
            ("[me@nas]\npassword = hunter2\nuser = x", 3),
            ("[me@nas]\npassword = hunter2\n[me@nas]\npassword = hunter3", 4),
        ] {
            let (at, _) = find(text, &target("smb://me@nas/x")).unwrap_err();
            assert_eq!(at, line, "{text}");
        }
    }

    /// Who may change a directory above it decides which file it is.
    #[test]
    fn a_file_that_others_can_replace_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let path = inner.join("credentials");
        std::fs::write(&path, "[me@nas]\npassword = hunter2\n").unwrap();
        let set = |at: &Path, mode| {
            std::fs::set_permissions(at, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&path, 0o600);
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        let me = target("smb://me@nas/x");
        for at in [inner.clone(), home.path().join("a")] {
            for (mode, good) in
                [(0o755, true), (0o777, false), (0o775, false), (0o757, false), (0o1777, true)]
            {
                set(&at, mode);
                for path in [&path, &link.join("credentials")] {
                    let Err(failure) = password(path, &me, true) else {
                        assert!(good, "{mode:o} of {}", at.display());
                        continue;
                    };
                    assert!(!good, "{mode:o}: {failure}");
                    assert_eq!(failure.cause, Cause::Authentication);
                    assert!(failure.next.contains("chmod go-w"), "{failure}");
                }
                set(&at, 0o755);
            }
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("credentials");
        let me = target("smb://me@nas/x");
        assert!(password(&path, &me, false).unwrap().is_none());
        assert_eq!(password(&path, &me, true).unwrap_err().cause, Cause::Usage);
        std::fs::write(&path, "[me@nas]\npassword = hunter2\n").unwrap();
        for (mode, good) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
        {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match password(&path, &me, true) {
                Ok(found) => assert!(good && found.is_some(), "{mode:o}"),
                Err(failure) => {
                    assert!(!good, "{mode:o}: {failure}");
                    assert_eq!(failure.cause, Cause::Authentication);
                    assert!(failure.next.contains("chmod 600"), "{failure}");
                }
            }
        }
        assert_eq!(password(home.path(), &me, true).unwrap_err().cause, Cause::Usage);
        // Nobody writes to it, and that is not waited for.
        let fifo = home.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(password(&fifo, &me, true).unwrap_err().cause, Cause::Usage);
    }
}
