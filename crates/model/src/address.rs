//! The address of an end of a path.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// Longest name of an interface (IFNAMSIZ of the kernel, less its end).
const MOST_LETTERS: usize = 15;

/// An IP address. A link-local one of IPv6 has a zone, because each link of a host has such addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    /// The address without its zone.
    pub ip: IpAddr,
    /// The interface that leads to it, on the host that sends there.
    pub zone: Option<Zone>,
}

impl Address {
    /// Whether nobody can send there: it is link-local, and its zone is missing.
    pub fn lacks_zone(&self) -> bool {
        is_link_local(self.ip) && self.zone.is_none()
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(six) if six.is_unicast_link_local())
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Address {
        Address { ip, zone: None }
    }
}

impl From<Ipv4Addr> for Address {
    fn from(ip: Ipv4Addr) -> Address {
        IpAddr::V4(ip).into()
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let (ip, zone) = match text.split_once('%') {
            Some((ip, zone)) => (ip, Some(zone)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| format!("'{text}' is not an IP address"))?;
        let Some(zone) = zone else { return Ok(ip.into()) };
        if !is_link_local(ip) {
            return Err(format!("'{text}' has an interface, and only addresses in fe80::/10 do"));
        }
        match zone.parse() {
            Ok(zone) => Ok(Address { ip, zone: Some(zone) }),
            Err(NoInterface) => Err(format!("'{zone}' is not the name of an interface")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone {
            Some(zone) => write!(f, "{}%{zone}", self.ip),
            None => write!(f, "{}", self.ip),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

/// Name of an interface, filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone([u8; MOST_LETTERS]);

/// A text is not the name of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoInterface;

impl Zone {
    /// The name.
    pub fn as_str(&self) -> &str {
        let letters = self.0.split(|letter| *letter == 0).next().unwrap_or_default();
        std::str::from_utf8(letters).unwrap_or_default()
    }
}

impl FromStr for Zone {
    type Err = NoInterface;

    /// The kernel allows more letters. Names with them are rare, and would have to be escaped everywhere.
    fn from_str(name: &str) -> Result<Zone, NoInterface> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
        let is_name = !name.is_empty() && name.chars().all(plain) && !name.starts_with(['-', '.']);
        let mut letters = [0; MOST_LETTERS];
        let room = letters.get_mut(..name.len()).filter(|_| is_name).ok_or(NoInterface)?;
        room.copy_from_slice(name.as_bytes());
        Ok(Zone(letters))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_understood_and_written_the_same() {
        for text in ["192.0.2.1", "2001:db8::1", "fe80::1", "fe80::1%eth0", "fe80::1%br-lan.7"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(address.lacks_zone(), text == "fe80::1");
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        }
        let longest: Address = "fe80::1%averyverylong15".parse().unwrap();
        assert_eq!(longest.zone.unwrap().as_str(), "averyverylong15");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, happened) in [
            ("nas", "'nas' is not an IP address"),
            ("", "is not an IP address"),
            ("%eth0", "is not an IP address"),
            ("192.0.2.1%eth0", "only addresses in fe80::/10"),
            ("2001:db8::1%eth0", "only addresses in fe80::/10"),
            ("fe80::1%", "'' is not the name"),
            ("fe80::1%a b", "is not the name"),
            ("fe80::1%a\nb", "is not the name"),
            ("fe80::1%../x", "is not the name"),
            ("fe80::1%-x", "is not the name"),
            ("fe80::1%averyverylong_16", "is not the name"),
        ] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.contains(happened), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_makes_no_panic(text in "(fe80::1%)?\\PC{0,20}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
            }
        }
    }
}
