//! The family of claims: what verdicts are about. All that is compared beside it is an estimate.

use super::file::{ClaimEntry, Source, word};
use super::work::JobOf;
use plimsoll_config::nearest;
use plimsoll_model::{Cell, Contrast, Factor, Failure, Measurand, Plan, factor};

/// What `compare` may be beside the name of a factor.
const TARGETS: &str = "targets";
const JOBS: &str = "jobs";

/// Marks the claims of a file among a plan's comparisons, which are claims all where it names none.
pub fn mark(source: &Source<'_>, jobs: &[JobOf], plan: &mut Plan) -> Result<(), Failure> {
    if source.plan.claims.is_empty() {
        return Ok(());
    }
    let mut family: Vec<Contrast> = Vec::new();
    for (number, entry) in source.plan.claims.iter().enumerate() {
        let number = number.to_string();
        let claims = Claims { source, jobs, plan, entry, at: ["claim", &number] };
        let found = claims.contrasts()?;
        if found.is_empty() {
            let next = "Name at least two, or remove the claim.";
            return Err(source.problem(&claims.at, "there is nothing to compare", next));
        }
        let new =
            found.into_iter().filter(|contrast| !family.contains(contrast)).collect::<Vec<_>>();
        family.extend(new);
    }
    let estimates = plan.contrasts.iter().map(|contrast| Contrast { claim: false, ..*contrast });
    let is_claim = |contrast: &Contrast| family.contains(&Contrast { claim: true, ..*contrast });
    let estimates: Vec<Contrast> = estimates.filter(|contrast| !is_claim(contrast)).collect();
    plan.contrasts = family;
    plan.contrasts.extend(estimates);
    Ok(())
}

/// One `[[claim]]`.
struct Claims<'a> {
    source: &'a Source<'a>,
    jobs: &'a [JobOf],
    plan: &'a Plan,
    entry: &'a ClaimEntry,
    at: [&'a str; 2],
}

