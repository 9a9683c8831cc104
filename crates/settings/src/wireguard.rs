//! A WireGuard tunnel on a path from A through a router to B: from A to the router, or from A to B, which the router then
//! forwards encrypted.
//!
//! One level sets three hosts, each by a setting of its own with its own journal entry: the router, B and A. The data keeps
//! its addresses, so that no address translation comes with the tunnel: only what is sent between A and B takes it. What
//! the hosts send otherwise, the packets of the tunnel among it, keeps its route.

use super::{Found, Knob, Original, Scope, alone, command};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::word_after;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

/// What stands for the setting of the router.
pub(super) const ROUTER: &str = "wireguard";
/// What stands for the setting of A and of B.
pub(super) const END: &str = "wireguard-end";

const OFF: &str = "off";
const TO_ROUTER: &str = "to-router";
const THROUGH_ROUTER: &str = "through-router";

/// Largest packet through the tunnel on links of 1500 bytes, in bytes: 80 are around a packet, as wg-quick(8) has it.
pub const LARGEST_PACKET: u64 = 1420;

/// Key of an [`Original`]: whether the device was there.
const KEY: &str = "device";
const ABSENT: &str = "absent";

/// Mark of the tunnel's own packets, priority of the rule, and its routing table.
const MARK: u32 = 18_371;
/// Port of each end.
const PORT: u16 = 51_837;

/// Prints what there is that a tunnel makes. Not every ip(8) lists the rules of one priority.
const LIST: &str = "ip -o link show plimsoll_wg 2>/dev/null; ip rule show | sed -n '/^18371:/p'";

/// Removes the device with its routes, and the rule; nothing if they are not there.
const REMOVE: &str = "{ ! ip link show plimsoll_wg >/dev/null 2>&1 || ip link del plimsoll_wg; } && \
    while ip rule show | grep -q '^18371:'; do ip rule del pref 18371 || break; done";

/// Tries the tools, and whether the kernel makes such a device.
const TRY: &str = "command -v wg >/dev/null || { echo 'the program wg is missing (package wireguard-tools)' >&2; exit 1; }
    ip link add plimsoll_try type wireguard || { echo 'the kernel makes no WireGuard device' >&2; exit 1; }
    ip link del plimsoll_try";

/// Prints a private and a public key for each side of the tunnel.
const GENERATE: &str = "umask 077; for side in a other; do key=$(wg genkey) && echo \"$key\" && \
    echo \"$key\" | wg pubkey || exit 1; done";

/// What the settings of one tunnel share.
#[derive(Debug)]
pub struct Tunnel {
    /// Address of A, from which the data is sent.
    a: Ipv4Addr,
    /// Address of B, to which it is sent.
    b: Ipv4Addr,
    made: Mutex<Made>,
}

/// What is known once the router was set.
#[derive(Clone, Debug, Default)]
struct Made {
    keys: Option<Keys>,
    /// The router's address on the link to A.
    router: Option<Ipv4Addr>,
}

/// The keys of A and of the side that it talks to. They never stand on a command line.
#[derive(Clone, Debug)]
struct Keys {
    a: KeyPair,
    other: KeyPair,
}

#[derive(Clone, Debug)]
struct KeyPair {
    private: String,
    public: String,
}

/// A side of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Router,
    A,
    B,
}

/// The setting of one side. Without a tunnel it can only be undone, as a journal needs it.
#[derive(Debug)]
struct WireGuard {
    side: Side,
    tunnel: Option<Arc<Tunnel>>,
}

pub(super) fn router(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, WireGuard { side: Side::Router, tunnel: None })
}

pub(super) fn end(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, WireGuard { side: Side::A, tunnel: None })
}

/// Whether a setting is a tunnel's of a router.
pub fn is_tunnel(name: &str) -> bool {
    name == ROUTER
}

impl Tunnel {
    /// A tunnel for the data between these addresses.
    pub fn new(a: Ipv4Addr, b: Ipv4Addr) -> Tunnel {
        Tunnel { a, b, made: Mutex::default() }
    }

