//! Parameters of a kernel, through `/proc/sys` (sysctl(8)). They last until the host reboots.

use super::kernel_file::{self, check};
use super::{Found, Knob, Original, Scope, command};
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub const KIND: &str = "sysctl";

/// A short name of `sysctl:net.ipv4.tcp_congestion_control`, by which it is recorded.
pub(super) const CONGESTION: &str = "congestion";

/// A short name of `sysctl:net.netfilter.nf_conntrack_max`, likewise. The kernel has it once connections are tracked.
/// The first network namespace of a machine sets it for all others, in which it is read-only.
pub(super) const CONNTRACK_MAX: &str = "conntrack-max";
const CONNTRACK_MAX_PATH: &str = "net/netfilter/nf_conntrack_max";

/// Parts of `/proc/sys` whose parameters can be set.
const SUBTREES: [&str; 6] = ["dev", "fs", "kernel", "net", "sunrpc", "vm"];

/// Two names of one thing: writing one makes the other 0, so both are read, and that which was not
/// 0 is written back.
const PAIRS: [[&str; 2]; 3] = [
    ["vm/dirty_ratio", "vm/dirty_bytes"],
    ["vm/dirty_background_ratio", "vm/dirty_background_bytes"],
    ["vm/overcommit_ratio", "vm/overcommit_kbytes"],
];

/// Parameters whose values the kernel lists, and the parameter that has the list.
const LISTED: [(&str, &str); 3] = [
    ("net/ipv4/tcp_congestion_control", "net/ipv4/tcp_available_congestion_control"),
    ("net/mptcp/scheduler", "net/mptcp/available_schedulers"),
    ("net/mptcp/path_manager", "net/mptcp/available_path_managers"),
];

/// Programs that the kernel starts as root: nothing that a journal may name.
const PROGRAMS: [&str; 4] =
    ["kernel/core_pattern", "kernel/hotplug", "kernel/modprobe", "kernel/poweroff_cmd"];

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its path below `/proc/sys`.
    path: String,
}

/// From a key in either form of sysctl(8): the first of '.' and '/' in it parts it, the other one
/// is a letter, as in `net.ipv4.conf.eth0/100.rp_filter`.
pub(super) fn make(key: &str) -> Result<Box<dyn Knob>, String> {
    Sysctl::from_key(key).map(|sysctl| Box::new(sysctl) as Box<dyn Knob>)
}

/// The congestion control of TCP, under a short name.
pub(super) fn congestion(rest: &str) -> Result<Box<dyn Knob>, String> {
    super::alone(rest, Sysctl { path: LISTED[0].0.to_owned() })
}

/// Most connections in the kernel's table, under a short name.
pub(super) fn conntrack_max(rest: &str) -> Result<Box<dyn Knob>, String> {
    super::alone(rest, Sysctl { path: CONNTRACK_MAX_PATH.to_owned() })
}

