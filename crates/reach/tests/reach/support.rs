//! Hosts to reach, and what is left after them.

use plimsoll_model::Failure;
use plimsoll_reach::{Channel, Local, Output, Reach, Settings, Ssh};
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use plimsoll_testkit::stage::{Mount, Stage};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// More than anything here takes.
pub const LIMIT: Duration = Duration::from_secs(300);

pub fn soon() -> Instant {
    Instant::now() + LIMIT
}

/// A server of either kind.
pub enum Server {
    Sshd(Sshd),
    Dropbear(Dropbear),
}

impl Server {
    /// One of each kind, on one stage.
    pub fn each(stage: &Stage) -> [Server; 2] {
        [
            Server::Sshd(Sshd::start(stage, SshdConfig::default()).unwrap()),
            Server::Dropbear(Dropbear::start(stage, Dropbear::PORT).unwrap()),
        ]
    }

    pub fn reach(&self) -> Ssh {
        match self {
            Server::Sshd(sshd) => connect(&sshd.url(), &sshd.configuration()),
            Server::Dropbear(host) => connect(&host.url(), &host.configuration()),
        }
        .unwrap_or_else(|failure| panic!("{failure}\n{}", self.log()))
    }

    pub fn kill(&mut self) {
        match self {
            Server::Sshd(sshd) => sshd.kill(),
            Server::Dropbear(host) => host.kill(),
        }
    }

    pub fn restart(&mut self) {
        match self {
            Server::Sshd(sshd) => sshd.restart(),
            Server::Dropbear(host) => host.restart(),
        }
        .unwrap();
    }

    pub fn processes(&self) -> Vec<u32> {
        match self {
            Server::Sshd(sshd) => sshd.processes(),
            Server::Dropbear(host) => host.processes(),
        }
    }

    fn log(&self) -> String {
        match self {
            Server::Sshd(sshd) => sshd.log_tail(),
            Server::Dropbear(host) => host.log_tail(),
        }
    }
}

pub fn settings(configuration: &Path) -> Settings {
    Settings {
        program: "ssh".into(),
        configuration: Some(configuration.to_owned()),
        may_ask: false,
        patience: LIMIT,
        silence: Duration::from_secs(30),
    }
}

pub fn connect(url: &str, configuration: &Path) -> Result<Ssh, Failure> {
    Ssh::connect(&url.parse().unwrap(), &settings(configuration))
}

/// Does the same on this machine and on hosts of both kinds.
pub fn everywhere(stage: &Stage, test: impl Fn(&dyn Reach)) {
    test(&Local);
    for server in Server::each(stage) {
        test(&server.reach());
    }
}

#[track_caller]
pub fn run(host: &dyn Reach, command: &str, input: &[u8]) -> Output {
    host.run(command, input, LIMIT).unwrap_or_else(|failure| panic!("{failure}"))
}

/// What a command writes that succeeds.
#[track_caller]
pub fn said(host: &dyn Reach, command: &str) -> String {
    let output = run(host, command, b"");
    assert_eq!(output.status, Some(0), "{command}: {output:?}");
    String::from_utf8(output.output).unwrap()
}

/// Reads up to the end of a line.
pub fn read_line(channel: &mut dyn Channel) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") && channel.read(&mut byte, soon()).unwrap() == 1 {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Waits until something holds.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = soon();
    while !holds() {
        assert!(Instant::now() < until, "not yet: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A place for temporary files of this stage alone, so that what is left there can be seen.
pub struct Temporary(#[expect(dead_code, reason = "held")] Mount);

impl Temporary {
    pub fn new(stage: &Stage) -> Temporary {
        Temporary(stage.tmpfs(std::env::temp_dir(), 16 << 20).unwrap())
    }

    /// What lies there.
    pub fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(std::env::temp_dir()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// All `ssh` that run on this thread's stage, with their command lines.
pub fn clients() -> Vec<(u32, String)> {
    let network = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
    let own = network("thread-self").unwrap();
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.parse::<u32>().ok()
    });
    numbers
        .filter(|pid| network(&pid.to_string()).as_ref() == Some(&own))
        .filter_map(|pid| Some((pid, fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?)))
        .filter(|(_, line)| line.split('\0').next().is_some_and(|p| p.ends_with("ssh")))
        .collect()
}
