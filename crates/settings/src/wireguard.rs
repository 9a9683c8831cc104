//! A WireGuard tunnel on a path from A through a router to B: from A to the router, or from A to B, which the router then
//! forwards encrypted. The packets of the tunnel itself keep their route.

use super::tunnel::{self, Makes, NUMBER, Part, Script, Tunnel, TunnelHost, failed};
use super::{Knob, command};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::word_after;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

/// The setting of the router, and that of A and of B.
pub(super) const ROUTER: Part =
    Part { name: "wireguard", host: TunnelHost::Router, makes: Makes::Both };
pub(super) const END: Part =
    Part { name: "wireguard-end", host: TunnelHost::A, makes: Makes::Both };

const OFF: &str = "off";
const TO_ROUTER: &str = "to-router";
const THROUGH_ROUTER: &str = "through-router";

/// Port of each end.
const PORT: u16 = 51_837;

/// Tries the tools, and whether the kernel makes such a device.
const TRY: &str = "command -v wg >/dev/null || { echo 'the program wg is missing (package wireguard-tools)' >&2; exit 1; }
    ip link add plimsoll_try type wireguard || { echo 'the kernel makes no WireGuard device' >&2; exit 1; }
    ip link del plimsoll_try";

/// Prints a private and a public key for each side of the tunnel.
const GENERATE: &str = "umask 077; for side in a other; do key=$(wg genkey) && echo \"$key\" && \
    echo \"$key\" | wg pubkey || exit 1; done";

/// What the settings of one tunnel share.
#[derive(Debug)]
pub(super) struct WireGuard {
    /// Address of A, from which the data is sent.
    a: Ipv4Addr,
    /// Address of B, to which it is sent.
    b: Ipv4Addr,
    made: Mutex<Option<Made>>,
}

