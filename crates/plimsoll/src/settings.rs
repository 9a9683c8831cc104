//! `--set`: settings of hosts become factors of a plan, and are set while it is conducted; and
//! `--drop-caches`, which is done on hosts between trials.

mod commands;

pub use commands::CommandArguments;

use crate::net::tunnel;
use crate::{hosts, reboot};
use plimsoll_model::{
    Cause, Commands, Deadline, Factor, Failure, Flag, HostName, Over, Plan, StudyId,
};
use plimsoll_reach::{Local, Reach};
use plimsoll_settings::{FactorRequest, Journal, Knob, Session, by_commands, is_tunnel, knob};
use plimsoll_study::{NoSettings, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The factors that are asked for; where no host is named, of the first client.
pub fn factors(given: &[String], client: &HostName) -> Result<Vec<Factor>, Failure> {
    given.iter().map(|text| factor(text.parse()?, client, &BTreeMap::new())).collect()
}

/// The factor that is asked for; where no host is named, of the first client. It may be one of those that a
/// plan defines by commands.
pub fn factor(
    asked: FactorRequest,
    client: &HostName,
    commands: &BTreeMap<String, Commands>,
) -> Result<Factor, Failure> {
    Ok(Factor {
        switch: setting(&asked.knob, commands)?.switch(),
        name: asked.knob,
        host: asked.host.unwrap_or_else(|| client.clone()),
        levels: asked.levels,
    })
}

/// Reads what a factor's setting is, and changes nothing.
pub fn read(plan: &Plan, factor: &Factor) -> Result<String, Failure> {
    Ok(setting(&factor.name, &plan.commands)?.read(&*reach(&factor.host)?)?.level)
}

/// The setting of that name, or the one that these commands define.
fn setting(name: &str, commands: &BTreeMap<String, Commands>) -> Result<Box<dyn Knob>, Failure> {
    let own = name.strip_prefix("command:").and_then(|own| Some((own, commands.get(own)?)));
    own.map_or_else(|| knob(name), |(own, commands)| by_commands(own, commands.clone()))
}

fn reach(host: &HostName) -> Result<Arc<dyn Reach>, Failure> {
    match host {
        HostName::Local => Ok(Arc::new(Local)),
        other => hosts::open(other, true),
    }
}

/// Reaches the hosts of a plan's factors and reads what they are set to; and those whose caches are
/// dropped.
pub fn open(plan: &Plan, id: &StudyId) -> Result<Box<dyn Settings + Send>, Failure> {
    let hosts = Hosts::reach(plan, id)?;
    if hosts.session.is_none() && hosts.caches.is_empty() {
        return Ok(Box::new(NoSettings));
    }
    Ok(Box::new(OfStudy { plan: plan.clone(), id: id.clone(), hosts }))
}

/// A host, and the way to it.
type NamedReach = (HostName, Arc<dyn Reach>);

/// The hosts that may have something in their caches: those that drive the load, and the servers' own.
fn cached(plan: &Plan) -> Result<Vec<NamedReach>, Failure> {
    let mut names: Vec<&HostName> = Vec::new();
    for one in plan.watched.iter().filter(|one| !one.guessed) {
        if !names.contains(&&one.host) {
            names.push(&one.host);
        }
    }
    names.into_iter().map(|name| Ok((name.clone(), reach(name)?))).collect()
}

/// How often the settings of a host that was rebooted are tried to be read.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The settings of a study under way.
struct OfStudy {
    plan: Plan,
    id: StudyId,
    hosts: Hosts,
}

/// Ways to the hosts, and what was found there.
#[derive(Default)]
struct Hosts {
    /// `None` where nothing is varied.
    session: Option<Session>,
    /// The settings that each factor of the plan is, by their numbers in the session.
    settings_of_factors: Vec<std::ops::Range<usize>>,
    /// Hosts whose caches are dropped, as far as they let that be done.
    caches: Vec<NamedReach>,
}

impl Hosts {
    fn reach(plan: &Plan, id: &StudyId) -> Result<Hosts, Failure> {
        let caches = if plan.storage.drop_caches { cached(plan)? } else { Vec::new() };
        let (mut all, mut settings_of_factors) = (Vec::new(), Vec::new());
        for factor in &plan.factors {
            let first = all.len();
            match is_tunnel(&factor.name) {
                true => all.extend(tunnel::settings(plan, factor)?),
                false => all.push(plimsoll_settings::Factor {
                    knob: setting(&factor.name, &plan.commands)?,
                    name: factor.host.clone(),
                    host: reach(&factor.host)?,
                    levels: factor.levels.clone(),
                }),
            }
            settings_of_factors.push(first..all.len());
        }
        let session = match all.is_empty() {
            true => None,
            false => Some(Session::begin(Journal::of_this_user()?, &id.0, all)?),
        };
        Ok(Hosts { session, settings_of_factors, caches })
    }
}

impl Settings for OfStudy {
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        let Some(session) = &mut self.hosts.session else { return Ok(()) };
        let settings = self.hosts.settings_of_factors.get(factor).cloned().unwrap_or_default();
        session.set_together(settings, level)
    }

    /// Nothing is in the journals while it reboots, so that nothing is left to be undone if it does not
    /// come back. What its settings are then is found anew: a kernel has forgotten what it had.
    fn reboot(&mut self, deadline: &Deadline) -> Result<(), Failure> {
        let Some(reboot) = &self.plan.reboot else { return Ok(()) };
        self.hosts.session.as_mut().map_or(Ok(()), Session::restore_all)?;
        self.hosts = Hosts::default();
        let go_on = |failure: Failure| {
            let next =
                format!("{} Then continue with: plimsoll run --continue {}", failure.next, self.id);
            Failure { next: next.trim_start().to_owned(), ..failure }
        };
        reboot::reboot(reboot, deadline).map_err(go_on)?;
        self.hosts = loop {
            match Hosts::reach(&self.plan, &self.id) {
                Ok(hosts) => break hosts,
                // It answers before its servers do.
                Err(failure) => deadline.sleep(TRY_AGAIN).map_err(|over| match over {
                    Over::Stopped => Failure { cause: Cause::Interrupted, ..failure },
                    Over::Whole | Over::Step(_) => go_on(failure),
                })?,
            }
        };
        Ok(())
    }

    /// One that does not let it be done is not asked again.
    fn drop_caches(&mut self) -> Vec<Flag> {
        let mut flags = Vec::new();
        self.hosts.caches.retain(|(host, reach)| match plimsoll_reach::drop_caches(&**reach) {
            Ok(()) => true,
            Err(failure) => {
                let (host, reason) = (host.clone(), failure.happened);
                flags.push(Flag::CachesKept { host, reason });
                false
            }
        });
        flags
    }

    fn restore(&mut self) -> Vec<Flag> {
        let restored = self.hosts.session.as_mut().map_or(Ok(()), Session::restore_all);
        let Err(failure) = restored else { return Vec::new() };
        let factors = &self.plan.factors;
        let named = |factor: &&Factor| failure.on.contains(&factor.host.to_string());
        let factor = factors.iter().find(named).or(factors.first());
        let flag = |factor: &Factor| Flag::SettingNotRestored {
            host: factor.host.clone(),
            setting: factor.name.clone(),
            reason: failure.happened.clone(),
        };
        factor.map(flag).into_iter().collect()
    }
}
