//! Options of Samba, of all shares or of one (smb.conf(5)).
//!
//! A section is put into smb.conf between two lines that name the setting, where it holds over what is
//! written before. Undoing takes those lines out, whatever else has become of the file, so nothing of it
//! need be kept. The server is made to read it again; who is connected keeps what was agreed on, and who
//! connects from then on has what is set. An option of all shares holds where a share has no own.

pub(crate) mod block;
mod options;

use super::{Found, Knob, Original, command, config_file};
use block::{GLOBAL, Place};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "samba";

/// Keys of an [`Original`]: the file, and the value that was in effect.
const KEYS: [&str; 2] = ["file", "value"];

#[derive(Debug)]
struct Samba {
    option: &'static options::SmbOption,
    /// One share; else all.
    share: Option<String>,
}

/// From `OPTION` or `OPTION@SHARE`.
pub(super) fn make(text: &str) -> Result<Box<dyn Knob>, String> {
    let (name, share) = match text.split_once('@') {
        Some((name, share)) => (name, Some(share)),
        None => (text, None),
    };
    let option = options::find(name).ok_or_else(|| {
        format!("plimsoll does not know this option of Samba; it knows: {}", options::names())
    })?;
    if let Some(share) = share {
        block::check_share(share)?;
        if !option.of_a_share {
            return Err(format!("'{}' is a global option, not an option of a share", option.name));
        }
    }
    Ok(Box::new(Samba { option, share: share.map(str::to_owned) }))
}

/// A line for each running server that is of this user or of root, with the options that it was started with below it,
/// and one for each other process of that name that sees the same files; an empty line after each. Anybody's process
/// may have that name, and its options name a file whose words root would act on: the server is one that root or the
/// login's user started (the real user, which a server that works for a client keeps).
const SERVERS: &str = r#"own=$(readlink /proc/self/ns/mnt) me=$(id -u)
    for p in /proc/[0-9]*; do
        [ "$(cat "$p/comm" 2>/dev/null)" = smbd ] || continue
        user=$(sed -n 's/^Uid:[^0-9]*\([0-9]*\).*/\1/p' "$p/status" 2>/dev/null)
        [ "$(readlink "$p/ns/mnt" 2>/dev/null)" = "$own" ] && [ -n "$user" ] || continue
        if [ "$user" != 0 ] && [ "$user" != "$me" ]; then
            printf 'other %s %s\n\n' "${p#/proc/}" "$user"
            continue
        fi
        words=$(tr '\000' '\n' <"$p/cmdline") 2>/dev/null
        [ -z "$words" ] || printf 'own\n%s\n\n' "$words"
    done; true"#;

/// Servers that run on a host.
#[derive(Default)]
struct Servers {
    /// The configuration files of those that are used, each once.
    files: Vec<String>,
    /// Processes of other users that have the server's name, in words.
    others: Vec<String>,
}

/// Where it reads its configuration unless it is told.
const BUILT_IN: &str = "smbd -b | sed -n 's/^ *CONFIGFILE: *//p'";

impl Samba {
    fn failed(&self, host: &dyn Reach, happened: impl ToString, next: &str) -> Failure {
        let tried = format!("find Samba's option {}", self.option.name);
        Failure::new(Cause::NotPermitted, tried)
            .on(host.name())
            .happened(happened.to_string())
            .next(next)
    }

    fn servers(host: &dyn Reach) -> Result<Servers, Failure> {
        let text = command(host, "find the Samba server", SERVERS, b"")?;
        let mut servers = Servers::default();
        for server in text.split("\n\n").filter(|server| !server.trim().is_empty()) {
            let mut lines = server.lines();
            let first = lines.next().unwrap_or_default();
            if let Some((process, user)) =
                first.strip_prefix("other ").and_then(|other| other.split_once(' '))
            {
                let other = format!("process {process} is named smbd and belongs to user {user}");
                servers.others.push(other);
                continue;
            }
            let file = match block::file_of(lines) {
                Some(file) => file.to_owned(),
                None => command(host, "find smb.conf", BUILT_IN, b"")?.trim().to_owned(),
            };
            if !servers.files.contains(&file) {
                servers.files.push(file);
            }
        }
        Ok(servers)
    }

    /// The file of the server that runs; `None` where none does.
    fn file(&self, host: &dyn Reach) -> Result<Option<String>, Failure> {
        let Servers { mut files, .. } = Samba::servers(host)?;
        match files.len() {
            0 => Ok(None),
            1 if config_file::is_name(&files[0]) => Ok(files.pop()),
            1 => Err(self.failed(
                host,
                "it was started with a relative path to smb.conf",
                "Start it with an \
            absolute path.",
            )),
            _ => Err(self.failed(host, "several servers run", "Stop all servers but one.")),
        }
    }

