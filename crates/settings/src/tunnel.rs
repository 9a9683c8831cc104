//! A tunnel on a path from A through a router to B: what every kind of tunnel has in common.
//!
//! One level sets several hosts, each by settings of its own with their own journal entries and timers. The data keeps its
//! addresses, so that no address translation comes with the tunnel: only what is sent between A and B takes it. What the
//! hosts send otherwise keeps its route.

use super::{Found, Knob, Original, Scope, alone, command};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use plimsoll_reach::printed::word_after;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Priority of the routing rule, and the mark of packets that do not follow it.
pub(super) const NUMBER: u32 = 18_371;

/// Its routing table. BusyBox's ip(8), which routers have, knows tables up to 1023.
const TABLE: u32 = 1013;

/// Key of an [`Original`]: whether the tunnel was there.
const KEY: &str = "device";
const ABSENT: &str = "absent";

/// Prints the routing rule. Not every ip(8) lists the rules of one priority.
const LIST_RULE: &str = "ip rule show | sed -n '/^18371:/p'";

/// Removes the routing rule; nothing if it is not there. Its route goes with the interface.
const REMOVE_RULE: &str =
    "while ip rule show | grep -q '^18371:'; do ip rule del pref 18371 || break; done";

const TRIED: &str = "set up a tunnel";

/// A host of a path with a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelHost {
    /// The end from which the tunnel leads.
    A,
    /// The other end.
    B,
    /// The router between them.
    Router,
}

/// What a setting makes on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Makes {
    /// An interface.
    Interface,
    /// The route over an interface that another setting has made.
    Route,
    /// An interface and the route over it.
    Both,
}

/// One of the settings of a kind of tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// What stands for it.
    pub name: &'static str,
    /// Where it is set.
    pub host: TunnelHost,
    /// What it makes there.
    pub makes: Makes,
}

/// Shell that makes an interface, and what it reads from its standard input.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub text: String,
    pub input: String,
}

/// A kind of tunnel, and what the settings of one such tunnel share.
pub(super) trait Tunnel: fmt::Debug + Send + Sync + Sized + 'static {
    /// Its settings in the order in which they take a level. The first one is that which a user names; A comes after the
    /// other end of the tunnel, whose answer it verifies.
    const SETTINGS: &'static [Part];
    /// Its levels. At the first one there is no tunnel.
    const LEVELS: &'static [&'static str];
    /// Name of its interfaces.
    const INTERFACE: &'static str;
    /// Largest packet through it on links of 1500 bytes, in bytes.
    const LARGEST_PACKET: u64;
    /// One command of shell that removes its interface with the routes over it; nothing if it is not there.
    const REMOVE: &'static str;
    /// How a user removes the interface.
    const BY_HAND: &'static str;

    /// A tunnel for the data that A and B send each other.
    fn between(a: Ipv4Addr, b: Ipv4Addr) -> Self;

    /// The addresses of A and B.
    fn ends(&self) -> [Ipv4Addr; 2];

    /// Whether a host has an interface at a level.
    fn takes_part(host: TunnelHost, level: &str) -> bool;

    /// Fails where a host lacks a program or a part of the kernel, and names it.
    fn expect_possible(host: &dyn Reach) -> Result<(), Failure>;

    /// Asks a host for what the other ones need to know. Nothing is changed there.
    fn learn(&self, at: TunnelHost, host: &dyn Reach) -> Result<(), Failure>;

    /// What makes the interface of a host at a level where none is there; `None` before all hosts were asked.
    fn script(&self, at: TunnelHost, level: &str) -> Option<Script>;

    /// Fails unless the other end has answered A.
    fn expect_answer(&self, a: &dyn Reach) -> Result<(), Failure>;
}

/// One setting of a tunnel. Without a tunnel it can only be undone, as a journal needs it.
#[derive(Debug)]
struct Setting<T> {
    part: Part,
    tunnel: Option<Arc<T>>,
}

/// The settings of a tunnel and their hosts, in the order in which they take their levels.
pub(super) fn knobs<T: Tunnel>(a: Ipv4Addr, b: Ipv4Addr) -> Vec<(TunnelHost, Box<dyn Knob>)> {
    let tunnel = Arc::new(T::between(a, b));
    let knob = |part: &Part| -> (TunnelHost, Box<dyn Knob>) {
        (part.host, Box::new(Setting { part: *part, tunnel: Some(tunnel.clone()) }))
    };
    T::SETTINGS.iter().map(knob).collect()
}

/// A setting without its tunnel.
pub(super) fn make<T: Tunnel>(rest: &str, part: Part) -> Result<Box<dyn Knob>, String> {
    alone(rest, Setting::<T> { part, tunnel: None })
}

