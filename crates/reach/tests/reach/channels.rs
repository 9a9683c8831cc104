//! Commands that are talked with.

use crate::support::{LIMIT, Server, eventually, everywhere, read_line, soon};
use plimsoll_reach::{Local, Reach};
use plimsoll_testkit::Need;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

const ECHO: &str =
    "while read -r line; do echo \"got $line\"; done; echo bye; echo last >&2; exit 3";

#[test]
fn lines_go_to_and_fro() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let mut channel = host.open(ECHO).unwrap();
        for i in 0..20 {
            channel.write(format!("line {i}\n").as_bytes(), soon()).unwrap();
            assert_eq!(read_line(&mut *channel), format!("got line {i}\n"), "{}", host.name());
        }
        let end = channel.finish(LIMIT).unwrap();
        assert_eq!(
            (end.status, &end.output[..], &end.errors[..]),
            (Some(3), &b"bye\n"[..], &b"last\n"[..])
        );
    });
}

#[test]
fn several_channels_share_a_connection() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    for server in Server::each(&stage) {
        let host = server.reach();
        let mut channels: Vec<_> = (0..6).map(|_| host.open(ECHO).unwrap()).collect();
        for (i, channel) in channels.iter_mut().enumerate() {
            channel.write(format!("{i}\n").as_bytes(), soon()).unwrap();
        }
        for (i, channel) in channels.iter_mut().enumerate().rev() {
            assert_eq!(read_line(&mut **channel), format!("got {i}\n"));
        }
        let connections = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
        let port = match &server {
            Server::Sshd(sshd) => sshd.port(),
            Server::Dropbear(_) => plimsoll_testkit::servers::Dropbear::PORT,
        };
        // Established, seen from this side: remote port and state.
        let ours = format!("0100007F:{port:04X} 01 ");
        assert_eq!(connections.matches(&ours).count(), 1, "{connections}");
    }
}

#[test]
fn silence_is_distinguished_from_the_end() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let mut channel = host.open("read -r line; exit 5").unwrap();
        let mut buffer = [0; 16];
        let silence = channel.read(&mut buffer, Instant::now() + Duration::from_millis(50));
        assert_eq!(silence.unwrap_err().kind(), ErrorKind::TimedOut);
        channel.write(b"\n", soon()).unwrap();
        assert_eq!(channel.read(&mut buffer, soon()).unwrap(), 0, "{}", host.name());
        assert_eq!(channel.read(&mut buffer, soon()).unwrap(), 0);
        assert_eq!(channel.finish(LIMIT).unwrap().status, Some(5));
    });
}

#[test]
fn who_does_not_read_keeps_nobody_waiting() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let mut channel = host.open("exec sleep 600").unwrap();
        // More than pipes, sockets and windows take.
        let much = vec![0; 16 << 20];
        let stuck = channel.write(&much, Instant::now() + Duration::from_millis(500));
        assert_eq!(stuck.unwrap_err().kind(), ErrorKind::TimedOut, "{}", host.name());
    });
}

#[test]
fn complaints_are_listened_to_meanwhile() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let mut channel = host.open("head -c 3000000 /dev/zero >&2; echo done; read -r x").unwrap();
        assert_eq!(read_line(&mut *channel), "done\n", "{}", host.name());
        let end = channel.finish(LIMIT).unwrap();
        assert!(end.cut && end.errors.len() == plimsoll_reach::MOST_ERRORS);
    });
}

/// What does not end with its input is killed on this side, with what it started.
#[test]
fn deaf_commands_are_killed_here() {
    // A figure that no other test has, to know it by.
    let channel = Local.open("sleep 600.0625 & sleep 600.0625").unwrap();
    let sleepers = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
            .filter(|line| *line == "sleep\x00600.0625\0")
            .count()
    };
    eventually("they sleep", || sleepers() == 2);
    drop(channel);
    eventually("they are gone", || sleepers() == 0);
}

/// What runs on the host ends when its input does: by dropping the channel, or the host.
#[test]
fn commands_end_with_their_input() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    for server in Server::each(&stage) {
        let idle = server.processes().len();
        let host = server.reach();
        let connected = server.processes().len();
        let channels: Vec<_> = (0..3).map(|_| host.open("cat >/dev/null").unwrap()).collect();
        assert!(server.processes().len() >= connected + 3);
        drop(channels);
        // Less than before, too: servers have passing processes of their own.
        eventually("the commands end", || server.processes().len() <= connected);
        let last = host.open("cat >/dev/null").unwrap();
        drop(host);
        drop(last);
        eventually("the connection is closed", || server.processes().len() <= idle);
    }
}
