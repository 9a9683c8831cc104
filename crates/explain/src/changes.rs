//! What was not the same when two studies were measured, as far as that was recorded. With more than one
//! such thing, none of them can be named as what makes a difference: they are confounded.

use crate::across::subject_pairs;
use plimsoll_model::device::{Nic, Queue, QueueDiscipline};
use plimsoll_model::units::{Bytes, three_digits};
use plimsoll_model::{HostFacts, LabFacts, Origin, RouterFacts, Study, SubjectFacts, TargetFacts};
use std::collections::BTreeSet;

/// Letters of a digest that tell two sets of rules apart for a reader.
const DIGEST_LETTERS: usize = 8;

/// One thing that was another in the second study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What: "kernel of ssh://root@nas", "link lan rate of the lab router".
    pub what: String,
    /// In the first study.
    pub before: String,
    /// In the second.
    pub after: String,
}

/// Every recorded change from `a` to `b`: of the program, of hosts that both had, of labs, and of what their
/// subjects turned out to be. What is empty or zero in one of them was not recorded there, and is no change.
pub fn changes(a: &Study, b: &Study) -> Vec<Change> {
    let mut found = Found(Vec::new());
    found.add("the program", &program(&a.origin), &program(&b.origin));
    let [in_a, in_b] = [a, b].map(clients);
    found.add("the client", &in_a, &in_b);
    for host in &a.hosts {
        if let Some(after) = b.hosts.iter().find(|other| other.name == host.name) {
            found.host(host, after);
        }
    }
    for (before, after) in labs(a).zip(labs(b)) {
        found.lab(before, after);
    }
    for (in_a, in_b) in subject_pairs(a, b) {
        let storage = |study: &'_ Study, number: u16| {
            study.subjects.get(usize::from(number)).and_then(|facts| facts.storage().cloned())
        };
        if let (Some(before), Some(after)) = (storage(a, in_a), storage(b, in_b)) {
            found.target(&before, &after);
        }
        if let (Some((name, before)), Some((_, after))) = (router(a, in_a), router(b, in_b)) {
            found.router(&name, before, after);
        }
    }
    found.0
}

struct Found(Vec<Change>);

impl Found {
    fn add(&mut self, what: &str, before: &str, after: &str) {
        let new = Change { what: what.into(), before: before.into(), after: after.into() };
        if before != after && !before.is_empty() && !after.is_empty() && !self.0.contains(&new) {
            self.0.push(new);
        }
    }

    fn host(&mut self, before: &HostFacts, after: &HostFacts) {
        let name = &before.name;
        let number = |value: u32| if value == 0 { String::new() } else { value.to_string() };
        self.add(&format!("kernel of {name}"), &before.kernel, &after.kernel);
        self.add(&format!("CPU of {name}"), &before.cpu_model, &after.cpu_model);
        self.add(&format!("cores of {name}"), &number(before.cpus), &number(after.cpus));
        let memory = [before, after].map(|host| bytes(host.memory_bytes));
        self.add(&format!("memory of {name}"), &memory[0], &memory[1]);
        for (interface, rate) in &before.link_rates {
            let rates = [Some(rate), after.link_rates.get(interface)];
            let rates = rates
                .map(|rate| rate.map_or(String::new(), |r| format!("{} Mbit/s", r / 1_000_000)));
            self.add(&format!("link {interface} of {name}"), &rates[0], &rates[1]);
        }
    }

    fn lab(&mut self, before: &LabFacts, after: &LabFacts) {
        self.add("the lab", &before.name, &after.name);
        let keys: BTreeSet<&String> = before.settings.keys().chain(after.settings.keys()).collect();
        for key in keys {
            let value = |lab: &LabFacts| lab.settings.get(key).map_or("none".into(), String::clone);
            self.add(&format!("{key} of the lab"), &value(before), &value(after));
        }
    }

    fn router(&mut self, name: &str, before: &RouterFacts, after: &RouterFacts) {
        self.add(&format!("rules of {name}"), &rules(before), &rules(after));
        self.add(&format!("flowtables of {name}"), &flowtables(before), &flowtables(after));
        for before in &before.interfaces {
            let is_same = |after: &&Nic| after.name == before.name;
            let Some(after) = after.interfaces.iter().find(is_same) else { continue };
            let interface = format!("{} of {name}", before.name.as_deref().unwrap_or_default());
            let [one, other] = [before, after].map(disciplines);
            self.add(&format!("queueing discipline of {interface}"), &one, &other);
            let [one, other] = [before, after].map(steering);
            self.add(&format!("receive steering of {interface}"), &one, &other);
            // A host without ethtool says nothing of them.
            if before.offloads.is_empty() || after.offloads.is_empty() {
                continue;
            }
            let offloads: BTreeSet<&String> =
                before.offloads.iter().chain(&after.offloads).collect();
            for offload in offloads {
                let state = |nic: &Nic| if nic.offloads.contains(offload) { "on" } else { "off" };
                self.add(&format!("{offload} of {interface}"), state(before), state(after));
            }
        }
    }

