//! Login shells of every kind.

use crate::support::{connect, run, said};
use plimsoll_reach::Reach;
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use std::fs;

const COMMAND: &str = "x='a!b \"c\" $d \\n `e`'\nprintf '%s\\n' \"$x\" \"$0\"\ncat";

#[test]
fn commands_are_run_by_sh_whatever_the_login_shell_is() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient, Need::OddShells);
    let shells = [("c", "/bin/tcsh"), ("f", "/usr/bin/fish"), ("b", "/bin/bash")];
    let config = shells.iter().fold(SshdConfig::default(), |c, (user, shell)| c.user(user, shell));
    let server = Sshd::start(&stage, config).unwrap();
    // Start-up files that greet everybody.
    let greeting = "echo Welcome; echo to this host\n";
    fs::write(server.home("c").join(".cshrc"), greeting).unwrap();
    fs::write(server.home("b").join(".bashrc"), greeting).unwrap();
    fs::create_dir_all(server.home("f").join(".config/fish")).unwrap();
    fs::write(server.home("f").join(".config/fish/config.fish"), greeting).unwrap();
    for (user, shell) in shells {
        let host = connect(&server.url_as(user), &server.configuration())
            .unwrap_or_else(|failure| panic!("{shell}: {failure}"));
        let output = run(&host, COMMAND, b"rest\n");
        let text = String::from_utf8_lossy(&output.output);
        assert_eq!(text, "a!b \"c\" $d \\n `e`\nplimsoll\nrest\n", "{shell}: {output:?}");
        assert_eq!(said(&host, "whoami"), format!("{user}\n"));
    }
}

/// Where a server allows one session a connection, ssh makes further connections.
#[test]
fn one_session_a_connection_is_enough() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let server = Sshd::start(&stage, SshdConfig::default().line("MaxSessions 1")).unwrap();
    let host = connect(&server.url(), &server.configuration()).unwrap();
    let channel = host.open("cat").unwrap();
    assert_eq!(said(&host, "echo hello"), "hello\n");
    drop(channel);
}
