//! One compound at a time, each with a time limit.

mod registration;

use super::compound::{Arguments, Compound, Results};
use super::identity::{Identity, OpenFile};
use super::opening::{ConfirmOpen, Delegation, OpenOk, WANT_NO_DELEGATION};
use super::operations::{PutHandle, ReturnDelegation};
use super::revoked::Revoked;
use super::sessions::{Channel, DestroySession, Renew, Sequence};
use super::status::Status;
use super::types::{FileHandle, Minor, SessionId, StateId};
use super::{COMPOUND, PROGRAM};
use crate::Error;
use crate::nfs3::PAGE_BYTES;
use crate::rpc::{self, Credential, begin_call, encode_identity, finish_call};
use crate::xdr::{Encode, Encoder, Error as XdrError};
use plimsoll_transport::{Deadline, Socket};
use std::io::IoSlice;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// Longest READ and WRITE of this client in bytes: it is for small files.
const TRANSFER_BYTES: u32 = 64 * 1024;
/// Space in a call or reply for what stands around data or names, in bytes.
pub(super) const OVERHEAD: u32 = 4096;
/// Longest call and reply that a session is asked to take, in bytes, without that space.
const LARGEST_TRANSFER: u32 = 1 << 20;
/// Most operations of a compound.
const OPERATIONS: u32 = 16;
/// How long a server that asks for it is left alone at first, and at most: each time twice as long.
pub(super) const WAIT: Duration = Duration::from_millis(100);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long it may ask for that: longer than any grace period that is usual.
const WAITS: Duration = Duration::from_secs(180);
/// How often a session is made anew for one compound.
const TRIES: u32 = 3;

/// A session, and how a call begins in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub id: SessionId,
    pub fore: Channel,
    /// Number of the next call in the first slot.
    pub sequence: u32,
    /// What the last reply says of what the client has open, as bits.
    pub status: u32,
    /// Those of the bits that say that it was revoked.
    pub watched: u32,
}

impl Session {
    /// What the server has revoked of what was open under the session's registration.
    fn revoked(&self) -> Option<Revoked> {
        Revoked::of(self.status, self.watched)
    }
}

/// What a client leaves to a pipeline.
pub(super) struct ClientParts {
    pub socket: Socket,
    pub credential: Credential,
    pub identity: Arc<Identity>,
    pub client: u64,
    pub session: Option<Session>,
}

/// A blocking client on one connection.
#[derive(Debug)]
pub struct Client {
    rpc: rpc::Client,
    credential: Credential,
    identity: Arc<Identity>,
    slots: NonZeroU16,
    /// The registration that this connection knows of.
    pub(super) client: u64,
    session: Option<Session>,
    /// What the server takes for the file system: longest READ and longest WRITE in bytes.
    transfers: (u32, u32),
    compound: Vec<u8>,
    waits: u64,
    sessions_lost: u64,
    used: plimsoll_transport::Nanos,
}

/// Arguments that are encoded already: a whole compound.
struct Encoded<'a>(&'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.fixed(self.0);
    }
}

impl Client {
    /// A client over a connection, registered, and from 4.1 on with a session of up to `slots`
    /// slots; no call waits longer than `limit`.
    pub fn new(
        socket: Socket,
        credential: &Credential,
        identity: &Arc<Identity>,
        slots: NonZeroU16,
        limit: Duration,
    ) -> Result<Client, Error> {
        let reply_limit = (TRANSFER_BYTES.max(PAGE_BYTES) + OVERHEAD) as usize;
        let used = socket.within(limit).now();
        let mut client = Client {
            rpc: rpc::Client::new(socket, PROGRAM, credential, reply_limit, limit),
            credential: credential.clone(),
            identity: identity.clone(),
            slots,
            client: 0,
            session: None,
            transfers: (TRANSFER_BYTES, TRANSFER_BYTES),
            compound: Vec::new(),
            waits: 0,
            sessions_lost: 0,
            used,
        };
        client.begin()?;
        Ok(client)
    }

    /// The connection.
    pub fn socket(&self) -> &plimsoll_transport::Channel {
        self.rpc.socket()
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.rpc.set_deadline(deadline);
    }

    /// Who it is to the server.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The minor version that is spoken.
    pub fn minor(&self) -> Minor {
        self.identity.minor()
    }

    /// Limits of the session: `None` in 4.0.
    pub fn limits(&self) -> Option<Channel> {
        self.session.map(|session| session.fore)
    }