    fn target(&mut self, before: &TargetFacts, after: &TargetFacts) {
        let target = if before.label.is_empty() { &before.given } else { &before.label };
        let sizes = |facts: &TargetFacts| {
            [facts.read_size_bytes, facts.write_size_bytes].map(|b| bytes(b.into()))
        };
        let ([read_a, write_a], [read_b, write_b]) = (sizes(before), sizes(after));
        let [protocol_a, protocol_b] = [before, after].map(|facts| facts.protocol.to_string());
        for (what, before, after) in [
            ("protocol", &protocol_a, &protocol_b),
            ("engine", &before.engine, &after.engine),
            ("read size", &read_a, &read_b),
            ("write size", &write_a, &write_b),
            ("client's cache", &before.client_cache, &after.client_cache),
        ] {
            self.add(&format!("{what} of {target}"), before, after);
        }
    }
}

/// The router of a path, by name.
fn router(study: &Study, subject: u16) -> Option<(String, &RouterFacts)> {
    let subject = usize::from(subject);
    let SubjectFacts::Path(path) = study.subjects.get(subject)? else { return None };
    let via = study.plan.subjects.get(subject)?.path()?.via.as_ref()?;
    Some((via.to_string(), path.router.as_ref()?))
}

/// "40 rules (3f2a9c11)"; empty where they are not known.
fn rules(router: &RouterFacts) -> String {
    let counts = router.filter.as_ref().map(|filter| {
        [filter.nft_rules_count, filter.iptables_rules_count, filter.ip6tables_rules_count]
    });
    let count: Option<u64> =
        counts.into_iter().flatten().flatten().reduce(|all, one| all.saturating_add(one));
    let digest = router.rules_digest.as_ref().map(|digest| {
        let short: String = digest.chars().take(DIGEST_LETTERS).collect();
        format!("({short})")
    });
    let count = count.map(|count| format!("{count} rules"));
    count.into_iter().chain(digest).collect::<Vec<_>>().join(" ")
}

/// How many flowtables the rules have; empty where that is not known.
fn flowtables(router: &RouterFacts) -> String {
    let count = router.filter.as_ref().and_then(|filter| filter.nft_flow_tables_count);
    count.map_or_else(String::new, |count| count.to_string())
}

/// "tbf 8 Mbit/s, ingress".
fn disciplines(nic: &Nic) -> String {
    let one = |discipline: &QueueDiscipline| {
        let kind = discipline.kind.as_deref()?;
        let rate = discipline.rate_bits_per_second;
        let rate = rate.map(|rate| format!(" {} Mbit/s", three_digits(rate as f64 / 1e6)));
        Some(kind.to_owned() + &rate.unwrap_or_default())
    };
    let all: Vec<String> = nic.queue_disciplines.iter().filter_map(one).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Masks of the receive queues, each once; empty where they are not known.
fn steering(nic: &Nic) -> String {
    let mask_of = |queue: &Queue| {
        queue.name.as_deref().filter(|name| name.starts_with("rx-"))?;
        let mask: String =
            queue.steering_cores_mask.as_deref()?.chars().filter(|c| *c != ',').collect();
        match mask.trim_start_matches('0') {
            "" => Some("off".to_owned()),
            mask => Some(mask.to_owned()),
        }
    };
    let masks: BTreeSet<String> = nic.queues.iter().filter_map(mask_of).collect();
    masks.into_iter().collect::<Vec<_>>().join(", ")
}

/// The hosts that a study was driven on.
pub(crate) fn clients(study: &Study) -> String {
    if !study.plan.is_remote() {
        return "this machine".to_owned();
    }
    study.plan.clients().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn program(origin: &Origin) -> String {
    match origin {
        Origin::Measured { version } => format!("plimsoll {version}"),
        Origin::Imported { tool } => tool.clone(),
    }
}

/// Empty where it is not known.
fn bytes(count: u64) -> String {
    if count == 0 { String::new() } else { Bytes(count).to_string() }
}

/// The labs of a study, in the order of its hosts.
fn labs(study: &Study) -> impl Iterator<Item = &LabFacts> {
    let mut seen = BTreeSet::new();
    let labs = study.hosts.iter().filter_map(|host| host.lab.as_ref());
    labs.filter(move |lab| seen.insert(&lab.name))
}
