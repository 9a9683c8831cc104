//! `--parts`: the parts of the router's path that are there and can be switched off, as a chain of settings.

use super::arguments::NetArguments;
use super::{layers, via, wanted};
use crate::hosts;
use crate::public::{UNTRACKED, is_public};
use plimsoll_model::factor::{CONNTRACK, RULESET};
use plimsoll_model::{
    Cause, Factor, FactorLevel, Failure, Flow, HostName, MissingPart, PartAlone, PathPart,
    PathParts, PricedPart, factor,
};
use plimsoll_net::{Addresses, Side};
use plimsoll_reach::Reach;
use plimsoll_settings::{
    Found, OF_QUEUES, RulesetParts, found_ruleset, knob, queue_disciplines, root_discipline,
    ruleset_parts,
};

/// Disciplines that take packets in and give them out in turn.
const PLAIN: [&str; 4] = ["noqueue", "pfifo_fast", "pfifo", "bfifo"];
/// Discipline in place of another one, and of that of each queue.
const PFIFO: &str = "pfifo";
const PFIFO_OF_QUEUES: &str = "mq pfifo";

/// Parts that can be priced, and the factors that switch them.
pub struct Priced {
    pub factors: Vec<Factor>,
    pub parts: PathParts,
}

/// Looks at the router. Nothing is changed.
///
/// # Errors
/// None of the parts can be priced.
pub fn look(
    arguments: &NetArguments,
    a: &HostName,
    b: &HostName,
    router: &HostName,
) -> Result<Priced, Failure> {
    let opener = arguments.connect_from.side();
    let named = wanted(arguments, a, b)?;
    let [at_a, at_b, at_router] =
        [hosts::open(a, true)?, hosts::open(b, true)?, hosts::open(router, true)?];
    let addresses = Addresses::find(&*at_a, &*at_b, opener.other(), named)?;
    let inside = if opener == Side::A { &*at_a } else { &*at_b };
    let addresses = via::own_addresses_of_ends(inside, opener, addresses);
    let on = &*at_router;
    let flow = via::direction(arguments);
    let is_wanted = |part: &PathPart| arguments.via.parts.iter().any(|one| one.part() == *part);
    let wanted: Vec<PathPart> = PathPart::ALL.into_iter().filter(is_wanted).collect();
    let mut chain = Chain::new(router.clone());
    let of_rules = |part: &PathPart| !matches!(part, PathPart::Qdisc | PathPart::Offload);
    let (of_rules, others): (Vec<PathPart>, Vec<PathPart>) = wanted.into_iter().partition(of_rules);
    if !of_rules.is_empty() {
        let public = if arguments.via.allow_open { None } else { is_public(on) };
        add_rules(&mut chain, on, &of_rules, public);
    }
    for part in others {
        let interfaces = interfaces(on, addresses, flow, part);
        add_interfaces(&mut chain, on, part, &interfaces);
    }
    chain.priced()
}

/// The interfaces of the router that queue the frames, or merge those that it receives.
fn interfaces(router: &dyn Reach, addresses: Addresses, flow: Flow, part: PathPart) -> Vec<String> {
    let [to_a, to_b] =
        [addresses.a, addresses.b].map(|address| via::interface_towards(router, address.ip));
    let sends = part == PathPart::Qdisc;
    let all = match (flow, sends) {
        (Flow::Out, true) | (Flow::In, false) => vec![to_b],
        (Flow::In, true) | (Flow::Out, false) => vec![to_a],
        (Flow::Both, _) => vec![to_a, to_b],
    };
    let all: Vec<String> = all.into_iter().flatten().collect();
    if sends { layers::that_queue(router, &all) } else { layers::that_merge(router, &all) }
}

/// What a router has of a setting.
fn found(router: &dyn Reach, name: &str) -> Result<Found, String> {
    let read = knob(name).and_then(|knob| knob.read(router));
    read.map_err(|failure| failure.happened)
}

