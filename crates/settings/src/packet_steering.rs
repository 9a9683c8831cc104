//! Receive packet steering of a router: off, or over all CPU cores, of all receive queues of its network cards. A host
//! without cards, as a network namespace, has its virtual interfaces steered.
//!
//! Each interface is a setting of its own (`rps`), which this one sets together.

use super::{Found, Knob, Original, Scope, alone, command, interface, rps};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What stands for it.
pub(super) const KIND: &str = "packet-steering";

const OFF: &str = "off";
const ALL: &str = "all";
/// Mask of no core: packets stay on the core that took the interrupt.
const NO_CORE: &str = "0";
/// Most cores that are believed.
const MOST_CORES: usize = 4096;
const TRIED: &str = "read packet steering";

/// Lists interfaces whose queues can be steered: whether each is a card, and its name; then the cores that are online.
const LIST: &str = "cd /sys/class/net || exit 1
    for i in *; do
        if [ \"$i\" = lo ] || [ ! -f \"$i/queues/rx-0/rps_cpus\" ]; then continue; fi
        if [ -e \"$i/device\" ]; then echo \"card $i\"; else echo \"virtual $i\"; fi
    done
    echo \"online $(cat /sys/devices/system/cpu/online)\"";

#[derive(Debug, Default)]
struct PacketSteering {
    /// The interfaces of which a level was applied.
    set: Mutex<Vec<String>>,
}

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, PacketSteering::default())
}

/// What a host has to be steered.
#[derive(Debug, PartialEq, Eq)]
struct Steered {
    interfaces: Vec<String>,
    /// Mask of all cores.
    all: String,
}

impl Steered {
    fn find(host: &dyn Reach) -> Result<Steered, Failure> {
        let listed = command(host, TRIED, LIST, b"")?;
        Steered::read(&listed).map_err(|happened| {
            let next = "Leave packet-steering out on this host.";
            Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(happened).next(next)
        })
    }

    /// From what [`LIST`] printed.
    fn read(listed: &str) -> Result<Steered, &'static str> {
        let names_of_kind = |kind: &str| -> Vec<String> {
            let names = listed.lines().filter_map(|line| line.strip_prefix(kind));
            names.filter(|name| interface::check(name).is_ok()).map(str::to_owned).collect()
        };
        let interfaces = [names_of_kind("card "), names_of_kind("virtual ")]
            .into_iter()
            .find(|names| !names.is_empty());
        let interfaces = interfaces.ok_or("no interface has receive queues that can be steered")?;
        let online = listed.lines().find_map(|line| line.strip_prefix("online "));
        let all = online.and_then(mask).ok_or("the kernel does not list its cores")?;
        Ok(Steered { interfaces, all })
    }

    /// The mask of a level.
    fn mask(&self, level: &str) -> &str {
        if level == ALL { &self.all } else { NO_CORE }
    }
}

/// The mask of cores as the kernel lists them: "0-3,8" is 10f.
fn mask(online: &str) -> Option<String> {
    let mut digits = Vec::new();
    for range in online.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if last >= MOST_CORES {
            return None;
        }
        for core in first..=last {
            digits.resize(digits.len().max(core / 4 + 1), 0_u8);
            digits[core / 4] |= 1 << (core % 4);
        }
    }
    let letter = |digit: &u8| char::from_digit((*digit).into(), 16);
    digits.iter().rev().map(letter).collect::<Option<String>>().filter(|mask| !mask.is_empty())
}

/// The original of each interface, by its name.
fn by_interface(original: &Original) -> BTreeMap<&str, Original> {
    let mut all: BTreeMap<&str, Original> = BTreeMap::new();
    for (key, value) in &original.0 {
        let (interface, own) = key.split_once('/').unwrap_or(("", key));
        all.entry(interface).or_default().0.insert(own.to_owned(), value.clone());
    }
    all
}

fn names(all: &BTreeMap<&str, Original>) -> Vec<String> {
    all.keys().map(|name| (*name).to_owned()).collect()
}

/// The interfaces that must have a level: those that it was applied to. One that has come since, such as that of a tunnel,
/// was not set.
fn verified<'a>(set: &'a [String], now: &'a [String]) -> &'a [String] {
    if set.is_empty() { now } else { set }
}

/// The setting of one interface.
fn interface_knob(interface: &str) -> Result<Box<dyn Knob>, Failure> {
    super::knob(&format!("{}:{interface}", rps::KIND))
}

