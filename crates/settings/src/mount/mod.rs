//! An option of an NFS mount of the host, which is unmounted for it and mounted again with the other
//! options that it has by then.

pub(crate) mod options;

use super::{Found, Knob, Original, command, kernel_file};
use options::{Varied, are_others_same, check, to_mount};
use plimsoll_model::{Cause, Failure, Switch};
use plimsoll_reach::mounts::{Mount, mount_of};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "mount";

/// Keys of an [`Original`]: the kernel's start, the kind of file system, its options, its source.
const KEYS: [&str; 4] = ["boot", "kind", "options", "source"];

/// An option of what is mounted on a directory.
#[derive(Debug)]
struct MountOption {
    point: String,
    varied: Varied,
}

/// From `PATH:OPTION`.
pub(super) fn make(text: &str) -> Result<Box<dyn Knob>, String> {
    let (point, option) =
        text.rsplit_once(':').ok_or("the option is missing; an example is /mnt/films:rsize")?;
    let sound =
        point.starts_with('/') && !point.ends_with('/') && !point.contains(char::is_control);
    if !sound {
        return Err("it is not the path of a mount point, such as /mnt/films".into());
    }
    let varied = Varied::from_name(option)
        .ok_or("the option is not vers, proto, rsize, wsize, sync, nconnect or actimeo")?;
    Ok(Box::new(MountOption { point: point.to_owned(), varied }))
}

/// Whether a kind of file system is one that is mounted anew here.
fn is_nfs(kind: &str) -> bool {
    ["nfs", "nfs4"].contains(&kind)
}

fn is_source(source: &str) -> bool {
    source.contains(":/") && !source.starts_with('-') && !source.contains(char::is_control)
}

/// A path as /proc/self/mounts has it.
fn escaped(path: &str) -> String {
    path.replace('\\', "\\134").replace(' ', "\\040")
}

/// All options of a mount: its own, and those of its file system.
fn all_options(mount: &Mount) -> String {
    format!("{},{}", mount.options, mount.file_system_options.trim_start_matches("rw,"))
}

impl MountOption {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("check the mount on {}", self.point);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    /// What is mounted there; `None` where nothing is.
    fn mount(&self, host: &dyn Reach) -> Result<Option<Mount>, Failure> {
        let text = command(host, "list the mounts", "cat /proc/self/mountinfo", b"")?;
        Ok(mount_of(&text, &self.point).filter(|mount| mount.point == self.point))
    }

    /// The NFS mount that is there.
    fn own(&self, host: &dyn Reach) -> Result<Mount, Failure> {
        let Some(mount) = self.mount(host)?.filter(|mount| is_nfs(&mount.file_system)) else {
            let happened = "this directory is not the mount point of an NFS export";
            return Err(self.failed(host, happened, "Name a mount point in the list of mount(8)."));
        };
        Ok(mount)
    }

    /// Unmounts what is there, and mounts with these options; where that fails, with those before.
    fn remount(
        &self,
        host: &dyn Reach,
        [kind, source]: [&str; 2],
        wanted: &str,
        before: Option<&str>,
    ) -> Result<(), Failure> {
        let (point, source) = (quote(&self.point), quote(source));
        // A killed run's command may still be at it: then one of them mounts, and not both.
        let listed = quote(&format!(" {} nfs", escaped(&self.point)));
        let mount = |options: &str| {
            format!(
                "{{ grep -qF {listed} /proc/self/mounts ||
                    mount -t {kind} -o {} {source} {point} </dev/null; }}",
                quote(&to_mount(options))
            )
        };
        // Who works there still is not thrown out; who has just left may take a moment.
        let text = format!(
            "trap '' HUP INT TERM
            {}
            {} || {{ {}; exit 1; }}",
            match before {
                Some(_) => format!(
                    "n=0
                    until errors=$(umount {point} 2>&1); do
                        n=$((n + 1))
                        [ $n -lt 20 ] || {{ echo \"$errors\" >&2; exit 1; }}
                        sleep 0.1 2>/dev/null || sleep 1
                    done"
                ),
                None => String::new(),
            },
            mount(wanted),
            before.map_or_else(|| "true".to_owned(), mount),
        );
        command(host, &format!("mount {} again", self.point), &text, b"").map(drop)
    }

    fn expect(&self, host: &dyn Reach, happened: String) -> Failure {
        let tried = format!("set {}", self.name());
        let next = "Give a value that this kernel and the server support: /proc/self/mountinfo on the host \
        shows the value in use.";
        Failure::new(Cause::Trial, tried).on(host.name()).happened(happened).next(next)
    }
}