    /// No server runs that is of root or of this user.
    fn not_running(&self, host: &dyn Reach, next: &str) -> Failure {
        let others = Samba::servers(host).map_or_else(|_| Vec::new(), |servers| servers.others);
        let of_others = match others.is_empty() {
            true => String::new(),
            false => format!(" as root or as this user ({}, so it is not used)", others.join("; ")),
        };
        self.failed(host, format!("smbd is not running{of_others}"), next)
    }

    /// What Samba's own parser makes of the file.
    fn value(&self, host: &dyn Reach, file: &str) -> Result<String, Failure> {
        let (option, file) = (quote(self.option.name), quote(file));
        let section = match &self.share {
            Some(share) => format!("--section-name={}", quote(share)),
            None => String::new(),
        };
        let text = format!("testparm -s --parameter-name={option} {section} {file} </dev/null");
        let tried = format!("read Samba's option {}", self.option.name);
        let value = command(host, &tried, &text, b"")?;
        let value = value.trim();
        match block::is_value(value) {
            true => Ok(value.to_owned()),
            false => Err(self.failed(
                host,
                "testparm shows no value of it",
                "Check the output of testparm.",
            )),
        }
    }

    /// Has the server read its file, and returns when it has: it answers in order.
    fn reload(&self, host: &dyn Reach, file: &str) -> Result<(), Failure> {
        let control = format!("smbcontrol --configfile={} --timeout=30 smbd", quote(file));
        let text = format!("{control} reload-config && {control} ping | grep -q PONG");
        command(host, "reload the configuration of Samba", &text, b"").map(drop)
    }

    /// Where it is written. The whole server's own options stand last, so that they hold.
    fn section(&self) -> (Place, &str) {
        match &self.share {
            Some(share) => (Place::End, share),
            None if self.option.of_a_share => (Place::BeforeShares, GLOBAL),
            None => (Place::End, GLOBAL),
        }
    }

    fn expect(&self, host: &dyn Reach, file: &str, wanted: &str) -> Result<(), Failure> {
        let value = self.value(host, file)?;
        if self.option.is_same(&value, wanted) {
            return Ok(());
        }
        let happened = format!("Samba uses \"{value}\" instead of \"{wanted}\"");
        let tried = format!("set {}", self.name());
        let next = "Check testparm on the host, and give a value of smb.conf(5).";
        Err(Failure::new(Cause::Trial, tried).on(host.name()).happened(happened).next(next))
    }
}

impl Knob for Samba {
    fn name(&self) -> String {
        match &self.share {
            Some(share) => format!("{KIND}:{}@{share}", self.option.name),
            None => format!("{KIND}:{}", self.option.name),
        }
    }

    /// Who is connected stays so; what is negotiated takes a new connection, which trials make.
    fn check(&self, level: &str) -> Result<(), String> {
        self.option.check(level)
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [file, value] = original.values(KEYS);
        match original.0.len() == 2 && config_file::is_name(file) && block::is_value(value) {
            true => Ok(()),
            false => Err("it does not contain a file and a value".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let Some(file) = self.file(host)? else {
            return Err(self.not_running(host, "Start it, and try again."));
        };
        let content = config_file::content(host, &file)?;
        if let Some(share) = self.share.as_ref().filter(|share| !block::has(&content, share)) {
            let happened = format!("{file} has no share [{share}]");
            return Err(self.failed(host, happened, "Name a share of that file."));
        }
        let value = self.value(host, &file)?;
        let values = [file, value.clone()];
        let original = Original(KEYS.map(str::to_owned).into_iter().zip(values).collect());
        Ok(Found { level: value, original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let [file, _] = original.values(KEYS);
        let content = config_file::content(host, file)?;
        let line = format!("{} = {}", self.option.name, self.option.written(level));
        let (place, section) = self.section();
        let changed = block::with(&content, &self.name(), place, section, &line);
        config_file::replace(host, file, &changed)?;
        self.reload(host, file)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let Some(file) = self.file(host)? else {
            return Err(self.not_running(host, "Start it again."));
        };
        self.expect(host, &file, level)
    }

    /// A file that is gone, or a server that does not run, has nothing to undo.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [file, value] = original.values(KEYS);
        config_file::remove_part(host, file)?;
        let there = command(host, "check smb.conf", &format!("ls {} || true", quote(file)), b"")?;
        if there.trim().is_empty() {
            return Ok(());
        }
        let content = config_file::content(host, file)?;
        let without = block::without(&content, &self.name());
        if without != content {
            config_file::replace(host, file, &without)?;
        }
        if self.file(host)?.as_deref() == Some(file) {
            self.reload(host, file)?;
        }
        self.expect(host, file, value)
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let [file, value] = original.values(KEYS);
        let [other, now] = now.values(KEYS);
        file == other && self.option.is_same(value, now)
    }
}