/// Adds the parts that rules make.
fn add_rules(chain: &mut Chain, router: &dyn Reach, wanted: &[PathPart], public: Option<String>) {
    let found = match found(router, RULESET) {
        Ok(found) => found,
        Err(happened) => {
            for part in wanted {
                match kept_rules(*part, &happened, public.as_deref()) {
                    Some(reason) => chain.leave_out(*part, reason),
                    None => add_untracked(chain, router),
                }
            }
            return;
        }
    };
    let has = ruleset_parts(found_ruleset(&found.original).unwrap_or_default());
    let (wanted, opening) = match &public {
        Some(_) if has != RulesetParts::default() => shut_and_open(wanted),
        _ => (wanted.to_vec(), Vec::new()),
    };
    for part in opening {
        let why = public.as_deref().unwrap_or_default();
        let reason =
            format!("R {why}, and would be open without its rules (--allow-open permits it)");
        chain.leave_out(part, reason);
    }
    let is_there = |part: &&PathPart| steps(has).iter().any(|(known, _)| known == *part);
    let setting = knob(RULESET);
    let last = wanted.last();
    for (part, level) in steps(has) {
        let is_wanted = wanted.contains(&part);
        // What follows the last part that is wanted stays.
        if last.is_none_or(|last| part > *last) {
            break;
        }
        let check = setting.as_ref().map_err(Clone::clone);
        match check.and_then(|knob| knob.check_on(router, &found.original, level)) {
            Ok(()) => chain.switch_off(part, &[(RULESET.to_owned(), level)], is_wanted),
            Err(failure) => {
                // What is behind it cannot be told from it.
                let behind = wanted.iter().filter(|one| **one >= part && is_there(one));
                behind.for_each(|part| chain.leave_out(*part, failure.happened.clone()));
                break;
            }
        }
    }
    for part in wanted.iter().filter(|part| !is_there(part)) {
        let reason = match part {
            PathPart::Flowtable => "no rule of R adds flows to a flowtable",
            PathPart::Nat => "R has no chain of address translation",
            PathPart::Conntrack => "no rule of R needs it",
            _ => "R has none",
        };
        chain.leave_out(*part, reason.to_owned());
    }
}

/// Parts without which the filter of the rules stays, and the others.
fn shut_and_open(wanted: &[PathPart]) -> (Vec<PathPart>, Vec<PathPart>) {
    wanted.iter().copied().partition(|part| *part == PathPart::Flowtable)
}

/// Why a part stays where the rules cannot be read, as those of iptables; `None` for connection tracking, which has a
/// setting of its own.
fn kept_rules(part: PathPart, happened: &str, public: Option<&str>) -> Option<String> {
    match (part, public) {
        (PathPart::Conntrack, None) => None,
        (PathPart::Conntrack, Some(why)) => Some(format!(
            "R {why}, and its rules would see no connection (--allow-open permits it)"
        )),
        _ => Some(happened.to_owned()),
    }
}

/// The parts that rules make, with the level of the ruleset that is without each of them and those before it.
fn steps(has: RulesetParts) -> Vec<(PathPart, &'static str)> {
    let without_rules = match has {
        RulesetParts { nat: true, .. } => "only-nat",
        RulesetParts { conntrack: true, .. } => "only-tracking",
        _ => "none",
    };
    let all = [
        (has.flowtable, PathPart::Flowtable, "without-flowtable"),
        (has.rules, PathPart::Rules, without_rules),
        (has.nat, PathPart::Nat, "only-tracking"),
        (has.conntrack, PathPart::Conntrack, "none"),
    ];
    all.into_iter().filter(|(is, ..)| *is).map(|(_, part, level)| (part, level)).collect()
}

fn add_untracked(chain: &mut Chain, router: &dyn Reach) {
    let count = hosts::said(router, "cat /proc/sys/net/netfilter/nf_conntrack_count 2>/dev/null");
    if count.trim().is_empty() {
        return chain.leave_out(
            PathPart::Conntrack,
            "the kernel of R does not track connections".to_owned(),
        );
    }
    match found(router, CONNTRACK) {
        Ok(_) => chain.switch_off(PathPart::Conntrack, &[(CONNTRACK.to_owned(), UNTRACKED)], true),
        Err(happened) => chain.leave_out(PathPart::Conntrack, happened),
    }
}

/// Adds a part of interfaces: of those where it can be switched off; else it is left out with the reason of the first.
fn add_interfaces(chain: &mut Chain, router: &dyn Reach, part: PathPart, interfaces: &[String]) {
    let mut changes = Vec::new();
    let mut reasons = Vec::new();
    for interface in interfaces {
        let name = match part {
            PathPart::Qdisc => format!("qdisc:{interface}"),
            _ => format!("offload:{interface}:gro"),
        };
        match found(router, &name).and_then(|found| level_without(part, interface, &found)) {
            Ok(level) => changes.push((name, level)),
            Err(reason) => reasons.push(reason),
        }
    }
    let unknown = || "ip route get names no interface of R".to_owned();
    match changes.len() {
        0 => chain.leave_out(part, reasons.into_iter().next().unwrap_or_else(unknown)),
        many if !chain.has_room(many) => {
            let reason =
                format!("R has {many} interfaces that the frames may pass, which are too many");
            chain.leave_out(part, reason);
        }
        _ => chain.switch_off(part, &changes, true),
    }
}

