//! Requests are answered one after the other.

use super::connection::Connection;
use super::gate;
use crate::protocol::{Connect, Reply, Request};
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstat, fstatat, stat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use plimsoll_load::Passwords;
use plimsoll_model::{
    Cause, Deadline, Event, Failure, LoadObserver, Nanos, Prepared, SubjectRunner,
};
use plimsoll_runner::{Runner, RunnerOptions, Share};
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long last words may take to be sent.
const FAREWELL: Duration = Duration::from_secs(5);
/// Most targets of a study.
const MOST_TARGETS: usize = 1000;

/// Answers requests until there are none any more, and leaves nothing behind.
pub fn serve(connection: Arc<Connection>) -> ExitCode {
    connection.say(&Reply::hello());
    let mut served = Served { connection: connection.clone(), state: ServedState::New };
    while let Some(request) = connection.next() {
        let last = matches!(request, Ok(Request::Close));
        let reply = match request {
            Ok(request) => {
                served.answer(request).unwrap_or_else(|failure| Reply::Failed { failure })
            }
            Err(why) => Reply::Failed { failure: refused(&why) },
        };
        connection.say(&reply);
        if last {
            break;
        }
    }
    // Nobody is there to learn what could not be removed; its lease tells others.
    if let ServedState::Running(mut runner) = served.state {
        runner.close();
    }
    connection.flush(FAREWELL);
    if connection.is_silent() {
        remove_this_program();
    }
    ExitCode::SUCCESS
}

/// Whoever deployed it removes it when the connection ends; one that falls silent may end in hours.
/// What was not deployed lies elsewhere and stays.
fn remove_this_program() {
    let Ok(program) = std::env::current_exe() else { return };
    let (Some(directory), Some(name)) = (program.parent(), program.file_name()) else { return };
    let deployed = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("plimsoll-");
    if directory.file_name().is_some_and(deployed) {
        let _ = remove(directory, name);
    }
}

/// Beside the program: whose processes could use it.
const OWNER: &str = "owner";

/// Removes this program and the note of its owner from its directory, and that if nothing else is in it. The
/// directory is what this program lies in, and this user's: another one may have been put there meanwhile.
fn remove(path: &Path, program: &OsStr) -> nix::Result<()> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let directory = open(path, flags, Mode::empty())?;
    let (own, there) =
        (stat("/proc/self/exe")?, fstatat(&directory, program, AtFlags::AT_SYMLINK_NOFOLLOW)?);
    let owner = fstat(&directory)?.st_uid;
    if (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino) && owner == geteuid().as_raw() {
        unlinkat(&directory, program, UnlinkatFlags::NoRemoveDir)?;
        // Where the host's shell could not write it there is none.
        let _ = unlinkat(&directory, OWNER, UnlinkatFlags::NoRemoveDir);
        unlinkat(AT_FDCWD, path, UnlinkatFlags::RemoveDir)?;
    }
    Ok(())
}

struct Served {
    connection: Arc<Connection>,
    state: ServedState,
}

/// How far a study has come.
enum ServedState {
    /// Nothing was asked for.
    New,
    /// Targets are opened.
    Opening(RunnerOptions, Vec<Arc<dyn Share>>),
    /// Trials are driven.
    Running(Runner),
}