/// A failure of a tunnel that does not work.
pub(super) fn failed(host: &dyn Reach, happened: impl fmt::Display, next: &str) -> Failure {
    Failure::new(Cause::Trial, TRIED).on(host.name()).happened(happened).next(next)
}

/// One command of shell that waits some seconds until another one succeeds.
pub(super) fn wait_until(command: &str, complaint: &str) -> String {
    // Not every sleep(1) knows fractions of a second.
    format!(
        "{{ tries=0
        until {command}; do
            [ $tries -lt 50 ] || {{ echo '{complaint}' >&2; exit 1; }}
            sleep 0.2 2>/dev/null || sleep 1
            tries=$((tries + 1))
        done; }}"
    )
}

/// Shell that leads what is sent to an end over an interface of this host. The source address stays as it is without the
/// tunnel. Of the router: only what comes in from B's side, because the router is not the sender of the data; and its
/// filter of sources accepts A on another interface than that of its route.
fn route(at: TunnelHost, interface: &str, [a, b]: [Ipv4Addr; 2]) -> String {
    let other = if at == TunnelHost::A { b } else { a };
    let select = match at {
        TunnelHost::Router => {
            format!("iif \"$(ip -o route get {b} | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')\"")
        }
        TunnelHost::A | TunnelHost::B => format!("not fwmark {NUMBER}"),
    };
    format!(
        "{{ {{ echo 2 >/proc/sys/net/ipv4/conf/{interface}/rp_filter; }} 2>/dev/null || true; }} &&
        ip route add {other}/32 dev {interface} table {TABLE} \
            $(ip -o route get {other} | sed -n 's/.* \\(src [^ ]*\\).*/\\1/p') &&
        ip rule add pref {NUMBER} {select} to {other}/32 lookup {TABLE}"
    )
}

impl<T: Tunnel> Setting<T> {
    fn tunnel(&self) -> Result<&T, Failure> {
        self.tunnel.as_deref().ok_or_else(|| {
            let set = [named::<T>(), "=", &T::LEVELS.join(",")].concat();
            Failure::new(Cause::Usage, TRIED)
                .on(self.part.name)
                .happened("a tunnel needs two hosts and a router between them")
                .next(format!("Give it to plimsoll net A B --via ROUTER --set ROUTER/{set}."))
        })
    }

    /// Prints what there is of what this setting makes.
    fn list(&self) -> String {
        let interface = format!("ip -o link show {} 2>/dev/null", T::INTERFACE);
        match self.part.makes {
            Makes::Interface => format!("{interface}; true"),
            Makes::Route => LIST_RULE.to_owned(),
            Makes::Both => format!("{interface}; {LIST_RULE}"),
        }
    }

    /// Removes it; nothing if it is not there.
    fn remove(&self) -> String {
        match self.part.makes {
            Makes::Interface => T::REMOVE.to_owned(),
            Makes::Route => REMOVE_RULE.to_owned(),
            Makes::Both => format!("{} && {REMOVE_RULE}", T::REMOVE),
        }
    }

    /// Removes it and makes it.
    fn script(&self, tunnel: &T, level: &str) -> Option<Script> {
        let Part { host, makes, .. } = self.part;
        let (mut steps, mut input) = (vec![self.remove()], String::new());
        if makes == Makes::Route {
            // The host's end may come up a moment after the other one.
            let is_up = format!("ip -o link show {} | grep -q '[<,]UP[,>]'", T::INTERFACE);
            steps.push(wait_until(&is_up, &format!("{} does not come up", T::INTERFACE)));
        } else {
            let script = tunnel.script(host, level)?;
            steps.push(script.text);
            input = script.input;
        }
        if makes != Makes::Interface {
            steps.push(route(host, T::INTERFACE, tunnel.ends()));
        }
        Some(Script { text: steps.join(" &&\n"), input })
    }

