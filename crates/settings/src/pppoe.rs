//! A PPPoE session between A and a router, in place of plain Ethernet.
//!
//! Both ends are a pppd whose packets the kernel carries. They agree on the session's number and addresses of Ethernet
//! beforehand, without discovery: no server answers other hosts on the link.

use super::tunnel::{self, Makes, NUMBER, Part, Script, Tunnel, TunnelHost, failed};
use super::{Knob, command, interface};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::word_after;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

/// The settings: what answers on the router, the end at A, and the router's way back to A. The router's route can be set
/// when the session is up alone, so after A.
pub(super) const ROUTER: Part =
    Part { name: "pppoe", host: TunnelHost::Router, makes: Makes::Interface };
pub(super) const END: Part = Part { name: "pppoe-end", host: TunnelHost::A, makes: Makes::Both };
pub(super) const RETURN: Part =
    Part { name: "pppoe-return", host: TunnelHost::Router, makes: Makes::Route };

const OFF: &str = "off";
const ON: &str = "on";

/// Largest packet of the link that a full packet of the session needs, in bytes.
const LINK_MTU: u64 = 1500;

/// Addresses of the session itself, which are on no other link. The data keeps its own.
const ROUTER_ADDRESS: Ipv4Addr = Ipv4Addr::new(169, 254, 183, 71);
const A_ADDRESS: Ipv4Addr = Ipv4Addr::new(169, 254, 183, 72);

/// Prints the plugin's name, which depends on the version of pppd.
const PLUGIN: &str = "ls /usr/lib*/pppd/*/pppoe.so /usr/lib/*/pppd/*/pppoe.so \
    /usr/lib*/pppd/*/rp-pppoe.so 2>/dev/null | sed -n 's|.*/||;1p'";

/// Options of both ends, which hold against those of the host in /etc/ppp/options: no echo requests, because a session
/// must outlast an overload, and none of the host's scripts.
const OPTIONS: &str = "noauth nopersist lcp-echo-interval 0 mtu 1492 mru 1492 noccp novj noipv6 \
    nodefaultroute noproxyarp ip-up-script /bin/true ip-down-script /bin/true";

/// A line for each thing that a session needs and the host lacks.
const TRY: &str = "command -v pppd >/dev/null || echo pppd
    [ -n \"$(PLUGIN)\" ] || echo plugin
    modprobe -q pppoe 2>/dev/null
    { [ -e /proc/net/pppoe ] && [ -e /dev/ppp ]; } || echo kernel";

/// What the settings of one session share.
#[derive(Debug)]
pub(super) struct Pppoe {
    a: Ipv4Addr,
    b: Ipv4Addr,
    links: Mutex<Links>,
}

/// Interfaces at the ends of the link between A and the router, once they were asked.
#[derive(Clone, Debug, Default)]
struct Links {
    a: Option<Link>,
    router: Option<Link>,
}

/// An interface of Ethernet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    name: String,
    /// Six bytes in hexadecimal.
    address: String,
}

pub(super) fn router(rest: &str) -> Result<Box<dyn Knob>, String> {
    tunnel::make::<Pppoe>(rest, ROUTER)
}

pub(super) fn end(rest: &str) -> Result<Box<dyn Knob>, String> {
    tunnel::make::<Pppoe>(rest, END)
}

pub(super) fn way_back(rest: &str) -> Result<Box<dyn Knob>, String> {
    tunnel::make::<Pppoe>(rest, RETURN)
}

impl Link {
    /// From a route to the other end, and the interface that it names, each a line of ip(8).
    fn read(printed: &str, at: TunnelHost) -> Result<Link, String> {
        let line_with =
            |words: &str| printed.lines().find(|line| line.contains(words)).unwrap_or_default();
        let (route, link) = (line_with(" dev "), line_with(" link/"));
        if at == TunnelHost::Router && word_after(route, "via").is_some() {
            return Err("no link leads from it to A: another router is between them".into());
        }
        let name = word_after(route, "dev").unwrap_or_default();
        interface::check(name).map_err(|_| "it has no route to the other end".to_owned())?;
        let address = word_after(link, "link/ether").filter(|address| is_address(address));
        let address = address.ok_or_else(|| format!("{name} is not an Ethernet interface"))?;
        let mtu = word_after(link, "mtu").and_then(|word| word.parse::<u64>().ok());
        match mtu.is_some_and(|mtu| mtu >= LINK_MTU) {
            true => Ok(Link { name: name.to_owned(), address: address.to_owned() }),
            false => Err(format!("the MTU of {name} is below {LINK_MTU} bytes")),
        }
    }
}