impl Knob for PacketSteering {
    fn name(&self) -> String {
        KIND.to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match [OFF, ALL].contains(&level) {
            true => Ok(()),
            false => Err(format!("it is not one of {OFF}, {ALL}")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let all = by_interface(original);
        if all.is_empty() {
            return Err("it names no interface".into());
        }
        let check = |(interface, own): (&str, Original)| rps::make(interface)?.check_original(&own);
        all.into_iter().try_for_each(check)
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let steered = Steered::find(host)?;
        let mut original = Original::default();
        let mut levels = Vec::new();
        for interface in &steered.interfaces {
            let found = interface_knob(interface)?.read(host)?;
            levels.push(found.level);
            let own = found.original.0.into_iter();
            original.0.extend(own.map(|(key, value)| (format!("{interface}/{key}"), value)));
        }
        let are_all = |mask: &str| levels.iter().all(|level| level == mask);
        let level = match (are_all(NO_CORE), are_all(&steered.all)) {
            (true, _) => OFF,
            (_, true) => ALL,
            _ => "mixed",
        };
        Ok(Found { level: level.to_owned(), original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let steered = Steered::find(host)?;
        let all = by_interface(original);
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = names(&all);
        for (interface, own) in all {
            interface_knob(interface)?.apply(host, &own, steered.mask(level))?;
        }
        Ok(())
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let steered = Steered::find(host)?;
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for interface in verified(&set, &steered.interfaces) {
            interface_knob(interface)?.verify(host, steered.mask(level))?;
        }
        Ok(())
    }

    /// All of them, whatever is wrong with one.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let undo = |(interface, own): (&str, Original)| interface_knob(interface)?.undo(host, &own);
        let undone: Vec<Result<(), Failure>> =
            by_interface(original).into_iter().map(undo).collect();
        undone.into_iter().collect()
    }

    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let line =
            |(interface, own): (&str, Original)| rps::make(interface).ok()?.undo_by_shell(&own);
        let lines: Vec<String> = by_interface(original).into_iter().filter_map(line).collect();
        Some(lines.join("; "))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let (before, now) = (by_interface(original), by_interface(now));
        let is_same = |(interface, own): (&&str, &Original)| {
            let knob = rps::make(interface);
            now.get(interface).zip(knob.ok()).is_some_and(|(now, knob)| knob.is_as_found(own, now))
        };
        before.iter().all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_a_mask() {
        for (online, expected) in
            [("0", "1"), ("0-1\n", "3"), ("0-3,8", "10f"), ("0,2", "5"), ("0-31", "ffffffff")]
        {
            assert_eq!(mask(online).as_deref(), Some(expected), "{online}");
        }
        for none in ["", "x", "3-", "0-4096", "5-2"] {
            assert_eq!(mask(none), None, "{none}");
        }
    }

    #[test]
    fn cards_are_steered_and_where_there_is_none_what_is_there() {
        let names = |listed: &str| Steered::read(listed).map(|steered| steered.interfaces);
        let cards = "virtual br0\ncard eth0\ncard eth1\nvirtual ppp0\ncard a;b\nonline 0-1\n";
        assert_eq!(names(cards).unwrap(), ["eth0", "eth1"]);
        assert_eq!(names("virtual lan\nvirtual wan\nonline 0\n").unwrap(), ["lan", "wan"]);
        assert!(names("online 0\n").is_err() && names("card eth0\n").is_err());
        let steered = Steered::read(cards).unwrap();
        assert_eq!((steered.mask(ALL), steered.mask(OFF)), ("3", "0"));
    }

    #[test]
    fn levels_and_originals() {
        let knob = make("").unwrap();
        for level in ["", "on", "3"] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        [OFF, ALL].iter().for_each(|level| knob.check(level).unwrap());
        let steered = |masks: &[(&str, &str)]| {
            let mut original = Original::default();
            for (interface, mask) in masks {
                let own = interface::original_with(&[("rx-0", *mask)]).0.into_iter();
                original.0.extend(own.map(|(key, value)| (format!("{interface}/{key}"), value)));
            }
            original
        };
        let found = steered(&[("eth0", "0"), ("eth1", "00000003")]);
        knob.check_original(&found).unwrap();
        assert!(
            knob.is_as_found(&found, &steered(&[("eth0", "00"), ("eth1", "3"), ("eth2", "1")]))
        );
        assert!(!knob.is_as_found(&found, &steered(&[("eth0", "0"), ("eth1", "1")])));
        assert!(!knob.is_as_found(&found, &steered(&[("eth0", "0")])));
        let line = knob.undo_by_shell(&found).unwrap();
        for words in ["eth0/queues", "00000003", "eth1/queues"] {
            assert!(line.contains(words), "{words} in {line}");
        }
        let bad = [
            Original::default(),
            steered(&[("a b", "0")]),
            steered(&[("eth0", "x")]),
            interface::original_with(&[]),
        ];
        for bad in bad {
            assert!(knob.check_original(&bad).is_err(), "{bad:?}");
        }
        assert!(make("eth0").is_err());
    }

    /// In a namespace, the interface of a tunnel is one that can be steered, and was not there when steering was set.
    #[test]
    fn an_interface_that_has_come_since_is_not_verified() {
        let original = |name: &str| (format!("{name}/rx-0"), "0".to_owned());
        let found = Original(["lan", "wan"].map(original).into());
        let set = names(&by_interface(&found));
        let now = ["lan", "plimsoll_wg", "wan"].map(str::to_owned);
        assert_eq!(verified(&set, &now), ["lan", "wan"]);
        assert_eq!(verified(&[], &now), now);
    }
}
