//! Plan files as they are written.

use plimsoll_config::{File, Problem, nearest};
use plimsoll_model::{Cause, Failure};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What a plan file says; `docs/run.md` has each key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanFile {
    /// One sentence for the reader of a list.
    pub about: String,
    /// What the user gives on the command line, by name.
    #[serde(default, rename = "variable")]
    pub variables: BTreeMap<String, Variable>,
    /// The hosts that the trials are driven on; none: this machine.
    #[serde(default)]
    pub on: Vec<String>,
    /// The servers' hosts, watched meanwhile, as `--host` has them.
    #[serde(default)]
    pub watch: Vec<String>,
    /// Whether caches are dropped before each trial, as with `--drop-caches`.
    #[serde(default)]
    pub drop_caches: bool,
    /// Storage that is measured; none: as many as the command line names.
    #[serde(default, rename = "target")]
    pub targets: Vec<TargetEntry>,
    /// The network path that is measured, in place of storage: its ends, and options of `plimsoll net`.
    pub path: Option<Table>,
    /// The hosts that are measured, in place of storage.
    #[serde(default, rename = "host")]
    pub hosts: Vec<HostEntry>,
    /// What is done: `kind`, perhaps a `name`, and options of the command line.
    #[serde(rename = "job")]
    pub jobs: Vec<Table>,
    /// Settings by commands, by what follows `command:` in their names.
    #[serde(default, rename = "command")]
    pub commands: BTreeMap<String, CommandEntry>,
    /// The settings that are varied.
    #[serde(default, rename = "factor")]
    pub factors: Vec<FactorEntry>,
    /// How the device is rebooted before each setting; none: it is not, unless `--reboot` is given.
    pub reboot: Option<RebootEntry>,
    /// How long, how often: options of the command line.
    #[serde(default)]
    pub rule: Table,
    /// What verdicts are about; none: all is compared with the first target and the first levels.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimEntry>,
}

/// A word that the user gives; in the file it stands as `${name}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// What it is, for who has to give it.
    pub about: String,
    /// What it is unless it is given.
    pub default: Option<String>,
    /// Whether it may be left out: then each key that has it is as if it were not there.
    #[serde(default)]
    pub optional: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TargetEntry {
    /// A short name.
    pub name: String,
    /// What to give for it on the command line.
    pub about: Option<String>,
    /// The target; none: as the command line has it.
    pub url: Option<String>,
    /// The name of another one that it is, with other options.
    pub same_as: Option<String>,
    /// Options that are added to it: `sign=on&encrypt=off`.
    pub options: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// A short name.
    pub name: String,
    /// What to give for it on the command line.
    pub about: Option<String>,
    /// The host; none: as the command line has it.
    pub url: Option<String>,
}