    /// The settings of the router, of B and of A, in the order in which they take their levels.
    pub fn knobs(self: Arc<Tunnel>) -> [Box<dyn Knob>; 3] {
        let knob =
            |side| -> Box<dyn Knob> { Box::new(WireGuard { side, tunnel: Some(self.clone()) }) };
        [knob(Side::Router), knob(Side::B), knob(Side::A)]
    }

    fn made(&self) -> Made {
        self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Makes the keys on the router, and asks it for its address.
    fn prepare(&self, router: &dyn Reach) -> Result<(), Failure> {
        const TRIED: &str = "make the keys of a tunnel";
        if self.made().keys.is_some() {
            return Ok(());
        }
        let unusable = |happened: &str| {
            Failure::new(Cause::NotPermitted, TRIED)
                .on(router.name())
                .happened(happened)
                .next("Try on the host: wg genkey.")
        };
        let printed = command(router, TRIED, GENERATE, b"")?;
        let keys = Keys::read(&printed).ok_or_else(|| unusable("wg genkey printed no keys"))?;
        let route = command(router, TRIED, &format!("ip -o route get {}", self.a), b"")?;
        let own = word_after(&route, "src").and_then(|word| word.parse().ok());
        let own = own.ok_or_else(|| unusable("it has no route with an address to A"))?;
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *made = Made { keys: Some(keys), router: Some(own) };
        Ok(())
    }
}

impl Keys {
    /// From what [`GENERATE`] printed.
    fn read(printed: &str) -> Option<Keys> {
        let mut lines = printed.lines().filter(|line| is_key(line)).map(str::to_owned);
        let mut pair = || Some(KeyPair { private: lines.next()?, public: lines.next()? });
        Some(Keys { a: pair()?, other: pair()? })
    }
}

/// 32 bytes in base 64.
fn is_key(text: &str) -> bool {
    let is_digit = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    text.strip_suffix('=').is_some_and(|digits| digits.len() == 43 && digits.bytes().all(is_digit))
}

impl WireGuard {
    fn kind(&self) -> &'static str {
        if self.side == Side::Router { ROUTER } else { END }
    }

    /// Whether this side has a device at a level.
    fn takes_part(&self, level: &str) -> bool {
        match self.side {
            Side::A => level != OFF,
            Side::B => level == THROUGH_ROUTER,
            Side::Router => level == TO_ROUTER,
        }
    }

    fn tunnel(&self) -> Result<&Tunnel, Failure> {
        self.tunnel.as_deref().ok_or_else(|| {
            Failure::new(Cause::Usage, "set up a tunnel")
                .on(self.kind())
                .happened("a tunnel needs two hosts and a router between them")
                .next("Give it to plimsoll net A B --via ROUTER --set ROUTER/wireguard=off,to-router.")
        })
    }

    /// The shell that makes this side's end, after [`REMOVE`]. The private key comes by standard input.
    fn script(&self, tunnel: &Tunnel, level: &str) -> Option<(String, String)> {
        let Made { keys, router } = tunnel.made();
        let keys = keys?;
        let (own, peer) = match self.side {
            Side::A => (&keys.a, &keys.other),
            Side::Router | Side::B => (&keys.other, &keys.a),
        };
        let (a, b) = (tunnel.a, tunnel.b);
        let other = if self.side == Side::A { b } else { a };
        let mut peer = format!("peer {} allowed-ips {other}/32", peer.public);
        if self.side == Side::A {
            let to = if level == THROUGH_ROUTER { b } else { router? };
            let _ = write!(peer, " endpoint {to}:{PORT}");
        }
        // The router is not itself the sender of the data, which comes in from B's side.
        let select = match self.side {
            Side::Router => {
                format!("iif \"$(ip -o route get {b} | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')\"")
            }
            Side::A | Side::B => format!("not fwmark {MARK}"),
        };
        let script = format!(
            "{REMOVE} &&
            ip link add plimsoll_wg mtu {LARGEST_PACKET} type wireguard &&
            wg set plimsoll_wg listen-port {PORT} fwmark {MARK} private-key /proc/self/fd/0 {peer} &&
            ip link set plimsoll_wg up &&
            ip route add {other}/32 dev plimsoll_wg table {MARK} &&
            ip rule add pref {MARK} {select} to {other}/32 lookup {MARK}"
        );
        Some((script, own.private.clone()))
    }