/// What is known once the router was asked.
#[derive(Clone, Debug)]
struct Made {
    keys: Keys,
    /// The router's address on the link to A.
    router: Ipv4Addr,
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

pub(super) fn router(rest: &str) -> Result<Box<dyn Knob>, String> {
    tunnel::make::<WireGuard>(rest, ROUTER)
}

pub(super) fn end(rest: &str) -> Result<Box<dyn Knob>, String> {
    tunnel::make::<WireGuard>(rest, END)
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
    fn made(&self) -> Option<Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Tunnel for WireGuard {
    const SETTINGS: &'static [Part] = &[ROUTER, Part { host: TunnelHost::B, ..END }, END];
    const LEVELS: &'static [&'static str] = &[OFF, TO_ROUTER, THROUGH_ROUTER];
    const INTERFACE: &'static str = "plimsoll_wg";
    /// 80 bytes are around a packet, as wg-quick(8) has it.
    const LARGEST_PACKET: u64 = 1420;
    const REMOVE: &'static str =
        "{ ! ip link show plimsoll_wg >/dev/null 2>&1 || ip link del plimsoll_wg; }";
    const BY_HAND: &'static str = "ip link del plimsoll_wg";

    fn between(a: Ipv4Addr, b: Ipv4Addr) -> WireGuard {
        WireGuard { a, b, made: Mutex::default() }
    }

    fn ends(&self) -> [Ipv4Addr; 2] {
        [self.a, self.b]
    }

    fn takes_part(host: TunnelHost, level: &str) -> bool {
        match host {
            TunnelHost::A => level != OFF,
            TunnelHost::B => level == THROUGH_ROUTER,
            TunnelHost::Router => level == TO_ROUTER,
        }
    }

    fn expect_possible(host: &dyn Reach) -> Result<(), Failure> {
        command(host, "try WireGuard", TRY, b"").map(drop)
    }

    /// Makes the keys on the router, and asks it for its address.
    fn learn(&self, at: TunnelHost, router: &dyn Reach) -> Result<(), Failure> {
        const TRIED: &str = "make the keys of a tunnel";
        if at != TunnelHost::Router || self.made().is_some() {
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
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made = Some(Made { keys, router: own });
        Ok(())
    }

    /// The private key comes by standard input.
    fn script(&self, at: TunnelHost, level: &str) -> Option<Script> {
        let Made { keys, router } = self.made()?;
        let (own, peer) = match at {
            TunnelHost::A => (&keys.a, &keys.other),
            TunnelHost::Router | TunnelHost::B => (&keys.other, &keys.a),
        };
        let other = if at == TunnelHost::A { self.b } else { self.a };
        let mut peer = format!("peer {} allowed-ips {other}/32", peer.public);
        if at == TunnelHost::A {
            let to = if level == THROUGH_ROUTER { self.b } else { router };
            let _ = write!(peer, " endpoint {to}:{PORT}");
        }
        let text = format!(
            "ip link add plimsoll_wg type wireguard && ip link set plimsoll_wg mtu {} &&
            wg set plimsoll_wg listen-port {PORT} fwmark {NUMBER} private-key /proc/self/fd/0 {peer} &&
            ip link set plimsoll_wg up",
            Self::LARGEST_PACKET
        );
        Some(Script { text, input: format!("{}\n", own.private) })
    }

    /// A packet makes the ends agree on keys. Whether B answers it does not matter.
    fn expect_answer(&self, a: &dyn Reach) -> Result<(), Failure> {
        let text = format!(
            "for n in 1 2 3 4 5 6 7 8 9 10; do
                ping -c 1 -W 1 {} >/dev/null 2>&1
                wg show plimsoll_wg latest-handshakes | grep -q '[1-9][0-9]*$' && break
            done
            wg show plimsoll_wg latest-handshakes",
            self.b
        );
        let said = command(a, "set up a tunnel", &text, b"")?;
        let agreed = said.lines().filter_map(|line| line.split_once('\t'));
        let agreed = agreed.filter(|(key, _)| is_key(key)).any(|(_, at)| at.trim() != "0");
        if agreed {
            return Ok(());
        }
        let happened = format!("the other end of the tunnel did not answer at UDP port {PORT}");
        let next = "Check that the packet filter of the router accepts this port from A.";
        Err(failed(a, happened, next))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tunnel::tests::{expect_one_name, script, taking_part};
    use super::*;

    const PRINTED: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n\
        HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=\n\
        eGbHmyIZ3RoDFKMBGjDsBPTXPTzz6jmlFNeKU9DTeA4=\n\
        xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\n";

    /// The settings by their numbers.
    const OF_ROUTER: usize = 0;
    const OF_B: usize = 1;
    const OF_A: usize = 2;

    fn tunnel() -> WireGuard {
        let tunnel = WireGuard::between(Ipv4Addr::new(10, 0, 1, 2), Ipv4Addr::new(10, 0, 2, 2));
        let (keys, router) = (Keys::read(PRINTED).unwrap(), Ipv4Addr::new(10, 0, 1, 1));
        *tunnel.made.lock().unwrap() = Some(Made { keys, router });
        tunnel
    }

    fn text(number: usize, level: &str) -> String {
        script(tunnel(), number, level).text
    }

    #[test]
    fn a_sends_to_the_router_or_to_b_and_the_router_returns_what_comes_from_b() {
        let a = text(OF_A, TO_ROUTER);
        let peer = "peer xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= allowed-ips 10.0.2.2/32";
        assert!(a.contains(&format!("{peer} endpoint 10.0.1.1:51837 &&")), "{a}");
        assert!(a.contains("ip route add 10.0.2.2/32 dev plimsoll_wg table 1013"), "{a}");
        assert!(a.contains("not fwmark 18371 to 10.0.2.2/32"), "{a}");
        let through = text(OF_A, THROUGH_ROUTER);
        assert!(through.contains(&format!("{peer} endpoint 10.0.2.2:51837 &&")), "{through}");
        let router = text(OF_ROUTER, TO_ROUTER);
        // BusyBox's ip would make a device with the name of what stands before the type, "1420".
        assert!(router.contains("ip link add plimsoll_wg type wireguard && "), "{router}");
        assert!(router.contains(" ip link set plimsoll_wg mtu 1420 &&"), "{router}");
        let peer = "peer HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw= allowed-ips 10.0.1.2/32 &&";
        assert!(router.contains(peer), "{router}");
        assert!(router.contains("pref 18371 iif \"$(ip -o route get 10.0.2.2 | "), "{router}");
        assert!(text(OF_B, THROUGH_ROUTER).contains("not fwmark 18371 to 10.0.1.2/32"));
    }

    #[test]
    fn private_keys_stand_in_no_command() {
        for number in [OF_ROUTER, OF_B, OF_A] {
            let Script { text, input } = script(tunnel(), number, TO_ROUTER);
            let keys = PRINTED.lines().step_by(2);
            assert!(keys.clone().any(|private| private == input.trim_end()), "{input}");
            keys.for_each(|private| assert!(!text.contains(private), "{text}"));
        }
    }

    #[test]
    fn which_hosts_have_a_device() {
        // Of the router, B and A.
        assert_eq!(taking_part::<WireGuard>(OFF), [false, false, false]);
        assert_eq!(taking_part::<WireGuard>(TO_ROUTER), [true, false, true]);
        assert_eq!(taking_part::<WireGuard>(THROUGH_ROUTER), [false, true, true]);
    }

    #[test]
    fn an_end_is_set_with_its_router_alone() {
        expect_one_name::<WireGuard>();
    }

    #[test]
    fn what_is_printed_is_believed_if_it_is_keys() {
        assert!(Keys::read(PRINTED).is_some());
        assert!(Keys::read("").is_none());
        assert!(Keys::read(&PRINTED.replace('=', "")).is_none());
        assert!(Keys::read(&PRINTED.replace('+', "$")).is_none());
    }
}
