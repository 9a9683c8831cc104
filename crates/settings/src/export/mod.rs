//! Whether an export of the kernel's NFS server answers writes before they are on the disk: `sync`
//! or `async` of exports(5).
//!
//! The word is changed in the file that names the export, which lasts over a reboot, and in the
//! export as it is in force, by exportfs: of the one export alone, so that neither other lines of
//! the file that were not exported yet nor exports that are in no file are touched. Clients stay
//! mounted, and the kernel, which exportfs makes forget, asks for the options with the next request.

pub(crate) mod file;

pub use file::path_of;

use super::{Found, Knob, Original, command, config_file};
use file::{Writes, with_sync, with_sync_of};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub const KIND: &str = "export-sync";

/// Where exports are configured, words of the shell.
const FILES: &str = "/etc/exports /etc/exports.d/*.exports";
/// What exportfs has in force.
const IN_FORCE: &str = "/var/lib/nfs/etab";
/// What the kernel has asked for; what exportfs has made it forget is behind a '#'.
const KERNEL: &str = "/proc/net/rpc/nfsd.export/content";

/// Keys of an [`Original`]: the file's path and content, and the lines in force of the export.
const KEYS: [&str; 3] = ["content", "file", "in-force"];

/// The option of one exported path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSync {
    path: String,
}

pub(super) fn make(path: &str) -> Result<Box<dyn Knob>, String> {
    let sound = path.starts_with('/') && !path.contains(char::is_control);
    match sound && (path == "/" || !path.ends_with('/')) {
        true => Ok(Box::new(ExportSync { path: path.to_owned() })),
        false => Err("it is not the path of an export, such as /srv/films".into()),
    }
}

impl ExportSync {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("find the export {}", self.path);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    /// The file that names the export, and its content.
    fn file(&self, host: &dyn Reach) -> Result<(String, String), Failure> {
        let tried = "read the exports";
        let text = format!("for f in {FILES}; do [ ! -f \"$f\" ] || echo \"$f\"; done");
        let names = command(host, tried, &text, b"")?;
        let mut found = Vec::new();
        for name in names.lines().filter(|name| is_file(name)) {
            let content = config_file::content(host, name)?;
            if !file::clients(&content, &self.path).is_empty() {
                found.push((name.to_owned(), content));
            }
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => {
                let happened = "/etc/exports and /etc/exports.d do not export it to a client";
                Err(self.failed(host, happened, "Name an export in the form of exportfs(8)."))
            }
            _ => {
                Err(self.failed(host, "several files contain it", "Move its lines into one file."))
            }
        }
    }

    /// The lines in force of the export, sorted: exportfs has them in any order.
    fn in_force(&self, host: &dyn Reach) -> Result<String, Failure> {
        let text = format!("[ ! -f {IN_FORCE} ] || cat {IN_FORCE}");
        let text = command(host, "read the current exports", &text, b"")?;
        Ok(sorted(text.lines().filter(|line| file::path_of(line).as_deref() == Some(&*self.path))))
    }

    /// Exports each of these lines in force anew, with its options as they stand there.
    fn export(&self, host: &dyn Reach, lines: &str) -> Result<(), Failure> {
        for line in lines.lines() {
            for client in file::clients(line, &self.path) {
                let options = quote(&client.options);
                let what = quote(&format!("{}:{}", client.name, self.path));
                let text = format!("exportfs -i -o {options} {what}");
                command(host, &format!("export {}", self.path), &text, b"")?;
            }
        }
        Ok(())
    }

    /// The level that all these lines have; else "mixed".
    fn level(&self, lines: &str) -> &'static str {
        let clients = file::clients(lines, &self.path);
        let mut levels = clients.iter().map(|client| client.writes());
        let first = levels.next().unwrap_or(Writes::Absent);
        match levels.all(|other| other == first) {
            // The default of exportfs since 1.0 (exports(5)).
            true if first == Writes::Async => Writes::ASYNC,
            true => Writes::SYNC,
            false => "mixed",
        }
    }
}

