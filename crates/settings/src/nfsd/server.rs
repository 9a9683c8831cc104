//! What the server is, as /proc/fs/nfsd has it (nfsd(7)), and how it is stopped and started.

use super::super::{Original, command, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::collections::BTreeSet;

/// The versions that are switched here. Version 2 no rpc.nfsd starts any more.
pub(super) const VERSIONS: [&str; 4] = ["3", "4.0", "4.1", "4.2"];

/// Most threads, and the block sizes that kernels take, in bytes.
pub(super) const MOST_THREADS: u32 = 8192;
pub(super) const BLOCK_SIZES: std::ops::RangeInclusive<u64> = 1024..=4 << 20;

/// Keys of an [`Original`].
const BOOT: &str = "boot";
const KEYS: [&str; 4] = ["max_block_size", "ports", "threads", "versions"];

/// The server as it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// 0 where it does not run.
    pub threads: u32,
    /// In bytes.
    pub max_block_size: u64,
    pub versions: BTreeSet<&'static str>,
    /// Lines of a transport and its port, sorted.
    pub ports: Vec<String>,
}

const READ: &str = "cd /proc/fs/nfsd 2>/dev/null && [ -f threads ] ||
    { echo 'the kernel NFS server is not running' >&2; exit 1; }
    for f in max_block_size ports threads versions; do
        echo \"[$f]\"; cat \"$(echo \"$f\" | sed s/^ports/portlist/)\" || exit 1
    done";

const TRIED: &str = "read the settings of the kernel NFS server";

impl Server {
    /// Reads what it is.
    pub fn read(host: &dyn Reach) -> Result<Server, Failure> {
        let text = command(host, TRIED, READ, b"")?;
        Server::from_text(&text).ok_or_else(|| {
            let happened =
                "it uses version 2, RDMA or several ports, with which plimsoll cannot restart it";
            Server::failed(host, happened)
        })
    }

    /// The same of one that runs, and can be started again.
    pub fn running(host: &dyn Reach) -> Result<Server, Failure> {
        let server = Server::read(host)?;
        if server.threads == 0 {
            return Err(Server::failed(host, "the kernel NFS server is not running"));
        }
        Ok(server)
    }

    fn failed(host: &dyn Reach, happened: &str) -> Failure {
        let next = "Start it on the host as usual, and try again.";
        Failure::new(Cause::NotPermitted, TRIED).on(host.name()).happened(happened).next(next)
    }

    /// From the four files, each behind a line of its name in brackets.
    pub fn from_text(text: &str) -> Option<Server> {
        let part = |name: &str| {
            let begin = format!("[{name}]");
            let mut lines = text.lines().skip_while(|line| *line != begin);
            lines.next()?;
            Some(lines.take_while(|line| !line.starts_with('[')).collect::<Vec<_>>().join("\n"))
        };
        let [size, ports, threads, versions] = KEYS.map(part);
        Server::parse(&size?, &ports?, &threads?, &spoken(&versions?)?)
    }

    fn parse(size: &str, ports: &str, threads: &str, versions: &str) -> Option<Server> {
        let max_block_size = size.parse().ok().filter(|size| BLOCK_SIZES.contains(size))?;
        let threads = threads.parse().ok().filter(|threads| *threads <= MOST_THREADS)?;
        let versions = versions_of(versions)?;
        let mut ports: Vec<String> = ports.lines().map(str::to_owned).collect();
        ports.sort();
        let server = Server { threads, max_block_size, versions, ports };
        (server.ports.is_empty() || server.port().is_some()).then_some(server)
    }

    /// The one port of all transports, which are TCP and UDP alone.
    fn port(&self) -> Option<u16> {
        let port = |line: &String| {
            let (transport, port) = line.split_once(' ')?;
            let number = port.parse::<u16>().ok().filter(|n| n.to_string() == port)?;
            ["tcp", "udp"].contains(&transport).then_some(number)
        };
        let first = port(self.ports.first()?)?;
        self.ports.iter().all(|line| port(line) == Some(first)).then_some(first)
    }

    /// What starting it again takes, and which start of the kernel it belongs to.
    pub fn to_original(&self, boot: &str) -> Original {
        let values = [
            self.max_block_size.to_string(),
            self.ports.join("\n"),
            self.threads.to_string(),
            words(&self.versions),
        ];
        let all = KEYS.map(str::to_owned).into_iter().zip(values);
        Original(all.chain([(BOOT.to_owned(), boot.to_owned())]).collect())
    }