    /// No READ and no WRITE is longer than this from now on, in bytes: what the server takes for the file
    /// system ([`Client::file_system`]).
    pub fn limit_transfers(&mut self, read_most: u32, write_most: u32) {
        self.transfers = (read_most.clamp(1, TRANSFER_BYTES), write_most.clamp(1, TRANSFER_BYTES));
    }

    /// Longest page of names in bytes: no reply may be longer than the session takes.
    pub(super) fn page_most(&self) -> u32 {
        self.limits().map_or(TRANSFER_BYTES, |of| of.largest_read().min(TRANSFER_BYTES))
    }

    /// Longest READ in bytes.
    pub(super) fn read_most(&self) -> u32 {
        self.page_most().min(self.transfers.0)
    }

    /// Longest WRITE in bytes.
    pub(super) fn write_most(&self) -> u32 {
        self.limits().map_or(TRANSFER_BYTES, |of| of.largest_write()).min(self.transfers.1)
    }

    /// How often the server has asked to be asked again later.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// How often the session or the registration was lost and made again.
    pub fn sessions_lost(&self) -> u64 {
        self.sessions_lost
    }

    /// NULL: whether the server answers.
    pub fn null(&mut self) -> Result<(), Error> {
        self.rpc.call(0, &())
    }

    /// Renews the lease, as any other call of a session does.
    pub fn renew(&mut self) -> Result<(), Error> {
        match self.minor() {
            Minor::V0 => {
                let renewed = self.call(
                    |client, c| {
                        c.add(&Renew { client });
                    },
                    |_, r| r.take::<Renew>(),
                );
                match renewed {
                    // The lease is renewed then, too (RFC 7530, section 16.28), and nobody wants to be called back.
                    Err(Error::Nfs4 { status: Status::CallbackDown, .. }) => Ok(()),
                    other => other,
                }
            }
            _ => self.call(|_, _| {}, |_, _| Ok(())),
        }
    }

    /// Renews the lease where nothing was called for half of it.
    pub fn renew_if_idle(&mut self, lease: Duration) -> Result<(), Error> {
        let now = self.socket().within(lease).now();
        if now.since(self.used) > lease / 2 { self.renew() } else { Ok(()) }
    }