fn sorted<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut lines: Vec<_> = lines.map(|line| format!("{line}\n")).collect();
    lines.sort();
    lines.concat()
}

/// A file that exports may be configured in.
fn is_file(name: &str) -> bool {
    let below = name.strip_prefix("/etc/exports.d/").and_then(|name| name.strip_suffix(".exports"));
    let sound =
        |name: &str| !name.is_empty() && !name.contains('/') && !name.contains(char::is_control);
    name == "/etc/exports" || below.is_some_and(sound)
}

impl Knob for ExportSync {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.path)
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match Writes::from_word(level) {
            Some(_) => Ok(()),
            None => Err("it is neither sync nor async".into()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let [content, file, in_force] = KEYS.map(|key| original.0.get(key));
        let (Some(content), Some(file), Some(lines), 3) =
            (content, file, in_force, original.0.len())
        else {
            return Err("it does not contain a file, its content and the exports in force".into());
        };
        let named = |text: &str| !file::clients(text, &self.path).is_empty();
        match is_file(file) && named(content) && named(lines) {
            true => Ok(()),
            false => Err("it contains another export".into()),
        }
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let (file, content) = self.file(host)?;
        let in_force = self.in_force(host)?;
        if in_force.is_empty() {
            let next = "Start the server on the host, and run exportfs -a.";
            return Err(self.failed(host, "it is configured, but not in force", next));
        }
        let level = self.level(&in_force).to_owned();
        let values = [content, file, in_force];
        Ok(Found {
            level,
            original: Original(KEYS.map(str::to_owned).into_iter().zip(values).collect()),
        })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let [content, file, in_force] = original.values(KEYS);
        let wanted = Writes::from_word(level).unwrap_or(Writes::Sync);
        let now = config_file::content(host, file)?;
        if now != content
            && Writes::LEVELS.iter().all(|l| now != with_sync(content, &self.path, *l))
        {
            let happened = format!("another program has changed {file}");
            return Err(self.failed(host, &happened, "Start the study again."));
        }
        config_file::replace(host, file, &with_sync(content, &self.path, wanted))?;
        self.export(host, &with_sync(in_force, &self.path, wanted))
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let wrong = |happened: String| {
            let tried = format!("set {}", self.name());
            let next = "Check exportfs -v on the host.";
            Err(Failure::new(Cause::Trial, tried).on(host.name()).happened(happened).next(next))
        };
        let in_force = self.level(&self.in_force(host)?);
        if in_force != level {
            return wrong(format!("exportfs has {in_force} in force, not {level}"));
        }
        // Of clients that were there since it was exported anew.
        let kernel = command(host, "read the kernel's exports", &format!("cat {KERNEL}"), b"")?;
        let clients = file::clients(&kernel, &self.path);
        match clients.iter().find(|client| Some(client.writes()) != Writes::from_word(level)) {
            None => Ok(()),
            Some(client) => wrong(format!("the kernel has {} in effect", client.options)),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let [content, file, in_force] = original.values(KEYS);
        config_file::remove_part(host, file)?;
        let now = config_file::content(host, file)?;
        let ours = Writes::LEVELS.iter().any(|level| now == with_sync(content, &self.path, *level));
        // Of a file that somebody else has changed meanwhile, the word alone is put back.
        let back = match ours {
            true => content.to_owned(),
            false => with_sync_of(&now, &self.path, content),
        };
        if now != back {
            config_file::replace(host, file, &back)?;
        }
        if config_file::content(host, file)? != back {
            return Err(self.failed(
                host,
                &format!("{file} does not have the written content"),
                "",
            ));
        }
        // A server that does not run has nothing in force.
        if self.in_force(host)?.is_empty() {
            return Ok(());
        }
        self.export(host, in_force)?;
        match self.in_force(host)? == sorted(in_force.lines()) {
            true => Ok(()),
            false => {
                let happened = "the exports in force differ from those before the study";
                Err(self.failed(
                    host,
                    happened,
                    "Compare exportfs -v with the exports files on the host.",
                ))
            }
        }
    }
}