    fn expect_absent(&self, host: &dyn Reach, tried: &str) -> Result<(), Failure> {
        let there = command(host, tried, &self.list(), b"")?;
        if there.trim().is_empty() {
            return Ok(());
        }
        let happened = format!(
            "the interface {} or the routing rule {NUMBER} exists, and only plimsoll creates them",
            T::INTERFACE
        );
        let next = format!("Remove them: {}; ip rule del pref {NUMBER}.", T::BY_HAND);
        Err(Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next))
    }

    /// Fails unless what this setting makes is in effect; at A, unless the other end answered and the data takes the
    /// tunnel. An interface alone is up once the other end has one.
    fn expect_up(&self, host: &dyn Reach, tunnel: &T) -> Result<(), Failure> {
        let text = format!(
            "ip -o link show {} 2>/dev/null; {LIST_RULE}; ip route show table {TABLE} 2>/dev/null; true",
            T::INTERFACE
        );
        let there = command(host, TRIED, &text, b"")?;
        let is_up = match self.part.makes {
            Makes::Interface => there.contains(&format!(" {}: ", T::INTERFACE)),
            Makes::Route | Makes::Both => {
                let is_over = |line: &str| word_after(line, "dev") == Some(T::INTERFACE);
                there.contains(&format!("mtu {} ", T::LARGEST_PACKET))
                    && there.contains(&format!("lookup {TABLE}"))
                    && there.lines().any(is_over)
            }
        };
        if !is_up {
            let next = "Check ip link and ip rule on the host: another program may set them.";
            return Err(failed(host, "its interface or its route is missing", next));
        }
        if self.part.host != TunnelHost::A {
            return Ok(());
        }
        tunnel.expect_answer(host)?;
        let [_, b] = tunnel.ends();
        let said = command(host, TRIED, &format!("ip -o route get {b}"), b"")?;
        if said.lines().find_map(|line| word_after(line, "dev")) != Some(T::INTERFACE) {
            let happened = format!("its route to {b} does not take the tunnel");
            let next = "Check ip rule on the host: a rule of a lower number decides.";
            return Err(failed(host, happened, next));
        }
        Ok(())
    }
}

/// The name of the setting that a user names.
fn named<T: Tunnel>() -> &'static str {
    T::SETTINGS.first().map_or("", |first| first.name)
}

impl<T: Tunnel> Knob for Setting<T> {
    fn name(&self) -> String {
        self.part.name.to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let first = named::<T>();
        if self.part.name != first && self.tunnel.is_none() {
            return Err(format!("it is set together with {first} of the router"));
        }
        match T::LEVELS.contains(&level) {
            true => Ok(()),
            false => Err(format!("it is not one of {}", T::LEVELS.join(", "))),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        match original.0.get(KEY).map(String::as_str) {
            Some(ABSENT) if original.0.len() == 1 => Ok(()),
            _ => Err("it does not say that the tunnel was absent".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        self.expect_absent(host, "read the tunnels")?;
        T::expect_possible(host)?;
        if let Some(tunnel) = &self.tunnel {
            tunnel.learn(self.part.host, host)?;
        }
        let original = Original([(KEY.to_owned(), ABSENT.to_owned())].into());
        Ok(Found { level: T::LEVELS.first().copied().unwrap_or_default().to_owned(), original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        let tried = format!("set {} to {level}", self.part.name);
        if !T::takes_part(self.part.host, level) {
            return command(host, &tried, &self.remove(), b"").map(drop);
        }
        let script = self.script(self.tunnel()?, level).ok_or_else(|| {
            let happened = "the hosts of the tunnel were not all asked for what it needs";
            Failure::new(Cause::Trial, &tried).on(host.name()).happened(happened)
        })?;
        command(host, &tried, &script.text, script.input.as_bytes()).map(drop)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        match T::takes_part(self.part.host, level) {
            true => self.expect_up(host, self.tunnel()?),
            false => self.expect_absent(host, "remove a tunnel"),
        }
    }

    fn undo(&self, host: &dyn Reach, _: &Original) -> Result<(), Failure> {
        let tried = format!("restore {}", self.part.name);
        command(host, &tried, &self.remove(), b"")?;
        self.expect_absent(host, &tried)
    }

    fn undo_by_shell(&self, _: &Original) -> Option<String> {
        Some(self.remove())
    }
}

/// What the tests of each kind of tunnel ask it.
#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The whole shell of a setting by its number, and what it reads.
    pub fn script<T: Tunnel>(tunnel: T, number: usize, level: &str) -> Script {
        let tunnel = Arc::new(tunnel);
        let setting = Setting { part: T::SETTINGS[number], tunnel: Some(tunnel.clone()) };
        setting.script(&tunnel, level).unwrap()
    }

    /// Whether each setting makes something at a level.
    pub fn taking_part<T: Tunnel>(level: &str) -> Vec<bool> {
        T::SETTINGS.iter().map(|part| T::takes_part(part.host, level)).collect()
    }

    /// The first setting alone is named by a user; the others are undone.
    pub fn expect_one_name<T: Tunnel>() {
        let [first, others @ ..] = T::SETTINGS else { panic!("it has no settings") };
        let level = T::LEVELS[1];
        make::<T>("", *first).unwrap().check(level).unwrap();
        assert!(make::<T>("", *first).unwrap().check("nonsense").is_err());
        assert!(make::<T>("x", *first).is_err());
        for part in others {
            let refused = make::<T>("", *part).unwrap().check(level).unwrap_err();
            assert_eq!(refused, format!("it is set together with {} of the router", first.name));
        }
        for part in T::SETTINGS {
            let knob = make::<T>("", *part).unwrap();
            knob.check_original(&Original([(KEY.into(), ABSENT.into())].into())).unwrap();
            assert!(knob.check_original(&Original::default()).is_err());
        }
    }
}
