//! Settings of hosts that a study changes and puts back.
//!
//! A [`Knob`] is one setting: it is read, applied, verified and undone through [`Reach`]. A
//! [`Session`] changes several for a study. Before the first change of each, what was found is
//! written to an undo journal and synced, on this machine ([`Journal`]) and on the host
//! ([`device`]), so that [`restore`] puts it back after a crash or a power cut. Where a change may
//! cut the link, a timer on the host ([`guard`]) undoes it unless it is renewed.
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
mod qdisc;
mod read_ahead;
pub mod reboot;
mod restore;
mod rps;
mod samba;
mod session;
pub mod sysctl;
pub mod tracer;
mod unrestored;
mod wireguard;
mod zfs;

pub use commands::by_commands;
pub use entry::{Entry, MOST_BYTES};
pub use factor_request::FactorRequest;
pub use journal::{Journal, Unreadable};
pub use nft::found_ruleset;
pub use nft_listing::{RulesetParts, ruleset_parts};
pub use origin::{Origin, Scope};
pub use owner::{Owner, Process};
pub use qdisc::root_discipline;
pub use restore::{Restored, restore};
pub use session::{Factor, Session};
pub use unrestored::{expect_none_left, expect_none_left_on};
pub use wireguard::{LARGEST_PACKET, Tunnel, is_tunnel};

use plimsoll_model::{Cause, Failure, Switch};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::last_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What any one step on a host may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Before every command: daemons lie where the search path of ordinary users does not lead.
pub(crate) const BEGIN: &str =
    "LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH";

/// Longest level and longest name of a setting, in bytes.
const LONGEST: usize = 512;

/// One setting of a host.
pub trait Knob: Send + Sync {
    /// Its name as the user gives it, in its one canonical form: [`knob`] makes the same of it.
    fn name(&self) -> String;

    /// What changing it takes. Only a setting that needs a restart says so.
    fn switch(&self) -> Switch {
        Switch::Live
    }

    /// What of a host it belongs to.
    fn scope(&self) -> Scope {
        Scope::Host
    }

    /// Whether this can be a level of it, and why not; the host is not asked.
    fn check(&self, level: &str) -> Result<(), String>;

    /// Whether this can have come from [`Knob::read`]; journals are bytes from outside.
    fn check_original(&self, original: &Original) -> Result<(), String>;

    /// The levels that the host lists, where it lists them. It may take more, as a kernel that loads a
    /// module for one: others are tried before a study begins. Nothing: each of them is.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        None
    }

    /// What it is now.
    fn read(&self, host: &dyn Reach) -> Result<Found, Failure>;

    /// Whether the host would take a level, as far as can be told without a change.
    fn check_on(&self, _: &dyn Reach, _: &Original, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    /// Sets it to a level. What was found before the first change is `original`.
    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure>;

    /// Fails unless the level is in effect: the host may have refused, clamped or changed it.
    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure>;

    /// Puts back what was found and verifies that it is in effect. Undoing what is undone already
    /// does nothing, but fails where undoing would.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure>;

    /// A line of POSIX shell that undoes it, for settings whose change may cut the link.
    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        None
    }

    /// Whether it is `now` as it was found. What undoing takes may hold more than the setting itself,
    /// such as other settings of a server that has to be started again.
    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        original == now
    }
}

/// What a host had before a setting of it was changed: all that undoing takes, by keys of the
/// knob's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Original(pub BTreeMap<String, String>);

impl Original {
    /// Value of a key; an empty text if it has none.
    pub fn value(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// Values of several keys.
    pub fn values<const N: usize>(&self, keys: [&str; N]) -> [&str; N] {
        keys.map(|key| self.value(key))
    }
}

/// A setting as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its level, in the words that [`Knob::apply`] takes where it has one.
    pub level: String,
    /// What undoing takes.
    pub original: Original,
}

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
    (nft::KIND, nft::make, "nft-ruleset"),
    (conntrack::KIND, conntrack::make, "conntrack"),
    (flowtable::KIND, flowtable::make, "flowtable"),
    (sysctl::CONGESTION, sysctl::congestion, "congestion"),
    (sysctl::CONNTRACK_MAX, sysctl::conntrack_max, "conntrack-max"),
    (offload::KIND, offload::make, "offload:eth0:tso"),
    (mtu::KIND, mtu::make, "mtu:eth0"),
    (rps::KIND, rps::make, "rps:eth0"),
    (packet_steering::KIND, packet_steering::make, "packet-steering"),
    (qdisc::KIND, qdisc::make, "qdisc:eth0"),
    (wireguard::ROUTER, wireguard::router, "wireguard"),
    (wireguard::END, wireguard::end, "wireguard-end"),
    (zfs::KIND, zfs::make, "zfs:tank/films:recordsize"),
    (tracer::KIND, tracer::make, "tracer"),
    (commands::KIND, commands::make, "command:NAME"),
];

type Make = fn(&str) -> Result<Box<dyn Knob>, String>;

/// For settings of which a host has one alone.
fn alone(rest: &str, knob: impl Knob + 'static) -> Result<Box<dyn Knob>, String> {
    match rest {
        "" => Ok(Box::new(knob)),
        _ => Err("its name is incomplete".into()),
    }
}

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

/// Runs a command on a host; what it wrote, which must be text.
fn command(host: &dyn Reach, tried: &str, text: &str, input: &[u8]) -> Result<String, Failure> {
    let failed = |happened: String| {
        let next = "To change settings, plimsoll needs root on the host, and a kernel with these \
            settings.";
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    };
    let output = host.run(&format!("{BEGIN}; {text}"), input, PATIENCE)?;
    if output.status != Some(0) {
        let why = last_line(&output.errors);
        return Err(failed(why.unwrap_or_else(|| "the command failed without a message".into())));
    }
    if output.cut {
        return Err(failed("its output is too long".into()));
    }
    String::from_utf8(output.output).map_err(|_| failed("its output is not text".into()))
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