/// The level without a part of an interface; the reason if there is nothing to be switched off.
fn level_without(part: PathPart, interface: &str, found: &Found) -> Result<&'static str, String> {
    if part != PathPart::Qdisc {
        return match found.level == "off" {
            true => Err(format!("it is off on {interface}")),
            false => Ok("off"),
        };
    }
    let is_plain = |kind: &&str| PLAIN.contains(kind);
    let Some(root) = root_discipline(&found.original) else {
        return Err(format!("{interface} has no queueing discipline"));
    };
    if root != OF_QUEUES {
        return match is_plain(&root) {
            true => Err(format!("{interface} has a plain queue ({root})")),
            false => Ok(PFIFO),
        };
    }
    let of_queues = queue_disciplines(&found.original);
    match of_queues.iter().all(is_plain) {
        true => {
            let kind = of_queues.first().unwrap_or(&root);
            Err(format!("the queues of {interface} are plain ({kind})"))
        }
        false => Ok(PFIFO_OF_QUEUES),
    }
}

/// Chain of settings under construction.
struct Chain {
    router: HostName,
    /// Levels of each setting, by name; the first is as found.
    factors: Vec<(String, Vec<FactorLevel>)>,
    /// Index of the level of each factor now.
    now: Vec<usize>,
    /// Part, levels before, and levels after.
    steps: Vec<(PathPart, Vec<usize>, Vec<usize>)>,
    /// Part, and levels without it alone.
    alone: Vec<(PathPart, Vec<usize>)>,
    missing: Vec<MissingPart>,
}

impl Chain {
    fn new(router: HostName) -> Chain {
        let (factors, now, steps, alone, missing) = Default::default();
        Chain { router, factors, now, steps, alone, missing }
    }

    /// Whether a plan can have so many more settings of two values: it has a number for each combination. A large bridge
    /// has many ports.
    fn has_room(&self, more: usize) -> bool {
        // The first one has a control.
        let known: u64 = self.factors.iter().map(|(_, levels)| levels.len() as u64 + 1).product();
        more < 16 && known << more <= u64::from(u16::MAX)
    }

    fn leave_out(&mut self, part: PathPart, reason: String) {
        self.missing.push(MissingPart { part, reason });
    }

    /// Switches a part off by these settings; it is priced if that is wanted. A part with settings of its own can be
    /// switched off alone as well.
    fn switch_off(&mut self, part: PathPart, changes: &[(String, &str)], is_priced: bool) {
        let before = self.now.clone();
        for (name, level) in changes {
            let known = self.factors.iter().position(|(own, _)| own == name);
            let number = known.unwrap_or_else(|| {
                self.factors.push((name.clone(), vec![FactorLevel::AsFound]));
                self.now.push(0);
                self.factors.len() - 1
            });
            let levels = &mut self.factors[number].1;
            levels.push(FactorLevel::Set { value: (*level).to_owned() });
            self.now[number] = levels.len() - 1;
        }
        if is_priced {
            let has_others = before.iter().any(|level| *level > 0);
            let is_own = self.now.iter().zip(&before).all(|(now, before)| now == before);
            if has_others && is_own {
                let own = self.now.iter().enumerate();
                let own = own.map(|(number, level)| if number < before.len() { 0 } else { *level });
                self.alone.push((part, own.collect()));
            }
            self.steps.push((part, before, self.now.clone()));
        }
    }

