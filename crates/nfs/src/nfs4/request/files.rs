//! Files that are opened, and small files whole: one compound or several, as the server wants it. What is open at the
//! server does not stay so where something after its OPEN fails, and is not opened once more where that is put off.

use super::{Building, Done, ExpectedReply, Other, Place, Step, read, write};
use crate::Error;
use crate::nfs3::{Name, Stability};
use crate::nfs4::attributes::Attributes;
use crate::nfs4::compound::{Compound, Results};
use crate::nfs4::identity::OwnerName;
use crate::nfs4::names::OF_FILES;
use crate::nfs4::opening::{
    BOTH_ACCESS, Claim, Close, ConfirmOpen, Open, OpenHow, OpenOk, READ_ACCESS, WANT_NO_DELEGATION,
};
use crate::nfs4::operations::{
    GetAttributes, GetHandle, Lookup, PutHandle, Read, ReturnDelegation,
};
use crate::nfs4::types::{FileHandle, Minor, Operation, StateId};

/// The bytes of a small file.
#[derive(Clone, Copy, Debug)]
pub(in crate::nfs4) enum Transfer {
    Put(u32, Stability),
    Get(u32),
}

/// Where the file is that a call opens: it is found there to be closed, if the server refuses its handle.
#[derive(Debug, Default)]
pub(in crate::nfs4) struct KeptPlace {
    directory: Option<FileHandle>,
    name: String,
}

impl KeptPlace {
    /// One that allocates for no name.
    pub fn with_room() -> KeptPlace {
        KeptPlace { directory: None, name: String::with_capacity(Name::LONGEST) }
    }

    fn keep(&mut self, place: &Place<'_>) {
        self.directory = Some(place.directory);
        self.name.clear();
        self.name.push_str(place.name.as_str());
    }
}

/// A file that is open at the server, and is told of once that is confirmed and its attributes are known.
#[derive(Debug)]
pub(in crate::nfs4) struct Opened {
    handle: FileHandle,
    access: u32,
    owner: OwnerName,
    state: StateId,
    /// Number of the owner's next call (4.0).
    sequence: u32,
    /// Whether the open is still to be confirmed (4.0).
    confirms: bool,
    attributes: Option<Attributes>,
    /// A delegation that came with it.
    given: Option<StateId>,
}

impl Opened {
    /// Takes what came of a compound after its PUTFH, up to what failed.
    fn follow(&mut self, results: &mut Results<'_>) -> Result<(), Error> {
        if self.confirms {
            // What is refused or put off is counted, too (RFC 7530, section 9.1.7).
            self.sequence += 1;
            self.state = results.take::<ConfirmOpen>()?;
            self.confirms = false;
        }
        if self.attributes.is_none() {
            self.attributes = Some(results.take::<GetAttributes>()?);
        }
        Ok(())
    }
}

/// What is still to be done with a file that is open at the server, in this order, and then told.
#[derive(Debug)]
pub(in crate::nfs4) struct Rest {
    /// `None`: the server has refused its handle, and it is found by its name.
    file: Option<FileHandle>,
    state: StateId,
    /// Number of the owner's next call (4.0).
    sequence: u32,
    /// Whether the open is confirmed (4.0).
    confirms: bool,
    /// Bytes that are transferred.
    transfer: Option<Transfer>,
    closes: bool,
    /// A delegation that is given back.
    given: Option<StateId>,
    /// What is told, but for bytes that are read, which do not outlast their reply.
    told: Result<Done<'static>, Error>,
}

impl Rest {
    /// Closes a file whose handle the server has refused after its OPEN, and tells that.
    pub(in crate::nfs4) fn without_handle(ok: &OpenOk, minor: Minor, refused: Error) -> Rest {
        Rest {
            file: None,
            state: ok.state.in_calls(minor),
            sequence: 1,
            confirms: ok.must_confirm(minor),
            transfer: None,
            closes: true,
            given: ok.delegation.0,
            told: Err(refused),
        }
    }

