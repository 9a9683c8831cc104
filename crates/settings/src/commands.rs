//! A setting that somebody defines by commands of their own: what reads it, what applies a level, what
//! undoes it.
//!
//! They are lines of POSIX shell, which run on the setting's host. `LEVEL` holds the level there, and
//! `FOUND` what was read before the first change. Those that undo are in the journal before that, so that
//! they can be run by whoever restores.

use super::{Found, Knob, Original, command};
use plimsoll_model::{Cause, Commands, Failure, Switch};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "command";

/// Longest command, and longest output of what reads, in bytes.
const LONGEST_COMMAND: usize = 16 << 10;
const LONGEST_FOUND: usize = 64 << 10;
const LONGEST_LEVEL: usize = 512;

/// Keys of an [`Original`]: what was read, what reads it, what undoes.
const KEYS: [&str; 3] = ["found", "read", "undo"];

/// A setting by a name of its own and, but where it is only to be undone, its commands.
#[derive(Debug)]
struct ByCommands {
    name: String,
    commands: Option<Commands>,
}

/// The setting `command:NAME` with these commands, as a plan defines it.
///
/// # Errors
/// [`Cause::Usage`] for names and commands that are none.
pub fn by_commands(name: &str, commands: Commands) -> Result<Box<dyn Knob>, Failure> {
    let refused = |why: String| {
        let next = "Use letters, digits, '-' and '_' in the name, and give POSIX shell commands.";
        Failure::new(Cause::Usage, "define a setting by commands").on(name).happened(why).next(next)
    };
    check_name(name).map_err(refused)?;
    let Commands { read, apply, undo, verify, .. } = &commands;
    for text in [read, apply, undo].into_iter().chain(verify) {
        check_command(text).map_err(refused)?;
    }
    Ok(Box::new(ByCommands { name: name.to_owned(), commands: Some(commands) }))
}

/// The setting of that name without its commands: the journal has those that undo it.
pub(super) fn make(name: &str) -> Result<Box<dyn Knob>, String> {
    check_name(name)?;
    Ok(Box::new(ByCommands { name: name.to_owned(), commands: None }))
}

fn check_name(name: &str) -> Result<(), String> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    match (1..=64).contains(&name.len()) && name.bytes().all(letter) {
        true => Ok(()),
        false => Err("its name is invalid".into()),
    }
}

fn check_command(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("a command is empty".into());
    }
    match text.len() <= LONGEST_COMMAND && !text.contains('\0') {
        true => Ok(()),
        false => Err(format!("a command is longer than {LONGEST_COMMAND} bytes, or has a NUL")),
    }
}

/// The output of a command without the ends of its last lines, as `$(…)` has it.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches('\n')
}

impl ByCommands {
    fn commands(&self, host: &dyn Reach) -> Result<&Commands, Failure> {
        self.commands.as_ref().ok_or_else(|| {
            let happened = "its commands are not defined";
            let next = "Define it in a plan: a [command] with read, apply and undo.";
            Failure::new(Cause::Usage, format!("use {}", self.name()))
                .on(host.name())
                .happened(happened)
                .next(next)
        })
    }

    /// Runs one of them with a variable, in a shell of its own: `exit` in it ends nothing else.
    fn run(
        &self,
        host: &dyn Reach,
        what: &str,
        text: &str,
        name: &str,
        value: &str,
    ) -> Result<String, Failure> {
        let tried = format!("{what} {}", self.name());
        let (value, text) = (quote(value), quote(text));
        let text = format!("{name}={value}; export {name}; exec sh -c {text} </dev/null");
        command(host, &tried, &text, b"")
    }

    fn current(&self, host: &dyn Reach, read: &str) -> Result<String, Failure> {
        let text = self.run(host, "read", read, "FOUND", "")?;
        let found = trimmed(&text);
        if found.len() <= LONGEST_FOUND {
            return Ok(found.to_owned());
        }
        let happened = format!("it printed more than {LONGEST_FOUND} bytes");
        let next = "The command must print only the value that undo needs.";
        let tried = format!("read {}", self.name());
        Err(Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next))
    }

    fn wrong(&self, host: &dyn Reach, now: &str, wanted: &str) -> Failure {
        let happened = format!("after the change, read prints \"{now}\" instead of \"{wanted}\"");
        let next = "Test its commands on the host.";
        Failure::new(Cause::Trial, format!("set {}", self.name()))
            .on(host.name())
            .happened(happened)
            .next(next)
    }
}

