//! The settings of one study: changed at whole plots or within blocks, and put back at its end.

use super::device::{self, Fenced};
use super::guard::{self, Guard};
use super::{Entry, Journal, Knob, Origin, Original, expect_none_left, expect_none_left_on};
use plimsoll_model::{Cause, FactorLevel, Failure, HostName, Switch};
use plimsoll_reach::Reach;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A setting of a host with the levels that a study compares.
pub struct Factor {
    /// The setting.
    pub knob: Box<dyn Knob>,
    /// The host as the user named it.
    pub name: HostName,
    /// The way to it.
    pub host: Arc<dyn Reach>,
    /// Its levels.
    pub levels: Vec<FactorLevel>,
}

/// Changes settings for a study. However it ends, what it changed is put back: by
/// [`Session::restore_all`], or when it is dropped, also in a panic; after a kill or a power cut by
/// [`super::restore`].
pub struct Session {
    journal: Journal,
    study: String,
    patience: Duration,
    factors: Vec<FactorState>,
}

struct FactorState {
    factor: Factor,
    /// What was found.
    level: String,
    original: Original,
    /// The level that is in effect, once one was set.
    set: Option<usize>,
    changed: Option<Changed>,
}

/// A setting that is in the journals.
struct Changed {
    entry: Entry,
    path: Option<String>,
    guard: Option<Guard>,
}

/// How changes of a study are kept.
struct Kept<'a> {
    journal: &'a Journal,
    study: &'a str,
    patience: Duration,
}

impl Session {
    /// Reads what every setting is, and changes nothing: what is found is written back as it is,
    /// since what cannot be put back must not be changed.
    ///
    /// # Errors
    /// A level that is none, a setting that is named twice, one that cannot be read or written, or
    /// one that another run has changed.
    pub fn begin(journal: Journal, study: &str, factors: Vec<Factor>) -> Result<Session, Failure> {
        Session::begin_within(journal, study, factors, guard::PATIENCE)
    }

    /// The same, where a host that is cut off waits so long before it undoes by itself what may have cut the link.
    ///
    /// # Errors
    /// As of [`Session::begin`].
    pub fn begin_within(
        journal: Journal,
        study: &str,
        factors: Vec<Factor>,
        patience: Duration,
    ) -> Result<Session, Failure> {
        for (n, factor) in factors.iter().enumerate() {
            let same = |other: &Factor| {
                other.name == factor.name && other.knob.name() == factor.knob.name()
            };
            if factors[..n].iter().any(same) {
                return Err(factor.usage("it is given twice", "Give all its values in one --set."));
            }
            for level in &factor.levels {
                if let FactorLevel::Set { value } = level {
                    let next = "Give other values.";
                    factor.knob.check(value).map_err(|why| {
                        factor.usage(&format!("\"{value}\" is not a valid value: {why}"), next)
                    })?;
                }
            }
            let concerns = |host: &HostName| *host == factor.name;
            expect_none_left(&journal, concerns)?;
            expect_none_left_on(&*factor.host)?;
        }
        let read = |factor: Factor| {
            let found = factor.knob.read(&*factor.host)?;
            factor.knob.undo(&*factor.host, &found.original)?;
            for level in &factor.levels {
                if let FactorLevel::Set { value } = level {
                    factor.knob.check_on(&*factor.host, &found.original, value)?;
                }
            }
            let (level, original) = (found.level, found.original);
            Ok(FactorState { factor, level, original, set: None, changed: None })
        };
        let factors = factors.into_iter().map(read).collect::<Result<_, Failure>>()?;
        let study = study.to_owned();
        let mut session = Session { journal, study, patience, factors };
        session.try_unlisted()?;
        Ok(session)
    }