impl Served {
    fn answer(&mut self, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Begin(begin) => {
                let clock = Arc::new(self.connection.clock);
                let deadline = Deadline::new(clock, self.connection.stop.clone());
                let options = begin.options(deadline);
                let options = options.ok_or_else(|| refused("the request names no study"))?;
                options.deadline.give(options.set_up);
                self.state = match self.state {
                    ServedState::New => ServedState::Opening(options, Vec::new()),
                    _ => return Err(refused("a study has already started")),
                };
                Ok(Reply::Done)
            }
            Request::Connect(connect) => self.open(*connect),
            Request::Attach { target } => {
                let runner = self.runner()?;
                let flags = runner.attach(target)?;
                target_reply(runner, target, Prepared { flags, more: false })
            }
            Request::LayOutRate { target, bytes } => {
                let mut reported = Reported(self.connection.clone());
                let rate = self.runner()?.lay_out_rate(target, bytes, &mut reported)?;
                Ok(Reply::Rate { bytes_per_second: rate })
            }
            Request::Prepare { target, workloads } => {
                let mut reported = Reported(self.connection.clone());
                let runner = self.runner()?;
                let prepared = runner.prepare(target, &workloads, &mut reported)?;
                target_reply(runner, target, prepared)
            }
            Request::Point { spec, gated } => {
                let mut reported = Reported(self.connection.clone());
                let connection = self.connection.clone();
                let runner = self.runner()?;
                let (result, late) = match gated {
                    true => runner.point_from(&spec, &|| gate::open(&connection), &mut reported),
                    false => (runner.point(&spec, &mut reported), None),
                };
                let late = late.map(|late| Nanos(0) + late);
                Ok(Reply::Result { result: Box::new(result), late })
            }
            Request::Clock => Ok(gate::clock(&self.connection)),
            Request::Start { .. } => Err(refused("no trial is waiting for its start")),
            Request::Release => self.runner()?.release().map(|()| Reply::Done),
            Request::Reopen => self.runner()?.reopen().map(|()| Reply::Done),
            Request::Clean { target, own } => self.clean(target, own),
            Request::Close => Ok(Reply::Closed {
                flags: match &mut self.state {
                    ServedState::Running(runner) => runner.close(),
                    _ => Vec::new(),
                },
            }),
            Request::Password { .. } | Request::NoPassword { .. } => {
                Err(refused("no password was requested"))
            }
            Request::Stop | Request::Alive => Ok(Reply::Alive),
        }
    }

    /// Opens a target, asking for the password of its user where it has one.
    fn open(&mut self, connect: Connect) -> Result<Reply, Failure> {
        let ServedState::Opening(begun, shares) = &mut self.state else {
            return Err(refused("targets must be opened before the first is attached"));
        };
        if shares.len() >= MOST_TARGETS {
            return Err(refused("there are too many targets"));
        }
        let connection = self.connection.clone();
        let (asking, set_up) = (begun.deadline.clone(), begun.set_up);
        let passwords = Passwords::new(move |_| {
            connection.say(&Reply::PasswordWanted);
            let answer = connection.next();
            // Typing takes none of the time for setting up.
            asking.give(set_up);
            match answer {
                Some(Ok(Request::Password { password })) => Ok(password.0),
                Some(Ok(Request::NoPassword { failure })) => Err(failure),
                _ => Err(refused("a password was requested, but the client sent no password")),
            }
        });
        let deadline = begun.deadline.clone();
        let options = plimsoll_load::OpenOptions { passwords, ..connect.options(deadline) };
        shares.push(plimsoll_load::open(&connect.target, &options)?);
        Ok(Reply::Done)
    }

    /// Removes what dead runs have left on a target.
    fn clean(&mut self, target: usize, own: bool) -> Result<Reply, Failure> {
        let ServedState::Opening(options, shares) = &self.state else {
            return Err(refused("targets must be cleaned before the first is attached"));
        };
        let share = shares.get(target).ok_or_else(|| refused("no such target"))?;
        let of = own.then_some(&options.study);
        let wait = |time| {
            let _ = options.deadline.sleep(time);
        };
        let cleaned = plimsoll_runner::clean(&mut *share.namespace()?, of, &wait)?;
        Ok(Reply::Cleaned { cleaned })
    }

    /// The runner, made when the first target is attached.
    fn runner(&mut self) -> Result<&mut Runner, Failure> {
        if let ServedState::Opening(options, shares) = &mut self.state {
            let runner = Runner::new(options.clone(), std::mem::take(shares));
            self.state = ServedState::Running(runner);
        }
        match &mut self.state {
            ServedState::Running(runner) => Ok(runner),
            _ => Err(refused("no study has started")),
        }
    }
}

fn target_reply(runner: &Runner, target: usize, prepared: Prepared) -> Result<Reply, Failure> {
    let facts = runner.facts().into_iter().nth(target);
    let facts = facts.ok_or_else(|| refused("no such target"))?;
    let Prepared { flags, more } = prepared;
    Ok(Reply::Target { flags, facts: Box::new(facts), more })
}

/// Hands on what happens: begin and end of the load for certain, progress where nothing waits for it.
struct Reported(Arc<Connection>);

impl LoadObserver for Reported {
    fn load_begins(&mut self) {
        self.0.say(&Reply::LoadBegins);
    }

    fn load_ends(&mut self) {
        self.0.say(&Reply::LoadEnds);
    }

    fn event(&mut self, event: Event) {
        match event {
            // What failed is named by its phase.
            Event::Phase { .. } => self.0.say(&Reply::Event { event }),
            _ => self.0.mention(&Reply::Event { event }),
        }
    }
}

pub fn refused(why: &str) -> Failure {
    let next = "plimsoll and the runner must have the same version: build the runner again with \
    `make runner`.";
    Failure::new(Cause::Usage, "understand the request")
        .on("plimsoll-runner")
        .happened(why)
        .next(next)
}
