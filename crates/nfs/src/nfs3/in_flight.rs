//! Calls in flight, and what their replies mean.

use super::client::{check_written, checked_data};
use super::pipeline::Done;
use super::results::{CommitOk, ReadOk, Reply, WriteOk};
use super::types::{Procedure, Stability};
use crate::Error;
use crate::rpc::Rejection;
use crate::xdr::{Decode, Decoder};

/// What a call in flight asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Nothing,
    Read { count: u32 },
    Write { count: u32, stability: Stability },
    Commit,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub xid: u32,
    pub tag: u32,
    pub asked: Asked,
    /// Position of the call's end in the stream.
    pub end: u64,
    pub sent: u64,
}

/// Decodes the results of a call and checks them against what was asked for; `surplus` notes
/// bytes beyond their end.
pub(super) fn results<'a>(
    asked: Asked,
    outcome: Result<Decoder<'a>, Rejection>,
    surplus: &mut Option<(Procedure, usize)>,
) -> Result<Done<'a>, Error> {
    let mut from = outcome?;
    let (procedure, done) = match asked {
        Asked::Nothing => return Err(Error::UnknownTransaction(0)),
        Asked::Read { count } => {
            let ok: ReadOk<'_> = take(&mut from, Procedure::Read)?;
            let data = checked_data(&ok, count)?;
            (Procedure::Read, Done::Read { data, end_of_file: ok.end_of_file })
        }
        Asked::Write { count, stability } => {
            let ok: WriteOk = take(&mut from, Procedure::Write)?;
            check_written(&ok, count, stability)?;
            let WriteOk { count, committed, verifier, .. } = ok;
            (Procedure::Write, Done::Write { count, committed, verifier })
        }
        Asked::Commit => {
            let ok: CommitOk = take(&mut from, Procedure::Commit)?;
            (Procedure::Commit, Done::Commit { verifier: ok.verifier })
        }
    };
    if from.remaining() > 0 {
        surplus.get_or_insert((procedure, from.remaining()));
    }
    Ok(done)
}

fn take<'a, T: Decode<'a>>(from: &mut Decoder<'a>, procedure: Procedure) -> Result<T, Error> {
    let Reply(reply) = from.value::<Reply<T>>()?;
    reply.map_err(|status| Error::Nfs { procedure, status })
}
