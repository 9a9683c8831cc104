//! Settings of hosts that a study changes and puts back.
//!
//! A [`Knob`] is one setting: it is read, applied, verified and undone through
//! [`Reach`](plimsoll_reach::Reach). A [`Session`] changes several for a study. Before the first change
//! of each, what was found is written to an undo journal and synced, on this machine ([`Journal`]) and
//! on the host ([`device`]), so that [`restore`] puts it back after a crash or a power cut. Where a
//! change may cut the link, a timer on the host ([`guard`]) undoes it unless it is renewed.
//!
//! A new kind of setting is a file here, a line in `KINDS` and one in docs/settings.md.
#![forbid(unsafe_code)]

mod commands;
mod config_file;
mod conntrack;
pub mod device;
mod entry;
pub mod export;
mod factor_request;
mod flowtable;
#[doc(hidden)]
pub mod fuzzing;
mod governor;
pub mod guard;
mod interface;
mod journal;
mod kernel_file;
mod mount;
mod mtu;
mod nfsd;
mod nft;
mod nft_listing;
mod offload;
mod origin;
mod own_table;
mod owner;
mod packet_steering;
mod pppoe;
mod qdisc;
mod qdisc_listing;
mod read_ahead;
pub mod reboot;
mod restore;
mod rps;
mod samba;
mod session;
mod setting;
pub mod sysctl;
pub mod tracer;
mod tunnel;
mod tunnels;
mod unrestored;
mod wireguard;
mod zfs;

pub use commands::by_commands;
pub use entry::{Entry, MOST_BYTES};
pub use factor_request::FactorRequest;
pub use interface::{LIST_SESSIONS, lowest_interfaces, with_interfaces_below};
pub use journal::{Journal, Unreadable};
pub use nft::found_ruleset;
pub use nft_listing::{RulesetParts, ruleset_parts};
pub use origin::{Origin, Scope};
pub use owner::{Owner, Process};
pub use qdisc::{queue_disciplines, root_discipline};
pub use qdisc_listing::OF_QUEUES;
pub use restore::{Restored, restore};
pub use session::{Factor, Session};
pub use setting::{Found, Knob, Original};
pub use tunnel::TunnelHost;
pub use tunnels::{TunnelKnob, is_tunnel, largest_tunnel_packet, tunnel_knobs};
pub use unrestored::{expect_none_left, expect_none_left_on};

use plimsoll_model::{Cause, Failure};
use setting::{BEGIN, LONGEST, alone, command};

/// The kinds of settings: what stands before the colon of a name, what makes one of the rest, and
/// an example. Those of which a host has one alone have no colon, and an empty rest.
const KINDS: &[(&str, Make, &str)] = &[
    (sysctl::KIND, sysctl::make, "sysctl:net.ipv4.tcp_congestion_control"),
    (export::KIND, export::make, "export-sync:/srv/films"),
    (read_ahead::KIND, read_ahead::make, "read-ahead:/srv/films"),
    (governor::KIND, governor::make, "governor"),
    (nfsd::THREADS, nfsd::threads, "nfsd-threads"),
    (nfsd::MAX_BLOCK_SIZE, nfsd::max_block_size, "nfsd-max-block-size"),
    (nfsd::VERSIONS, nfsd::versions, "nfsd-versions"),
    (samba::KIND, samba::make, "samba:use sendfile@films"),
    (mount::KIND, mount::make, "mount:/mnt/films:nconnect"),
    (nft::KIND, nft::make, nft::KIND),
    (conntrack::KIND, conntrack::make, "conntrack"),
    (flowtable::KIND, flowtable::make, flowtable::KIND),
    (sysctl::CONGESTION, sysctl::congestion, "congestion"),
    (sysctl::CONNTRACK_MAX, sysctl::conntrack_max, "conntrack-max"),
    (offload::KIND, offload::make, "offload:eth0:tso"),
    (mtu::KIND, mtu::make, "mtu:eth0"),
    (rps::KIND, rps::make, "rps:eth0"),
    (packet_steering::KIND, packet_steering::make, "packet-steering"),
    (qdisc::KIND, qdisc::make, "qdisc:eth0"),
    (wireguard::ROUTER.name, wireguard::router, "wireguard"),
    (wireguard::END.name, wireguard::end, "wireguard-end"),
    (pppoe::ROUTER.name, pppoe::router, "pppoe"),
    (pppoe::END.name, pppoe::end, "pppoe-end"),
    (pppoe::RETURN.name, pppoe::way_back, "pppoe-return"),
    (zfs::KIND, zfs::make, "zfs:tank/films:recordsize"),
    (tracer::KIND, tracer::make, "tracer"),
    (commands::KIND, commands::make, "command:NAME"),
];

type Make = fn(&str) -> Result<Box<dyn Knob>, String>;

/// Whether a text begins with what stands for a kind of settings.
fn begins_kind(text: &str) -> bool {
    let named = |kind: &str| {
        text.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    KINDS.iter().any(|(kind, _, _)| named(kind))
}

/// The setting of that name: `sysctl:KEY`, `export-sync:PATH`, `governor`, …
///
/// # Errors
/// [`Cause::Usage`] for names that no setting has.
pub fn knob(name: &str) -> Result<Box<dyn Knob>, Failure> {
    let usage = |happened: String| {
        let examples: Vec<_> = KINDS.iter().map(|(_, _, example)| *example).collect();
        let next = format!("Examples of settings are {}.", examples.join(", "));
        Failure::new(Cause::Usage, "understand a setting").on(name).happened(happened).next(next)
    };
    if name.len() > LONGEST {
        return Err(usage(format!("it is longer than {LONGEST} bytes")));
    }
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    match KINDS.iter().find(|(known, _, _)| *known == kind) {
        Some((_, make, _)) => make(rest).map_err(usage),
        None => Err(usage(format!("there is no setting '{kind}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_makes_what_its_example_names() {
        let page = include_str!("../../../docs/settings.md");
        for (kind, _, example) in KINDS {
            assert!(page.contains(&format!("\n| `{kind}")), "{kind} is on no line of the table");
            let knob = knob(example).unwrap();
            assert!(begins_kind(example) && example.split(':').next() == Some(*kind));
            let name = match *kind {
                sysctl::CONGESTION => "sysctl:net.ipv4.tcp_congestion_control",
                sysctl::CONNTRACK_MAX => "sysctl:net.netfilter.nf_conntrack_max",
                _ => example,
            };
            assert_eq!(knob.name(), name);
        }
        for name in
            ["", "sysctl", "sysctl:", "governor:x", "other:thing", ":", &"x".repeat(LONGEST + 1)]
        {
            let failure = knob(name).map(|knob| knob.name()).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{failure}");
        }
    }
}
