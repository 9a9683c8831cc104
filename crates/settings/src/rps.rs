//! Receive packet steering: the CPU cores that process what an interface received, as one mask for all of its receive
//! queues. 0: the core that took the interrupt.

use super::{Found, Knob, Original, Scope, command, interface, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};
use std::fmt::Write;

/// What stands before the colon of a name.
pub(super) const KIND: &str = "rps";

/// Prefix of the name of a receive queue.
const QUEUE: &str = "rx-";

#[derive(Debug)]
struct Rps {
    interface: String,
}

pub(super) fn make(interface: &str) -> Result<Box<dyn Knob>, String> {
    interface::check(interface)?;
    Ok(Box::new(Rps { interface: interface.to_owned() }))
}

/// A mask without commas and leading zeros: the kernel writes groups of 32 bits.
fn plain(mask: &str) -> String {
    let digits: String =
        mask.chars().filter(|c| *c != ',').map(|c| c.to_ascii_lowercase()).collect();
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}

fn is_mask(text: &str) -> bool {
    let digits = text.len() <= 512 && text.chars().all(|c| c.is_ascii_hexdigit() || c == ',');
    digits
        && text.starts_with(|c: char| c.is_ascii_hexdigit())
        && text.ends_with(|c: char| c.is_ascii_hexdigit())
}

fn is_queue(text: &str) -> bool {
    text.strip_prefix(QUEUE).is_some_and(|n| n.parse::<u16>().is_ok_and(|m| m.to_string() == n))
}

/// The queues of an original with their masks.
fn queues(original: &Original) -> impl Iterator<Item = (&String, &String)> {
    original.0.iter().filter(|(key, _)| key.starts_with(QUEUE))
}

/// The mask that all queues have; else "mixed".
fn level(original: &Original) -> String {
    let mut masks = queues(original).map(|(_, mask)| plain(mask));
    let first = masks.next().unwrap_or_default();
    if masks.all(|other| other == first) { first } else { "mixed".to_owned() }
}

impl Rps {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("read the receive queues of {}", self.interface);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    fn directory(&self) -> String {
        quote(&format!("/sys/class/net/{}/queues", self.interface))
    }

    /// The masks of all queues. What /sys shows may be of another network namespace: it must be this interface.
    fn get(&self, host: &dyn Reach) -> Result<Original, Failure> {
        let line = interface::link(host, &self.interface)?;
        let mut original = interface::original(host, &line)?;
        let text = format!(
            "cat {}
            cd {} || exit 1
            for q in {QUEUE}*; do
                [ ! -f \"$q/rps_cpus\" ] || echo \"$q $(cat \"$q/rps_cpus\")\"
            done",
            quote(&format!("/sys/class/net/{}/address", self.interface)),
            self.directory(),
        );
        let tried = format!("read the receive queues of {}", self.interface);
        let text = command(host, &tried, &text, b"")?;
        let (address, text) = text.split_once('\n').unwrap_or_default();
        if !line.contains(address) {
            let happened = "/sys shows the interfaces of another network namespace";
            return Err(self.failed(host, happened, "Mount the sysfs of this namespace on /sys."));
        }
        let queue_mask = |line: &str| {
            let (queue, mask) = line.split_once(' ')?;
            Some((queue.to_owned(), mask.to_owned()))
        };
        original.0.extend(text.lines().filter_map(queue_mask));
        match self.check_original(&original) {
            Ok(()) => Ok(original),
            Err(why) => Err(self.failed(host, &why, "Name another interface.")),
        }
    }

    fn put<'a>(
        &self,
        host: &dyn Reach,
        masks: impl Iterator<Item = (&'a String, &'a str)>,
    ) -> Result<(), Failure> {
        let lines = masks.fold(String::new(), |mut lines, (queue, mask)| {
            let _ = writeln!(lines, "{queue} {mask}");
            lines
        });
        let text = format!(
            "cd {} && while read -r q mask; do
                printf '%s\\n' \"$mask\" >\"$q/rps_cpus\" || exit 1
            done",
            self.directory()
        );
        let tried = format!("set the cores of the receive queues of {}", self.interface);
        command(host, &tried, &text, lines.as_bytes()).map(drop)
    }

