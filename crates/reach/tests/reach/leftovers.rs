//! Connections that are lost, and what is left of them here.

use crate::support::{LIMIT, Server, Temporary, clients, eventually, read_line, settings, soon};
use plimsoll_model::Cause;
use plimsoll_reach::{Reach, Ssh};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Whether the signals of this program's terminal do not reach a process, or it ignores them.
fn deaf_to_the_terminal(pid: u32) -> bool {
    let group = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(2).unwrap().to_owned()
    };
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    // SIGHUP, SIGINT and SIGQUIT are the first three.
    group(pid) != group(std::process::id())
        || u64::from_str_radix(ignored, 16).unwrap() & 0b111 == 0b111
}

#[test]
fn nothing_is_left_of_an_ordinary_connection() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let temporary = Temporary::new(&stage);
    for server in Server::each(&stage) {
        let host = server.reach();
        let channel = host.open("cat").unwrap();
        assert_eq!((clients().len(), temporary.leftovers().len()), (2, 1));
        let directory = std::env::temp_dir().join(&temporary.leftovers()[0]);
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        // After Ctrl-C both are still needed, to put things back.
        for (pid, _) in clients() {
            assert!(
                deaf_to_the_terminal(pid),
                "{}",
                fs::read_to_string(format!("/proc/{pid}/stat")).unwrap()
            );
        }
        drop(host);
        assert_eq!((clients().len(), temporary.leftovers().len()), (2, 1), "the channel needs it");
        drop(channel);
        assert_eq!((clients(), temporary.leftovers()), (vec![], vec![]));
    }
}

#[test]
fn a_server_killed_under_a_channel_is_noticed() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let temporary = Temporary::new(&stage);
    for mut server in Server::each(&stage) {
        let host = server.reach();
        let mut channel = host.open("while read -r line; do echo $line; done").unwrap();
        channel.write(b"hello\n", soon()).unwrap();
        assert_eq!(read_line(&mut *channel), "hello\n");
        server.kill();
        assert_eq!(channel.read(&mut [0; 16], soon()).unwrap(), 0);
        let failure = channel.finish(LIMIT).unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable);
        assert!(failure.happened.contains("connection was lost"), "{failure}");
        // It does not log in again of its own accord.
        server.restart();
        let failure = host.run("true", b"", LIMIT).unwrap_err();
        assert!(failure.happened.contains("connection was lost"), "{failure}");
        drop(host);
        assert_eq!((clients(), temporary.leftovers()), (vec![], vec![]));
    }
}

#[test]
fn a_server_killed_under_a_command_is_noticed() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let temporary = Temporary::new(&stage);
    for mut server in Server::each(&stage) {
        let host = server.reach();
        let connected = server.processes().len();
        std::thread::scope(|scope| {
            let command = scope.spawn(|| host.run("echo begun; exec sleep 600", b"", LIMIT));
            eventually("the command runs", || server.processes().len() > connected);
            server.kill();
            let failure = command.join().unwrap().unwrap_err();
            assert_eq!(failure.cause, Cause::Unreachable);
            assert!(failure.happened.contains("connection was lost"), "{failure}");
        });
        drop(host);
        assert_eq!((clients(), temporary.leftovers()), (vec![], vec![]));
    }
}

#[test]
fn a_link_that_falls_silent_counts_as_lost() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient, Need::Nftables);
    let temporary = Temporary::new(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let settings = plimsoll_reach::Settings {
        silence: Duration::from_secs(2),
        ..settings(&server.configuration())
    };
    let host = Ssh::connect(&server.url().parse().unwrap(), &settings).unwrap();
    let mut channel = host.open("cat").unwrap();
    stage.drop_port(server.port()).unwrap();
    assert_eq!(channel.read(&mut [0; 16], soon()).unwrap(), 0);
    let failure = channel.finish(LIMIT).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.happened.contains("not responding"), "{failure}");
    drop(host);
    assert_eq!((clients(), temporary.leftovers()), (vec![], vec![]));
}

/// What this program starts ends with it, also when it is killed.
#[test]
fn nothing_is_left_of_a_program_that_is_killed() {
    const ROLE: &str = "PLIMSOLL_TEST_REACHES";
    if let Ok(place) = std::env::var(ROLE) {
        let (url, configuration) = place.split_once(' ').unwrap();
        let settings = settings(configuration.as_ref());
        let host = Ssh::connect(&url.parse().unwrap(), &settings).unwrap();
        let _channel = host.open("cat").unwrap();
        std::thread::sleep(LIMIT);
        return;
    }
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    // Not `Temporary`, which could cover the test's own program.
    let temporary = stage.tmpfs("/run/temporary", 1 << 20).unwrap();
    let entries = || fs::read_dir(temporary.path()).unwrap().count();
    for server in Server::each(&stage) {
        // A process that starts the server may still be among them.
        let idle = server.processes();
        let place = match &server {
            Server::Sshd(s) => format!("{} {}", s.url(), s.configuration().display()),
            Server::Dropbear(s) => format!("{} {}", s.url(), s.configuration().display()),
        };
        let mut other = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "leftovers::nothing_is_left_of_a_program_that_is_killed"])
            .env(ROLE, place)
            .env("TMPDIR", temporary.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        eventually("it has a channel", || clients().len() == 2 && entries() == 1);
        other.kill().unwrap();
        other.wait().unwrap();
        eventually("its ssh ends", || clients().is_empty() && entries() == 0);
        eventually("nothing runs on the host", || {
            server.processes().iter().all(|process| idle.contains(process))
        });
    }
}