    /// Adds the confirmation of the open, where that is due: what the file is open as then, and the number of its owner's
    /// next call.
    pub(in crate::nfs4) fn add_confirmation(&self, to: &mut Compound<'_>) -> (StateId, u32) {
        let Rest { mut state, sequence, .. } = *self;
        if !self.confirms {
            return (state, sequence);
        }
        to.add(&ConfirmOpen { state, sequence });
        // A state counts its changes, and confirming is one (RFC 7530, section 9.1.4.2).
        state.sequence = state.sequence.wrapping_add(1);
        (state, sequence + 1)
    }

    /// Adds its CLOSE and the return of its delegation, where they are due.
    pub(in crate::nfs4) fn add_end(
        &self,
        to: &mut Compound<'_>,
        minor: Minor,
        (state, sequence): (StateId, u32),
    ) {
        if self.closes {
            let sequence = if minor == Minor::V0 { sequence } else { 0 };
            to.add(&Close { sequence, state });
        }
        if let Some(given) = self.given {
            to.add(&ReturnDelegation { state: given.in_calls(minor) });
        }
    }

    /// Takes what came of a compound after its PUTFH, up to what failed: bytes that were read.
    pub(in crate::nfs4) fn follow<'a>(
        &mut self,
        results: &mut Results<'a>,
    ) -> Result<Option<Done<'a>>, Error> {
        if self.confirms {
            // What is refused or put off is counted, too (RFC 7530, section 9.1.7).
            self.sequence += 1;
            self.state = results.take::<ConfirmOpen>()?;
            self.confirms = false;
        }
        let mut bytes = None;
        match self.transfer {
            Some(Transfer::Get(count)) => bytes = Some(read(results, count)?),
            Some(Transfer::Put(0, _)) | None => self.transfer = None,
            Some(Transfer::Put(count, stability)) => {
                self.told = Ok(write(results, count, stability)?);
                self.transfer = None;
            }
        }
        if self.closes {
            self.sequence += 1;
            results.take::<Close>()?;
            self.closes = false;
        }
        if self.given.is_some() {
            match results.take_last::<ReturnDelegation>()? {
                Err(status) if status.is_later() => {
                    return Err(Error::Nfs4 { operation: Operation::ReturnDelegation, status });
                }
                // One that the server refuses to take, it has taken already.
                _ => self.given = None,
            }
        }
        Ok(bytes)
    }

    /// Leaves out what was refused, and what makes no sense without it. The first refusal is told.
    fn refused(&mut self, error: Error) {
        match &error {
            // Nothing can be done with the file.
            Error::Nfs4 {
                operation: Operation::Compound | Operation::PutHandle | Operation::Lookup,
                ..
            } => (self.closes, self.given) = (false, None),
            // What was not confirmed is not open.
            Error::Nfs4 { operation: Operation::ConfirmOpen | Operation::Close, .. } => {
                self.closes = false;
            }
            _ if self.transfer.is_some() => {}
            _ if self.closes => self.closes = false,
            _ => self.given = None,
        }
        (self.confirms, self.transfer) = (false, None);
        if self.told.is_ok() {
            self.told = Err(error);
        }
    }
}

impl Building<'_, '_> {
    /// OPEN and GETFH; without a delegation, where that can be said.
    pub(super) fn open(&mut self, place: &Place<'_>, access: u32, how: OpenHow) -> OwnerName {
        self.place.keep(place);
        self.put(place.directory);
        let name = self.identity.next_owner();
        let none = if self.identity.minor() == Minor::V0 { 0 } else { WANT_NO_DELEGATION };
        let (access, owner) = (access | none, name.for_client(self.client));
        let claim = Claim::Name(place.name);
        self.compound.add(&Open { sequence: 0, access, deny: 0, owner, how, claim });
        self.compound.add(&GetHandle);
        name
    }

    /// The bytes of a small file that is open.
    fn transfer(&mut self, transfer: Transfer, state: StateId) {
        match transfer {
            Transfer::Put(0, _) => {}
            Transfer::Put(count, stability) => self.write(state, 0, count, stability),
            Transfer::Get(count) => {
                self.compound.add(&Read { state, offset: 0, count });
            }
        }
    }

