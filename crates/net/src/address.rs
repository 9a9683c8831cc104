//! Addresses of the data: where the ends of a path find each other.

use crate::ends::Side;
use plimsoll_host::names::resolve;
use plimsoll_host::reach::{Configured, Reach, Settings, quote};
use plimsoll_model::{Cause, Failure, HostName};
use std::net::IpAddr;
use std::time::Duration;

/// Longest time that a host may take to say what it is asked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Addresses that are known before the hosts are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Data address of A.
    pub a: Option<IpAddr>,
    /// Data address of B.
    pub b: Option<IpAddr>,
}

/// Addresses of both ends, each as the other end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Of A.
    pub a: IpAddr,
    /// Of B.
    pub b: IpAddr,
}

impl Addresses {
    /// The address of an end.
    pub fn of(&self, side: Side) -> IpAddr {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    /// Whether both ends are at one address, which only one machine has.
    pub(crate) fn are_one(&self) -> bool {
        self.a == self.b
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
                .or(to_connecting.client().filter(|_| is_here(listening)))
                .ok_or_else(|| to_listening.unknown(listening.name(), listener))?,
        };
        // This machine is known by the address that its ssh came from, if that went to the same address.
        let seen = to_listening.client().filter(|_| {
            is_here(connecting) && to_listening.login.is_some_and(|login| login.server == listens)
        });
        let connects = match connects.or(seen) {
            Some(address) => address,
            None => {
                let route = format!("ip route get {} 2>/dev/null", quote(&listens.to_string()));
                let source = route_source(&asked(connecting, &route)?);
                source
                    .or(to_connecting.server())
                    .ok_or_else(|| to_connecting.unknown(connecting.name(), listener.other()))?
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
        if self.a.is_ipv4() == self.b.is_ipv4() {
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
    client: IpAddr,
    server: IpAddr,
}

/// How ssh from this machine came to a host.
#[derive(Debug, Default)]
struct Way {
    login: Option<Login>,
    /// The address that the configuration of ssh names.
    configured: Option<IpAddr>,
    /// Jump host or command in between.
    proxy: Option<String>,
}

impl Way {
    fn to(host: &dyn Reach) -> Result<Way, Failure> {
        let Ok(named @ HostName::Ssh { .. }) = host.name().parse::<HostName>() else {
            return Ok(Way::default());
        };
        let login = ssh_connection(&asked(host, "printf %s \"$SSH_CONNECTION\"")?);
        let Configured { hostname, proxy } =
            Configured::for_host(&named, &Settings::from_environment())?;
        let resolved = |name: String| Some(resolve(&name).ok()?.first()?.to_canonical());
        let configured = hostname.filter(|_| login.is_none()).and_then(resolved);
        Ok(Way { login, configured, proxy })
    }

    /// Address of the host, if ssh went there directly.
    fn server(&self) -> Option<IpAddr> {
        let server = self.login.map(|login| login.server);
        server.or(self.configured).filter(|_| self.proxy.is_none())
    }

    /// Address of this machine, if ssh went there directly.
    fn client(&self) -> Option<IpAddr> {
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

/// What a host prints.
pub(crate) fn asked(host: &dyn Reach, command: &str) -> Result<String, Failure> {
    let output = host.run(command, b"", PATIENCE)?;
    Ok(String::from_utf8_lossy(&output.output).into_owned())
}

/// Client and server of `SSH_CONNECTION`: "192.168.1.5 51022 192.168.1.2 22".
fn ssh_connection(text: &str) -> Option<Login> {
    let mut words = text.split_whitespace();
    let (client, _, server) = (words.next()?, words.next()?, words.next()?);
    Some(Login { client: plain(client)?, server: plain(server)? })
}

/// An address, that of IPv4 mapped into IPv6 as IPv4. Addresses of one link have a zone, which needs a name.
fn plain(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The source of a route: "192.168.1.2 dev eth0 src 192.168.1.5 uid 0".
fn route_source(text: &str) -> Option<IpAddr> {
    let mut words = text.split_whitespace().skip_while(|word| *word != "src");
    words.nth(1).and_then(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
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
        for none in ["", "a b c d", "10.0.0.1", "fe80::1%eth0 5 fe80::2%eth0 22"] {
            assert_eq!(ssh_connection(none), None, "{none}");
        }
        let route = "10.77.1.2 dev lan src 10.77.1.1 uid 0 \n    cache \n";
        assert_eq!(route_source(route), Some(address("10.77.1.1")));
        assert_eq!(route_source("local 127.0.0.1 dev lo src"), None);
        assert_eq!(route_source(""), None);
    }
}
