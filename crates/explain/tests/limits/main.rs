//! What limits a workload, where the truth is known: throughputs and loads come from a closed network of
//! given demands, as the hosts' counters would show them.

mod any_server;
mod bottleneck;
mod demands;
mod disks;
mod figures;
mod machines;
mod quotas;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;

use plimsoll_explain::{Limit, Limits, Resource, Use, limits};
use plimsoll_model::*;
use support::servers::Truth;

fn one(study: &Study) -> Limits {
    limits(study).into_iter().next().unwrap()
}

fn name(resource: &Resource) -> &'static str {
    match resource {
        Resource::Link { .. } => "link",
        Resource::Driver => "driver",
        Resource::Processor => "processor",
        Resource::Core { .. } => "core",
        Resource::Quota { .. } => "quota",
        Resource::Threads { .. } => "threads",
        Resource::Disk { .. } => "disk",
        Resource::RoundTrip => "round trip",
    }
}

/// Begins what would help most and is not saturated.
const UNSATURATED: &str = "unsaturated ";

/// The one resource that would help most, saturated or not.
fn most(found: &Limits) -> &Use {
    match &found.verdict {
        Limit::Resource { binding, .. } => &found.uses[*binding],
        Limit::Unsaturated(uses) if uses.len() == 1 => &found.uses[uses[0]],
        other => panic!("{other:?} in {found:#?}"),
    }
}

/// The resource that is named, or what else is said.
fn named(found: &Limits) -> String {
    let name = |place: usize| name(&found.uses[place].resource);
    match &found.verdict {
        Limit::Resource { binding, .. } => name(*binding).into(),
        Limit::Several { uses, waiting } => {
            let mut all: Vec<&str> = uses.iter().map(|place| name(*place)).collect();
            all.extend(waiting.then_some("waiting"));
            all.sort_unstable();
            all.join(" or ")
        }
        Limit::Unsaturated(uses) => {
            let mut all: Vec<&str> = uses.iter().map(|place| name(*place)).collect();
            all.sort_unstable();
            format!("{UNSATURATED}{}", all.join(" or "))
        }
        Limit::Waiting => "waiting".into(),
        Limit::Hidden => "hidden".into(),
        Limit::Contradiction(place) => format!("not {}", name(*place)),
    }
}

fn base(depth: u16) -> Truth {
    let small = 20e-6;
    Truth {
        depth,
        driver: small,
        server: small,
        disk: small,
        link: small,
        round_trip: 100e-6,
        ..Truth::default()
    }
}
