//! Names that SMB can carry (MS-FSCC, section 2.1.5).

use crate::Error;

/// A path with `/` between its names, relative to the share, as SMB writes it: with `\`. The empty
/// path is the share's root.
pub(crate) fn path(path: &str) -> Result<String, Error> {
    check_path(path)?;
    Ok(path.replace('/', "\\"))
}

/// Whether SMB can carry a path.
pub(crate) fn check_path(path: &str) -> Result<(), Error> {
    if path.is_empty() {
        return Ok(());
    }
    for name in path.split('/') {
        check(name).map_err(|why| Error::Name { name: path.to_owned(), why })?;
    }
    if path.encode_utf16().count() > MOST_UNITS {
        return Err(Error::Name { name: path.to_owned(), why: "it is too long" });
    }
    Ok(())
}

/// The longest path in UTF-16 units: its length in bytes is sent in 16 bits, and the longest that
/// Windows takes is this.
const MOST_UNITS: usize = 32_760;

/// A share's full name.
pub(crate) fn share(host: &str, share: &str) -> Result<String, Error> {
    let wrong = |why| Error::Name { name: share.to_owned(), why };
    check(share).map_err(wrong)?;
    if share.contains('/') {
        return Err(wrong("a share's name has no '/'"));
    }
    if share.encode_utf16().count() > 80 {
        return Err(wrong("a share's name is at most 80 characters long"));
    }
    Ok(format!("\\\\{host}\\{share}"))
}

fn check(name: &str) -> Result<(), &'static str> {
    match name {
        "" => return Err("a name is empty"),
        "." | ".." => return Err("'.' and '..' are not names"),
        _ => {}
    }
    if name.chars().any(|c| c.is_control()) {
        return Err("it contains a control character");
    }
    if name.contains(['\\', ':', '*', '?', '"', '<', '>', '|']) {
        return Err("SMB refuses \\ : * ? \" < > |");
    }
    if name.ends_with(['.', ' ']) {
        return Err("a name ends in a dot or a space");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_turned_round() {
        assert_eq!(path("").unwrap(), "");
        assert_eq!(path("a").unwrap(), "a");
        assert_eq!(
            path("Ordner/.plimsoll-x/grüße 1.bin").unwrap(),
            "Ordner\\.plimsoll-x\\grüße 1.bin"
        );
    }

    #[test]
    fn names_that_smb_refuses_are_refused() {
        for bad in [
            "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a\\b", "a:b", "*", "wh?t", "\"", "<",
            ">", "a|b", "a\nb", "a\0", "dot.", "a./b", "space ", "\u{7f}",
        ] {
            assert!(matches!(path(bad), Err(Error::Name { .. })), "{bad:?}");
        }
        assert!(path("a/".repeat(20_000).trim_end_matches('/')).is_err());
    }

    #[test]
    fn shares_have_one_name() {
        assert_eq!(share("nas", "backups").unwrap(), "\\\\nas\\backups");
        assert_eq!(share("127.0.0.1", "IPC$").unwrap(), "\\\\127.0.0.1\\IPC$");
        for bad in ["", "a/b", "a\\b", "..", &"x".repeat(81)] {
            assert!(share("nas", bad).is_err(), "{bad:?}");
        }
    }
}