impl Knob for MountOption {
    fn name(&self) -> String {
        format!("{KIND}:{}:{}", self.point, self.varied.name())
    }

    fn switch(&self) -> Switch {
        Switch::Restart
    }

    fn check(&self, level: &str) -> Result<(), String> {
        self.varied.check(level)
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [boot, kind, list, source] = KEYS.map(|key| original.0.get(key));
        let (Some(boot), Some(kind), Some(list), Some(source), 4) =
            (boot, kind, list, source, original.0.len())
        else {
            return Err("it does not contain a mount".into());
        };
        check(list)?;
        match kernel_file::is_boot(boot) && is_nfs(kind) && is_source(source) {
            true => Ok(()),
            false => Err("it does not contain an NFS mount".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let mount = self.own(host)?;
        let list = all_options(&mount);
        let level = self.varied.level(&list);
        let values = [kernel_file::boot(host)?, mount.file_system, list, mount.source];
        let original = Original(KEYS.map(str::to_owned).into_iter().zip(values).collect());
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.failed(host, &why, "Mount it with simple options.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let boot = original.value("boot");
        kernel_file::expect_boot(host, &self.name(), boot)?;
        let mount = self.own(host)?;
        if original.0.get("source") != Some(&mount.source) {
            let happened = "another file system has been mounted there";
            return Err(self.failed(host, happened, "Start the study again."));
        }
        let now = all_options(&mount);
        if self.varied.level(&now) == level {
            return Ok(());
        }
        let wanted = self.varied.with(&now, level);
        self.remount(host, ["nfs", &mount.source], &wanted, Some(&now))
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let has = self.varied.level(&all_options(&self.own(host)?));
        match has == level {
            true => Ok(()),
            false => Err(self.expect(host, format!("the mount has \"{has}\", not \"{level}\""))),
        }
    }

    /// A mount that a killed run has unmounted is mounted as it was found; of one that is there this
    /// option alone is put back. After another start of the host it is as the host mounts it.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [boot, _, found, source] = original.values(KEYS);
        if kernel_file::boot(host)? != boot {
            return Ok(());
        }
        let now = self.mount(host)?.filter(|mount| is_nfs(&mount.file_system));
        let list = now.as_ref().map(all_options);
        let wanted = match &list {
            Some(list) if self.varied.level(list) == self.varied.level(found) => return Ok(()),
            Some(list) => self.varied.with_of(list, found),
            None => found.to_owned(),
        };
        if now.as_ref().is_some_and(|now| now.source != source) {
            return Err(self.failed(host, "another file system has been mounted there", ""));
        }
        self.remount(host, ["nfs", source], &wanted, list.as_deref())?;
        let is = all_options(&self.own(host)?);
        let own = self.varied.level(&is) == self.varied.level(found);
        match own && are_others_same(self.varied, &is, &wanted) {
            true => Ok(()),
            false => Err(self.expect(host, format!("the mount has {is}, not {wanted}"))),
        }
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let level = |of: &Original| of.0.get("options").map(|list| self.varied.level(list));
        level(original) == level(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_looked_for_as_the_kernel_lists_them() {
        assert_eq!(escaped("/mnt/a b\\c"), "/mnt/a\\040b\\134c");
    }

    #[test]
    fn names_and_originals() {
        for name in ["", "/mnt", "/mnt:exec", "mnt:rsize", "/mnt/:rsize", "/a\nb:rsize", ":rsize"] {
            assert!(make(name).is_err(), "{name:?}");
        }
        let knob = make("/mnt/a:b:rsize").unwrap();
        assert_eq!(knob.name(), "mount:/mnt/a:b:rsize");
        let boot = "01234567-89ab-cdef-0123-456789abcdef";
        let checked = |values: [&str; 4]| {
            let values = values.map(str::to_owned);
            knob.check_original(&Original(
                KEYS.map(str::to_owned).into_iter().zip(values).collect(),
            ))
        };
        checked([boot, "nfs4", "rw,vers=4.2", "nas:/films"]).unwrap();
        for values in [
            ["", "nfs", "rw", "nas:/films"],
            [boot, "ext4", "rw", "nas:/films"],
            [boot, "nfs; id", "rw", "nas:/films"],
            [boot, "nfs", "rw,$(id)", "nas:/films"],
            [boot, "nfs", "", "nas:/films"],
            [boot, "nfs", "rw", "-o:/films"],
            [boot, "nfs", "rw", "/dev/sda"],
            [boot, "nfs", "rw", "nas:/a\nb"],
        ] {
            assert!(checked(values).is_err(), "{values:?}");
        }
    }
}
