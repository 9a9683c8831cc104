//! Addresses of the data: where the ends of a path find each other.

use crate::ends::Side;
use plimsoll_model::{Address, Cause, Failure, HostName, Zone};
use plimsoll_reach::names::resolve;
use plimsoll_reach::printed::word_after;
use plimsoll_reach::{Configured, Reach, Settings, quote};
use std::net::IpAddr;
use std::time::Duration;

/// Longest time that a host may take to say what it is asked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Addresses that are known before the hosts are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Data address of A.
    pub a: Option<Address>,
    /// Data address of B.
    pub b: Option<Address>,
}

/// Addresses of both ends, each as the other end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Of A.
    pub a: Address,
    /// Of B.
    pub b: Address,
}

impl Addresses {
    /// The address of an end.
    pub fn end(&self, side: Side) -> Address {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    /// Whether both ends are at one address, which only one machine has.
    pub(crate) fn are_one(&self) -> bool {
        self.a.ip == self.b.ip
    }

    /// Finds the addresses that are not named. The end that listens has the address at which ssh reached it, or from
    /// which ssh went to the other end, or the one that the configuration of ssh names. The end that connects is known
    /// by the address from which its route leads there. What ssh knows of a host behind a jump host is not used.
    ///
    /// # Errors
    /// [`Cause::Usage`] if an address cannot be found; it says how to name it.
    pub fn find(
        a: &dyn Reach,
        b: &dyn Reach,
        listener: Side,
        wanted: Wanted,
    ) -> Result<Addresses, Failure> {
        let ((listening, listens), (connecting, connects)) = match listener {
            Side::A => ((a, wanted.a), (b, wanted.b)),
            Side::B => ((b, wanted.b), (a, wanted.a)),
        };
        let (to_listening, to_connecting) = (Way::to(listening)?, Way::to(connecting)?);
        let listens = match listens {
            Some(address) => address,
            None => to_listening
                .server()
                .map(|address| as_reached_from(connecting, address))
                .or(to_connecting.client().filter(|_| is_here(listening)))
                .ok_or_else(|| to_listening.unknown(listening.name(), listener))?,
        };
        if listens.lacks_zone() {
            return Err(without_zone(listens, connecting.name(), listener));
        }
        // This machine is known by the address that its ssh came from, if that went to the same address.
        let seen = to_listening.client().filter(|_| {
            let login = to_listening.login;
            is_here(connecting) && login.is_some_and(|login| login.server.ip == listens.ip)
        });
        let connects = match connects.or(seen) {
            Some(address) => address,
            None => {
                let source = route_source(&output_of(connecting, &route_to(listens))?);
                let by_ssh = || to_connecting.server().map(|address| address.ip);
                let address =
                    Address::from(source.or_else(by_ssh).ok_or_else(|| {
                        to_connecting.unknown(connecting.name(), listener.other())
                    })?);
                match address.lacks_zone() {
                    true => Address { zone: interface_with(listening, listens.ip), ..address },
                    false => address,
                }
            }
        };
        let found = match listener {
            Side::A => Addresses { a: listens, b: connects },
            Side::B => Addresses { a: connects, b: listens },
        };
        found.of_one_family()
    }

    /// Fails where one address is of IPv4 and the other of IPv6: no connection has both.
    fn of_one_family(self) -> Result<Addresses, Failure> {
        if self.a.ip.is_ipv4() == self.b.ip.is_ipv4() {
            return Ok(self);
        }
        let tried = "choose the addresses of the path";
        let on = format!("{} for A and {} for B", self.a, self.b);
        let happened = "one is an IPv4 address and the other an IPv6 address";
        let next = "Name both in one family: --address ADDRESS for B, --address-a ADDRESS for A.";
        Err(Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next))
    }
}

/// The ends of an ssh connection, as the server sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Login {
    client: Address,
    server: Address,
}

/// How ssh from this machine came to a host.
#[derive(Debug, Default)]
struct Way {
    login: Option<Login>,
    /// The address that the configuration of ssh names.
    configured: Option<Address>,
    /// The interface of this machine that ssh was to use, if it names one.
    zone: Option<Zone>,
    /// Jump host or command in between.
    proxy: Option<String>,
}