impl Knob for ByCommands {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.name)
    }

    fn switch(&self) -> Switch {
        self.commands.as_ref().map_or(Switch::Restart, |commands| commands.switch)
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level.len() <= LONGEST_LEVEL && !level.contains(char::is_control) {
            true => Ok(()),
            false => Err(format!("it is not one line of up to {LONGEST_LEVEL} bytes")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [found, read, undo] = KEYS.map(|key| original.0.get(key));
        let (Some(found), Some(read), Some(undo), 3) = (found, read, undo, original.0.len()) else {
            return Err("it does not contain the value and the commands read and undo".into());
        };
        check_command(read)?;
        check_command(undo)?;
        match found.len() <= LONGEST_FOUND && !found.contains('\0') {
            true => Ok(()),
            false => Err(format!("the value is longer than {LONGEST_FOUND} bytes, or has a NUL")),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let Commands { read, undo, .. } = self.commands(host)?;
        let found = self.current(host, read)?;
        let values = [found.clone(), read.clone(), undo.clone()];
        let original = Original(KEYS.map(str::to_owned).into_iter().zip(values).collect());
        Ok(Found { level: found, original })
    }

    fn apply(&self, host: &dyn Reach, _: &Original, level: &str) -> Result<(), Failure> {
        let apply = &self.commands(host)?.apply;
        self.run(host, "apply", apply, "LEVEL", level).map(drop)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let Commands { read, verify, .. } = self.commands(host)?;
        if let Some(verify) = verify {
            return self.run(host, "verify", verify, "LEVEL", level).map(drop);
        }
        let now = self.current(host, read)?;
        if now == level { Ok(()) } else { Err(self.wrong(host, &now, level)) }
    }

    /// The command is run also where all is as it was: whether it works shows before it is needed.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [found, read, undo] = original.values(KEYS);
        self.run(host, "undo", undo, "FOUND", found)?;
        let now = self.current(host, read)?;
        if now == found { Ok(()) } else { Err(self.wrong(host, &now, found)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;
    use std::fs;

    fn commands(file: &str) -> Commands {
        Commands {
            read: format!("cat '{file}'"),
            apply: format!("printf '%s\\n' \"$LEVEL\" >'{file}'; exit"),
            undo: format!("printf '%s\\n' \"$FOUND\" >'{file}'"),
            verify: None,
            switch: Switch::Live,
        }
    }

    #[test]
    fn commands_read_apply_verify_and_undo() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("setting");
        let file = path.to_str().unwrap();
        let found = "it's\n$(exit 3) `id` \"quoted\"\n";
        fs::write(&path, found).unwrap();
        let knob = by_commands("own", commands(file)).unwrap();
        let Found { level, original } = knob.read(&Local).unwrap();
        assert_eq!(level, found.trim_end());
        knob.check_original(&original).unwrap();
        let hostile = "'; exit 4; echo '$HOME";
        knob.check(hostile).unwrap();
        knob.apply(&Local, &original, hostile).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{hostile}\n"));
        knob.verify(&Local, hostile).unwrap();
        let failure = knob.verify(&Local, "other").unwrap_err();
        assert!(failure.happened.contains("instead of \"other\""), "{failure}");
        // Who restores knows the name and the journal alone.
        let by_name = make("own").unwrap();
        assert_eq!(by_name.name(), knob.name());
        by_name.undo(&Local, &original).unwrap();
        by_name.undo(&Local, &original).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), found);
        for failure in [
            by_name.read(&Local).map(drop),
            by_name.apply(&Local, &original, "x"),
            by_name.verify(&Local, "x"),
        ] {
            assert_eq!(failure.unwrap_err().cause, Cause::Usage);
        }
    }

    #[test]
    fn what_fails_or_does_nothing_is_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("setting");
        fs::write(&path, "one\n").unwrap();
        let good = commands(path.to_str().unwrap());
        let knob_of = |commands: Commands| by_commands("own", commands).unwrap();
        let original = knob_of(good.clone()).read(&Local).unwrap().original;
        let failing = knob_of(Commands { apply: "echo no >&2; exit 5".into(), ..good.clone() });
        let failure = failing.apply(&Local, &original, "two").unwrap_err();
        assert!(failure.tried.contains("command:own") && failure.happened == "no", "{failure}");
        let verify = Some("[ \"$LEVEL\" = two ]".into());
        let verified = knob_of(Commands { verify, ..good.clone() });
        verified.verify(&Local, "two").unwrap();
        assert!(verified.verify(&Local, "three").is_err());
        // An undo that does nothing is found out where there is something to undo.
        let idle = knob_of(Commands { undo: "true".into(), ..good });
        let original = idle.read(&Local).unwrap().original;
        idle.undo(&Local, &original).unwrap();
        fs::write(&path, "two\n").unwrap();
        let failure = idle.undo(&Local, &original).unwrap_err();
        assert!(failure.happened.contains("\"two\" instead of \"one\""), "{failure}");
    }

    #[test]
    fn what_is_no_command_name_or_original() {
        let good = commands("/x");
        for name in ["", "a b", "a:b", "a/b", &"x".repeat(65)] {
            assert!(by_commands(name, good.clone()).is_err() && make(name).is_err(), "{name}");
        }
        for text in ["", " \n", "a\0b", &"x".repeat(LONGEST_COMMAND + 1)] {
            let undo = Commands { undo: text.to_owned(), ..good.clone() };
            assert_eq!(by_commands("own", undo).err().unwrap().cause, Cause::Usage);
        }
        let knob = make("own").unwrap();
        let checked = |pairs: &[(&str, &str)]| {
            let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
            knob.check_original(&Original(pairs.iter().map(own).collect()))
        };
        checked(&[("found", ""), ("read", "a"), ("undo", "b")]).unwrap();
        for pairs in [
            &[("found", ""), ("read", "a")][..],
            &[("found", ""), ("read", ""), ("undo", "b")],
            &[("found", "\0"), ("read", "a"), ("undo", "b")],
            &[("found", ""), ("read", "a"), ("undo", "b"), ("apply", "c")],
        ] {
            assert!(checked(pairs).is_err(), "{pairs:?}");
        }
    }
}