    /// From [`Server::to_original`], or from bytes from outside.
    pub fn from_original(original: &Original) -> Option<Server> {
        let [size, ports, threads, versions] = KEYS.map(|key| original.0.get(key));
        if original.0.len() != KEYS.len() + 1 {
            return None;
        }
        let server = Server::parse(size?, ports?, threads?, versions?)?;
        // What else there is in the texts is not ours.
        let boot = original.0.get(BOOT)?;
        (server.to_original(boot) == *original).then_some(server)
    }

    /// The line that starts it with all this but its largest block.
    pub fn start_command(&self) -> String {
        let has = |version: &str| self.versions.contains(version);
        let switch = |version: &str, on: bool| format!("-{} {version}", if on { 'V' } else { 'N' });
        let minors = &VERSIONS[1..];
        let mut words = vec!["rpc.nfsd".to_owned(), switch("3", has("3"))];
        match minors.iter().any(|minor| has(minor)) {
            true => words.extend(minors.iter().map(|minor| switch(minor, has(minor)))),
            false => words.push(switch("4", false)),
        }
        if self.ports.iter().any(|line| line.starts_with("udp")) {
            words.push("-u".to_owned());
        }
        if let Some(port) = self.port().filter(|port| *port != 2049) {
            words.push(format!("-p {port}"));
        }
        words.push(self.threads.to_string());
        words.join(" ")
    }