    pub(super) fn whole(
        &mut self,
        place: &Place<'_>,
        transfer: Transfer,
        how: OpenHow,
    ) -> ExpectedReply {
        let access = if matches!(transfer, Transfer::Put(..)) { BOTH_ACCESS } else { READ_ACCESS };
        self.open(place, access, how);
        if self.identity.minor() != Minor::V0 {
            let state = StateId::CURRENT;
            self.transfer(transfer, state);
            self.compound.add(&Close { sequence: 0, state });
        }
        ExpectedReply::Whole(transfer)
    }

    /// What came of the first compound of a small file.
    pub(super) fn whole_reply<'a>(
        &mut self,
        results: &mut Results<'a>,
        transfer: Transfer,
    ) -> Result<Step<'a>, Error> {
        let ok = results.take::<Open<'_>>()?;
        let file = match results.take::<GetHandle>() {
            Ok(file) => file,
            Err(error) => return self.without_handle(&ok, error),
        };
        let (minor, given) = (self.identity.minor(), ok.delegation.0);
        let mut rest = Rest {
            file: Some(file),
            state: ok.state.in_calls(minor),
            sequence: 1,
            confirms: ok.must_confirm(minor),
            transfer: Some(transfer),
            closes: true,
            given: None,
            told: Ok(Done::Changed),
        };
        if minor == Minor::V0 {
            rest.given = given;
            return self.goes_on(rest, false);
        }
        let followed = rest.follow(results);
        rest.given = given;
        self.followed(rest, followed)
    }

    /// What came of one of those after it.
    pub(super) fn rest_reply<'a>(&mut self, results: &mut Results<'a>) -> Result<Step<'a>, Error> {
        let mut rest = self.rest.take().ok_or(Error::UnknownTransaction(0))?;
        let put = results.take::<PutHandle>();
        let found = match rest.file {
            Some(_) => put,
            None => put.and_then(|()| results.take::<Lookup<'_>>()),
        };
        let followed = found.and_then(|()| rest.follow(results));
        self.followed(rest, followed)
    }

    fn followed<'a>(
        &mut self,
        mut rest: Rest,
        followed: Result<Option<Done<'a>>, Error>,
    ) -> Result<Step<'a>, Error> {
        let mut is_later = false;
        match followed {
            Ok(bytes) if rest.given.is_none() => {
                return rest.told.map(|told| Step::Done(bytes.unwrap_or(told)));
            }
            Ok(_) => {}
            Err(Error::Nfs4 { status, .. }) if status.is_later() => is_later = true,
            Err(error) if self.is_forgotten(&error) => return Err(error),
            Err(error) => rest.refused(error),
        }
        self.goes_on(rest, is_later)
    }

    /// Builds what is left to be done with a file: at once, or later. Where nothing is, the end is told.
    fn goes_on<'a>(&mut self, rest: Rest, is_later: bool) -> Result<Step<'a>, Error> {
        if !rest.closes && rest.given.is_none() {
            return rest.told.map(Step::Done);
        }
        match rest.file {
            Some(file) => self.put(file),
            None => self.put_by_name(),
        }
        let (state, sequence) = rest.add_confirmation(&mut self.compound);
        if let Some(transfer) = rest.transfer {
            // What is closed is read once more as nobody's open file.
            let state = if rest.closes { state } else { StateId::ANONYMOUS };
            self.transfer(transfer, state);
        }
        rest.add_end(&mut self.compound, self.identity.minor(), (state, sequence));
        *self.rest = Some(rest);
        Ok(Step::of(ExpectedReply::Rest, is_later))
    }

    /// PUTFH and LOOKUP of the file that the call has opened.
    fn put_by_name(&mut self) {
        if let (Some(file), Some(name)) = (self.place.directory, Name::new(&self.place.name)) {
            self.compound.add(&PutHandle { file }).add(&Lookup { name });
        }
    }

    /// Closes a file whose handle was refused after it was opened; then that is told.
    fn without_handle<'a>(&mut self, ok: &OpenOk, error: Error) -> Result<Step<'a>, Error> {
        let is_refused = matches!(error, Error::Nfs4 { operation: Operation::GetHandle, .. });
        if !is_refused || self.is_forgotten(&error) {
            return Err(error);
        }
        self.goes_on(Rest::without_handle(ok, self.identity.minor(), error), false)
    }

    /// What came of the compound that opens a file.
    pub(super) fn opened<'a>(
        &mut self,
        results: &mut Results<'_>,
        access: u32,
        owner: OwnerName,
    ) -> Result<Step<'a>, Error> {
        let ok = results.take::<Open<'_>>()?;
        let handle = match results.take::<GetHandle>() {
            Ok(handle) => handle,
            Err(error) => return self.without_handle(&ok, error),
        };
        let (known, attributes) = match results.take::<GetAttributes>() {
            Ok(attributes) => (Ok(()), Some(attributes)),
            Err(error) => (Err(error), None),
        };
        let opened = Opened {
            handle,
            access,
            owner,
            state: ok.state,
            sequence: 1,
            confirms: ok.must_confirm(self.identity.minor()),
            attributes,
            given: ok.delegation.0,
        };
        self.known(opened, known)
    }

    /// What came of one of those after it.
    pub(super) fn opened_reply<'a>(
        &mut self,
        results: &mut Results<'_>,
        mut opened: Opened,
    ) -> Result<Step<'a>, Error> {
        let known = results.take::<PutHandle>().and_then(|()| opened.follow(results));
        self.known(opened, known)
    }

    fn known<'a>(&mut self, opened: Opened, known: Result<(), Error>) -> Result<Step<'a>, Error> {
        let mut is_later = false;
        match known {
            Ok(()) if !opened.confirms => return self.noted(opened),
            Ok(()) => {}
            Err(Error::Nfs4 { status, .. }) if status.is_later() => is_later = true,
            Err(error) if self.is_forgotten(&error) => return Err(error),
            Err(error) => return self.abandoned(opened, error),
        }
        self.put(opened.handle);
        if opened.confirms {
            let (state, sequence) = (opened.state, opened.sequence);
            self.compound.add(&ConfirmOpen { state, sequence });
        }
        if opened.attributes.is_none() {
            self.compound.add(&OF_FILES);
        }
        Ok(Step::of(ExpectedReply::Opened(Box::new(opened)), is_later))
    }

    /// Notes a file that is open. Its delegation is given back before that is told: the server would call it
    /// back, and let whoever else wants the file wait for that.
    fn noted<'a>(&mut self, opened: Opened) -> Result<Step<'a>, Error> {
        let Opened { handle, access, owner, state, sequence, attributes, given, .. } = opened;
        let open = self.identity.add(handle, access, owner, state, sequence);
        let attributes = Box::new(attributes.unwrap_or_default());
        let (confirms, transfer, closes) = (false, None, false);
        let told = Ok(Done::Other(Other::Opened(open, attributes)));
        let file = Some(handle);
        let rest = Rest { file, state, sequence, confirms, transfer, closes, given, told };
        self.goes_on(rest, false)
    }

    /// Closes a file of which something was refused after it was opened; then that is told.
    fn abandoned<'a>(&mut self, opened: Opened, error: Error) -> Result<Step<'a>, Error> {
        let Opened { handle, sequence, confirms, given, .. } = opened;
        let file = Some(handle);
        let state = opened.state.in_calls(self.identity.minor());
        let (transfer, closes, told) = (None, true, Ok(Done::Changed));
        let mut rest = Rest { file, state, sequence, confirms, transfer, closes, given, told };
        match error {
            Error::Nfs4 {
                operation: Operation::Compound | Operation::PutHandle | Operation::ConfirmOpen,
                ..
            } => rest.refused(error),
            error => rest.told = Err(error),
        }
        self.goes_on(rest, false)
    }

    /// Whether the server has forgotten the registration, and with it what is open: without a session, that shows
    /// here.
    fn is_forgotten(&self, error: &Error) -> bool {
        let is_lost = matches!(error, Error::Nfs4 { status, .. } if status.is_session_lost());
        is_lost && self.identity.minor() == Minor::V0
    }
}
