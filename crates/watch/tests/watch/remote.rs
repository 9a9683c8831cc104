//! Watching over ssh: OpenSSH's server, and dropbear on a host with BusyBox alone.

use crate::support::{LONG, clock, sample};
use plimsoll_reach::{Settings, Ssh};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use plimsoll_watch::{Ask, Connect, Remote, Shell, Watch};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

fn watch(url: &str, configuration: PathBuf) -> Remote {
    let settings = Settings {
        program: "ssh".into(),
        configuration: Some(configuration),
        may_ask: false,
        patience: Duration::from_secs(30),
        silence: Duration::from_secs(30),
    };
    let host = url.parse().unwrap();
    let reach: Connect = Box::new(move || Ok(Arc::new(Ssh::connect(&host, &settings)?)));
    Shell::watch_by(reach().unwrap(), reach, clock()).unwrap()
}

fn is_watched(watch: &mut Remote, url: &str) {
    let facts = watch.facts();
    assert_eq!(facts.name, *url);
    assert!(facts.is_this_machine, "the stage has this machine's kernel");
    assert!(facts.cpus > 0 && facts.memory_bytes > 0 && !facts.kernel.is_empty());
    let first = sample(watch, Ask::Counters);
    (0..20).for_each(|_| drop(sample(watch, Ask::Counters)));
    let mut last = sample(watch, Ask::Processes);
    // As many samples as it takes until ticks have seen the watcher, which may be long on a busy
    // machine.
    let begun = std::time::Instant::now();
    while last.watcher_seconds <= first.watcher_seconds && begun.elapsed() < LONG {
        last = sample(watch, Ask::Processes);
    }
    assert!(last.at > first.at && last.uptime_seconds >= first.uptime_seconds);
    assert!(last.cpu.total() >= first.cpu.total());
    assert!(last.interfaces.iter().any(|i| i.name == "lo"), "of its own network");
    assert!(!last.processes.is_empty());
    // The shell's own time, and that of the server's end of the connection.
    assert!(last.watcher_seconds > first.watcher_seconds, "{last:?}");
}

#[test]
fn over_opensshs_server() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Sshd, Need::SshClient);
    let mut sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let mut watch = watch(&sshd.url(), sshd.configuration());
    is_watched(&mut watch, &sshd.url());
    sshd.kill();
    let mut asked: Vec<_> = (0..3).map(|_| watch.ask(Ask::Counters)).collect();
    assert!(asked.iter_mut().all(|asked| asked.sample(LONG).is_none()));
    assert!(watch.lost().is_some());
    assert!(watch.again().is_err(), "nobody is there");
    sshd.restart().unwrap();
    watch.again().unwrap();
    is_watched(&mut watch, &sshd.url());
}

#[test]
fn over_dropbear_with_busybox_alone() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let mut watch = watch(&host.url(), host.configuration());
    is_watched(&mut watch, &host.url());
    let before = host.processes().len();
    drop(watch);
    let begun = std::time::Instant::now();
    while host.processes().len() >= before {
        assert!(begun.elapsed() < LONG, "what watched is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}
