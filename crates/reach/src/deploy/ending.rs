//! How a program on the host ended, from its exit code and what the shell said.

use super::bundle::Bundle;
use crate::Output;
use crate::printed::last_line;
use plimsoll_model::{Cause, Failure};

/// How a program ended that did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is for another machine, or for a processor with more instructions.
    WrongMachine(String),
    /// It may not be executed where it lies.
    Forbidden(String),
    /// Its file is not there any more.
    Gone,
    /// The host has no memory to start it.
    NoMemory(String),
    /// Killed outright, as the kernel does when memory runs out.
    Killed,
    /// It crashed, by that signal.
    Crashed(i32),
    /// Anything else.
    Other(String),
}

const SIGILL: i32 = 4;
const SIGKILL: i32 = 9;

impl Ending {
    /// Shells differ in their words; codes are POSIX's: 126 found but not executed, 127 not found,
    /// 128 and more a signal.
    pub fn from_output(output: &Output) -> Ending {
        let said = last_line(&output.errors).unwrap_or_default();
        let says = |words: &[&str]| {
            let errors = String::from_utf8_lossy(&output.errors).to_lowercase();
            words.iter().any(|word| errors.contains(word))
        };
        if says(&["cannot allocate memory", "can't fork", "cannot fork", "out of memory"]) {
            return Ending::NoMemory(said);
        }
        match output.status {
            // Some shells take a program of another machine for a script.
            Some(2 | 126 | 127) if says(&["exec format error", "syntax error", "elf"]) => {
                Ending::WrongMachine("exec format error".into())
            }
            Some(126) => Ending::Forbidden(said),
            Some(127) => Ending::Gone,
            Some(code) if code == 128 + SIGILL => {
                Ending::WrongMachine("illegal instruction".into())
            }
            Some(code) if code == 128 + SIGKILL => Ending::Killed,
            Some(code) if (129..=128 + 64).contains(&code) => Ending::Crashed(code - 128),
            Some(code) if said.is_empty() => {
                Ending::Other(format!("it ended with exit code {code}"))
            }
            Some(code) => Ending::Other(format!("it ended with exit code {code}: {said}")),
            None => Ending::Killed,
        }
    }

    /// The failure of a program that did not start.
    pub fn failure(&self, host: &str, bundle: &Bundle) -> Failure {
        let (happened, next) = self.words(bundle);
        Failure::new(Cause::Trial, format!("start {}", bundle.name))
            .on(host)
            .happened(happened)
            .next(next)
    }

    /// What happened, and what to do about it.
    pub fn words(&self, bundle: &Bundle) -> (String, String) {
        let without = bundle.without;
        let (happened, next) = match self {
            Ending::WrongMachine(said) => (
                format!("the processor of the host cannot run this program ({said})"),
                format!(
                    "Report the model and processor of the host: {} does not run on this \
                    processor.",
                    bundle.name
                ),
            ),
            Ending::Forbidden(said) => (
                format!("the host does not permit the program to run: {said}"),
                bundle.elsewhere.to_owned(),
            ),
            Ending::Gone => (
                "its file was removed".into(),
                format!("Try again; if it happens again: {}", bundle.elsewhere),
            ),
            Ending::NoMemory(said) => (
                format!("the host does not have enough memory: {said}"),
                format!("Stop a process on the host, or {without}."),
            ),
            Ending::Killed => (
                "it was killed (signal 9)".into(),
                "The host probably ran out of memory (check the kernel log with `dmesg`): stop a \
                process on the host, or measure less."
                    .to_owned(),
            ),
            Ending::Crashed(signal) => (
                format!("it was terminated by signal {signal}"),
                "Try again; if it happens again, report it with the model and processor of the host."
                    .to_owned(),
            ),
            Ending::Other(said) => (
                said.clone(),
                format!("Run the same command on the host for details, or {without}."),
            ),
        };
        (happened, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(status: Option<i32>, errors: &str) -> Ending {
        Ending::from_output(&Output { status, errors: errors.into(), ..Output::default() })
    }

    #[test]
    fn shells_in_their_own_words() {
        // dash, bash, BusyBox ash.
        for (status, said) in [
            (2, "/dev/shm/p: 1: Syntax error: word unexpected (expecting \")\")"),
            (126, "bash: line 1: /dev/shm/p: cannot execute binary file: Exec format error"),
            (2, "/tmp/p: line 1: syntax error: unexpected \"(\""),
            (127, "/tmp/p: line 1: \u{7f}ELF: not found"),
            (132, "Illegal instruction"),
        ] {
            assert!(matches!(ending(Some(status), said), Ending::WrongMachine(_)), "{said}");
        }
        for (status, said) in [
            (126, "sh: 1: /run/p: Permission denied"),
            (126, "bash: line 1: /run/p: Permission denied"),
            (126, "/bin/sh: /run/p: Permission denied"),
        ] {
            assert_eq!(ending(Some(status), said), Ending::Forbidden(said.into()));
        }
        assert_eq!(ending(Some(127), "sh: 1: /tmp/x/plimsoll-probe: not found"), Ending::Gone);
        assert!(matches!(ending(Some(2), "sh: can't fork: Out of memory"), Ending::NoMemory(_)));
        assert_eq!(ending(Some(137), ""), Ending::Killed);
        assert_eq!(ending(None, ""), Ending::Killed);
        assert_eq!(ending(Some(139), ""), Ending::Crashed(11));
        assert_eq!(ending(Some(3), ""), Ending::Other("it ended with exit code 3".into()));
    }
}
