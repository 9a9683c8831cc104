//! Which addresses a plan leads to. A lab is a world of its own, so they are the same in each.

use super::{HostKind, Link, Plan};
use std::net::Ipv4Addr;

/// Length of the network part of every address.
pub const PREFIX_BITS: u8 = 24;

/// An interface of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// The link, whose name is the interface's, too.
    pub link: String,
    /// Its address; the network has [`PREFIX_BITS`] bits.
    pub address: Ipv4Addr,
    /// Its hardware address, locally administered.
    pub mac: String,
}

impl Plan {
    /// The links in order of their names with their numbers, from 1. Link n is 10.77.n.0/24.
    pub fn numbered_links(&self) -> impl Iterator<Item = (u8, &String, &Link)> {
        (1..=u8::MAX).zip(&self.links).map(|(number, (name, link))| (number, name, link))
    }

    /// The interfaces of a host in order of their links' names: the k-th host of link n has
    /// 10.77.n.k.
    pub fn nics(&self, host: &str) -> Vec<Nic> {
        self.numbered_links()
            .filter_map(|(number, name, link)| {
                let place = link.between.iter().position(|other| other == host)?;
                let place = u8::try_from(place + 1).ok()?;
                Some(Nic {
                    link: name.clone(),
                    address: Ipv4Addr::new(10, 77, number, place),
                    mac: format!("02:00:0a:4d:{number:02x}:{place:02x}"),
                })
            })
            .collect()
    }

    /// The host in namespaces on a link with a virtual machine. `None` for a link of hosts of one kind.
    pub fn tap_host(&self, link: &str) -> Option<&str> {
        let between = &self.links.get(link)?.between;
        let of_kind = |kind: HostKind| {
            let is_of_kind = |name: &&String| self.hosts.get(*name).is_some_and(|h| h.kind == kind);
            between.iter().find(is_of_kind)
        };
        of_kind(HostKind::Vm).and(of_kind(HostKind::Netns)).map(String::as_str)
    }

    /// The address by which one host reaches another: on the first link they share, in order of
    /// names; else any that the other has, which takes a router.
    pub fn address_of(&self, other: &str, seen_from: &str) -> Option<Ipv4Addr> {
        let theirs = self.nics(other);
        let ours = self.nics(seen_from);
        let shared = theirs.iter().find(|nic| ours.iter().any(|our| our.link == nic.link));
        shared.or(theirs.first()).map(|nic| nic.address)
    }

    /// What stands in `/etc/hosts` of a host: all names, itself as 127.0.1.1.
    pub fn hosts_file(&self, host: &str) -> String {
        let mut text = format!("127.0.0.1 localhost\n127.0.1.1 {host}\n");
        for other in self.hosts.keys().filter(|other| *other != host) {
            if let Some(address) = self.address_of(other, host) {
                text.push_str(&format!("{address} {other}\n"));
            }
        }
        text
    }
}