    fn expect(&self, host: &dyn Reach, wanted: &Original) -> Result<(), Failure> {
        let now = self.get(host)?;
        match self.is_as_found(wanted, &now) {
            true => Ok(()),
            false => {
                let (now, wanted) = (level(&now), level(wanted));
                Err(kernel_file::not_in_effect(host, &self.name(), &now, &wanted))
            }
        }
    }
}

impl Knob for Rps {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.interface)
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match is_mask(level) && !level.contains(',') {
            true => Ok(()),
            false => {
                Err("it is not a mask of CPU cores in hexadecimal digits, such as 0, 3 or ff"
                    .into())
            }
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        interface::check_original(original)?;
        let queues =
            queues(original).filter(|(queue, mask)| is_queue(queue) && is_mask(mask)).count();
        match queues > 0 && original.0.len() == queues + 2 {
            true => Ok(()),
            false => Err("it does not name receive queues with their masks".into()),
        }
    }

    /// The kernel lists no masks: only trying tells which cores it has.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let original = self.get(host)?;
        Ok(Found { level: level(&original), original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        interface::expect(host, &self.name(), &self.interface, original)?;
        self.put(host, queues(original).map(|(queue, _)| (queue, level)))
    }

    fn verify(&self, host: &dyn Reach, wanted: &str) -> Result<(), Failure> {
        let mut now = self.get(host)?;
        for (key, mask) in &mut now.0 {
            if key.starts_with(QUEUE) {
                *mask = wanted.to_owned();
            }
        }
        self.expect(host, &now)
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if interface::still_there(host, &self.interface, original)?.is_none() {
            return Ok(());
        }
        self.put(host, queues(original).map(|(queue, mask)| (queue, mask.as_str())))?;
        self.expect(host, original)
    }

    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let directory = self.directory();
        let line = |(queue, mask): (&String, &String)| {
            format!("echo {} >{directory}/{}/rps_cpus", quote(mask), quote(queue))
        };
        Some(queues(original).map(line).collect::<Vec<String>>().join("; "))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let masks = |of: &Original| -> Vec<(String, String)> {
            queues(of).map(|(queue, mask)| (queue.clone(), plain(mask))).collect()
        };
        masks(original) == masks(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_originals() {
        let knob = make("eth0").unwrap();
        for level in ["", "0x3", "g", "3 ", "-1", "1,", ",1"] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        knob.check("ff").unwrap();
        assert_eq!(plain("00000000,0000000F"), "f");
        assert_eq!(plain("00"), "0");
        let original = |masks: &[&str]| {
            let queues = ["rx-0", "rx-1", "rx-2"];
            interface::original_with(
                &queues.into_iter().zip(masks.iter().copied()).collect::<Vec<_>>(),
            )
        };
        knob.check_original(&original(&["00", "ff,00000001"])).unwrap();
        assert_eq!(
            (&*level(&original(&["00", "0"])), &*level(&original(&["1", "2"]))),
            ("0", "mixed")
        );
        assert!(knob.is_as_found(&original(&["00000003"]), &original(&["3"])));
        for bad in [
            interface::original_with(&[]),
            original(&["1;id"]),
            interface::original_with(&[("rx-0/../x", "0")]),
        ] {
            assert!(knob.check_original(&bad).is_err(), "{bad:?}");
        }
        assert!(
            knob.check_original(&interface::original_with(&[("rx-0", "0"), ("more", "0")]))
                .is_err()
        );
    }

    #[test]
    fn the_line_that_undoes_writes_the_mask_of_each_queue() {
        let found = interface::original_with(&[("rx-0", "00"), ("rx-1", "ff,00000001")]);
        let line = make("eth0").unwrap().undo_by_shell(&found).unwrap();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eth0/queues");
        for queue in ["rx-0", "rx-1"] {
            std::fs::create_dir_all(path.join(queue)).unwrap();
        }
        let line = line.replace("/sys/class/net", place.path().to_str().unwrap());
        let ran = std::process::Command::new("/bin/sh").args(["-c", &line]).status().unwrap();
        let mask = |queue: &str| std::fs::read_to_string(path.join(queue).join("rps_cpus"));
        assert!(ran.success(), "{line}");
        assert_eq!((&*mask("rx-0").unwrap(), &*mask("rx-1").unwrap()), ("00\n", "ff,00000001\n"));
    }
}