impl Sysctl {
    fn from_key(key: &str) -> Result<Sysctl, String> {
        let dotted = key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('.'));
        let path = if dotted { key.chars().map(swapped).collect() } else { key.to_owned() };
        let parts: Vec<&str> = path.split('/').collect();
        let letter = |c: char| c.is_ascii_alphanumeric() || "_-.:@".contains(c);
        let sound = |part: &&str| !part.is_empty() && ![".", ".."].contains(part);
        if parts.len() < 2 || !parts.iter().all(sound) || !path.replace('/', "").chars().all(letter)
        {
            return Err("it is not the name of a kernel parameter".into());
        }
        if !SUBTREES.contains(&parts[0]) {
            return Err(format!("plimsoll only sets parameters below {}", SUBTREES.join(", ")));
        }
        if PROGRAMS.contains(&&*path) {
            return Err("its value is a program that the kernel starts".into());
        }
        // The kernel copies these to every interface, and what each had is lost.
        let spreads = path == "net/ipv4/ip_forward"
            || path.starts_with("net/ipv6/conf/all/")
            || (path.starts_with("net/ipv4/conf/")
                && path.ends_with("/forwarding")
                && ["all", "default"].contains(&parts[3]));
        if spreads {
            return Err("it would change the parameter of every interface".into());
        }
        Ok(Sysctl { path })
    }

    /// The parameters that undoing takes: its own first.
    fn paths(&self) -> Vec<&str> {
        let own = self.path.as_str();
        let pair = PAIRS.iter().find(|pair| pair.contains(&own));
        let other = pair.and_then(|pair| pair.iter().find(|path| **path != own));
        [own].into_iter().chain(other.copied()).collect()
    }

    fn get(&self, host: &dyn Reach, path: &str) -> Result<String, Failure> {
        kernel_file::get(host, &file(path))
    }

    fn put(&self, host: &dyn Reach, path: &str, value: &str) -> Result<(), Failure> {
        kernel_file::put(host, &file(path), value).map_err(|failure| {
            // Not even root is allowed to write there, so that it is no matter of rights.
            match path == CONNTRACK_MAX_PATH && is_read_only(host, path) {
                true => Failure {
                    happened: "the host is a network namespace, which has the size of its \
                        machine's first namespace"
                        .into(),
                    next: "Use a router with a kernel of its own, such as a virtual machine of a \
                        lab, or set it on the machine itself."
                        .into(),
                    ..failure
                },
                false => failure,
            }
        })
    }

    fn expect(&self, host: &dyn Reach, path: &str, wanted: &str) -> Result<(), Failure> {
        kernel_file::expect(host, &self.name(), &file(path), wanted)
    }

    /// Which parameter to write back, and what.
    fn back<'a>(&'a self, original: &'a Original) -> Option<(&'a str, &'a str)> {
        let found = |path: &'a str| Some((path, original.0.get(path)?.as_str()));
        let own = found(&self.path)?;
        let other = self.paths().get(1).and_then(|path| found(path));
        Some(other.filter(|other| own.1 == "0" && other.1 != "0").unwrap_or(own))
    }
}

fn swapped(c: char) -> char {
    match c {
        '.' => '/',
        '/' => '.',
        other => other,
    }
}

fn file(path: &str) -> String {
    format!("/proc/sys/{path}")
}

/// Whether the kernel lets nobody write a parameter.
fn is_read_only(host: &dyn Reach, path: &str) -> bool {
    let text = format!("ls -l {}", quote(&file(path)));
    command(host, "read the rights of a parameter", &text, b"")
        .is_ok_and(|line| line.starts_with("-r-"))
}