    /// Tries levels that a host does not list among those that it has, before anything is measured. A
    /// kernel may load a module for one, so only trying tells.
    fn try_unlisted(&mut self) -> Result<(), Failure> {
        for number in 0..self.factors.len() {
            let factor = &self.factors[number].factor;
            let Some(listed) = factor.knob.listed(&*factor.host) else { continue };
            let unlisted = |level: &FactorLevel| match level {
                FactorLevel::Set { value } => !listed.contains(value),
                FactorLevel::AsFound => false,
            };
            let levels: Vec<bool> = factor.levels.iter().map(unlisted).collect();
            for level in (0..levels.len()).filter(|level| levels[*level]) {
                let next = format!(
                    "Give one of the values that {} lists: ",
                    self.factors[number].factor.name
                );
                self.set(number, level).map_err(|failure| match listed.is_empty() {
                    true => failure,
                    false => Failure {
                        cause: Cause::Usage,
                        next: format!("{next}{}.", listed.join(", ")),
                        ..failure
                    },
                })?;
                self.restore_all()?;
            }
        }
        Ok(())
    }

    /// What was found of a factor.
    pub fn found(&self, factor: usize) -> Option<&str> {
        self.factors.get(factor).map(|state| &*state.level)
    }

    /// Sets a factor to one of its levels; when this returns, that is in effect. What restarts for it
    /// does so too where that was its level already. Where it does not take effect, the factor is put back.
    ///
    /// # Errors
    /// The host did not take the level, or the journals cannot be written.
    pub fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure> {
        self.set_together(factor..factor.saturating_add(1), level)
    }

    /// Sets factors that are one to the user, such as the two ends of a tunnel, in their order. Where one does not take
    /// effect, all of them are put back.
    ///
    /// # Errors
    /// As of [`Session::set`].
    pub fn set_together(&mut self, factors: Range<usize>, level: usize) -> Result<(), Failure> {
        let states = self.factors.get_mut(factors.clone());
        let have_level =
            |states: &&mut [FactorState]| states.iter().all(|s| level < s.factor.levels.len());
        let Some(states) = states.filter(have_level) else {
            let happened = format!("factor {} has no level {level}", factors.start);
            return Err(Failure::new(Cause::Usage, "change a setting")
                .on("the plan")
                .happened(happened));
        };
        let kept = Kept { journal: &self.journal, study: &self.study, patience: self.patience };
        let set = states.iter_mut().try_for_each(|state| state.set(level, &kept));
        set.map_err(|failure| match restore(states, &self.journal) {
            Ok(()) => failure,
            Err(more) => unrestored(failure, &more),
        })
    }

    /// Fails where a level that was set is not in effect any more.
    pub fn verify_all(&self) -> Result<(), Failure> {
        self.factors
            .iter()
            .filter(|state| state.changed.is_some())
            .try_for_each(FactorState::verify)
    }

    /// Puts everything back, the last factor first, and takes it out of the journals. All are
    /// tried; the first failure is returned, and what it leaves is in the journals.
    pub fn restore_all(&mut self) -> Result<(), Failure> {
        restore(&mut self.factors, &self.journal)
    }
}

/// Puts back what was set, the last one first; all are tried.
fn restore(states: &mut [FactorState], journal: &Journal) -> Result<(), Failure> {
    let tried = states.iter_mut().rev().map(|state| state.restore(journal));
    tried.fold(Ok(()), Result::and)
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whoever wants to know has called it; the journals keep what fails.
        let _ = self.restore_all();
    }
}

impl Factor {
    fn usage(&self, happened: &str, next: &str) -> Failure {
        let on = format!("{} on {}", self.knob.name(), self.name);
        Failure::new(Cause::Usage, "change a setting").on(on).happened(happened).next(next)
    }
}

