//! Whether locks keep a second program out: two lanes have a database open, as two programs would, and both lock it.
//! SQLite on Unix also locks bytes that it reads as shared and then as exclusive; the kernel's SMB client refuses that
//! (`experiments/database.rs`).

use super::source::Locking;
use crate::jobs::Workspace;
use crate::op::{ByteRange, FileId, LockMode, Op, OpError, Tag};
use crate::prepare::{OperationContext, failure};
use crate::share::{Lane, LaneDead};
use plimsoll_model::{Cause, ErrorKind, Failure, Flag, OpKind};
use std::num::NonZeroU16;
use std::time::Duration;

const TRIED: &str = "lock and unlock a file";
/// Largest operation of a lane that only locks.
const BLOCK: u32 = 4096;
/// How long a lane is waited for at a time.
const SLICE: Duration = Duration::from_millis(100);

/// What locks on a target are worth.
#[derive(Debug, PartialEq, Eq)]
enum Locks {
    /// They keep a second program out. Why a shared lock cannot become an exclusive one, if it cannot.
    Exclusive { not_upgraded: Option<String> },
    /// A second program got what was locked.
    Shared,
    /// They are refused, in words.
    Refused(String),
    /// The protocol has none.
    None,
}

/// Tries locks on a file of the run. How a commit can take them, and what is odd about them.
pub(super) fn find(at: &mut Workspace<'_>, path: &str) -> Result<(Locking, Vec<Flag>), Failure> {
    let names = at.run.names()?.0;
    let files = [names.open_to_write(path)?, names.open_to_write(path)?];
    let found = between(at, files);
    let names = at.run.names()?.0;
    files.into_iter().for_each(|file| names.close(file));
    let target = at.share.facts().given;
    Ok(match found? {
        Locks::Exclusive { not_upgraded: None } => (Locking::Upgrade, Vec::new()),
        Locks::Exclusive { not_upgraded: Some(reason) } => {
            (Locking::Anew, vec![Flag::LockNotUpgraded { target, reason }])
        }
        Locks::Shared => (Locking::Anew, vec![Flag::SecondWriter { target }]),
        Locks::None => (Locking::None, Vec::new()),
        Locks::Refused(reason) => {
            let (operation, tried) = (OpKind::LOCK, TRIED.to_owned());
            (Locking::None, vec![Flag::OperationRefused { target, operation, tried, reason }])
        }
    })
}

fn between(at: &Workspace<'_>, [first, second]: [FileId; 2]) -> Result<Locks, Failure> {
    let lane = || at.share.lane(at.context.lane(NonZeroU16::MIN, BLOCK, false));
    let (mut one, mut other) = (lane()?, lane()?);
    if ![OpKind::LOCK, OpKind::UNLOCK].iter().all(|kind| one.does(*kind)) {
        return Ok(Locks::None);
    }
    let bytes = ByteRange { offset: 0, length: 1 };
    let lock = |file| Op::Lock(file, bytes, LockMode::Exclusive);
    let unlock = |file| Op::Unlock(file, bytes);
    // An error of the target is a refusal; one of the way to it ends the study.
    let run = |lane: &mut dyn Lane, op: Op| -> Result<Result<(), String>, Failure> {
        let Err(error) = once(lane, &op, at.context) else { return Ok(Ok(())) };
        let failure = failure(TRIED, at.share.facts().given, &error);
        match failure.cause {
            Cause::Trial | Cause::NotPermitted => Ok(Err(failure.happened)),
            _ => Err(failure),
        }
    };
    if let Err(reason) = run(&mut *one, lock(first))? {
        return Ok(Locks::Refused(reason));
    }
    let is_shared = run(&mut *other, lock(second))?.is_ok();
    if is_shared {
        let _ = run(&mut *other, unlock(second))?;
    }
    if let Err(reason) = run(&mut *one, unlock(first))? {
        return Ok(Locks::Refused(reason));
    }
    if is_shared {
        return Ok(Locks::Shared);
    }
    // What was given back can be had.
    for op in [lock(second), unlock(second), Op::Lock(second, bytes, LockMode::Shared)] {
        if let Err(reason) = run(&mut *other, op)? {
            return Ok(Locks::Refused(reason));
        }
    }
    let not_upgraded = run(&mut *other, lock(second))?.err();
    // An upgraded lock is one lock: it is given back once.
    match run(&mut *other, unlock(second))? {
        Ok(()) => Ok(Locks::Exclusive { not_upgraded }),
        Err(reason) => Ok(Locks::Refused(reason)),
    }
}

/// Does one operation.
pub(super) fn once(
    lane: &mut dyn Lane,
    op: &Op,
    context: &OperationContext,
) -> Result<(), OpError> {
    let clock = context.deadline.clock().clone();
    let begun = clock.now();
    let error = |kind, detail: &str| OpError { kind, detail: detail.into() };
    lane.submit(Tag(0), op, begun)
        .map_err(|_| error(ErrorKind::Protocol, "another operation is in flight"))?;
    let mut done = Vec::new();
    loop {
        let reaped = lane.reap(clock.now() + SLICE, &mut done);
        reaped.map_err(|LaneDead { kind, detail }| OpError { kind, detail: detail.into() })?;
        if let Some(done) = done.pop() {
            return done.result.map(drop);
        }
        if clock.now().since(begun) > context.operation_timeout
            || context.deadline.remaining().is_err()
        {
            return Err(error(ErrorKind::TimedOut, "no answer"));
        }
    }
}
