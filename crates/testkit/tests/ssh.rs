//! The ssh servers on their stage, seen through the system's own client.

use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a command on the host; what it wrote, or what went wrong.
fn ssh(configuration: &Path, url: &str, command: &str) -> Result<String, String> {
    let output = Command::new("ssh")
        .args(["-o", "BatchMode=yes", "-F"])
        .arg(configuration)
        .args([url, command])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn sshd_lets_its_users_in_and_nobody_else() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let mut server = Sshd::start(&stage, SshdConfig::default().user("ann", "/bin/bash")).unwrap();
    fs::write(server.home("ann").join("note"), "hers\n").unwrap();
    let known = server.configuration();
    assert_eq!(ssh(&known, &server.url(), "id -u; echo $0").unwrap(), "0\nsh\n");
    let ann = ssh(&known, &server.url_as("ann"), "whoami; cat note; echo $0").unwrap();
    assert_eq!(ann, "ann\nhers\nbash\n");
    let refused = |configuration: &Path, user: &str| {
        ssh(configuration, &server.url_as(user), "true").unwrap_err()
    };
    assert!(refused(&server.configuration_of_a_stranger(), "ann").contains("Permission denied"));
    assert!(refused(&known, "bob").contains("Permission denied"));
    assert!(refused(&server.configuration_of_a_newcomer(), "ann").contains("verification failed"));
    assert!(server.log_tail().contains("Accepted publickey for ann"), "{}", server.log_tail());

    // Its processes are its own alone, and end with it.
    let seen = ssh(&known, &server.url(), "for p in /proc/[0-9]*; do cat $p/comm; done").unwrap();
    assert!(seen.starts_with("sshd\n") && !seen.contains("rpcbind"), "{seen}");
    // A session's process ends a moment after its client.
    let begun = Instant::now();
    while server.processes().len() > 1 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.processes().len(), 1);
    server.kill();
    assert!(server.processes().is_empty());
    assert!(ssh(&known, &server.url(), "true").unwrap_err().contains("refused"));
    server.restart().unwrap();
    assert_eq!(ssh(&known, &server.url(), "echo back").unwrap(), "back\n");
    server.change_host_key().unwrap();
    assert!(ssh(&known, &server.url(), "true").unwrap_err().contains("HAS CHANGED"));
}

#[test]
fn the_small_host_has_busybox_alone() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let mut host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let run = |host: &Dropbear, command| ssh(&host.configuration(), &host.url(), command);
    let programs =
        run(&host, "for f in /bin/* /sbin/*; do readlink -f $f; done | sort -u").unwrap();
    assert_eq!(programs, "/bin/busybox\n");
    assert_eq!(
        run(&host, "echo $0; readlink -f /bin/sh; pwd").unwrap(),
        "sh\n/bin/busybox\n/root\n"
    );
    // No library that a program of another system would find.
    assert_eq!(run(&host, "ls -d /lib/* /usr/lib/* 2>/dev/null | wc -l").unwrap().trim(), "0");
    let processes = run(&host, "ps").unwrap();
    assert!(processes.contains("dropbear") && !processes.contains("rpcbind"), "{processes}");
    assert!(run(&host, "grep -c ^cpu /proc/stat; ls /sys/class/net").unwrap().contains("lo\n"));
    assert!(
        run(&host, "echo x >/dev/null && head -c 4 /dev/urandom | wc -c").unwrap().contains('4')
    );

    // What the stage mounts later is seen.
    let mounted = stage.tmpfs(host.root().join("data"), 1 << 20).unwrap();
    fs::write(mounted.path().join("note"), "here\n").unwrap();
    assert_eq!(run(&host, "cat /data/note").unwrap(), "here\n");

    let stranger = host.configuration_of_a_stranger();
    assert!(ssh(&stranger, &host.url(), "true").unwrap_err().contains("Permission denied"));
    host.kill();
    assert!(run(&host, "true").unwrap_err().contains("refused"));
    host.restart().unwrap();
    assert_eq!(run(&host, "echo back").unwrap(), "back\n");
    assert!(host.log_tail().contains("Pubkey auth succeeded for 'root'"), "{}", host.log_tail());
}