    fn expect_absent(&self, host: &dyn Reach, tried: &str) -> Result<(), Failure> {
        let there = command(host, tried, LIST, b"")?;
        if there.trim().is_empty() {
            return Ok(());
        }
        let happened =
            "the device plimsoll_wg or the routing rule 18371 is there, which only plimsoll makes";
        let next = "Remove them: ip link del plimsoll_wg; ip rule del pref 18371.";
        Err(Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next))
    }

    /// Fails unless this side's end is up; of A, unless the other end answered and the data takes the tunnel.
    fn expect_up(&self, host: &dyn Reach, tunnel: &Tunnel) -> Result<(), Failure> {
        const TRIED: &str = "set up a tunnel";
        let failed = |happened: String, next: &str| {
            Failure::new(Cause::Trial, TRIED).on(host.name()).happened(happened).next(next)
        };
        let there = command(host, TRIED, LIST, b"")?;
        let is_up =
            there.contains(&format!("mtu {LARGEST_PACKET} ")) && there.contains("lookup 18371");
        if !is_up {
            let next = "Check ip link and ip rule on the host: another program may set them.";
            return Err(failed("its device or its routing rule is missing".into(), next));
        }
        if self.side != Side::A {
            return Ok(());
        }
        // A packet makes the ends agree on keys. Whether B answers it does not matter.
        let b = tunnel.b;
        let text = format!(
            "for n in 1 2 3 4 5 6 7 8 9 10; do
                ping -c 1 -W 1 {b} >/dev/null 2>&1
                wg show plimsoll_wg latest-handshakes | grep -q '[1-9][0-9]*$' && break
            done
            wg show plimsoll_wg latest-handshakes; ip -o route get {b}"
        );
        let said = command(host, TRIED, &text, b"")?;
        let agreed = said.lines().filter_map(|line| line.split_once('\t'));
        let agreed = agreed.filter(|(key, _)| is_key(key)).any(|(_, at)| at.trim() != "0");
        if !agreed {
            let happened = format!("the other end of the tunnel did not answer at UDP port {PORT}");
            let next = "Check that the packet filter of the router accepts this port from A.";
            return Err(failed(happened, next));
        }
        let mut routes = said.lines().filter_map(|line| word_after(line, "dev"));
        if routes.next() != Some("plimsoll_wg") {
            let happened = format!("its route to {b} does not take the tunnel");
            let next = "Check ip rule on the host: a rule of a lower number decides.";
            return Err(failed(happened, next));
        }
        Ok(())
    }
}