    /// The factors, with a second level as found of the first one, which is the A/A control.
    ///
    /// # Errors
    /// Nothing is priced.
    fn priced(mut self) -> Result<Priced, Failure> {
        if self.steps.is_empty() {
            let reasons: Vec<String> = self
                .missing
                .iter()
                .map(|missing| format!("{}: {}", missing.part, missing.reason))
                .collect();
            let happened = format!("none of the parts can be switched off: {}", reasons.join("; "));
            let next = "Name other parts, or measure the rate of the router: leave --parts out.";
            let tried = "measure the cost of the parts of the path";
            return Err(Failure::new(Cause::Usage, tried)
                .on(&self.router)
                .happened(happened)
                .next(next));
        }
        if let Some((_, levels)) = self.factors.first_mut() {
            levels.insert(1, FactorLevel::AsFound);
        }
        let factors: Vec<Factor> = self
            .factors
            .into_iter()
            .map(|(name, levels)| {
                let switch = knob(&name)?.switch();
                Ok(Factor { name, host: self.router.clone(), levels, switch })
            })
            .collect::<Result<_, Failure>>()?;
        let setting = |levels: &[usize]| {
            let mut all = vec![0; factors.len()];
            all.iter_mut().zip(levels).for_each(|(own, level)| *own = *level);
            // Behind the control.
            if let Some(first) = all.first_mut().filter(|first| **first > 0) {
                *first += 1;
            }
            factor::setting(&factors, &all)
        };
        let priced = self.steps.iter().map(|(part, before, after)| PricedPart {
            part: *part,
            with: setting(before),
            without: setting(after),
        });
        let alone = self
            .alone
            .iter()
            .map(|(part, levels)| PartAlone { part: *part, setting: setting(levels) });
        let parts = PathParts {
            whole: 0,
            control: 1,
            priced: priced.collect(),
            alone: alone.collect(),
            missing: self.missing,
        };
        Ok(Priced { factors, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::factor::words;
    use plimsoll_settings::Original;

    fn chain() -> Chain {
        Chain::new("ssh://root@router".parse().unwrap())
    }

    #[test]
    fn a_chain_switches_off_one_part_after_the_other() {
        let mut chain = chain();
        let has = RulesetParts { rules: true, nat: true, conntrack: true, flowtable: false };
        for (part, level) in steps(has) {
            chain.switch_off(part, &[(RULESET.into(), level)], part != PathPart::Nat);
        }
        let queue = [("qdisc:eth0".to_owned(), PFIFO), ("qdisc:eth1".to_owned(), PFIFO)];
        chain.switch_off(PathPart::Qdisc, &queue, true);
        chain.leave_out(PathPart::Offload, "it is off on eth0".into());
        let Priced { factors, parts } = chain.priced().unwrap();
        let words = |setting: u16| words(&factors, setting).join(", ");
        let rest = ", qdisc:eth0=as found, qdisc:eth1=as found";
        assert_eq!(words(parts.whole), format!("nft-ruleset=as found{rest}"));
        assert_eq!(
            (words(parts.control), parts.control),
            (words(parts.whole), 1),
            "the same again"
        );
        let [rules, conntrack, qdisc] = &parts.priced[..] else { panic!("{parts:?}") };
        assert_eq!((rules.with, words(rules.without)), (0, format!("nft-ruleset=only-nat{rest}")));
        assert_eq!(words(conntrack.with), format!("nft-ruleset=only-tracking{rest}"));
        assert_eq!(words(conntrack.without), format!("nft-ruleset=none{rest}"));
        assert_eq!(qdisc.with, conntrack.without);
        assert_eq!(words(qdisc.without), "nft-ruleset=none, qdisc:eth0=pfifo, qdisc:eth1=pfifo");
        let [alone] = &parts.alone[..] else { panic!("{parts:?}") };
        assert_eq!(
            (alone.part, words(alone.setting)),
            (
                PathPart::Qdisc,
                "nft-ruleset=as found, qdisc:eth0=pfifo, qdisc:eth1=pfifo".to_owned()
            )
        );
        assert_eq!(parts.settings().len(), 7);
        assert_eq!(parts.missing[0].part, PathPart::Offload);
    }

    /// One queue in place of several would price their number, not their discipline.
    #[test]
    fn each_queue_of_a_card_is_switched_to_a_plain_one() {
        let without = |shown: &str| {
            let original = Original([("shown".to_owned(), shown.to_owned())].into());
            let found = Found { level: "default".into(), original };
            level_without(PathPart::Qdisc, "eth0", &found)
        };
        let of_queues = |one: &str, other: &str| {
            format!(
                "mq 0: root \n{one} 0: :2 limit 9p\n{other} 0: :1 limit 9p\nclsact ffff: ffff:fff1 \n"
            )
        };
        assert_eq!(without(&of_queues("fq_codel", "fq_codel")), Ok("mq pfifo"));
        assert_eq!(without(&of_queues("pfifo_fast", "cake")), Ok("mq pfifo"));
        let plain = without(&of_queues("pfifo_fast", "pfifo_fast")).unwrap_err();
        assert_eq!(plain, "the queues of eth0 are plain (pfifo_fast)");
        assert_eq!(without("fq_codel 0: root limit 10240p\n"), Ok("pfifo"));
        assert!(without("noqueue 0: root \n").unwrap_err().contains("(noqueue)"));
        assert!(without("").is_err());
        let knob = knob("qdisc:eth0").unwrap();
        for level in [PFIFO, PFIFO_OF_QUEUES] {
            knob.check(level).unwrap();
        }
    }

    /// With the ports of a large bridge, a plan would have had more settings than numbers, and was refused.
    #[test]
    fn a_bridge_with_many_ports_leaves_its_part_out() {
        let mut chain = chain();
        assert!(chain.has_room(15) && !chain.has_room(16) && !chain.has_room(200));
        for level in ["only-nat", "only-tracking", "none"] {
            chain.switch_off(PathPart::Rules, &[(RULESET.into(), level)], true);
        }
        // As found twice, and three more.
        assert!(chain.has_room(13) && !chain.has_room(14));
        let ports: Vec<(String, &str)> =
            (0..13).map(|n| (format!("offload:tap{n}:gro"), "off")).collect();
        chain.switch_off(PathPart::Offload, &ports, true);
        assert!(!chain.has_room(1));
        let settings = factor::settings(&chain.priced().unwrap().factors);
        assert!(settings <= usize::from(u16::MAX), "{settings}");
    }

    #[test]
    fn a_part_that_nothing_precedes_is_not_measured_twice() {
        let mut chain = chain();
        chain.switch_off(PathPart::Qdisc, &[("qdisc:eth0".to_owned(), PFIFO)], true);
        chain.switch_off(PathPart::Offload, &[("offload:eth1:gro".to_owned(), "off")], true);
        let Priced { factors, parts } = chain.priced().unwrap();
        let alone: Vec<String> =
            parts.alone.iter().map(|alone| words(&factors, alone.setting).join(", ")).collect();
        assert_eq!(alone, ["qdisc:eth0=as found, offload:eth1:gro=off"]);
        assert_eq!(parts.settings().len(), 5, "as found twice, and three more of two by two");
    }

    #[test]
    fn a_router_without_any_of_the_parts_is_refused_with_the_reasons() {
        let mut chain = chain();
        chain.leave_out(PathPart::Qdisc, "eth0 has a plain queue (noqueue)".into());
        let failure = chain.priced().err().unwrap();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.happened.contains("qdisc: eth0 has a plain queue (noqueue)"), "{failure}");
    }

    #[test]
    fn rules_of_iptables_stay_and_keep_their_connections_on_a_public_router() {
        let kept = |part, public| kept_rules(part, "iptables", public);
        let public = Some("has the public address 192.0.2.1");
        assert_eq!(kept(PathPart::Conntrack, None), None);
        let reason = kept(PathPart::Conntrack, public).unwrap();
        assert!(reason.contains("192.0.2.1") && reason.contains("--allow-open"), "{reason}");
        assert_eq!(kept(PathPart::Rules, public).as_deref(), Some("iptables"));
    }

    /// The flowtable of a home router with a public address had no price, although its rules stay without it.
    #[test]
    fn a_public_router_keeps_its_rules_without_a_flowtable() {
        let wanted = [PathPart::Flowtable, PathPart::Rules, PathPart::Conntrack];
        let (shut, open) = shut_and_open(&wanted);
        assert_eq!((shut, &*open), (vec![PathPart::Flowtable], &wanted[1..]));
        let has = RulesetParts { rules: true, nat: true, conntrack: true, flowtable: true };
        for (part, level) in steps(has) {
            let is_open = level != "without-flowtable";
            assert_eq!(shut_and_open(&[part]).0.is_empty(), is_open, "{part}");
        }
    }

    #[test]
    fn rules_that_track_nothing_have_one_step() {
        let has = RulesetParts { rules: true, ..RulesetParts::default() };
        assert_eq!(steps(has), [(PathPart::Rules, "none")]);
        let has = RulesetParts { conntrack: true, ..has };
        assert_eq!(steps(has), [(PathPart::Rules, "only-tracking"), (PathPart::Conntrack, "none")]);
        assert_eq!(steps(RulesetParts::default()), []);
    }
}
