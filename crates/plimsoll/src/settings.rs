//! `--set`: settings of hosts become factors of a plan, and are set while it is conducted; and
//! `--drop-caches`, which is done on hosts between trials.

use crate::hosts;
use plimsoll_host::reach::{Local, Reach};
use plimsoll_host::settings::{self, Asked, Journal, Knob, Session, by_commands, knob};
use plimsoll_model::{Commands, Factor, Failure, Flag, HostName, Plan, StudyId};
use plimsoll_study::{NoSettings, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The factors that are asked for; where no host is named, of the first client.
pub fn factors(given: &[String], client: &HostName) -> Result<Vec<Factor>, Failure> {
    given.iter().map(|text| factor(text.parse()?, client, &BTreeMap::new())).collect()
}

/// The factor that is asked for; where no host is named, of the first client. It may be one of those that a
/// plan defines by commands.
pub fn factor(
    asked: Asked,
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
    let caches = if plan.storage.drop_caches { cached(plan)? } else { Vec::new() };
    if plan.factors.is_empty() && caches.is_empty() {
        return Ok(Box::new(NoSettings));
    }
    let factor = |factor: &Factor| {
        Ok(settings::Factor {
            knob: setting(&factor.name, &plan.commands)?,
            name: factor.host.clone(),
            host: reach(&factor.host)?,
            levels: factor.levels.clone(),
        })
    };
    let factors = plan.factors.iter().map(factor).collect::<Result<Vec<_>, Failure>>()?;
    let session = match factors.is_empty() {
        true => None,
        false => Some(Session::begin(Journal::of_this_user()?, &id.0, factors)?),
    };
    Ok(Box::new(OfStudy { session, factors: plan.factors.clone(), caches }))
}

/// The hosts that may have something in their caches: those that drive the load, and the servers' own.
fn cached(plan: &Plan) -> Result<Vec<Arc<dyn Reach>>, Failure> {
    let mut names = plan.clients.clone();
    if names.is_empty() {
        names.push(plan.client().clone());
    }
    for server in plan.hosts.iter().filter(|server| !server.guessed) {
        if !names.contains(&server.host) {
            names.push(server.host.clone());
        }
    }
    names.iter().map(reach).collect()
}

/// The settings of a study under way.
struct OfStudy {
    /// `None` where nothing is varied.
    session: Option<Session>,
    factors: Vec<Factor>,
    /// Hosts whose caches are dropped, as far as they let that be done.
    caches: Vec<Arc<dyn Reach>>,
}

impl Settings for OfStudy {
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        self.session.as_mut().map_or(Ok(()), |session| session.set(factor, level))
    }

    /// One that does not let it be done is not asked again.
    fn drop_caches(&mut self) -> Vec<Flag> {
        let mut flags = Vec::new();
        self.caches.retain(|host| match plimsoll_host::drop_caches(&**host) {
            Ok(()) => true,
            Err(failure) => {
                let (host, reason) = (host.name().to_owned(), failure.happened);
                flags.push(Flag::CachesKept { host, reason });
                false
            }
        });
        flags
    }

    fn restore(&mut self) -> Vec<Flag> {
        let restored = self.session.as_mut().map_or(Ok(()), Session::restore_all);
        let Err(failure) = restored else { return Vec::new() };
        let named = |factor: &&Factor| failure.on.contains(&factor.host.to_string());
        let factor = self.factors.iter().find(named).or(self.factors.first());
        let flag = |factor: &Factor| Flag::SettingNotRestored {
            host: factor.host.to_string(),
            setting: factor.name.clone(),
            reason: failure.happened.clone(),
        };
        factor.map(flag).into_iter().collect()
    }
}