impl Knob for WireGuard {
    fn name(&self) -> String {
        self.kind().to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        if self.side != Side::Router && self.tunnel.is_none() {
            return Err(format!("it is set together with {ROUTER} of the router"));
        }
        match [OFF, TO_ROUTER, THROUGH_ROUTER].contains(&level) {
            true => Ok(()),
            false => Err(format!("it is none of {OFF}, {TO_ROUTER}, {THROUGH_ROUTER}")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        match original.0.get(KEY).map(String::as_str) {
            Some(ABSENT) if original.0.len() == 1 => Ok(()),
            _ => Err("it does not say that the device was absent".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        const TRIED: &str = "read the WireGuard tunnels";
        self.expect_absent(host, TRIED)?;
        command(host, TRIED, TRY, b"")?;
        let original = Original([(KEY.to_owned(), ABSENT.to_owned())].into());
        Ok(Found { level: OFF.to_owned(), original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        let tried = format!("set {} to {level}", self.kind());
        if self.side == Side::Router && level != OFF {
            self.tunnel()?.prepare(host)?;
        }
        if !self.takes_part(level) {
            return command(host, &tried, REMOVE, b"").map(drop);
        }
        let (script, key) = self.script(self.tunnel()?, level).ok_or_else(|| {
            let happened = "the router has no keys yet";
            Failure::new(Cause::Trial, &tried).on(host.name()).happened(happened)
        })?;
        command(host, &tried, &script, format!("{key}\n").as_bytes()).map(drop)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        match self.takes_part(level) {
            true => self.expect_up(host, self.tunnel()?),
            false => self.expect_absent(host, "remove a tunnel"),
        }
    }

    fn undo(&self, host: &dyn Reach, _: &Original) -> Result<(), Failure> {
        let tried = format!("restore {}", self.kind());
        command(host, &tried, REMOVE, b"")?;
        self.expect_absent(host, &tried)
    }

    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        Some(REMOVE.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n\
        HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=\n\
        eGbHmyIZ3RoDFKMBGjDsBPTXPTzz6jmlFNeKU9DTeA4=\n\
        xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\n";

    fn tunnel() -> Arc<Tunnel> {
        let tunnel = Tunnel::new(Ipv4Addr::new(10, 0, 1, 2), Ipv4Addr::new(10, 0, 2, 2));
        let (keys, router) = (Keys::read(PRINTED), Some(Ipv4Addr::new(10, 0, 1, 1)));
        *tunnel.made.lock().unwrap() = Made { keys, router };
        Arc::new(tunnel)
    }

    fn side(side: Side) -> WireGuard {
        WireGuard { side, tunnel: Some(tunnel()) }
    }

    fn script(of: Side, level: &str) -> String {
        let knob = side(of);
        knob.script(knob.tunnel().unwrap(), level).unwrap().0
    }

    #[test]
    fn a_sends_to_the_router_or_to_b_and_the_router_returns_what_comes_from_b() {
        let a = script(Side::A, TO_ROUTER);
        let peer = "peer xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= allowed-ips 10.0.2.2/32";
        assert!(a.contains(&format!("{peer} endpoint 10.0.1.1:51837 &&")), "{a}");
        assert!(a.contains("ip route add 10.0.2.2/32 dev plimsoll_wg table 18371"), "{a}");
        assert!(a.contains("not fwmark 18371 to 10.0.2.2/32"), "{a}");
        let through = script(Side::A, THROUGH_ROUTER);
        assert!(through.contains(&format!("{peer} endpoint 10.0.2.2:51837 &&")), "{through}");
        let router = script(Side::Router, TO_ROUTER);
        let peer = "peer HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw= allowed-ips 10.0.1.2/32 &&";
        assert!(router.contains(peer), "{router}");
        assert!(router.contains("pref 18371 iif \"$(ip -o route get 10.0.2.2 | "), "{router}");
        assert!(script(Side::B, THROUGH_ROUTER).contains("not fwmark 18371 to 10.0.1.2/32"));
    }

    #[test]
    fn private_keys_stand_in_no_command() {
        for of in [Side::Router, Side::A, Side::B] {
            let knob = side(of);
            let (script, key) = knob.script(knob.tunnel().unwrap(), TO_ROUTER).unwrap();
            let keys = PRINTED.lines().step_by(2);
            assert!(keys.clone().any(|private| private == key), "{key}");
            keys.for_each(|private| assert!(!script.contains(private), "{script}"));
        }
    }

    #[test]
    fn which_sides_have_a_device() {
        let taking_part =
            |level| [Side::Router, Side::A, Side::B].map(|of| side(of).takes_part(level));
        assert_eq!(taking_part(OFF), [false, false, false]);
        assert_eq!(taking_part(TO_ROUTER), [true, true, false]);
        assert_eq!(taking_part(THROUGH_ROUTER), [false, true, true]);
    }

    #[test]
    fn an_end_is_set_with_its_router_alone() {
        let failed = end("").unwrap().check(TO_ROUTER).unwrap_err();
        assert_eq!(failed, "it is set together with wireguard of the router");
        router("").unwrap().check(THROUGH_ROUTER).unwrap();
        assert!(router("").unwrap().check("on").is_err() && router("x").is_err());
        let knob = router("").unwrap();
        knob.check_original(&Original([(KEY.into(), ABSENT.into())].into())).unwrap();
        assert!(knob.check_original(&Original::default()).is_err());
    }

    #[test]
    fn what_is_printed_is_believed_if_it_is_keys() {
        assert!(Keys::read(PRINTED).is_some());
        assert!(Keys::read("").is_none());
        assert!(Keys::read(&PRINTED.replace('=', "")).is_none());
        assert!(Keys::read(&PRINTED.replace('+', "$")).is_none());
    }
}
