//! Logins that ask on the terminal.

use crate::support::{LIMIT, clients, eventually};
use plimsoll_reach::{CONFIGURATION_VARIABLE, open};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

const ROLE: &str = "PLIMSOLL_TEST_ASKS";

/// A key with a passphrase is opened by typing that, once; without a terminal nothing is asked.
#[test]
fn a_passphrase_is_asked_for_on_the_terminal() {
    if let Ok(url) = std::env::var(ROLE) {
        match open(&url.parse().unwrap(), true) {
            Ok(host) => {
                let output = host.run("echo $((6 * 7))", b"", LIMIT).unwrap();
                println!("answer {}", String::from_utf8(output.output).unwrap());
            }
            Err(failure) => println!("failure {failure}"),
        }
        return;
    }
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let configuration = server.configuration();
    let text = fs::read_to_string(&configuration).unwrap();
    let key = text.lines().find_map(|line| line.strip_prefix("IdentityFile ")).unwrap();
    let changed = Command::new("ssh-keygen")
        .args(["-q", "-p", "-P", "", "-N", "open sesame", "-f", key])
        .stdout(Stdio::null())
        .status();
    assert!(changed.unwrap().success());

    let in_role = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(ROLE, server.url())
            .env(CONFIGURATION_VARIABLE, &configuration)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    };
    let this = std::env::current_exe().unwrap();
    let test = "terminal::a_passphrase_is_asked_for_on_the_terminal";
    let line = format!("{} --exact {test} --nocapture", this.display());
    for (typed, answer) in [("open sesame\n", "answer 42"), ("wrong\n", "Permission denied")] {
        // `script` gives it a terminal, with what comes on standard input as what is typed.
        let mut asked = in_role("script", &["-q", "-e", "-c", &line, "/dev/null"]).spawn().unwrap();
        let mut terminal = asked.stdout.take().unwrap();
        let mut shown = String::new();
        let mut byte = [0];
        while !shown.contains("passphrase for key") && terminal.read(&mut byte).unwrap() == 1 {
            shown.push(char::from(byte[0]));
        }
        let mut keyboard = asked.stdin.take().unwrap();
        keyboard.write_all(typed.as_bytes()).unwrap();
        terminal.read_to_string(&mut shown).unwrap();
        assert!(asked.wait().unwrap().success(), "{shown}");
        assert!(shown.contains(answer), "{shown}");
        assert_eq!(shown.matches("passphrase for key").count(), 1, "asked once: {shown}");
        eventually("its ssh ends", || clients().is_empty());
    }

    let words: Vec<_> = line.split(' ').collect();
    let silent = in_role(words[0], &words[1..]).output().unwrap();
    let shown = String::from_utf8(silent.stdout).unwrap();
    assert!(shown.contains("Permission denied"), "{shown}");
}
