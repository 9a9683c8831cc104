//! `--command`: settings that the command line defines by commands. They run after consent only.

use super::factor;
use crate::output;
use clap::Args;
use plimsoll_model::{Cause, Commands, Factor, Failure, HostName, Plan, Switch};
use plimsoll_settings::by_commands;
use std::collections::BTreeMap;

/// What stands before the names of settings by commands.
const KIND: &str = "command:";
/// The commands of a setting.
const PARTS: [&str; 4] = ["read", "apply", "undo", "verify"];

const COMMAND_LONG_HELP: &str = "Command of a setting of your own, --set command:NAME=A,B. PART is read, apply, undo \
or verify. NAME:read prints the value, NAME:apply sets it to $LEVEL. Without NAME:undo, NAME:apply restores the value. \
docs/settings.md has an example";

#[derive(Args)]
pub struct CommandArguments {
    /// Command of a setting of your own
    #[arg(long = "command", value_name = "NAME:PART=TEXT", long_help = COMMAND_LONG_HELP)]
    pub commands: Vec<String>,
    /// Run the commands of --command without a question
    #[arg(long, requires = "commands")]
    pub trust: bool,
}

/// Settings that the command line defines, by what follows `command:` in their names.
type Defined = BTreeMap<String, Commands>;

impl CommandArguments {
    /// The factors that `--set` asks for, and the settings that the commands define for them.
    ///
    /// # Errors
    /// [`Cause::Usage`] for commands without a factor, and for factors without their commands.
    pub fn factors(
        &self,
        set: &[String],
        client: &HostName,
    ) -> Result<(Vec<Factor>, Defined), Failure> {
        let commands = self.defined()?;
        let factors = set.iter().map(|text| factor(text.parse()?, client, &commands));
        let factors = factors.collect::<Result<Vec<Factor>, Failure>>()?;
        let own = || factors.iter().filter_map(|factor| factor.name.strip_prefix(KIND));
        if let Some(name) = own().find(|name| !commands.contains_key(*name)) {
            let next = format!("Give --command '{name}:read=…' and --command '{name}:apply=…'.");
            return Err(refused(format!("--set {KIND}{name}"), "no command defines it", &next));
        }
        if let Some(name) = commands.keys().find(|name| !own().any(|own| own == name.as_str())) {
            let next = format!("Give the values to compare: --set {KIND}{name}=A,B.");
            return Err(refused(format!("--command {name}"), "no --set uses it", &next));
        }
        Ok((factors, commands))
    }

    fn defined(&self) -> Result<Defined, Failure> {
        let mut all: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for given in &self.commands {
            let named = given.split_once('=').and_then(|(key, text)| {
                let (name, part) = key.rsplit_once(':')?;
                PARTS.contains(&part).then_some((name, part, text))
            });
            let Some((name, part, text)) = named else {
                let next =
                    "Give NAME:read=TEXT, NAME:apply=TEXT, NAME:undo=TEXT or NAME:verify=TEXT.";
                return Err(refused(
                    format!("--command {given}"),
                    "it is not NAME:PART=TEXT",
                    next,
                ));
            };
            if all.entry(name).or_default().insert(part, text).is_some() {
                let on = format!("--command {name}:{part}");
                return Err(refused(on, "it is given twice", "Give each command once."));
            }
        }
        let define = |(name, parts): (&str, BTreeMap<&str, &str>)| {
            let commands = commands(name, &parts)?;
            by_commands(name, commands.clone())?;
            Ok((name.to_owned(), commands))
        };
        all.into_iter().map(define).collect()
    }

    /// Asks at the terminal whether the commands of a plan may run.
    ///
    /// # Errors
    /// [`Cause::Usage`] if nobody can be asked, or the answer is not yes.
    pub fn expect_consent(&self, plan: &Plan) -> Result<(), Failure> {
        if plan.commands.is_empty() || self.trust {
            return Ok(());
        }
        let own = |factor: &&Factor| factor.name.starts_with(KIND);
        let mut hosts: Vec<String> =
            plan.factors.iter().filter(own).map(|factor| factor.host.to_string()).collect();
        hosts.dedup();
        let (hosts, next) = (hosts.join(", "), "Read them, and give --trust to run them.");
        if !output::can_ask() {
            let happened = "nobody can give consent, because there is no terminal";
            return Err(refused_to_run(&hosts, happened, next));
        }
        let mut lines = vec![format!("Commands that would run on {hosts}:")];
        for (name, Commands { read, apply, undo, verify, .. }) in &plan.commands {
            let parts = [("read", Some(read)), ("apply", Some(apply)), ("undo", Some(undo))];
            let parts = parts.into_iter().chain([("verify", verify.as_ref())]);
            let known = parts.filter_map(|(part, text)| Some((part, text?)));
            lines.extend(known.map(|(part, text)| format!("  {name}:{part}={text}")));
        }
        output::complain(&lines.join("\n"));
        match output::agrees("Run these commands? [y/N]") {
            true => Ok(()),
            false => Err(refused_to_run(&hosts, "you did not agree", next)),
        }
    }
}