    /// Stops the server, if it runs, and starts it so. A lost link does not leave it stopped, and what
    /// the kernel does not take neither: then it is started without.
    pub fn start(&self, host: &dyn Reach) -> Result<(), Failure> {
        let (size, start) = (self.max_block_size, self.start_command());
        let text = format!(
            "trap '' HUP INT TERM
            command -v rpc.nfsd >/dev/null || {{ echo 'rpc.nfsd is not installed' >&2; exit 1; }}
            cd /proc/fs/nfsd && rpc.nfsd 0 || exit 1
            n=0 refused=
            while [ \"$(cat threads)\" != 0 ] || [ -n \"$(cat portlist)\" ]; do
                n=$((n + 1))
                [ $n -lt 100 ] || {{ echo 'it does not stop' >&2; break; }}
                sleep 0.1 2>/dev/null || sleep 1
            done
            echo {size} >max_block_size || refused=1
            {start} && [ -z \"$refused\" ]"
        );
        command(host, "restart the kernel NFS server", &text, b"").map(drop)
    }

    /// Fails unless it could be started again.
    pub fn expect_startable(host: &dyn Reach) -> Result<(), Failure> {
        let text = "cd /proc/fs/nfsd && [ -w max_block_size ] && [ -w threads ] ||
            { echo 'its settings are not writable' >&2; exit 1; }
            command -v rpc.nfsd >/dev/null || { echo 'rpc.nfsd is not installed' >&2; exit 1; }";
        command(host, "change the kernel NFS server", text, b"").map(drop)
    }
}

/// Whether the kernel is still the one that an original is of: a server's settings end with it.
pub(super) fn is_same_boot(host: &dyn Reach, original: &Original) -> Result<bool, Failure> {
    Ok(original.0.get(BOOT) == Some(&kernel_file::boot(host)?))
}

/// Fails where it is another one: what would be set now, nobody would undo.
pub(super) fn expect_same_boot(
    host: &dyn Reach,
    setting: &str,
    original: &Original,
) -> Result<(), Failure> {
    kernel_file::expect_boot(host, setting, original.value(BOOT))
}

pub(super) fn check_boot(original: &Original) -> Result<(), String> {
    match original.0.get(BOOT).is_some_and(|boot| kernel_file::is_boot(boot)) {
        true => Ok(()),
        false => Err("it does not contain a boot id".into()),
    }
}

/// What the kernel's list of versions comes to: `+3 +4 -4.0 +4.1` is `3+4.1`. `None` where version 2
/// is spoken, or what is there is no such list.
fn spoken(list: &str) -> Option<String> {
    let sign = |version: &str| {
        let mut words = list.split_ascii_whitespace().rev();
        words.find_map(|word| (word.get(1..) == Some(version)).then(|| word.starts_with('+')))
    };
    let sound = |word: &str| word.starts_with(['+', '-']) && word.len() <= 4;
    if !list.split_ascii_whitespace().all(sound) || sign("2") == Some(true) {
        return None;
    }
    let on = |version: &&&str| match **version {
        // 4.0 is listed where it is off alone.
        "4.0" => sign("4") == Some(true) && sign("4.0") != Some(false),
        minor if minor.starts_with("4.") => sign("4") == Some(true) && sign(minor) == Some(true),
        other => sign(other) == Some(true),
    };
    let spoken: BTreeSet<&str> = VERSIONS.iter().filter(on).copied().collect();
    Some(words(&spoken))
}

/// Versions as a level: `3+4.2`.
pub(super) fn words(versions: &BTreeSet<&'static str>) -> String {
    versions.iter().copied().collect::<Vec<_>>().join("+")
}

/// The versions of a level, each once.
pub(super) fn versions_of(level: &str) -> Option<BTreeSet<&'static str>> {
    let mut versions = BTreeSet::new();
    for word in level.split('+') {
        let version = VERSIONS.iter().find(|version| **version == word)?;
        versions.insert(*version).then_some(())?;
    }
    Some(versions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(versions: &str, ports: &str) -> String {
        format!("[max_block_size]\n1048576\n[ports]\n{ports}[threads]\n8\n[versions]\n{versions}\n")
    }

    #[test]
    fn a_server_is_read_and_started_as_it_was() {
        let ports = "tcp 2049\ntcp 2049\n";
        let server_of = |versions: &str| Server::from_text(&text(versions, ports)).unwrap();
        let server = server_of("-2 +3 +4 +4.1 +4.2");
        assert_eq!(words(&server.versions), "3+4.0+4.1+4.2");
        assert_eq!(server.start_command(), "rpc.nfsd -V 3 -V 4.0 -V 4.1 -V 4.2 8");
        assert_eq!(words(&server_of("+3 -4 -4.1 -4.2").versions), "3");
        assert_eq!(server_of("+3 -4 -4.1 -4.2").start_command(), "rpc.nfsd -V 3 -N 4 8");
        assert_eq!(words(&server_of("-3 +4 -4.0 -4.1 +4.2").versions), "4.2");
        let other = Server::from_text(&text("+3", "udp 2050\ntcp 2050\n")).unwrap();
        assert_eq!(other.start_command(), "rpc.nfsd -V 3 -N 4 -u -p 2050 8");
        let stopped = Server::from_text(&text("+3", "").replace("\n8\n", "\n0\n")).unwrap();
        assert_eq!((stopped.threads, stopped.ports.len()), (0, 0));
        let original = server.to_original("a boot");
        assert_eq!(Server::from_original(&original), Some(server));
    }

    #[test]
    fn what_cannot_be_started_again_is_no_server() {
        for (versions, ports) in [
            ("+2 +3 -4", "tcp 2049\n"),
            ("", "tcp 2049\n"),
            ("-3 -4", "tcp 2049\n"),
            ("+3;id", "tcp 2049\n"),
            ("+3", "rdma 20049\n"),
            ("+3", "tcp 2049\ntcp 2050\n"),
            ("+3", "tcp 02049\n"),
            ("+3", "tcp 2049; id\n"),
        ] {
            assert_eq!(Server::from_text(&text(versions, ports)), None, "{versions} {ports}");
        }
        let sound = Server::from_text(&text("+3", "tcp 2049\n")).unwrap().to_original("x");
        for (key, value) in [
            ("threads", "8; id"),
            ("threads", "-1"),
            ("threads", "+8"),
            ("versions", "3+2"),
            ("versions", "3+3"),
            ("max_block_size", "1"),
            ("max_block_size", "$(id)"),
            ("ports", "tcp 2049 "),
            ("more", ""),
        ] {
            let mut original = sound.clone();
            original.0.insert(key.into(), value.into());
            assert_eq!(Server::from_original(&original), None, "{key} {value}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "(\\[(max_block_size|ports|threads|versions)\\]\n|[+ -]?[0-9.]{1,5}|tcp \
        2049\n|\\PC|\n){0,24}") {
            super::super::fuzz(&text);
        }
    }
}
