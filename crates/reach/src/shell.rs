//! Quoting for a shell on the host.
//!
//! A command does not travel on the command line: the login shell would read it first, and fish,
//! csh and ash read quotes, backslashes and `!` each in their own way; and dropbear refuses long
//! ones. So the login shell is given one constant line, which all of them read alike, and the
//! command follows as the first line of standard input.

use super::process::Process;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// What the login shell is asked: become a POSIX shell, read a line, undo [`line`], run it.
/// `plimsoll` is the shell's name, which lists of processes show.
///
/// `read` takes its line byte by byte, so what follows is left for the command.
pub(super) const WRAPPER: &str =
    r#"exec /bin/sh -c 'IFS= read -r c; eval "$(printf %b "$c")"' plimsoll"#;

/// After its output has ended, a process may take so long to end itself.
const ENDING: Duration = Duration::from_secs(2);

/// The line that the shell writes before the command begins. What comes before it is of the login
/// shell's own making: greetings in its start-up files.
const MARK: &str = "plimsoll-begins";

/// Bytes of greetings that are borne.
const MOST_GREETING: usize = 64 << 10;

/// A command as one line for [`WRAPPER`]. `None` if it contains a NUL, which no shell can take.
pub(super) fn line(command: &str) -> Option<String> {
    if command.contains('\0') {
        return None;
    }
    let escaped = command.replace('\\', r"\\").replace('\n', r"\n");
    Some(format!("echo {MARK}\\n{escaped}\n"))
}

/// A text as one word of a POSIX shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What came instead of the beginning of a command.
#[derive(Debug, Default)]
pub(super) struct Instead {
    /// The exit code of `ssh`; `None` where it had not ended.
    pub status: Option<i32>,
    /// What came as output.
    pub output: Vec<u8>,
    /// What came as standard error: ssh's own word, or the host's.
    pub errors: Vec<u8>,
}

/// Hands [`WRAPPER`] its line, waits until the command begins, and returns the first of its
/// output.
pub(super) fn begin(process: &mut Process, line: &str, until: Instant) -> Result<Vec<u8>, Instead> {
    let mut greeting = Greeting::default();
    let mut buffer = [0; 4096];
    // Where nobody takes the line, the other side tells why.
    let mut going = !matches!(
        process.write(line.as_bytes(), until),
        Err(error) if error.kind() != ErrorKind::BrokenPipe
    );
    while going {
        going = match process.read(&mut buffer, until) {
            Ok(0) | Err(_) => false,
            Ok(count) => match greeting.take(&buffer[..count]) {
                Begun::Yes(first) => return Ok(first),
                Begun::NotYet => true,
                Begun::Never => false,
            },
        };
    }
    let status = process.ended(until.min(Instant::now() + ENDING)).ok().flatten();
    Err(Instead {
        status: status.and_then(|status| status.code()),
        output: greeting.0,
        errors: process.said().to_vec(),
    })
}

/// Output up to where the command's own begins.
#[derive(Default)]
pub(super) struct Greeting(Vec<u8>);

/// What is known after some output has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// The command has not begun.
    NotYet,
    /// It has; this is the first of its output.
    Yes(Vec<u8>),
    /// More came than any greeting has.
    Never,
}

impl Greeting {
    /// Takes more output.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Begun {
        // Only lines that end in what is new can be it.
        let from = self.0.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        self.0.extend_from_slice(bytes);
        let mut at = from;
        while let Some(length) = self.0[at..].iter().position(|b| *b == b'\n') {
            if &self.0[at..at + length] == MARK.as_bytes() {
                return Begun::Yes(self.0.split_off(at + length + 1));
            }
            at += length + 1;
        }
        if self.0.len() > MOST_GREETING { Begun::Never } else { Begun::NotYet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// Runs [`WRAPPER`] as a login shell would; what it wrote.
    fn through(login: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new(login[0])
            .args(&login[1..])
            .args(["-c", WRAPPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", output.status);
        output.stdout
    }

    fn own_part(output: &[u8]) -> Vec<u8> {
        match Greeting::default().take(output) {
            Begun::Yes(own) => own,
            other => panic!("{other:?} in {}", String::from_utf8_lossy(output)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Words, the command around them and what follows on standard input arrive as they are.
        #[test]
        fn words_arrive_intact(
            words in prop::collection::vec("[^\0]{0,12}|[!'\"\\\\$`\n~*#;&|<>(){} %-]{0,12}", 0..4),
            rest in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let quoted: Vec<_> = words.iter().map(|word| quote(word)).collect();
            let command = format!("printf '%s|' {}\ncat", quoted.join(" "));
            let input = [line(&command).unwrap().as_bytes(), &rest].concat();
            let mut expected: Vec<u8> =
                words.iter().flat_map(|word| format!("{word}|").into_bytes()).collect();
            if words.is_empty() {
                expected = b"|".to_vec();
            }
            expected.extend(&rest);
            prop_assert_eq!(own_part(&through(&["/bin/sh"], &input)), expected);
        }

        /// However output is cut into pieces, the command's own part of it is the same.
        #[test]
        fn the_beginning_is_found_in_pieces(
            before in "([a-z]{0,9}\n){0,3}",
            after in "[a-z\n]{0,20}",
            step in 1_usize..9,
        ) {
            let whole = format!("{before}{MARK}\n{after}");
            let (mut greeting, mut own) = (Greeting::default(), None::<Vec<u8>>);
            for piece in whole.as_bytes().chunks(step) {
                match (&mut own, greeting.take(piece)) {
                    (Some(own), _) => own.extend(piece),
                    (None, Begun::Yes(first)) => own = Some(first),
                    (None, Begun::NotYet) => {}
                    (None, Begun::Never) => prop_assert!(false, "given up"),
                }
                if own.is_some() {
                    greeting = Greeting::default();
                }
            }
            prop_assert_eq!(own.unwrap(), after.as_bytes());
        }
    }

    #[test]
    fn an_echo_of_what_was_sent_is_no_beginning() {
        let sent = line("true").unwrap();
        assert_eq!(Greeting::default().take(sent.as_bytes()), Begun::NotYet);
    }

    #[test]
    fn an_endless_greeting_is_given_up() {
        let mut greeting = Greeting::default();
        while greeting.take(&[b'x'; 4096]) == Begun::NotYet {}
        assert!(greeting.0.len() <= MOST_GREETING + 4096);
    }

    #[test]
    fn no_command_holds_a_nul() {
        assert_eq!(line("echo \0"), None);
    }
}
