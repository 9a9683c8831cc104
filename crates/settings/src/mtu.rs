//! The largest packet of a network interface (MTU), in bytes. A wrong one may cut the link, so a timer on the host puts
//! back what was there.

use super::{Found, Knob, Original, Scope, command, interface, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::printed::word_after;
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "mtu";

/// Key of an [`Original`]: the MTU.
const MTU: &str = "mtu";

/// Least MTU of IPv4, and largest packet of IP.
const RANGE: std::ops::RangeInclusive<u32> = 68..=65_535;

/// Least MTU with which the kernel keeps an interface's IPv6 addresses (RFC 8200, section 5).
const LEAST_IPV6: u32 = 1280;

#[derive(Debug)]
struct Mtu {
    interface: String,
}

pub(super) fn make(interface: &str) -> Result<Box<dyn Knob>, String> {
    interface::check(interface)?;
    Ok(Box::new(Mtu { interface: interface.to_owned() }))
}

fn is_mtu(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|mtu| RANGE.contains(&mtu) && mtu.to_string() == text)
}

/// The MTU in a line of `ip -o link`.
fn of_line(line: &str) -> Option<&str> {
    word_after(line, "mtu")
}

impl Mtu {
    fn refused(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("change the MTU of {}", self.interface);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    fn put(&self, host: &dyn Reach, mtu: &str) -> Result<(), Failure> {
        let interface = quote(&self.interface);
        let text = format!("ip link set dev {interface} mtu {}", quote(mtu));
        command(host, &format!("set the MTU of {} to {mtu}", self.interface), &text, b"").map(drop)
    }

    fn expect(&self, host: &dyn Reach, line: &str, wanted: &str) -> Result<(), Failure> {
        match of_line(line) {
            Some(now) if now == wanted => Ok(()),
            now => {
                let now = now.unwrap_or_default();
                Err(kernel_file::not_in_effect(host, &self.name(), now, wanted))
            }
        }
    }

    /// Refuses interfaces whose MTU changes others with it, which nobody would put back.
    fn expect_alone(&self, host: &dyn Reach) -> Result<(), Failure> {
        let text = format!(
            "cat /proc/net/vlan/config 2>/dev/null
            [ ! -d /sys/class/net/{}/bridge ] || echo bridge",
            quote(&self.interface)
        );
        let text = command(host, "list the VLANs", &text, b"")?;
        if text.lines().any(|line| line == "bridge") {
            let next = "Set the MTU of its ports instead.";
            return Err(self.refused(host, "it is a bridge, whose MTU follows its ports", next));
        }
        // "eth0.100 | 100 | eth0"
        let carries =
            |line: &str| line.rsplit('|').next().map(str::trim) == Some(self.interface.as_str());
        if text.lines().any(carries) {
            let happened = "the interface carries VLANs, whose MTU the kernel would lower with it";
            return Err(self.refused(host, happened, "Set the MTU of the VLAN instead."));
        }
        Ok(())
    }
}

impl Knob for Mtu {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.interface)
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match is_mtu(level) {
            true => Ok(()),
            false => Err(format!(
                "it is not a number of bytes from {} to {}",
                RANGE.start(),
                RANGE.end()
            )),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        interface::check_original(original)?;
        match original.0.len() == 3
            && original.0.get(MTU).is_some_and(|mtu| mtu.parse::<u32>().is_ok())
        {
            true => Ok(()),
            false => Err("it does not contain an MTU".into()),
        }
    }

    /// Drivers do not list theirs: only trying tells.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let line = interface::link(host, &self.interface)?;
        self.expect_alone(host)?;
        let Some(level) = of_line(&line).map(str::to_owned) else {
            return Err(self.refused(host, "ip prints no MTU of it", "Name another interface."));
        };
        let mut original = interface::original(host, &line)?;
        original.0.insert(MTU.to_owned(), level.clone());
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.refused(host, &why, "Name another interface.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        interface::expect(host, &self.name(), &self.interface, original)?;
        if level.parse::<u32>().is_ok_and(|mtu| mtu < LEAST_IPV6) {
            let text = command(
                host,
                "list the IPv6 addresses",
                "cat /proc/net/if_inet6 2>/dev/null || true",
                b"",
            )?;
            let is_own =
                |line: &str| line.split_whitespace().next_back() == Some(self.interface.as_str());
            if text.lines().any(is_own) {
                let happened = format!(
                    "below {LEAST_IPV6} bytes the kernel removes the interface's IPv6 addresses, which are not \
                     restored with the MTU"
                );
                let next = format!("Give values of at least {LEAST_IPV6}.");
                return Err(self.refused(host, &happened, &next));
            }
        }
        self.put(host, level)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        self.expect(host, &interface::link(host, &self.interface)?, level)
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if interface::still_there(host, &self.interface, original)?.is_none() {
            return Ok(());
        }
        let mtu = original.value(MTU);
        self.put(host, mtu)?;
        self.expect(host, &interface::link(host, &self.interface)?, mtu)
    }

    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let mtu = original.0.get(MTU)?;
        Some(format!("ip link set dev {} mtu {}", quote(&self.interface), quote(mtu)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_levels_and_originals() {
        assert!(make("").is_err() && make("a b").is_err());
        let knob = make("eth0").unwrap();
        for level in ["", "67", "65536", "01500", "1500 ", "9k", "-1"] {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        knob.check("1280").unwrap();
        let original = |mtu: &str| interface::original_with(&[(MTU, mtu)]);
        knob.check_original(&original("65536")).unwrap();
        assert!(knob.check_original(&original("1500; id")).is_err());
        assert!(knob.check_original(&interface::original_with(&[])).is_err());
        assert!(
            knob.check_original(&interface::original_with(&[(MTU, "1500"), ("more", "")])).is_err()
        );
        assert_eq!(
            knob.undo_by_shell(&original("1500")).unwrap(),
            "ip link set dev 'eth0' mtu '1500'"
        );
        let line = "2: eth0: <BROADCAST,UP> mtu 1500 qdisc mq state UP mode DEFAULT group default";
        assert_eq!(of_line(line), Some("1500"));
    }
}
