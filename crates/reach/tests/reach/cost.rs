//! What a command costs on a host: for people to look at, never asserted.

use crate::support::{Server, run};
use plimsoll_reach::{Local, Reach};
use plimsoll_testkit::Need;
use std::time::{Duration, Instant};

/// `cargo test -p plimsoll-reach --release --test reach -- --ignored --nocapture cost`
#[test]
#[ignore = "a measurement"]
fn cost_of_a_command() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let mut lines = vec![times("local", &Local)];
    for server in Server::each(&stage) {
        let start = Instant::now();
        let host = server.reach();
        let login = start.elapsed();
        let kind = if matches!(server, Server::Sshd(_)) { "sshd" } else { "dropbear, BusyBox" };
        lines.push(format!("{}; login {login:.1?}", times(kind, &host)));
    }
    println!("{}", lines.join("\n"));
}

fn times(kind: &str, host: &dyn Reach) -> String {
    let mut commands: Vec<Duration> =
        (0..101).map(|_| time(|| drop(run(host, "true", b"")))).collect();
    let mut channel = host.open("while read -r x; do echo $x; done").unwrap();
    let mut lines: Vec<Duration> = (0..1001)
        .map(|_| {
            let until = Instant::now() + Duration::from_secs(10);
            time(|| {
                channel.write(b"x\n", until).unwrap();
                assert_eq!(channel.read(&mut [0; 16], until).unwrap(), 2);
            })
        })
        .collect();
    commands.sort_unstable();
    lines.sort_unstable();
    let (half, most) = (commands[50], commands[90]);
    format!(
        "{kind}: run(\"true\") median {half:.1?}, 90% below {most:.1?}; a line there and back on an \
         open channel median {:.0?}",
        lines[500]
    )
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