impl Way {
    fn to(host: &dyn Reach) -> Result<Way, Failure> {
        let Ok(named @ HostName::Ssh { .. }) = host.name().parse::<HostName>() else {
            return Ok(Way::default());
        };
        let login = ssh_connection(&output_of(host, "printf %s \"$SSH_CONNECTION\"")?);
        let Configured { hostname, proxy } =
            Configured::for_host(&named, &Settings::from_environment())?;
        let literal = hostname.as_deref().and_then(plain);
        let resolved =
            |name: String| Some(Address::from(resolve(&name).ok()?.first()?.to_canonical()));
        let configured = match login {
            None => literal.or_else(|| hostname.and_then(resolved)),
            Some(_) => None,
        };
        Ok(Way { login, configured, zone: literal.and_then(|address| address.zone), proxy })
    }

    /// Address of the host, if ssh went there directly. The host knows it by an interface of its own.
    fn server(&self) -> Option<Address> {
        let as_seen = |address: Address| match address.zone {
            Some(_) => Address { zone: self.zone, ..address },
            None => address,
        };
        let server = self.login.map(|login| as_seen(login.server));
        server.or(self.configured).filter(|_| self.proxy.is_none())
    }

    /// Address of this machine, if ssh went there directly.
    fn client(&self) -> Option<Address> {
        self.login.map(|login| login.client).filter(|_| self.proxy.is_none())
    }

    fn unknown(&self, host: &str, side: Side) -> Failure {
        let happened = match &self.proxy {
            Some(proxy) => {
                format!("ssh goes there through {proxy}, so its address on the path is not known")
            }
            None => "the address of its end of the path is not known".to_owned(),
        };
        let option = match side {
            Side::A => "--address-a",
            Side::B => "--address",
        };
        let next =
            format!("Give the address at which the other end reaches {side}: {option} ADDRESS.");
        Failure::new(Cause::Usage, "choose the addresses of the path")
            .on(host)
            .happened(happened)
            .next(next)
    }
}

fn is_here(host: &dyn Reach) -> bool {
    host.name() == "local"
}

/// An address to which ssh of this machine went, for another host: it has other interfaces.
fn as_reached_from(host: &dyn Reach, address: Address) -> Address {
    if is_here(host) { address } else { address.ip.into() }
}

/// The failure of a link-local address whose interface is not known.
fn without_zone(address: Address, other: &str, side: Side) -> Failure {
    let option = if side == Side::A { "--address-a" } else { "--address" };
    let happened = format!(
        "{address} is link-local, and the interface of {other} that leads there is not known"
    );
    let next =
        format!("Give both: {option} {address}%INTERFACE, or give another address of {side}.");
    Failure::new(Cause::Usage, "choose the addresses of the path")
        .on(address)
        .happened(happened)
        .next(next)
}

/// The command that prints the route of a host to an address.
pub(crate) fn route_to(address: Address) -> String {
    let zone = address.zone.map(|zone| format!(" dev {}", quote(zone.as_str())));
    let ip = quote(&address.ip.to_string());
    format!("ip route get {ip}{} 2>/dev/null", zone.unwrap_or_default())
}

/// The interface of a host that has an address, unless several have it.
fn interface_with(host: &dyn Reach, ip: IpAddr) -> Option<Zone> {
    interface_of(&output_of(host, "ip -o addr show 2>/dev/null").ok()?, ip)
}

/// What a host prints.
pub(crate) fn output_of(host: &dyn Reach, command: &str) -> Result<String, Failure> {
    let output = host.run(command, b"", PATIENCE)?;
    Ok(String::from_utf8_lossy(&output.output).into_owned())
}

/// Client and server of `SSH_CONNECTION`: "192.168.1.5 51022 192.168.1.2 22".
fn ssh_connection(text: &str) -> Option<Login> {
    let mut words = text.split_whitespace();
    let (client, _, server) = (words.next()?, words.next()?, words.next()?);
    Some(Login { client: plain(client)?, server: plain(server)? })
}

/// An address, that of IPv4 mapped into IPv6 as IPv4.
fn plain(text: &str) -> Option<Address> {
    let address = text.parse::<Address>().ok()?;
    Some(Address { ip: address.ip.to_canonical(), ..address })
}

/// The source of a route: "192.168.1.2 dev eth0 src 192.168.1.5 uid 0".
fn route_source(text: &str) -> Option<IpAddr> {
    word_after(text, "src").and_then(plain).map(|address| address.ip)
}

