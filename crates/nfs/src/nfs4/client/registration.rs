//! Registration, sessions, and what is done when the server has forgotten them.

use super::super::compound::{Compound, Results};
use super::super::identity::{OpenFile, Registered};
use super::super::opening::{Claim, Delegation, Open, OpenHow};
use super::super::operations::PutHandle;
use super::super::revoked::Revoked;
use super::super::sessions::{
    Channel, CreateSession, CreateSessionOk, ExchangeId, NO_PNFS, ReclaimComplete, Registration,
    Renew, SetClient,
};
use super::super::status::Status;
use super::super::types::{FileHandle, Minor, Short, StateId};
use super::{Client, LARGEST_TRANSFER, OPERATIONS, OVERHEAD, Session, TRIES};
use crate::Error;
use crate::nfs4::Operation;
use crate::xdr::Error as XdrError;

impl Client {
    /// The server has forgotten this registration, unless another connection has renewed it already.
    pub(super) fn forget(&mut self) {
        let mut registered = self.identity.registered();
        if registered.client == Some(self.client) {
            registered.client = None;
        }
    }

    /// Registers, unless another connection has, begins a session, and reclaims what was open where
    /// the registration is a new one.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let identity = self.identity.clone();
        // Held until all is reclaimed: nobody else shall use what is not.
        let mut registered = identity.registered();
        identity.give_up_revoked(&mut registered);
        for _ in 0..TRIES {
            let fresh = registered.client.is_none();
            let client = match registered.client {
                Some(client) => client,
                None => match self.register(&mut registered) {
                    // The server restarted before it was confirmed.
                    Err(Error::Nfs4 { status: Status::StaleClient, .. }) => continue,
                    client => client?,
                },
            };
            self.client = client;
            let begun = match self.minor() {
                Minor::V0 if fresh => Ok(()),
                // Whether the server still knows it: else that would show in what is open, one by one.
                Minor::V0 => self.alone(&Renew { client }, |results| results.take::<Renew>()),
                _ => self.create_session(client, &mut registered.sequence),
            };
            match begun {
                // Nobody wants to be called back.
                Ok(()) | Err(Error::Nfs4 { status: Status::CallbackDown, .. }) => {}
                Err(Error::Nfs4 { status: Status::StaleClient | Status::Expired, .. }) => {
                    registered.client = None;
                    continue;
                }
                // The number is wrong: the one that the server says is left.
                Err(Error::Nfs4 { status: Status::Misordered, .. }) => {
                    (registered.client, registered.numbered) = (None, None);
                    continue;
                }
                Err(error) => return Err(error),
            }
            if fresh {
                self.recover(std::mem::replace(&mut registered.before, true))?;
                // What the server says already is not about files that will be open.
                let said = self.session.map_or(0, |session| session.status);
                registered.watched = Revoked::BITS & !said;
            }
            if let Some(session) = &mut self.session {
                session.watched = registered.watched;
            }
            // Noted last: where this breaks off, the next connection opens again what was open.
            registered.client = Some(client);
            return Ok(());
        }
        let (operation, status) = (Operation::CreateSession, Status::StaleClient);
        Err(Error::Nfs4 { operation, status })
    }

    /// A new registration, or the same once more where the server still has it. From 4.1 on also notes the number
    /// of its next CREATE_SESSION, which a server need say of a new one alone (RFC 8881, section 18.35).
    fn register(&mut self, registered: &mut Registered) -> Result<u64, Error> {
        let identity = self.identity.clone();
        let (owner, verifier) = (identity.name(), registered.verifier);
        if self.minor() == Minor::V0 {
            // Nobody listens there: a server that tries finds that it cannot give delegations.
            let (network, address) = (Short(b"tcp"), Short(b"0.0.0.0.0.0"));
            let set = SetClient { verifier, owner, program: 0, network, address, ident: 0 };
            let registration = self.alone(&set, |results| results.take::<SetClient<'_>>())?;
            self.alone(&registration, |results| results.take::<Registration>())?;
            return Ok(registration.client);
        }
        let exchange = ExchangeId { verifier, owner, flags: NO_PNFS };
        let ok = self.alone(&exchange, |results| results.take::<ExchangeId<'_>>())?;
        if !ok.is_confirmed() || registered.numbered != Some(ok.client) {
            (registered.numbered, registered.sequence) = (Some(ok.client), ok.sequence);
        }
        Ok(ok.client)
    }

    /// A session with the number `sequence`, which becomes that of the next one.
    fn create_session(&mut self, client: u64, sequence: &mut u32) -> Result<(), Error> {
        let most = LARGEST_TRANSFER + OVERHEAD;
        let fore = Channel {
            request_most: most,
            reply_most: most,
            kept_most: OVERHEAD,
            operations: OPERATIONS,
            slots: self.slots.get().into(),
        };
        let back = Channel {
            request_most: OVERHEAD,
            reply_most: OVERHEAD,
            kept_most: 0,
            operations: 2,
            slots: 1,
        };
        let create = CreateSession { client, sequence: *sequence, fore, back };
        let answer = self.alone(&create, |results| results.take::<CreateSession>());
        if is_numbered(&answer) {
            *sequence = sequence.wrapping_add(1);
        }
        let ok: CreateSessionOk = answer?;
        let smallest = ok.fore.request_most.min(ok.fore.reply_most);
        if ok.fore.slots == 0 || ok.fore.operations < 8 || smallest < OVERHEAD {
            return Err(XdrError::Invalid("session: too small for any call").into());
        }
        let (id, fore) = (ok.session, ok.fore);
        self.session = Some(Session { id, fore, sequence: 1, status: 0, watched: 0 });
        Ok(())
    }

    /// After a new registration: opens again what was open `before` the server restarted. Within its grace
    /// period it is the same file; later, and for a server only once nothing more is reclaimed, one that may
    /// be another's by now. That takes a name in 4.0, which may be another file's: there the file goes on
    /// as nobody's open file. What cannot be had again says so when it is used. Delegations that come with files
    /// are given back last, so that no file has to wait for that.
    fn recover(&mut self, before: bool) -> Result<(), Error> {
        let files = if before { self.identity.files() } else { Vec::new() };
        let (mut refused, mut given) = (Vec::new(), Vec::new());
        for file in files {
            if !self.reopen(&file, Claim::Previous, &mut given)? {
                refused.push(file);
            }
        }
        if self.minor() == Minor::V0 {
            refused.iter().for_each(|file| file.state().id = StateId::ANONYMOUS);
        } else {
            self.reclaimed()?;
            for file in refused {
                self.reopen(&file, Claim::Handle, &mut given)?;
            }
        }
        given.into_iter().try_for_each(|(file, given)| self.give_back(file, given))
    }

    /// Whether the server opens it again; a delegation that comes with it is added to those that are `given`.
    fn reopen(
        &mut self,
        file: &OpenFile,
        claim: Claim<'static>,
        given: &mut Vec<(FileHandle, Delegation)>,
    ) -> Result<bool, Error> {
        let access = self.access(file.access);
        let (minor, handle, identity) = (self.minor(), file.handle, self.identity.clone());
        let open = move |client, compound: &mut Compound<'_>| {
            // A server of 4.0 may have numbered a try that it has put off: another one is another owner's first.
            let owner = if minor == Minor::V0 { identity.next_owner() } else { file.owner };
            let owner = owner.for_client(client);
            let how = OpenHow::Existing;
            compound.add(&PutHandle { file: handle });
            compound.add(&Open { sequence: 0, access, deny: 0, owner, how, claim });
        };
        let read = |_, results: &mut Results<'_>| {
            results.take::<PutHandle>()?;
            results.take::<Open<'_>>()
        };
        let opened = self.patiently(open, read).and_then(|ok| {
            given.push((handle, ok.delegation));
            self.confirmed(handle, &ok)
        });
        match opened {
            Ok((id, sequence)) => {
                let id = id.in_calls(self.minor());
                let mut state = file.state();
                (state.id, state.sequence) = (id, sequence);
                Ok(true)
            }
            Err(Error::Nfs4 { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reclaimed(&mut self) -> Result<(), Error> {
        let complete = ReclaimComplete { one_file_system: false };
        let read = |_, results: &mut Results<'_>| results.take::<ReclaimComplete>();
        match self.once(
            |_, compound| {
                compound.add(&complete);
            },
            read,
        ) {
            Err(Error::Nfs4 { status: Status::CompleteAlready, .. }) => Ok(()),
            other => other,
        }
    }
}

/// Whether the server has counted a CREATE_SESSION: also what it refused, but not where it knows no such client, takes
/// no such number, or asks for the same call again later (RFC 8881, section 18.36.4).
fn is_numbered(answer: &Result<CreateSessionOk, Error>) -> bool {
    match answer {
        Ok(_) => true,
        Err(Error::Nfs4 { status: Status::StaleClient | Status::Misordered, .. }) => false,
        Err(Error::Nfs4 { status, .. }) => !status.is_later(),
        Err(_) => false,
    }
}
