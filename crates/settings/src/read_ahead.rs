//! How much the kernel reads ahead of who reads a file in order, in KiB: `read_ahead_kb` of the block
//! device under a path, or of a mount of a network file system. It lasts until the host reboots.

use super::{Found, Knob, Original, Scope, command, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::mounts::mount_of;
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "read-ahead";

/// Keys of an [`Original`]: the kernel's start, the device's numbers, and the value.
const KEYS: [&str; 3] = ["boot", "device", "value"];

/// Largest value, in KiB.
const MOST: u32 = 1 << 20;

#[derive(Debug)]
struct ReadAhead {
    /// A file or directory, or the device itself.
    path: String,
}

pub(super) fn make(path: &str) -> Result<Box<dyn Knob>, String> {
    let sound = path.starts_with('/') && !path.contains(char::is_control);
    match sound && (path == "/" || !path.ends_with('/')) {
        true => Ok(Box::new(ReadAhead { path: path.to_owned() })),
        false => Err("it is not a path, such as /srv/films or /dev/sda".into()),
    }
}

impl ReadAhead {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("find the device of {}", self.path);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    /// The device's numbers, as the kernel writes them: `8:1`.
    fn device(&self, host: &dyn Reach) -> Result<String, Failure> {
        let text = format!(
            "p=$(readlink -f {}) && [ -e \"$p\" ] || {{ echo 'no such path' >&2; exit 1; }}
            if [ -b \"$p\" ]; then cat \"/sys/class/block/${{p##*/}}/dev\"
            else echo \"$p\"; cat /proc/self/mountinfo; fi",
            quote(&self.path)
        );
        let tried = format!("find the device of {}", self.path);
        let text = command(host, &tried, &text, b"")?;
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        let device = match first.starts_with('/') {
            true => mount_of(rest, first).map(|mount| mount.device),
            false => Some(first.to_owned()),
        };
        let device = device.filter(|device| is_device(device));
        device.ok_or_else(|| self.failed(host, "its mount is not listed", "Name another path."))
    }

    /// The kernel's file of a device; `None` where the device has none, or is gone.
    fn file(host: &dyn Reach, device: &str) -> Result<Option<String>, Failure> {
        let text = format!(
            "for f in /sys/dev/block/{device}/queue /sys/dev/block/{device}/../queue \
                /sys/class/bdi/{device}; do
                [ ! -f \"$f/read_ahead_kb\" ] || {{ echo \"$f/read_ahead_kb\"; break; }}
            done"
        );
        let text = command(host, "find the read-ahead setting", &text, b"")?;
        Ok(text.strip_suffix('\n').filter(|file| file.starts_with("/sys/")).map(str::to_owned))
    }

    fn own_file(&self, host: &dyn Reach, device: &str) -> Result<String, Failure> {
        let missing = "the kernel has no read_ahead_kb of its device";
        Self::file(host, device)?
            .ok_or_else(|| self.failed(host, missing, "Name the block device itself."))
    }
}

/// Two numbers with a colon.
fn is_device(text: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().is_ok_and(|number| number.to_string() == text);
    text.split_once(':').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn is_value(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|value| value <= MOST && value.to_string() == text)
}

impl Knob for ReadAhead {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.path)
    }

    fn scope(&self) -> Scope {
        Scope::Kernel
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match is_value(level) {
            true => Ok(()),
            false => Err(format!("it is not a number of KiB up to {MOST}")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [boot, device, value] = KEYS.map(|key| original.0.get(key));
        let (Some(boot), Some(device), Some(value), 3) = (boot, device, value, original.0.len())
        else {
            return Err("it does not contain a device and its value".into());
        };
        match kernel_file::is_boot(boot) && is_device(device) && is_value(value) {
            true => Ok(()),
            false => Err("it does not contain a device with its value".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let device = self.device(host)?;
        let value = kernel_file::get(host, &self.own_file(host, &device)?)?;
        let level = value.clone();
        let values = [kernel_file::boot(host)?, device, value];
        let original = Original(KEYS.map(str::to_owned).into_iter().zip(values).collect());
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.failed(host, &why, "Name another path.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let boot = original.value("boot");
        kernel_file::expect_boot(host, &self.name(), boot)?;
        let device = self.device(host)?;
        if original.0.get("device") != Some(&device) {
            let happened = "another file system has been mounted there";
            return Err(self.failed(host, happened, "Start the study again."));
        }
        kernel_file::put(host, &self.own_file(host, &device)?, level)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let file = self.own_file(host, &self.device(host)?)?;
        kernel_file::expect(host, &self.name(), &file, level)
    }

    /// A device that is gone, or has been started anew with its host, has not kept what was set.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [boot, device, value] = original.values(KEYS);
        if kernel_file::boot(host)? != boot {
            return Ok(());
        }
        let Some(file) = Self::file(host, device)? else { return Ok(()) };
        kernel_file::put(host, &file, value)?;
        kernel_file::expect(host, &self.name(), &file, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_levels_and_originals() {
        for path in ["", "srv", "/srv/", "/a\nb", "sda"] {
            assert!(make(path).is_err(), "{path:?}");
        }
        let knob = make("/srv/it's here").unwrap();
        for level in ["", "-1", "01", "128k", "1048577", "1\n2", " 1"] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        knob.check("0").unwrap();
        knob.check("1048576").unwrap();
        let boot = "01234567-89ab-cdef-0123-456789abcdef";
        let original = |values: [&str; 3]| {
            let values = values.map(str::to_owned);
            Original(KEYS.map(str::to_owned).into_iter().zip(values).collect())
        };
        knob.check_original(&original([boot, "8:1", "128"])).unwrap();
        for values in [
            ["", "8:1", "128"],
            [boot, "8:1/../../x", "128"],
            [boot, "8", "128"],
            [boot, "08:1", "128"],
            [boot, "$(id):1", "128"],
            [boot, "8:1", "128; id"],
            [boot, "8:1", ""],
        ] {
            assert!(knob.check_original(&original(values)).is_err(), "{values:?}");
        }
        let mut more = original([boot, "8:1", "128"]);
        more.0.insert("file".into(), "/etc/shadow".into());
        assert!(knob.check_original(&more).is_err());
    }
}
