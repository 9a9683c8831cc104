//! Network interfaces of a host, whose settings last until it reboots or the interface goes away.

use super::{Original, command, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::collections::BTreeSet;

/// Longest name that the kernel allows, in bytes.
const LONGEST: usize = 15;

/// Interfaces above each other that are looked through.
const MOST_ABOVE: usize = 4;

/// Shell that prints each interface of PPP with an interface below it that has sessions of PPPoE: "pppoe-wan wan.7". It
/// ends in the directory of all interfaces, or is all that runs where there is none. The kernel does not say which session
/// is whose: with several, each may be over any of them.
pub const LIST_SESSIONS: &str = "cd /sys/class/net 2>/dev/null || exit 0
    sessions=$(sed 1d /proc/net/pppoe 2>/dev/null | while read -r _ _ below _; do echo \"$below\"; done)
    for i in *; do
        read -r type <\"$i/type\" && [ \"$type\" = 512 ] || continue
        for below in $sessions; do echo \"$i $below\"; done
    done 2>/dev/null
    ";

/// Keys that every [`Original`] of an interface's setting has: the kernel's start, and the number that the interface
/// has until it goes away.
pub(super) const BOOT: &str = "boot";
pub(super) const INDEX: &str = "index";

/// Whether this can be the name of an interface.
pub(super) fn check(name: &str) -> Result<(), String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    let sound = (1..=LONGEST).contains(&name.len())
        && ![".", ".."].contains(&name)
        && !name.starts_with('-')
        && name.chars().all(letter);
    match sound {
        true => Ok(()),
        false => Err("it does not name a network interface, such as eth0".into()),
    }
}

/// The lowest of what is below these interfaces, or an interface itself if nothing is below it. Each pair has an interface
/// that is looked through, and one below it.
pub fn lowest_interfaces(
    interfaces: &BTreeSet<String>,
    pairs: &[(&str, &str)],
) -> BTreeSet<String> {
    let mut found = interfaces.clone();
    for _ in 0..MOST_ABOVE {
        let below = |name: &String| -> Vec<String> {
            let own = pairs.iter().filter(|(above, _)| above == name).map(|(_, below)| *below);
            let own = own.filter(|below| check(below).is_ok());
            let below: Vec<String> = own.map(str::to_owned).collect();
            if below.is_empty() { vec![name.clone()] } else { below }
        };
        found = found.iter().flat_map(below).collect();
    }
    found
}

/// These interfaces, and all that are below them by the same pairs.
pub fn with_interfaces_below(
    interfaces: &BTreeSet<String>,
    pairs: &[(&str, &str)],
) -> BTreeSet<String> {
    let mut found = interfaces.clone();
    for _ in 0..MOST_ABOVE {
        let own = pairs.iter().filter(|(above, _)| found.contains(*above)).map(|(_, below)| *below);
        let below: Vec<&str> = own.filter(|below| check(below).is_ok()).collect();
        found.extend(below.into_iter().map(str::to_owned));
    }
    found
}

/// A line for each interface, as `ip -o link` prints it.
fn links(host: &dyn Reach) -> Result<String, Failure> {
    command(host, "list the network interfaces", "ip -o link show", b"")
}

/// The line of an interface in [`links`].
///
/// # Errors
/// [`Cause::Usage`] where the host has no such interface, with the names of those that it has.
pub(super) fn link(host: &dyn Reach, name: &str) -> Result<String, Failure> {
    let text = links(host)?;
    if let Some(line) = text.lines().find(|line| named(line) == Some(name)) {
        return Ok(line.to_owned());
    }
    let names: Vec<&str> = text.lines().filter_map(named).take(32).collect();
    let next = format!("Give one of the interfaces of {}: {}.", host.name(), names.join(", "));
    let tried = format!("find the network interface {name}");
    Err(Failure::new(Cause::Usage, tried)
        .on(host.name())
        .happened("the host has no interface with this name")
        .next(next))
}

/// The name in a line: "2: eth0: <…> mtu 1500 …", "3: eth0.5@eth0: <…>".
fn named(line: &str) -> Option<&str> {
    line.split(": ").nth(1)?.split('@').next()
}

/// The number of an interface in its line.
pub(super) fn index(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim()
}

/// The part of an original that every setting of an interface has.
pub(super) fn original(host: &dyn Reach, line: &str) -> Result<Original, Failure> {
    let boot = (BOOT.to_owned(), kernel_file::boot(host)?);
    Ok(Original([boot, (INDEX.to_owned(), index(line).to_owned())].into()))
}

/// Whether an original has the part from [`original`].
pub(super) fn check_original(original: &Original) -> Result<(), String> {
    let [boot, index] = original.values([BOOT, INDEX]);
    let is_number = index.parse::<u32>().is_ok_and(|number| number.to_string() == index);
    match kernel_file::is_boot(boot) && is_number {
        true => Ok(()),
        false => Err("it does not name its interface".into()),
    }
}

/// The line of the interface that an original is of; `None` where the host has rebooted or the interface has gone:
/// nothing is left of the setting then.
///
/// # Errors
/// The interface has another name now: it keeps what was set, and nothing that is undone by its name reaches it.
pub(super) fn still_there(
    host: &dyn Reach,
    name: &str,
    original: &Original,
) -> Result<Option<String>, Failure> {
    if original.0.get(BOOT) != Some(&kernel_file::boot(host)?) {
        return Ok(None);
    }
    let text = links(host)?;
    let own = original.0.get(INDEX).map(String::as_str);
    let Some(line) = text.lines().find(|line| Some(index(line)) == own) else { return Ok(None) };
    match named(line) {
        Some(now) if now != name => {
            let tried = format!("find the network interface {name}");
            let happened = format!("the interface has been renamed to {now}");
            let next = format!("Rename it to {name} again.");
            Err(Failure::new(Cause::Trial, tried).on(host.name()).happened(happened).next(next))
        }
        _ => Ok(Some(line.to_owned())),
    }
}

/// The same before a change, where an interface that is gone is an error.
pub(super) fn expect(
    host: &dyn Reach,
    setting: &str,
    name: &str,
    original: &Original,
) -> Result<String, Failure> {
    still_there(host, name, original)?.ok_or_else(|| {
        let happened = "the host has rebooted, or the interface has gone, since the study started";
        let tried = format!("set {setting}");
        Failure::new(Cause::Trial, tried)
            .on(host.name())
            .happened(happened)
            .next("Start the study again.")
    })
}

/// An original for tests, with further pairs.
#[cfg(test)]
pub(super) fn original_with(pairs: &[(&str, &str)]) -> Original {
    let boot = "01234567-89ab-cdef-0123-456789abcdef";
    let own = [(BOOT, boot), (INDEX, "2")];
    let all = own.iter().chain(pairs);
    Original(all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;

    #[test]
    fn names_of_interfaces() {
        for name in ["eth0", "eth0.100", "br-lan", "wlp2s0f0u1u2u3"] {
            check(name).unwrap();
        }
        for name in ["", ".", "..", "-x", "a/b", "a b", "eth0:1", "a'b", "a\nb", "0123456789abcdef"]
        {
            assert!(check(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
        let line = link(&Local, "lo").unwrap();
        assert_eq!(index(&line), "1");
        let failure = link(&Local, "none0").unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.next.contains("lo"), "{failure}");
        let own = original(&Local, &line).unwrap();
        check_original(&own).unwrap();
        assert!(still_there(&Local, "lo", &own).unwrap().is_some());
        // Of another start of the kernel, of an interface that is gone although another has its name now.
        for (key, value) in [(BOOT, original_with(&[]).0[BOOT].as_str()), (INDEX, "2147483647")] {
            let mut other = own.clone();
            other.0.insert(key.to_owned(), value.to_owned());
            assert_eq!(still_there(&Local, "lo", &other).unwrap(), None, "{key}");
            assert!(expect(&Local, "mtu:lo", "lo", &other).is_err());
        }
        let renamed = still_there(&Local, "none0", &own).unwrap_err();
        assert!(renamed.happened.contains("renamed to lo"), "{renamed}");
        for index in ["", "02", "-1", "$(id)"] {
            assert!(check_original(&Original([(INDEX.into(), index.into())].into())).is_err());
        }
    }
}