/// What [`plimsoll_model::Commands`] are; `${...}` in them is the shell's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEntry {
    pub read: String,
    pub apply: String,
    pub undo: String,
    pub verify: Option<String>,
    /// Whether something restarts for it.
    #[serde(default)]
    pub restarts: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorEntry {
    /// What claims call it [default: its setting].
    pub name: Option<String>,
    /// The setting, as in `--set`.
    pub setting: String,
    /// The host [default: the one that the trials are driven on].
    pub host: Option<String>,
    /// Two or more.
    pub levels: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebootEntry {
    /// The device [default: the host of all factors].
    pub host: Option<String>,
    /// What reboots it [default: `reboot`; of a lab's machine its power].
    pub command: Option<String>,
    /// Longest time until it works again, such as "5min".
    pub within: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimEntry {
    /// What is compared with the first of it: `targets`, `jobs`, or the name of a factor.
    pub compare: String,
    /// At these jobs alone.
    #[serde(default)]
    pub jobs: Vec<String>,
    /// On these targets alone.
    #[serde(default)]
    pub targets: Vec<String>,
    /// With these levels of other factors alone.
    #[serde(default)]
    pub at: Table,
}

/// A plan file by its text, and the words that the user gave for it.
pub struct Source<'a> {
    pub file: File<'a>,
    pub plan: PlanFile,
    given: BTreeMap<String, String>,
}

impl<'a> Source<'a> {
    /// Reads a plan file; `source` is its name for the reader, `given` are words of `--var`.
    pub fn read(text: &'a str, source: &'a str, given: &[String]) -> Result<Source<'a>, Failure> {
        let file = File { text, source, what: "plan file", page: "docs/run.md" };
        let plan: PlanFile = file.read()?;
        if plan.jobs.is_empty() {
            let next = "Add a [[job]] with a `kind`.";
            return Err(file.failure(&Problem::new(&["job"], "the plan has no job", next)));
        }
        let given = words(&plan, given)?;
        Ok(Source { file, plan, given })
    }

    /// The text with the words of the user in their places; `None` where one of them is left out, as it
    /// may be.
    pub fn fill(&self, at: &[&str], text: &str) -> Result<Option<String>, Failure> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                let next = "Write ${name}.";
                return Err(self.problem(at, "`${` is not closed", next));
            };
            let Some(variable) = self.plan.variables.get(name) else {
                let known: Vec<&String> = self.plan.variables.keys().collect();
                let happened = format!("no [variable.{name}] defines `${{{name}}}`");
                return Err(self.problem(at, &happened, &nearest(name, &known)));
            };
            let word = self.given.get(name).or(variable.default.as_ref());
            match word {
                Some(word) => filled.extend([before, word]),
                None if variable.optional => return Ok(None),
                None => return Err(self.not_given(at)),
            }
            rest = after;
        }
        Ok(Some(filled + rest))
    }

    /// Every word that is missing, so that the user is asked once.
    fn not_given(&self, at: &[&str]) -> Failure {
        let missing = self.plan.variables.iter().filter(|(name, variable)| {
            !variable.optional && variable.default.is_none() && !self.given.contains_key(*name)
        });
        let (happened, next): (Vec<String>, Vec<String>) = missing
            .map(|(name, variable)| {
                let happened = format!("`{name}` is not given: {}", variable.about);
                (happened, format!("--var {name}=…"))
            })
            .unzip();
        self.problem(at, &happened.join("; "), &format!("Give {}", next.join(" ")))
    }

    /// The same of what must be there.
    pub fn fill_all(&self, at: &[&str], text: &str) -> Result<String, Failure> {
        self.fill(at, text)?.ok_or_else(|| {
            let happened = "it contains an optional variable without a value";
            self.problem(at, happened, "Give its value with --var.")
        })
    }

    /// What is wrong there, and what to write instead.
    pub fn problem(&self, at: &[&str], happened: &str, next: &str) -> Failure {
        self.file.failure(&Problem::new(at, happened, next))
    }

    /// A failure of what is written there.
    pub fn placed(&self, at: &[&str], failure: Failure) -> Failure {
        let source = self.file.source;
        let line = self.file.line(at).map_or_else(String::new, |line| format!(":{line}"));
        Failure { on: format!("{source}{line}, {}", failure.on), ..failure }
    }
}

/// The words of `--var NAME=VALUE` by name.
fn words(plan: &PlanFile, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let usage = |on: &str, happened: &str, next: String| {
        Err(Failure::new(Cause::Usage, "understand --var").on(on).happened(happened).next(next))
    };
    let mut words = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return usage(text, "it has no '='", "Give --var NAME=VALUE.".to_owned());
        };
        if !plan.variables.contains_key(name) {
            let known: Vec<&String> = plan.variables.keys().collect();
            return usage(name, "the plan has no such variable", nearest(name, &known));
        }
        if words.insert(name.to_owned(), value.to_owned()).is_some() {
            return usage(name, "it is given twice", "Give each once.".to_owned());
        }
    }
    Ok(words)
}

/// What a value that is a word, a number or yes and no says.
pub fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(yes) => Some(yes.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}