impl FactorState {
    fn set(&mut self, level: usize, kept: &Kept) -> Result<(), Failure> {
        let restarts = self.factor.knob.switch() == Switch::Restart;
        if self.set == Some(level) && self.changed.is_some() && !restarts {
            return self.verify();
        }
        let value = match &self.factor.levels[level] {
            FactorLevel::AsFound if self.changed.is_none() => return self.verify_as_found(),
            FactorLevel::AsFound => None,
            FactorLevel::Set { value } => Some(value.clone()),
        };
        self.set = None;
        let path = self.write_down(kept)?;
        let host = Fenced { host: &*self.factor.host, entry: &path };
        let Factor { knob, .. } = &self.factor;
        match value {
            None => knob.undo(&host, &self.original)?,
            Some(value) => {
                knob.apply(&host, &self.original, &value)?;
                knob.verify(&host, &value)?;
            }
        }
        self.set = Some(level);
        Ok(())
    }

    /// What is to be undone, on the disks of both sides, and the timer: before the first change.
    fn write_down(&mut self, kept: &Kept) -> Result<String, Failure> {
        let Factor { knob, name, host, .. } = &self.factor;
        if let Some(Changed { path: Some(path), .. }) = &self.changed {
            return Ok(path.clone());
        }
        let origin = Origin::read(&**host)?;
        let original = self.original.clone();
        let entry = Entry::new(name.clone(), origin, knob.name(), original, kept.study);
        kept.journal.add(&entry)?;
        let changed = self.changed.insert(Changed { entry, path: None, guard: None });
        let path = device::add(&**host, &changed.entry)?;
        changed.path = Some(path.clone());
        if let Some(undo) = knob.undo_by_shell(&self.original) {
            changed.guard = Some(Guard::start(host.clone(), &path, undo, kept.patience)?);
        }
        Ok(path)
    }

    fn verify(&self) -> Result<(), Failure> {
        match self.set.and_then(|level| self.factor.levels.get(level)) {
            None => Ok(()),
            Some(FactorLevel::AsFound) => self.verify_as_found(),
            Some(FactorLevel::Set { value }) => self.factor.knob.verify(&*self.factor.host, value),
        }
    }

    fn verify_as_found(&self) -> Result<(), Failure> {
        let Factor { knob, name, host, .. } = &self.factor;
        if knob.is_as_found(&self.original, &knob.read(&**host)?.original) {
            return Ok(());
        }
        let happened = "another program has changed it since the study started";
        let next = "Start the study again.";
        Err(Failure::new(Cause::Trial, format!("leave {}", knob.name()))
            .on(name)
            .happened(happened)
            .next(next))
    }

    fn restore(&mut self, journal: &Journal) -> Result<(), Failure> {
        let Some(changed) = &mut self.changed else { return Ok(()) };
        let Factor { knob, host, .. } = &self.factor;
        self.set = None;
        let mut put_back = || {
            // Without an entry on the host nothing was changed.
            if changed.path.is_some() {
                knob.undo(&**host, &self.original)?;
                changed.guard.take().map_or(Ok(()), Guard::end)?;
                device::remove(&**host, &changed.entry)?;
            }
            journal.remove(&changed.entry)
        };
        match put_back() {
            Ok(()) => {
                self.changed = None;
                Ok(())
            }
            Err(failure) => Err(self.left_changed(failure)),
        }
    }

    /// What the user does where it could not be put back.
    fn left_changed(&self, failure: Failure) -> Failure {
        let Factor { knob, name, .. } = &self.factor;
        let timer = match knob.undo_by_shell(&self.original) {
            Some(_) => {
                " If the connection was lost, the host restores it automatically within minutes."
            }
            None => "",
        };
        let tried = format!("restore {}: {}", knob.name(), failure.tried);
        let next = format!("When {name} can be reached: plimsoll restore {name}.{timer}");
        Failure { tried, next, ..failure }
    }
}

/// Both what went wrong and that undoing it did, too.
fn unrestored(failure: Failure, more: &Failure) -> Failure {
    let happened = format!("{}; and it could not be restored: {}", failure.happened, more.happened);
    Failure { happened, next: more.next.clone(), ..failure }
}