    /// Calls a compound, which is built anew for each try: with the registration it is called under.
    /// Waits while the server asks for it, and makes a lost session again.
    pub(super) fn call<R>(
        &mut self,
        build: impl Fn(u64, &mut Compound<'_>),
        read: impl Fn(u64, &mut Results<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // A session that could not be made again is still missing; one whose files were revoked is of no use.
        let is_useless = self.session.is_none_or(|session| session.revoked().is_some());
        if is_useless && self.minor() != Minor::V0 {
            self.begin()?;
        }
        let (end, mut wait, mut tries) = (self.socket().within(WAITS), WAIT, 0);
        loop {
            let result = self.once(&build, &read);
            let revoked = self.session.and_then(|session| session.revoked());
            if let Some(revoked) = revoked {
                self.identity.revoked(self.client, revoked);
                self.sessions_lost += 1;
            }
            match result {
                // Perhaps for that alone.
                Err(Error::Nfs4 { .. }) if revoked.is_some() && tries < TRIES => {
                    tries += 1;
                    self.begin()?;
                }
                Err(error @ Error::Nfs4 { status, .. }) if status.is_later() => {
                    self.waits += 1;
                    if end.sleep(wait).is_err() {
                        return Err(error);
                    }
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Err(Error::Nfs4 { status, .. }) if status.is_session_lost() && tries < TRIES => {
                    tries += 1;
                    self.sessions_lost += 1;
                    if matches!(status, Status::StaleClient | Status::Expired) {
                        self.forget();
                    }
                    self.begin()?;
                }
                other => return other,
            }
        }
    }

    /// One try of a compound.
    fn once<R>(
        &mut self,
        build: impl Fn(u64, &mut Compound<'_>),
        read: impl Fn(u64, &mut Results<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.compound.clear();
        let mut compound = Compound::new(&mut self.compound, self.identity.minor());
        if let Some(Session { id, sequence, .. }) = self.session {
            let (slot, highest_slot) = (0, 0);
            compound.add(&Sequence { session: id, sequence, slot, highest_slot, keep: false });
        }
        build(self.client, &mut compound);
        let encoded = Encoded(&self.compound);
        let mut results: Results<'_> = self.rpc.call(COMPOUND, &encoded)?;
        if let Some(session) = &mut self.session {
            let ok = results.take::<Sequence>()?;
            if (ok.session, ok.sequence, ok.slot) != (session.id, session.sequence, 0) {
                return Err(XdrError::Invalid("SEQUENCE: the reply belongs to another call").into());
            }
            session.sequence = session.sequence.wrapping_add(1);
            session.status = ok.status;
        }
        let value = read(self.client, &mut results)?;
        results.finish()?;
        self.used = self.rpc.socket().within(WAITS).now();
        Ok(value)
    }

    /// One operation outside of any session.
    fn alone<A: Arguments, R>(
        &mut self,
        arguments: &A,
        read: impl Fn(&mut Results<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.session = None;
        let add = |_, compound: &mut Compound<'_>| {
            compound.add(arguments);
        };
        self.patiently(add, |_, results| read(results))
    }

    /// The same compound until the server does not ask to be asked again later.
    fn patiently<R>(
        &mut self,
        build: impl Fn(u64, &mut Compound<'_>),
        read: impl Fn(u64, &mut Results<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (end, mut wait) = (self.socket().within(WAITS), WAIT);
        loop {
            match self.once(&build, &read) {
                Err(Error::Nfs4 { status, .. }) if status.is_later() && end.sleep(wait).is_ok() => {
                    self.waits += 1;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                other => return other,
            }
        }
    }

    /// How a file is opened: without a delegation, where that can be said.
    pub(super) fn access(&self, access: u32) -> u32 {
        if self.minor() == Minor::V0 { access } else { access | WANT_NO_DELEGATION }
    }

    /// Confirms an open where the server wants it (4.0): what the file is open as, and the number of its owner's
    /// next call. Under another registration nothing is left to confirm, so none is made here.
    fn confirmed(&mut self, handle: FileHandle, ok: &OpenOk) -> Result<(StateId, u32), Error> {
        if !ok.must_confirm(self.minor()) {
            return Ok((ok.state, 1));
        }
        let put = PutHandle { file: handle };
        let confirm = ConfirmOpen { state: ok.state, sequence: 1 };
        let state = self.patiently(
            |_, compound| {
                compound.add(&put).add(&confirm);
            },
            |_, results| {
                results.take::<PutHandle>()?;
                results.take::<ConfirmOpen>()
            },
        )?;
        Ok((state, 2))
    }

    /// Gives a delegation back that nobody wanted: the server would call it back, and let whoever else wants the file
    /// wait for that. One that it refuses to take, it has taken already.
    pub(super) fn give_back(&mut self, file: FileHandle, given: Delegation) -> Result<(), Error> {
        let Some(given) = given.0 else { return Ok(()) };
        let (put, state) = (PutHandle { file }, given.in_calls(self.minor()));
        let returned = self.patiently(
            |_, compound| {
                compound.add(&put).add(&ReturnDelegation { state });
            },
            |_, results| {
                results.take::<PutHandle>()?;
                results.take::<ReturnDelegation>()
            },
        );
        match returned {
            Err(Error::Nfs4 { .. }) => Ok(()),
            other => other,
        }
    }

    /// Confirms an open, notes the file, and gives a delegation back.
    pub(super) fn opened(
        &mut self,
        handle: FileHandle,
        access: u32,
        owner: super::identity::OwnerName,
        ok: &OpenOk,
    ) -> Result<Arc<OpenFile>, Error> {
        let (state, sequence) = self.confirmed(handle, ok)?;
        let file = self.identity.add(handle, access, owner, state, sequence);
        self.give_back(handle, ok.delegation)?;
        Ok(file)
    }

    /// The connection and the session of a client that makes way for a pipeline.
    pub(super) fn into_parts(mut self) -> Result<ClientParts, Error> {
        let socket = self.rpc.socket().stream().ok_or(plimsoll_transport::Error::Closed)?;
        let socket = socket.try_clone()?;
        let (credential, identity) = (self.credential.clone(), self.identity.clone());
        Ok(ClientParts {
            socket,
            credential,
            identity,
            client: self.client,
            session: self.session.take(),
        })
    }
}

/// Ends a session without waiting for the answer: a server keeps those that nobody ends as long as
/// another connection renews the lease.
pub(super) fn end_session(socket: &Socket, credential: &Credential, minor: Minor, id: SessionId) {
    let mut call = Vec::new();
    let xid = rpc::random_xid();
    let at = begin_call(&mut call, xid, PROGRAM, COMPOUND, &encode_identity(credential));
    Compound::new(&mut call, minor).add(&DestroySession { session: id });
    if finish_call(&mut call, at, 0) {
        let _ = socket.send(&[IoSlice::new(&call)]);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let (Some(session), Some(socket)) = (self.session, self.rpc.socket().stream()) {
            end_session(socket, &self.credential, self.minor(), session.id);
        }
    }
}
