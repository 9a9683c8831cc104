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
    /// Its device's numbers: `8:1`.
    pub device: String,
    /// The options of the mount itself: `rw,relatime`.
    pub options: String,
    /// Those of its file system: `rw,vers=3,rsize=1048576`.
    pub file_system_options: String,
}

/// The mount that a path is on: the longest mount point that it lies below, and of several on the
/// same point the last, which hides the others. From /proc/self/mountinfo (proc(5)).
pub fn mount_of(mountinfo: &str, path: &str) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let device = place.next()?.to_owned();
        let point = unescaped(place.nth(1)?);
        let options = unescaped(place.next()?);
        let mut what = what.split(' ');
        let file_system = what.next()?.to_owned();
        let source = unescaped(what.next()?);
        let file_system_options = unescaped(what.next().unwrap_or_default());
        Some(Mount { point, file_system, source, device, options, file_system_options })
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
