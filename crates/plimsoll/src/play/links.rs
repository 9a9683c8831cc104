//! The rate that a film needs next to those of the links, before anything is measured.

use crate::output;
use plimsoll_model::units::bit_rate;
use plimsoll_model::{HostFacts, Job, Plan, SubjectFacts};
use plimsoll_report::counted;

/// Says before the run which rate the films need, and which the links have.
pub(super) fn say_rates(plan: &Plan, subjects: &[SubjectFacts], hosts: &[HostFacts]) {
    let is_far = |facts: &SubjectFacts| facts.storage().is_some_and(|f| f.protocol.is_of_server());
    // Films on a disk of the client go over no link.
    if let Some(line) = rates(plan, hosts).filter(|_| subjects.iter().any(is_far)) {
        output::complain(&line);
    }
}

/// The fastest network interface of a host, with its bits per second, if known.
fn fastest(host: &HostFacts) -> Option<(u64, &str)> {
    let interfaces = host.interfaces().into_iter();
    interfaces.filter_map(|name| Some((host.link_rate(name)?, name))).max()
}

fn rates(plan: &Plan, hosts: &[HostFacts]) -> Option<String> {
    let film = plan.workloads.iter().find_map(|workload| match &workload.main()?.job {
        Job::Playback(job) => Some(&job.film),
        _ => None,
    })?;
    let needs = format!("a film needs {}", film.rate());
    let client = hosts.first()?;
    // Of several targets each may have a server of its own.
    let is_server = |host: &&HostFacts| {
        plan.subjects.len() == 1 && plan.far_ends(0).any(|one| one.host == host.name)
    };
    let ends = std::iter::once(client).chain(hosts.iter().skip(1).filter(is_server));
    let links = ends.filter_map(|host| fastest(host).map(|(bits, name)| (bits, name, host)));
    let slowest = links.filter(|(bits, ..)| *bits > 0).min_by_key(|(bits, ..)| *bits);
    let (bits, name, host) = slowest?;
    let bytes_per_second = bits as f64 / 8.0;
    let at_most = (bytes_per_second / film.required_rate).floor();
    let whose = match host.name == client.name {
        true => String::new(),
        false => format!(" of {}", host.name.name()),
    };
    let link = format!("{name}{whose} has {}", bit_rate(bytes_per_second));
    Some(match at_most {
        none if none < 1.0 => format!("{needs}, and {link}: it cannot play over this link"),
        many if many > 1e4 => format!("{needs}; {link}"),
        some => {
            let films = counted(some as u64, "film");
            format!("{needs}; {link}, which is enough for {films} at most")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Arguments, Command};
    use clap::Parser;

    fn plan_of(words: &[&str]) -> Plan {
        let words = ["plimsoll", "play", "/mnt"].iter().chain(words);
        let Command::Play(given) = Arguments::parse_from(words).command else { panic!() };
        crate::play::planned(&given).unwrap().0
    }

    #[test]
    fn the_required_rate_is_compared_with_the_links() {
        let plan = plan_of(&["--film=4k-80"]);
        let host = |bits: &[(&str, u64)]| HostFacts {
            link_rates: bits.iter().map(|(name, bits)| ((*name).to_owned(), *bits)).collect(),
            ..HostFacts::default()
        };
        let said = |bits: &[(&str, u64)]| rates(&plan, &[host(bits)]).unwrap_or_default();
        assert!(said(&[("eth0", 1_000_000_000)]).ends_with("which is enough for 12 films at most"));
        assert!(said(&[("eth0", 10_000_000)]).ends_with("it cannot play over this link"));
        assert_eq!(said(&[]), "");
        // The link of a server that is monitored may be slower.
        let plan = plan_of(&["--film=4k-80", "--host=ssh://root@nas"]);
        let name = "ssh://root@nas".parse().unwrap();
        let nas = HostFacts { name, ..host(&[("eth1", 10_000_000)]) };
        let said = rates(&plan, &[host(&[("eth0", 1_000_000_000)]), nas]).unwrap_or_default();
        assert!(said.contains("eth1 of nas has 10 Mbit/s: it cannot play"), "{said}");
    }
}