/// An address of Ethernet: six bytes in hexadecimal.
fn is_address(text: &str) -> bool {
    let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split(':').count() == 6 && text.split(':').all(is_byte)
}

/// The first thing that a host lacks, and how it gets it.
fn missing(printed: &str) -> Option<(&'static str, &'static str)> {
    printed.lines().find_map(|line| match line {
        "pppd" => Some((
            "the program pppd is missing",
            "Install it (package ppp): apt install ppp, or on OpenWrt: opkg install ppp-mod-pppoe.",
        )),
        "plugin" => Some((
            "the plugin pppoe.so of pppd is missing",
            "Install it: apt install ppp, or on OpenWrt: opkg install ppp-mod-pppoe.",
        )),
        "kernel" => Some((
            "its kernel has no PPPoE (modules pppoe and ppp_generic)",
            "Install a kernel with it and reboot: apt install linux-image-amd64, because Debian's \
             cloud kernel has none, or on OpenWrt: opkg install kmod-pppoe. In a lab, give the \
             host image = \"debian-generic\".",
        )),
        _ => None,
    })
}

impl Pppoe {
    fn links(&self) -> Links {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Tunnel for Pppoe {
    const SETTINGS: &'static [Part] = &[ROUTER, END, RETURN];
    const LEVELS: &'static [&'static str] = &[OFF, ON];
    const INTERFACE: &'static str = "plimsoll_ppp";
    /// Of the 1500 bytes of a link, 8 are headers of PPPoE and PPP.
    const LARGEST_PACKET: u64 = 1492;
    /// Ends pppd, which tells the other end, and waits until its interface is gone. Hosts that are namespaces see each
    /// other's processes.
    const REMOVE: &'static str = r#"{
        sessions() {
            for process in /proc/[0-9]*; do
                { read -r name <"$process/comm"; } 2>/dev/null || continue
                [ "$name" = pppd ] || continue
                tr '\000' ' ' 2>/dev/null <"$process/cmdline" |
                    grep -q ' ifname plimsoll_ppp ' || continue
                [ "$(readlink "$process/ns/net")" != "$(readlink /proc/self/ns/net)" ] ||
                    echo "${process#/proc/}"
            done
        }
        tries=0
        while found=$(sessions); [ -n "$found" ] || ip link show plimsoll_ppp >/dev/null 2>&1; do
            case $tries in
                0) kill $found 2>/dev/null ;;
                25) kill -9 $found 2>/dev/null ;;
                40) echo 'the interface plimsoll_ppp does not go away' >&2; exit 1 ;;
            esac
            sleep 0.2 2>/dev/null || sleep 1
            tries=$((tries + 1))
        done
    }"#;
    const BY_HAND: &'static str = "kill the pppd whose command line has 'ifname plimsoll_ppp'";

    fn between(a: Ipv4Addr, b: Ipv4Addr) -> Pppoe {
        Pppoe { a, b, links: Mutex::default() }
    }

    fn ends(&self) -> [Ipv4Addr; 2] {
        [self.a, self.b]
    }

    fn takes_part(host: TunnelHost, level: &str) -> bool {
        host != TunnelHost::B && level == ON
    }

    fn expect_possible(host: &dyn Reach) -> Result<(), Failure> {
        const TRIED: &str = "try PPPoE";
        let said = command(host, TRIED, &TRY.replace("PLUGIN", PLUGIN), b"")?;
        missing(&said).map_or(Ok(()), |(happened, next)| {
            Err(Failure::new(Cause::NotPermitted, TRIED)
                .on(host.name())
                .happened(happened)
                .next(next))
        })
    }

    /// Which interface leads to the other end of the link, and its address.
    fn learn(&self, at: TunnelHost, host: &dyn Reach) -> Result<(), Failure> {
        const TRIED: &str = "find the link between A and the router";
        // A's route to B leads to the router.
        let to = if at == TunnelHost::A { self.b } else { self.a };
        let text = format!(
            "route=$(ip -o route get {to}) && echo \"$route\" &&
            ip -o link show dev \"$(echo \"$route\" | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')\""
        );
        let said = command(host, TRIED, &text, b"")?;
        let link = Link::read(&said, at).map_err(|why| {
            let next = "A PPPoE session needs an Ethernet link from A to the router, with an MTU \
                of at least 1500 bytes at both ends.";
            Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(why).next(next)
        })?;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        match at {
            TunnelHost::A => links.a = Some(link),
            TunnelHost::Router => links.router = Some(link),
            TunnelHost::B => {}
        }
        Ok(())
    }

    /// The router waits for A, whose pppd goes to the background once the session is up.
    fn script(&self, at: TunnelHost, _: &str) -> Option<Script> {
        let Links { a, router } = self.links();
        let (a, router) = (a?, router?);
        let is_a = at == TunnelHost::A;
        let (own, other) = if is_a { (a, router) } else { (router, a) };
        let (local, remote) =
            if is_a { (A_ADDRESS, ROUTER_ADDRESS) } else { (ROUTER_ADDRESS, A_ADDRESS) };
        let start =
            if is_a { "updetach </dev/null >&2" } else { "silent </dev/null >/dev/null 2>&1" };
        let pppd = format!(
            "plugin=$({PLUGIN}) &&
            {{ pppd plugin \"$plugin\" nic-{} rp_pppoe_sess {NUMBER}:{} ifname {} {local}:{remote} \
                {OPTIONS} {start} ||
                {{ echo \"no PPPoE session came up: pppd ended with exit code $?\" >&2; exit 1; }}; }}",
            own.name,
            other.address,
            Self::INTERFACE
        );
        if is_a {
            return Some(Script { text: pppd, input: String::new() });
        }
        let is_there = format!("ip link show {} >/dev/null 2>&1", Self::INTERFACE);
        let complaint = "pppd made no interface: see its lines in the log of the host";
        let wait = tunnel::wait_until(&is_there, complaint);
        Some(Script { text: format!("{pppd} &&\n{wait}"), input: String::new() })
    }

    /// Its pppd has given the interface an address when the session came up.
    fn expect_answer(&self, a: &dyn Reach) -> Result<(), Failure> {
        let text = format!("ip -o addr show dev {}", Self::INTERFACE);
        let said = command(a, "set up a tunnel", &text, b"")?;
        if said.contains(&format!("peer {ROUTER_ADDRESS}")) {
            return Ok(());
        }
        let next = "Check the lines of pppd in the logs of A and of the router.";
        Err(failed(a, "the router does not answer by PPPoE", next))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tunnel::tests::{expect_one_name, script, taking_part};
    use super::*;

    const AT_A: &str = "10.0.2.2 via 10.0.1.1 dev inner src 10.0.1.2 uid 0 \\    cache \n\
        3: inner: <BROADCAST,UP> mtu 1500 qdisc fq_codel state UP \\    link/ether 52:54:00:00:00:0a brd ff\n";
    const AT_ROUTER: &str = "10.0.1.2 dev lan src 10.0.1.1 uid 0 \\    cache \n\
        2: lan: <BROADCAST,UP> mtu 1500 qdisc fq_codel state UP \\    link/ether 52:54:00:00:00:0b brd ff\n";

    /// The settings by their numbers.
    const OF_ROUTER: usize = 0;
    const OF_A: usize = 1;
    const OF_WAY_BACK: usize = 2;

    fn session() -> Pppoe {
        let session = Pppoe::between(Ipv4Addr::new(10, 0, 1, 2), Ipv4Addr::new(10, 0, 2, 2));
        let a = Some(Link::read(AT_A, TunnelHost::A).unwrap());
        let router = Some(Link::read(AT_ROUTER, TunnelHost::Router).unwrap());
        *session.links.lock().unwrap() = Links { a, router };
        session
    }

    fn text(number: usize) -> String {
        script(session(), number, ON).text
    }

    #[test]
    fn the_router_waits_and_a_begins_the_same_session() {
        let router = text(OF_ROUTER);
        let words = "nic-lan rp_pppoe_sess 18371:52:54:00:00:00:0a ifname plimsoll_ppp \
            169.254.183.71:169.254.183.72 ";
        assert!(router.contains(words) && router.contains(" silent "), "{router}");
        assert!(router.contains("until ip link show plimsoll_ppp "), "{router}");
        assert!(!router.contains("ip rule add"), "its route waits for the session: {router}");
        let a = text(OF_A);
        let words = "nic-inner rp_pppoe_sess 18371:52:54:00:00:00:0b ifname plimsoll_ppp \
            169.254.183.72:169.254.183.71 ";
        assert!(a.contains(words) && a.contains(" updetach "), "{a}");
        assert!(a.contains("ip route add 10.0.2.2/32 dev plimsoll_ppp table 1013"), "{a}");
        for text in [&router, &a] {
            assert!(text.contains(" mtu 1492 mru 1492 "), "{text}");
            assert!(text.trim_start().starts_with(Pppoe::REMOVE), "{text}");
        }
    }

    #[test]
    fn the_way_back_does_not_end_the_session() {
        let text = text(OF_WAY_BACK);
        assert!(!text.contains("kill") && !text.contains("pppd"), "{text}");
        let up = text.find("grep -q '[<,]UP[,>]'").unwrap();
        let route = text.find("ip route add 10.0.1.2/32 dev plimsoll_ppp table 1013").unwrap();
        assert!(up < route, "a route needs an interface that is up: {text}");
        assert!(text.contains("pref 18371 iif \"$(ip -o route get 10.0.2.2 | "), "{text}");
    }

    /// The shell that ends a session finds its pppd by this.
    #[test]
    fn a_session_is_known_by_its_command_line() {
        for number in [OF_ROUTER, OF_A] {
            let text = text(number);
            let started = &text[text.find("{ pppd plugin").unwrap()..];
            assert!(started.contains(" ifname plimsoll_ppp "), "{started}");
        }
        assert!(Pppoe::REMOVE.contains("grep -q ' ifname plimsoll_ppp '"));
    }

    #[test]
    fn b_takes_no_part() {
        assert_eq!(taking_part::<Pppoe>(OFF), [false; 3]);
        assert_eq!(taking_part::<Pppoe>(ON), [true; 3]);
        assert!(Pppoe::SETTINGS.iter().all(|part| part.host != TunnelHost::B));
    }

    #[test]
    fn an_end_is_set_with_its_router_alone() {
        expect_one_name::<Pppoe>();
    }

    #[test]
    fn before_the_hosts_were_asked_nothing_is_made() {
        let asked = session().links();
        let session = Pppoe::between(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        assert!(session.script(TunnelHost::A, ON).is_none());
        *session.links.lock().unwrap() = Links { router: None, ..asked };
        assert!(session.script(TunnelHost::Router, ON).is_none());
    }

    #[test]
    fn a_link_is_of_ethernet_and_without_a_router_between() {
        let link = Link::read(AT_A, TunnelHost::A).unwrap();
        let expected = Link { name: "inner".into(), address: "52:54:00:00:00:0a".into() };
        assert_eq!(link, expected);
        let refused = |printed: &str, at| Link::read(printed, at).unwrap_err();
        assert!(refused(AT_A, TunnelHost::Router).contains("another router"));
        assert!(refused("", TunnelHost::A).contains("no route"));
        let short = AT_ROUTER.replace("mtu 1500", "mtu 1492");
        assert_eq!(refused(&short, TunnelHost::Router), "the MTU of lan is below 1500 bytes");
        for address in ["link/none", "link/ether 52:54:00:00:00", "link/ether 52:54:00:00:00:$x"] {
            let other = AT_ROUTER.replace("link/ether 52:54:00:00:00:0b", address);
            assert!(refused(&other, TunnelHost::Router).contains("Ethernet"), "{address}");
        }
        for name in ["-x", "a;b", "$(id)"] {
            let other = AT_ROUTER.replace("dev lan", &format!("dev {name}"));
            assert!(refused(&other, TunnelHost::Router).contains("no route"), "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        assert_eq!(missing(""), None);
        let named = |printed: &str| missing(printed).unwrap();
        let (happened, next) = named("pppd\nplugin\nkernel\n");
        assert!(happened.contains("pppd") && next.contains("apt install ppp"), "{happened} {next}");
        assert!(named("plugin\n").0.contains("pppoe.so"));
        let (happened, next) = named("kernel\n");
        assert!(happened.contains("ppp_generic") && next.contains("linux-image-amd64"));
    }
}
