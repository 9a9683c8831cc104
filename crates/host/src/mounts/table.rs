//! What is mounted where.

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// What kind it is.
    pub file_system: String,
    /// What is mounted: `nas:/volume1`, `//nas/films`.
    pub source: String,
}

/// The mount that a path is on: the longest mount point that it lies below, and of several on the
/// same point the last, which hides the others. From /proc/self/mountinfo (proc(5)).
pub fn mount_of(mountinfo: &str, path: &str) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let point = unescaped(place.split(' ').nth(4)?);
        let mut what = what.split(' ');
        let file_system = what.next()?.to_owned();
        Some(Mount { point, file_system, source: unescaped(what.next()?) })
    });
    let below = |mount: &Mount| {
        let rest = path.strip_prefix(mount.point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    mounts.filter(below).max_by_key(|mount| mount.point.len())
}

/// The kernel writes space, tab, newline and backslash in octal: `\040`.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                out.push(byte);
                rest = &after[3..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
