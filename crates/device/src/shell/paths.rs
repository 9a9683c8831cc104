//! What lies behind a path, as far as a shell can tell: its file system, its size, its disk.

use super::files::Files;
use plimsoll_reach::quote;
use serde_json::{Value, json};
use std::fmt::Write;

/// The command that tells of the paths.
pub(super) fn command(paths: &[String]) -> String {
    let mut command = "printf '@@plimsoll mounts\\n'; cat /proc/self/mountinfo; ".to_owned();
    for (number, path) in paths.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = write!(
            command,
            "printf '\\n@@plimsoll df {number}\\n'; df -Pk {} 2>/dev/null; ",
            quote(path)
        );
    }
    command + "true"
}

/// A section `path` for every path.
pub(super) fn sections(output: &str, paths: &[String], disks: &[Value]) -> Vec<Value> {
    let files = Files::parse(output);
    let line = |(number, path): (usize, &String)| {
        let mut section = json!({"section": "path", "path": path});
        if let Some((source, size, available, mount)) =
            files.text(&format!("df {number}")).and_then(df)
        {
            section["source"] = json!(source);
            section["size_bytes"] = json!(size.checked_mul(1024));
            section["available_bytes"] = json!(available.checked_mul(1024));
            section["mount_point"] = json!(mount);
            section["devices"] = json!(disk(source, disks).into_iter().collect::<Vec<_>>());
            // Of two on one point the later hides the earlier.
            if let Some(mounted) =
                files.lines("mounts").filter_map(mounted).filter(|m| m.point == mount).last()
            {
                section["file_system"] = json!(mounted.file_system);
                section["mount_options"] = json!(mounted.options);
                section["file_system_options"] = json!(mounted.super_options);
            }
        }
        section
    };
    paths.iter().enumerate().map(line).collect()
}

/// Source, KiB in all, KiB available and mount point of the last line of `df -Pk`.
fn df(text: &str) -> Option<(&str, u64, u64, &str)> {
    let line = text.lines().last()?;
    let (source, rest) = line.split_once(' ')?;
    let mut rest = rest.trim_start();
    let mut word = || {
        let (word, after) = rest.split_once(' ')?;
        rest = after.trim_start();
        Some(word)
    };
    let size = word()?.parse().ok()?;
    word()?;
    let available = word()?.parse().ok()?;
    word()?;
    Some((source, size, available, rest))
}

struct Mounted<'a> {
    point: &'a str,
    options: &'a str,
    file_system: &'a str,
    super_options: &'a str,
}

/// `36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue`
fn mounted(line: &str) -> Option<Mounted<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(4);
    let (point, options) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (file_system, super_options) = (after.next()?, after.nth(1).unwrap_or_default());
    Some(Mounted { point, options, file_system, super_options })
}

/// The disk that a source such as `/dev/sda1` or `/dev/mmcblk0p2` is a partition of, by the names
/// that the kernel gives to partitions.
fn disk<'a>(source: &str, disks: &'a [Value]) -> Option<&'a Value> {
    let name = source.strip_prefix("/dev/")?;
    disks.iter().find(|disk| {
        let Some(rest) = disk["name"].as_str().and_then(|disk| name.strip_prefix(disk)) else {
            return false;
        };
        let numbered =
            disk["name"].as_str().is_some_and(|d| d.ends_with(|c: char| c.is_ascii_digit()));
        let number = if numbered { rest.strip_prefix('p').unwrap_or(rest) } else { rest };
        let partition = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        rest.is_empty() || (partition && numbered == rest.starts_with('p'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "@@plimsoll mounts
22 1 8:1 / / rw,relatime - ext4 /dev/root rw
30 22 8:17 / /mnt/my\\040disk rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue

@@plimsoll df 0
Filesystem 1024-blocks Used Available Capacity Mounted on
/dev/sdb1 976762584 1000 976761584 1% /mnt/sdb
@@plimsoll df 1
";

    #[test]
    fn a_path_has_its_file_system_and_its_disk() {
        let printed = PRINTED.replace("my\\040disk", "sdb");
        let disks = [json!({"name": "sd"}), json!({"name": "sdb", "rotational": true})];
        let paths = ["/mnt/sdb/films".to_owned(), "/gone".to_owned()];
        assert_eq!(
            sections(&printed, &paths, &disks),
            [
                json!({
                    "section": "path",
                    "path": "/mnt/sdb/films",
                    "source": "/dev/sdb1",
                    "size_bytes": 976_762_584_u64 * 1024,
                    "available_bytes": 976_761_584_u64 * 1024,
                    "mount_point": "/mnt/sdb",
                    "file_system": "ext4",
                    "mount_options": "rw,noatime",
                    "file_system_options": "rw,errors=continue",
                    "devices": [{"name": "sdb", "rotational": true}],
                }),
                json!({"section": "path", "path": "/gone"}),
            ]
        );
    }

    #[test]
    fn partitions_are_distinguished_from_disks_by_their_names() {
        let disks = ["sda", "mmcblk0", "nvme0n1", "nvme0n10"].map(|name| json!({ "name": name }));
        let disk_of = |source: &str| disk(source, &disks).and_then(|d| d["name"].as_str());
        assert_eq!(disk_of("/dev/sda"), Some("sda"));
        assert_eq!(disk_of("/dev/sda12"), Some("sda"));
        assert_eq!(disk_of("/dev/mmcblk0p2"), Some("mmcblk0"));
        assert_eq!(disk_of("/dev/nvme0n10"), Some("nvme0n10"));
        assert_eq!(disk_of("/dev/nvme0n1p1"), Some("nvme0n1"));
        for none in ["/dev/sdab1", "tmpfs", "/dev/mmcblk0boot0", "/dev/mapper/x", "/dev/mmcblk01"] {
            assert_eq!(disk_of(none), None, "{none}");
        }
    }

    #[test]
    fn what_df_does_not_say_is_missing() {
        for text in ["", "df: /x: No such file", "a b c d e f", "/dev/sda -1 0 0 0% /"] {
            assert_eq!(df(text), None, "{text}");
        }
    }
}