impl Claims<'_> {
    fn problem(&self, key: &str, happened: &str, next: &str) -> Failure {
        self.source.problem(&[self.at[0], self.at[1], key], happened, next)
    }

    fn contrasts(&self) -> Result<Vec<Contrast>, Failure> {
        let (targets, jobs) = (self.targets()?, self.jobs()?);
        let settings = self.settings()?;
        let mut contrasts = Vec::new();
        match self.entry.compare.as_str() {
            TARGETS => {
                let (first, others) = targets.split_first().unwrap_or((&0, &[]));
                for (setting, workload) in pairs(&settings, &flat(&jobs)) {
                    let measurand = |subject| self.measurand(subject, workload, setting);
                    let against_first =
                        |other: &usize| contrast(measurand(*other), measurand(*first));
                    contrasts.extend(others.iter().filter_map(against_first));
                }
            }
            JOBS => {
                let Some((first, others)) = jobs.split_first() else { return Ok(contrasts) };
                for (setting, target) in pairs(&settings, &targets) {
                    for other in others {
                        self.expect_alike(first, other)?;
                        for (a, b) in first.workloads.clone().zip(other.workloads.clone()) {
                            let measurand = |workload| self.measurand(target, workload, setting);
                            contrasts.extend(contrast(measurand(b), measurand(a)));
                        }
                    }
                }
            }
            name => {
                let number = self.factor("compare", name)?;
                for (setting, target) in pairs(&settings, &targets) {
                    let mut levels = levels(self.plan, setting);
                    if levels[number] == 0 {
                        continue;
                    }
                    levels[number] = 0;
                    let first = usize::from(factor::setting(&self.plan.factors, &levels));
                    for workload in flat(&jobs) {
                        let measurand = |setting| self.measurand(target, workload, setting);
                        contrasts.extend(contrast(measurand(setting), measurand(first)));
                    }
                }
            }
        }
        Ok(contrasts)
    }

    /// The headline of a cell.
    fn measurand(&self, subject: usize, workload: usize, setting: usize) -> Option<Measurand> {
        let cell = Cell::new(subject, workload, setting);
        let what = self.plan.workload(cell)?;
        Some(Measurand { cell, part: what.headline_part(), metric: what.main()?.headline() })
    }

    /// The targets that are meant, by their numbers.
    fn targets(&self) -> Result<Vec<usize>, Failure> {
        let labels = plimsoll_model::label::labels(self.plan);
        if self.entry.targets.is_empty() {
            return Ok((0..labels.len()).collect());
        }
        let number = |name: &String| {
            labels.iter().position(|label| label == name).ok_or_else(|| {
                let happened = format!("no target has the name `{name}`");
                self.problem("targets", &happened, &nearest(name, &labels))
            })
        };
        self.entry.targets.iter().map(number).collect()
    }

    /// The jobs that are meant.
    fn jobs(&self) -> Result<Vec<&JobOf>, Failure> {
        if self.entry.jobs.is_empty() {
            return Ok(self.jobs.iter().collect());
        }
        let job = |name: &String| {
            self.jobs.iter().find(|job| job.name == *name).ok_or_else(|| {
                let known: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
                let happened = format!("no job has the name `{name}`");
                self.problem("jobs", &happened, &nearest(name, &known))
            })
        };
        self.entry.jobs.iter().map(job).collect()
    }

    /// Jobs are compared by a figure that both have.
    fn expect_alike(&self, a: &JobOf, b: &JobOf) -> Result<(), Failure> {
        let headlines = |job: &JobOf| -> Vec<_> {
            let measurands = job.workloads.clone().map(|workload| self.measurand(0, workload, 0));
            measurands.map(|measurand| measurand.map(|m| m.metric)).collect()
        };
        match headlines(a) == headlines(b) {
            true => Ok(()),
            false => {
                let happened = format!("`{}` and `{}` have no figures in common", a.name, b.name);
                Err(self.problem("jobs", &happened, "Compare jobs of one kind."))
            }
        }
    }

    /// The settings that are meant, by their numbers.
    fn settings(&self) -> Result<Vec<usize>, Failure> {
        let mut fixed = Vec::new();
        for (name, value) in &self.entry.at {
            let number = self.factor("at", name)?;
            let known: Vec<String> =
                self.plan.factors[number].levels.iter().map(level_word).collect();
            let wanted = word(value).unwrap_or_default();
            let Some(level) = known.iter().position(|level| *level == wanted) else {
                let happened = format!("`{wanted}` is not a level of `{name}`");
                let at = [self.at[0], self.at[1], "at", name];
                return Err(self.source.problem(&at, &happened, &nearest(&wanted, &known)));
            };
            if self.entry.compare == *name {
                let happened = "the claim compares the levels of this factor";
                return Err(self.problem("at", happened, "Remove it."));
            }
            fixed.push((number, level));
        }
        let all = 0..factor::settings(&self.plan.factors).min(usize::from(u16::MAX));
        let meant = |setting: &usize| {
            let levels = levels(self.plan, *setting);
            fixed.iter().all(|(number, level)| levels[*number] == *level)
        };
        Ok(all.filter(meant).collect())
    }

    /// The number of a factor, by the name that the file gives it or by its setting.
    fn factor(&self, key: &str, name: &str) -> Result<usize, Failure> {
        let entries = &self.source.plan.factors;
        let named = |number: usize, factor: &Factor| match entries.get(number) {
            Some(entry) => entry.name.clone().unwrap_or_else(|| factor.name.clone()),
            None => factor.name.clone(),
        };
        let names: Vec<String> =
            self.plan.factors.iter().enumerate().map(|(n, factor)| named(n, factor)).collect();
        names.iter().position(|known| known == name).ok_or_else(|| {
            let happened = format!("no factor has the name `{name}`");
            let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
            if key == "compare" {
                known.extend([TARGETS, JOBS]);
            }
            self.problem(key, &happened, &nearest(name, &known))
        })
    }
}

fn level_word(level: &plimsoll_model::FactorLevel) -> String {
    match level {
        plimsoll_model::FactorLevel::AsFound => "as-found".to_owned(),
        plimsoll_model::FactorLevel::Set { value } => value.clone(),
    }
}

fn levels(plan: &Plan, setting: usize) -> Vec<usize> {
    factor::levels(&plan.factors, u16::try_from(setting).unwrap_or(u16::MAX))
}

/// The numbers of the workloads of jobs.
fn flat(jobs: &[&JobOf]) -> Vec<usize> {
    jobs.iter().flat_map(|job| job.workloads.clone()).collect()
}

/// Every setting with every other thing.
fn pairs<'a>(
    settings: &'a [usize],
    others: &'a [usize],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    settings.iter().flat_map(|setting| others.iter().map(|other| (*setting, *other)))
}

fn contrast(of: Option<Measurand>, against: Option<Measurand>) -> Option<Contrast> {
    let (of, against) = (of?, against?);
    (of != against).then_some(Contrast { of, against, claim: true })
}