/// The interface in lines such as "2: eth0    inet6 fe80::1/64 scope link".
fn interface_of(lines: &str, ip: IpAddr) -> Option<Zone> {
    let with = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (name, _, address) = (words.next()?, words.next()?, words.next()?);
        let own: IpAddr = address.split('/').next()?.parse().ok()?;
        (own == ip).then(|| name.split('@').next()?.parse().ok())?
    };
    let mut all = lines.lines().filter_map(with);
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_of_two_families_are_refused() {
        let both = |a: &str, b: &str| Addresses { a: address(a), b: address(b) }.of_one_family();
        assert!(both("10.0.0.1", "10.0.0.2").is_ok() && both("fd00::1", "fd00::2").is_ok());
        let failure = both("10.0.0.1", "fd00::2").unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(
            failure.on.contains("fd00::2") && failure.next.contains("--address-a"),
            "{failure}"
        );
    }

    #[test]
    fn addresses_behind_a_jump_host_are_not_believed() {
        let login = Login { client: address("10.0.0.1"), server: address("10.0.0.2") };
        let direct = Way { login: Some(login), ..Way::default() };
        assert_eq!((direct.server(), direct.client()), (Some(login.server), Some(login.client)));
        let jumped = Way { proxy: Some("gate".to_owned()), ..direct };
        assert_eq!((jumped.server(), jumped.client()), (None, None));
        let failure = jumped.unknown("ssh://nas", Side::B);
        assert!(failure.happened.contains("through gate"), "{failure}");
        assert!(failure.next.contains("--address ADDRESS"), "{failure}");
        let told = Way { configured: Some(address("10.0.0.3")), ..Way::default() };
        assert_eq!(told.server(), Some(address("10.0.0.3")));
        let failure = Way::default().unknown("ssh://nas", Side::A);
        assert!(failure.next.contains("--address-a"), "{failure}");
    }

    #[test]
    fn words_of_hosts_are_understood() {
        assert_eq!(
            ssh_connection("192.168.1.5 51022 192.168.1.2 22\n"),
            Some(Login { client: address("192.168.1.5"), server: address("192.168.1.2") })
        );
        let mapped = ssh_connection("::ffff:10.0.0.1 1 ::ffff:10.0.0.2 22").unwrap();
        assert_eq!(mapped.server, address("10.0.0.2"));
        let link = ssh_connection("fe80::1%eth0 5 fe80::2%eth0 22").unwrap();
        assert_eq!(link.client, address("fe80::1%eth0"));
        for none in ["", "a b c d", "10.0.0.1"] {
            assert_eq!(ssh_connection(none), None, "{none}");
        }
        let route = "10.77.1.2 dev lan src 10.77.1.1 uid 0 \n    cache \n";
        assert_eq!(route_source(route), Some(address("10.77.1.1").ip));
        assert_eq!(route_source("local 127.0.0.1 dev lo src"), None);
        assert_eq!(route_source(""), None);
    }

    /// Each link of a host has link-local addresses, and hosts name their interfaces as they like.
    #[test]
    fn a_link_local_address_has_the_interface_of_the_host_that_uses_it() {
        let login = Login { client: address("fe80::1%lan"), server: address("fe80::2%lan") };
        let way = Way { login: Some(login), ..Way::default() };
        assert!(way.server().unwrap().lacks_zone(), "lan is an interface of the server");
        let zone = address("fe80::2%eth0").zone;
        let way = Way { zone, ..way };
        assert_eq!(way.server(), Some(address("fe80::2%eth0")));
        assert_eq!(way.client(), Some(login.client));
        assert_eq!(
            route_to(address("fe80::2%eth0")),
            "ip route get 'fe80::2' dev 'eth0' 2>/dev/null"
        );
        assert_eq!(route_to(address("10.0.0.1")), "ip route get '10.0.0.1' 2>/dev/null");
        let failure = without_zone(address("fe80::2"), "ssh://a", Side::B);
        assert!(failure.next.contains("--address fe80::2%INTERFACE"), "{failure}");
        let lines = "1: lo    inet6 ::1/128 scope host \n\
            2: lan@if3    inet6 fe80::2/64 scope link \n3: a    inet6 fe80::7/64\n4: b    inet6 fe80::7/64\n";
        let interface =
            |text: &str| interface_of(lines, address(text).ip).map(|zone| zone.to_string());
        assert_eq!(interface("fe80::2").as_deref(), Some("lan"));
        for none in ["fe80::3", "fe80::7"] {
            assert_eq!(interface(none), None, "{none}");
        }
    }
}
