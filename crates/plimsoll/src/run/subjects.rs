//! What a plan measures: storage, a network path, or hosts. All its subjects are of one kind.

use super::file::Source;
use super::given::Given;
use super::options::Word;
use crate::arguments::AccessArguments;
use crate::gate::GateArguments;
use crate::{jobs, net};
use plimsoll_config::nearest;
use plimsoll_model::{Cause, Failure, SubjectKind};

/// The kind of job that is done by `plimsoll copy`.
pub const COPY: &str = "copy";

/// The kind of job that calls the clocks of a host.
pub const CLOCK: &str = "clock";
/// Kinds of jobs on hosts.
const OF_HOSTS: [&str; 5] = ["cpu", "memory", "crypto", "disk", CLOCK];

/// Subjects of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    Storage,
    Path,
    Hosts,
}

impl Subjects {
    const ALL: [Subjects; 3] = [Subjects::Storage, Subjects::Path, Subjects::Hosts];

    /// Those of a plan file.
    ///
    /// # Errors
    /// [`Cause::Usage`] if there are several kinds.
    pub fn of_file(source: &Source<'_>) -> Result<Subjects, Failure> {
        let mut given = Subjects::ALL.into_iter().filter(|subjects| subjects.are_in(source));
        let first = given.next().unwrap_or(Subjects::Storage);
        let Some(other) = given.next() else { return Ok(first) };
        let happened = format!(
            "it has {} and {}, and a plan measures subjects of one kind",
            first.table(),
            other.table()
        );
        Err(source.problem(&[other.key()], &happened, "Give each kind a plan of its own."))
    }

    fn are_in(self, source: &Source<'_>) -> bool {
        match self {
            Subjects::Storage => !source.plan.targets.is_empty(),
            Subjects::Path => source.plan.path.is_some(),
            Subjects::Hosts => !source.plan.hosts.is_empty(),
        }
    }

    /// Key of their tables.
    fn key(self) -> &'static str {
        match self {
            Subjects::Storage => "target",
            Subjects::Path => "path",
            Subjects::Hosts => "host",
        }
    }

    /// Their tables as a file has them.
    fn table(self) -> &'static str {
        match self {
            Subjects::Storage => "[[target]]",
            Subjects::Path => "[path]",
            Subjects::Hosts => "[[host]]",
        }
    }

    /// Name in messages: "a network path".
    fn noun(self) -> &'static str {
        match self {
            Subjects::Storage => SubjectKind::Storage.info().noun,
            Subjects::Path => SubjectKind::Path.info().noun,
            Subjects::Hosts => SubjectKind::Host.info().noun,
        }
    }

    /// Kinds of their jobs.
    pub fn jobs(self) -> Vec<&'static str> {
        match self {
            Subjects::Storage => jobs::JOBS.iter().map(|job| job.name).chain([COPY]).collect(),
            Subjects::Path => net::KINDS.iter().map(|kind| kind.name).collect(),
            Subjects::Hosts => OF_HOSTS.to_vec(),
        }
    }

    /// What is wrong with a kind of job that these subjects do not have.
    pub fn unknown_job(self, source: &Source<'_>, number: &str, kind: &str) -> Failure {
        let at = ["job", number, "kind"];
        match Subjects::ALL.into_iter().find(|other| other.jobs().contains(&kind)) {
            Some(other) => {
                let happened = format!(
                    "`{kind}` measures {}, and this plan measures {}",
                    other.noun(),
                    self.noun()
                );
                let next = format!(
                    "Write it in a plan with {} and without {}.",
                    other.table(),
                    self.table()
                );
                source.problem(&at, &happened, &next)
            }
            None => {
                let happened = format!("unknown word `{kind}`");
                source.problem(&at, &happened, &nearest(kind, &self.jobs()))
            }
        }
    }

    /// Refuses what only plans of storage have: keys of the file, and options of the command line. Of its options about
    /// blocks and time, `rule` names those that these subjects have; these are returned.
    pub fn expect_no_storage(
        self,
        source: &Source<'_>,
        given: &Given<'_>,
        rule: &[&str],
    ) -> Result<Vec<Word>, Failure> {
        let file = &source.plan;
        let keys = [
            ("on", !file.on.is_empty()),
            ("watch", !file.watch.is_empty()),
            ("drop-caches", file.drop_caches),
            ("reboot", file.reboot.is_some()),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, is_given)| *is_given) {
            let happened =
                format!("`{key}` is for storage, and this plan measures {}", self.noun());
            return Err(source.problem(&[key], &happened, "Remove it."));
        }
        let options = [
            ("--on", !given.hosts.on.is_empty()),
            ("--host", !given.hosts.hosts.is_empty()),
            ("--drop-caches", given.hosts.drop_caches),
            ("--reboot", given.reboot),
        ];
        self.expect_none(&options)?;
        let is_unknown = |long: &&str| !rule.contains(long);
        if let Some(long) = given.how.iter().filter_map(Word::long).find(is_unknown) {
            let option = format!("--{long}");
            self.expect_none(&[(option.as_str(), true)])?;
        }
        Ok(given.how.to_vec())
    }

    /// Refuses passwords and gates, which only plans of storage have.
    pub fn expect_unused(
        self,
        gate: &GateArguments,
        access: &AccessArguments,
    ) -> Result<(), Failure> {
        self.expect_none(&[
            ("--as", !gate.names.is_empty()),
            ("--fail-on", !gate.fail_on.is_empty()),
            ("--credentials", access.credentials.is_some()),
        ])
    }

    fn expect_none(self, options: &[(&str, bool)]) -> Result<(), Failure> {
        let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let happened = format!("it is for storage, and the plan measures {}", self.noun());
        Err(Failure::new(Cause::Usage, "run the plan")
            .on(option)
            .happened(happened)
            .next("Leave it out."))
    }
}