impl Knob for Sysctl {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.path.chars().map(swapped).collect::<String>())
    }

    fn scope(&self) -> Scope {
        match self.path.starts_with("net/") {
            true => Scope::Network,
            false => Scope::Kernel,
        }
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level.trim().is_empty() {
            true => Err("it is empty".into()),
            false => check(level),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let mut paths = self.paths();
        paths.sort_unstable();
        match original.0.keys().map(String::as_str).eq(paths) {
            true => original.0.values().try_for_each(|value| check(value)),
            false => Err("it contains other parameters".into()),
        }
    }

    fn listed(&self, host: &dyn Reach) -> Option<Vec<String>> {
        let (_, list) = LISTED.iter().find(|(path, _)| *path == self.path)?;
        let list = self.get(host, list).ok()?;
        Some(list.split_ascii_whitespace().map(str::to_owned).collect())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let read = |path: &str| Ok((path.to_owned(), self.get(host, path)?));
        let values = self.paths().into_iter().map(read).collect::<Result<_, Failure>>()?;
        let original = Original(values);
        let level = original.0.get(&self.path).cloned().unwrap_or_default();
        Ok(Found { level, original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        self.put(host, &self.path, level)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        self.expect(host, &self.path, level)
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if let Some((path, value)) = self.back(original) {
            self.put(host, path, value)?;
        }
        original.0.iter().try_for_each(|(path, value)| self.expect(host, path, value))
    }

    /// What is below `net` may cut the link.
    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let (path, value) = self.back(original).filter(|(path, _)| path.starts_with("net/"))?;
        let value = quote(value);
        Some(format!("printf '%s\\n' {value} >'/proc/sys/{path}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_of_a_key_are_one() {
        let path = |key: &str| Sysctl::from_key(key).unwrap().path;
        assert_eq!(path("net.ipv4.tcp_wmem"), "net/ipv4/tcp_wmem");
        assert_eq!(path("net/ipv4/tcp_wmem"), "net/ipv4/tcp_wmem");
        // A VLAN's interface has a dot in its name.
        assert_eq!(path("net.ipv4.conf.eth0/100.rp_filter"), "net/ipv4/conf/eth0.100/rp_filter");
        assert_eq!(path("net/ipv4/conf/eth0.100/rp_filter"), "net/ipv4/conf/eth0.100/rp_filter");
        let name = Sysctl::from_key("net/ipv4/conf/eth0.100/rp_filter").unwrap().name();
        assert_eq!(name, "sysctl:net.ipv4.conf.eth0/100.rp_filter");
    }

    #[test]
    fn what_is_no_parameter_or_cannot_be_undone_is_refused() {
        for key in [
            "",
            "vm",
            "vm.",
            ".vm.x",
            "/vm/x",
            "vm//x",
            "vm..x",
            "vm/../kernel/modprobe",
            "vm./.x",
            "vm/./x",
            "vm.a b",
            "vm.$(id)",
            "vm.a'b",
            "vm.a\nb",
            "abi.x",
            "../vm/x",
            "kernel.core_pattern",
            "kernel/modprobe",
            "net.ipv4.ip_forward",
            "net.ipv4.conf.all.forwarding",
            "net.ipv6.conf.all.disable_ipv6",
        ] {
            assert!(Sysctl::from_key(key).is_err(), "{key}");
        }
        assert!(Sysctl::from_key("net.ipv4.conf.eth0.forwarding").is_ok());
    }

    #[test]
    fn of_a_pair_that_which_was_not_zero_is_written_back() {
        let sysctl = Sysctl::from_key("vm.dirty_ratio").unwrap();
        let original = |ratio: &str, bytes: &str| {
            let [a, b] = PAIRS[0].map(str::to_owned);
            Original([(a, ratio.to_owned()), (b, bytes.to_owned())].into())
        };
        assert_eq!(sysctl.back(&original("20", "0")), Some(("vm/dirty_ratio", "20")));
        assert_eq!(sysctl.back(&original("0", "4096")), Some(("vm/dirty_bytes", "4096")));
        assert_eq!(sysctl.back(&original("0", "0")), Some(("vm/dirty_ratio", "0")));
        sysctl.check_original(&original("0", "4096")).unwrap();
        let other = Original([("kernel/modprobe".to_owned(), "/bin/sh".to_owned())].into());
        assert!(sysctl.check_original(&other).is_err());
        assert_eq!(sysctl.undo_by_shell(&original("20", "0")), None, "it cuts no link");
    }

    proptest! {
        /// No key leads out of /proc/sys or out of its quotes.
        #[test]
        fn any_key(key in "[a-z./ '$\\\\]{0,20}|(vm|net)[./]\\PC{0,20}") {
            if let Ok(sysctl) = Sysctl::from_key(&key) {
                prop_assert!(!sysctl.path.contains(['\'', '\n', ' ', '\\', '$']));
                prop_assert!(sysctl.path.split('/').all(|part| !["", ".", ".."].contains(&part)));
                prop_assert_eq!(Sysctl::from_key(&sysctl.name()[KIND.len() + 1..]).unwrap(), sysctl);
            }
        }
    }
}
