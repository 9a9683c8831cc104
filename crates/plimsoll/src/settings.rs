//! `--set`: settings of hosts become factors of a plan, and are set while it is conducted.

use crate::hosts;
use plimsoll_host::reach::{Local, Reach};
use plimsoll_host::settings::{self, Asked, Journal, Session, knob};
use plimsoll_model::{Factor, Failure, Flag, HostName, Plan, StudyId};
use plimsoll_study::{NoSettings, Settings};
use std::sync::Arc;

/// The factors that are asked for; where no host is named, of the first client.
pub fn factors(given: &[String], client: &HostName) -> Result<Vec<Factor>, Failure> {
    given.iter().map(|text| factor(text.parse()?, client)).collect()
}

/// The factor that is asked for; where no host is named, of the first client.
pub fn factor(asked: Asked, client: &HostName) -> Result<Factor, Failure> {
    Ok(Factor {
        switch: knob(&asked.knob)?.switch(),
        name: asked.knob,
        host: asked.host.unwrap_or_else(|| client.clone()),
        levels: asked.levels,
    })
}

/// Reads what a factor's setting is, and changes nothing.
pub fn read(factor: &Factor) -> Result<String, Failure> {
    Ok(knob(&factor.name)?.read(&*reach(&factor.host)?)?.level)
}

fn reach(host: &HostName) -> Result<Arc<dyn Reach>, Failure> {
    match host {
        HostName::Local => Ok(Arc::new(Local)),
        other => hosts::open(other, true),
    }
}

/// Reaches the hosts of a plan's factors and reads what they are set to.
pub fn open(plan: &Plan, id: &StudyId) -> Result<Box<dyn Settings + Send>, Failure> {
    if plan.factors.is_empty() {
        return Ok(Box::new(NoSettings));
    }
    let factor = |factor: &Factor| {
        Ok(settings::Factor {
            knob: knob(&factor.name)?,
            name: factor.host.clone(),
            host: reach(&factor.host)?,
            levels: factor.levels.clone(),
        })
    };
    let factors = plan.factors.iter().map(factor).collect::<Result<_, Failure>>()?;
    let session = Session::begin(Journal::of_this_user()?, &id.0, factors)?;
    Ok(Box::new(OfStudy { session, factors: plan.factors.clone() }))
}

/// The settings of a study under way.
struct OfStudy {
    session: Session,
    factors: Vec<Factor>,
}

impl Settings for OfStudy {
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        self.session.set(factor, level)
    }

    fn restore(&mut self) -> Vec<Flag> {
        let Err(failure) = self.session.restore_all() else { return Vec::new() };
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
