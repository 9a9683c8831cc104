//! Hosts that cannot be reached, by the reason.

use crate::support::{LIMIT, clients, connect, settings};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, Ssh, open};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

#[track_caller]
fn fails(result: Result<Ssh, Failure>, cause: Cause, happened: &str, next: &str) {
    let Err(failure) = result else { panic!("it was reached") };
    assert_eq!(failure.cause, cause, "{failure}");
    assert!(failure.happened.contains(happened), "{failure}");
    assert!(failure.next.contains(next), "{failure}");
    assert_eq!(failure.happened.lines().count(), 1, "{failure}");
}

/// Gives up soon.
fn impatient(url: &str, configuration: &Path) -> Result<Ssh, Failure> {
    let patience = Duration::from_secs(20);
    let settings = plimsoll_reach::Settings { patience, ..settings(configuration) };
    Ssh::connect(&url.parse().unwrap(), &settings)
}

#[test]
fn a_wrong_key_is_refused() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let result = connect(&sshd.url(), &sshd.configuration_of_a_stranger());
    fails(
        result,
        Cause::Authentication,
        "Permission denied (publickey)",
        "`ssh -p 20022 root@127.0.0.1`",
    );
    let dropbear = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let result = connect(&dropbear.url(), &dropbear.configuration_of_a_stranger());
    fails(result, Cause::Authentication, "Permission denied (publickey)", "ssh-copy-id");
}

#[test]
fn what_a_host_greets_with_is_no_complaint() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let banner = "Beware: Connection refused, Permission denied (to all)\n";
    std::fs::write("/run/banner", banner).unwrap();
    let server = Sshd::start(&stage, SshdConfig::default().line("Banner /run/banner")).unwrap();
    let host = connect(&server.url(), &server.configuration()).unwrap();
    let channel = host.open("cat").unwrap();
    // Killed, it has no word of its own; it is the older of the two.
    let (connection, _) = clients().into_iter().min().unwrap();
    kill(Pid::from_raw(connection.cast_signed()), Signal::SIGKILL).unwrap();
    let failure = channel.finish(LIMIT).unwrap_err();
    assert_eq!(failure.happened, "the connection was lost");
}

#[test]
fn a_changed_host_key_is_never_passed_over() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let mut server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    assert!(connect(&server.url(), &server.configuration()).is_ok());
    server.change_host_key().unwrap();
    let result = connect(&server.url(), &server.configuration());
    fails(result, Cause::Authentication, "has changed", "Do not log in before you know why");
}

#[test]
fn an_unknown_host_key_is_for_the_user_to_accept() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let result = connect(&server.url(), &server.configuration_of_a_newcomer());
    fails(result, Cause::Authentication, "is not known", "`ssh -p 20022 root@127.0.0.1`");
}

#[test]
fn hosts_that_are_not_there_are_distinguished() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::SshClient, Need::Nftables, Need::Sshd);
    let none = Path::new("none");
    let result = connect("ssh://127.0.0.1:1", none);
    fails(result, Cause::Unreachable, "Connection refused", "No program listens");
    let result = connect("ssh://no-such-host.invalid", none);
    fails(
        result,
        Cause::Unreachable,
        "Could not resolve hostname no-such-host.invalid",
        "Check the spelling",
    );
    let result = connect("ssh://203.0.113.1", none);
    fails(result, Cause::Unreachable, "Network is unreachable", "network");
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    stage.drop_port(server.port()).unwrap();
    let result = impatient(&server.url(), &server.configuration());
    fails(result, Cause::Unreachable, "timed out", "firewall");
}

#[test]
fn something_else_that_listens_is_no_host() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::SshClient);
    let listen = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, format!("ssh://127.0.0.1:{port}"))
    };
    let (hangs_up, url) = listen();
    std::thread::spawn(move || hangs_up.incoming().for_each(drop));
    fails(connect(&url, Path::new("none")), Cause::Unreachable, "", "ssh server");
    let (_silent, url) = listen();
    fails(impatient(&url, Path::new("none")), Cause::Unreachable, "timed out", "firewall");
    let (babbles, url) = listen();
    std::thread::spawn(move || {
        for stream in babbles.incoming() {
            while stream.as_ref().is_ok_and(|mut s| s.write_all(b"220 ready\r\n").is_ok()) {}
        }
    });
    fails(connect(&url, Path::new("none")), Cause::Unreachable, "", "ssh server");
}

#[test]
fn users_without_a_shell_are_reported_as_such() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let config = SshdConfig::default()
        .user("mute", "/bin/false")
        .user("barred", "/usr/sbin/nologin")
        .user("files", "/bin/sh")
        .user("parrot", "/bin/sh")
        .user("endless", "/bin/sh")
        .line("Match User files\n ForceCommand internal-sftp")
        .line("Match User parrot\n ForceCommand cat")
        .line("Match User endless\n ForceCommand cat /dev/zero");
    let server = Sshd::start(&stage, config).unwrap();
    let refused = |user: &str, happened: &str| {
        let result = connect(&server.url_as(user), &server.configuration());
        fails(result, Cause::NotPermitted, happened, "ssh://USER@HOST");
    };
    refused("mute", "no shell runs commands on the host (exit code 1)");
    refused(
        "barred",
        "no shell runs commands on the host (exit code 1: \"This account is currently not available.\")",
    );
    refused("files", "no shell");
    refused("endless", "did not start a shell");
    // It ends no sooner than the patience does.
    let result = impatient(&server.url_as("parrot"), &server.configuration());
    fails(result, Cause::NotPermitted, "did not start a shell", "ssh://USER@HOST");
}

#[test]
fn a_machine_without_ssh_says_so() {
    let settings =
        plimsoll_reach::Settings { program: "no-such-ssh".into(), ..settings(Path::new("none")) };
    let result = Ssh::connect(&"ssh://127.0.0.1".parse().unwrap(), &settings);
    fails(result, Cause::Unreachable, "the program no-such-ssh is not installed", "openssh-client");
}

#[test]
fn a_faulty_configuration_is_the_users_to_mend() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    std::fs::write("/run/faulty", "Hots nas\n").unwrap();
    let result = connect(&server.url(), Path::new("/run/faulty"));
    fails(result, Cause::Usage, "/run/faulty", "Fix the configuration of ssh");
    let result = connect(&server.url(), Path::new("/run/missing"));
    fails(result, Cause::Usage, "/run/missing", "Fix the configuration of ssh");
}

#[test]
fn hosts_are_opened_by_name() {
    let host = open(&"local".parse().unwrap(), true).unwrap();
    assert_eq!(host.run("echo $0", b"", Duration::from_secs(60)).unwrap().output, b"/bin/sh\n");
}