/// The commands of a setting. What applies a value undoes it, too, unless another command does.
fn commands(name: &str, parts: &BTreeMap<&str, &str>) -> Result<Commands, Failure> {
    let command = |part: &str| parts.get(part).map(|text| (*text).to_owned());
    let needed = |part: &str| {
        command(part).ok_or_else(|| {
            let happened = format!("{name}:{part} is missing");
            refused(
                format!("--command {name}"),
                &happened,
                &format!("Add --command '{name}:{part}=…'."),
            )
        })
    };
    let apply = needed("apply")?;
    Ok(Commands {
        read: needed("read")?,
        undo: command("undo").unwrap_or_else(|| format!("LEVEL=$FOUND; export LEVEL\n{apply}")),
        apply,
        verify: command("verify"),
        switch: Switch::Live,
    })
}

fn refused(on: String, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, "define a setting by commands").on(on).happened(happened).next(next)
}

fn refused_to_run(hosts: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, "run the commands of --command")
        .on(hosts)
        .happened(happened)
        .next(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::FactorLevel;

    fn given(commands: &[&str], set: &[&str]) -> Result<(Vec<Factor>, Defined), Failure> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let arguments = CommandArguments { commands: owned(commands), trust: false };
        let set: Vec<String> = owned(set);
        arguments.factors(&set, &HostName::Local)
    }

    #[test]
    fn a_setting_is_defined_by_what_reads_and_applies_it() {
        let (factors, commands) = given(
            &["turbo:read=cat /x=y", "turbo:apply=echo \"$LEVEL\" >/x=y"],
            &["ssh://root@nas/command:turbo=as-found,1"],
        )
        .unwrap();
        assert_eq!((factors.len(), factors[0].switch), (1, Switch::Live));
        assert_eq!((factors[0].name.as_str(), factors[0].levels.len()), ("command:turbo", 2));
        assert_eq!(factors[0].levels[0], FactorLevel::AsFound);
        let turbo = &commands["turbo"];
        assert_eq!(turbo.read, "cat /x=y");
        assert_eq!(turbo.undo, "LEVEL=$FOUND; export LEVEL\necho \"$LEVEL\" >/x=y");
        let more = ["a:read=r", "a:apply=w", "a:undo=u", "a:verify=v"];
        let (_, commands) = given(&more, &["command:a=1,2"]).unwrap();
        assert_eq!(
            (commands["a"].undo.as_str(), commands["a"].verify.as_deref()),
            ("u", Some("v"))
        );
        let (factors, commands) = given(&[], &["sysctl:vm.dirty_ratio=5,10"]).unwrap();
        assert_eq!((factors.len(), commands.len()), (1, 0));
    }

    #[test]
    fn what_is_missing_is_named() {
        let set = &["command:a=1,2"][..];
        for (commands, set, expected) in [
            (&[][..], set, "--command 'a:read=…'"),
            (&["a:read=r"][..], set, "'a:apply=…'"),
            (&["a:apply=w"][..], set, "'a:read=…'"),
            (&["a:read=r", "a:apply=w"][..], &[][..], "--set command:a=A,B"),
            (&["a:read=r", "a:read=r"][..], set, "once"),
            (&["a=r"][..], set, "NAME:apply=TEXT"),
            (&["a:write=r"][..], set, "NAME:apply=TEXT"),
            (&["a:read", "a:apply=w"][..], set, "NAME:apply=TEXT"),
            (&["a b:read=r", "a b:apply=w"][..], set, "letters, digits"),
            (&["a:read=", "a:apply=w"][..], set, "POSIX shell"),
        ] {
            let failure = given(commands, set).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{failure}");
            assert!(failure.next.contains(expected), "{expected} in {failure}");
        }
    }
}
