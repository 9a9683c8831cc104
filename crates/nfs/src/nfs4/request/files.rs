//! Files that are opened, and small files whole: one compound or several, as the server wants it.

use super::{Building, Done, ExpectedReply, Other, Place, Step, read, write};
use crate::Error;
use crate::nfs3::Stability;
use crate::nfs4::attributes::Attributes;
use crate::nfs4::compound::Results;
use crate::nfs4::identity::OwnerName;
use crate::nfs4::opening::{
    BOTH_ACCESS, Claim, Close, ConfirmOpen, Delegation, Open, OpenHow, OpenOk, READ_ACCESS,
    WANT_NO_DELEGATION,
};
use crate::nfs4::operations::{GetAttributes, GetHandle, Read, ReturnDelegation};
use crate::nfs4::types::{FileHandle, Minor, StateId};

/// The bytes of a small file.
#[derive(Clone, Copy, Debug)]
pub(in crate::nfs4) enum Transfer {
    Put(u32, Stability),
    Get(u32),
}

/// A file that is open once that is confirmed.
#[derive(Debug)]
pub(in crate::nfs4) struct Opened {
    handle: FileHandle,
    attributes: Attributes,
    access: u32,
    owner: OwnerName,
    delegation: Delegation,
}

impl Building<'_, '_> {
    /// OPEN and GETFH; without a delegation, where that can be said.
    pub(super) fn open(&mut self, place: &Place<'_>, access: u32, how: OpenHow) -> OwnerName {
        self.put(place.directory);
        let name = self.identity.next_owner();
        let none = if self.identity.minor() == Minor::V0 { 0 } else { WANT_NO_DELEGATION };
        let (access, owner) = (access | none, name.for_client(self.client));
        let claim = Claim::Name(place.name);
        self.compound.add(&Open { sequence: 0, access, deny: 0, owner, how, claim });
        self.compound.add(&GetHandle);
        name
    }

    /// The bytes of a small file that is open, and its end.
    fn transfer(&mut self, transfer: Transfer, state: StateId, close: Close) {
        match transfer {
            Transfer::Put(0, _) => {}
            Transfer::Put(count, stability) => self.write(state, 0, count, stability),
            Transfer::Get(count) => {
                self.compound.add(&Read { state, offset: 0, count });
            }
        }
        self.compound.add(&close);
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
            self.transfer(transfer, state, Close { sequence: 0, state });
        }
        ExpectedReply::Whole(transfer)
    }

    pub(super) fn opened<'a>(
        &mut self,
        results: &mut Results<'_>,
        access: u32,
        owner: OwnerName,
    ) -> Result<Step<'a>, Error> {
        let ok = results.take::<Open<'_>>()?;
        let (handle, attributes) = (results.take::<GetHandle>()?, results.take::<GetAttributes>()?);
        let opened = Opened { handle, attributes, access, owner, delegation: ok.delegation };
        if ok.must_confirm(self.identity.minor()) {
            self.put(handle);
            self.compound.add(&ConfirmOpen { state: ok.state, sequence: 1 });
            return Ok(Step::Next(ExpectedReply::Confirm(Box::new(opened))));
        }
        Ok(self.noted(opened, ok.state, 1))
    }

    pub(super) fn confirmed<'a>(
        &mut self,
        results: &mut Results<'_>,
        opened: Opened,
    ) -> Result<Step<'a>, Error> {
        let state = results.take::<ConfirmOpen>()?;
        Ok(self.noted(opened, state, 2))
    }

    /// Notes a file that is open. Its delegation is given back before that is told: the server would call it
    /// back, and let whoever else wants the file wait for that.
    fn noted<'a>(&mut self, opened: Opened, state: StateId, sequence: u32) -> Step<'a> {
        let Opened { handle, attributes, access, owner, delegation } = opened;
        let file = self.identity.add(handle, access, owner, state, sequence);
        let done = Done::Other(Other::Opened(file, Box::new(attributes)));
        let Some(given) = delegation.0 else { return Step::Done(done) };
        self.put(handle);
        self.give_back(given);
        Step::Next(ExpectedReply::Return(Box::new(done)))
    }

    fn give_back(&mut self, given: StateId) {
        let state = given.in_calls(self.identity.minor());
        self.compound.add(&ReturnDelegation { state });
    }

    pub(super) fn whole_reply<'a>(
        &mut self,
        results: &mut Results<'a>,
        transfer: Transfer,
    ) -> Result<Step<'a>, Error> {
        let ok = results.take::<Open<'_>>()?;
        let file = results.take::<GetHandle>()?;
        let (minor, given) = (self.identity.minor(), ok.delegation.0);
        if minor == Minor::V0 {
            return Ok(Step::Next(self.rest(&ok, file, transfer)));
        }
        let next = match (transferred(results, transfer), transfer) {
            (Ok(done), _) if given.is_none() => return Ok(Step::Done(done)),
            (Err(error), _) => {
                // The compound ended before its CLOSE.
                self.put(file);
                let state = ok.state.in_calls(minor);
                self.compound.add(&Close { sequence: 0, state });
                ExpectedReply::Abandon(Box::new(error))
            }
            // The bytes do not outlast their reply: they are read once more, as those of nobody's open file.
            (Ok(_), Transfer::Get(count)) => {
                self.put(file);
                self.compound.add(&Read { state: StateId::ANONYMOUS, offset: 0, count });
                ExpectedReply::ReadAgain(count)
            }
            (Ok(Done::Write { count, committed, verifier }), _) => {
                self.put(file);
                ExpectedReply::Return(Box::new(Done::Write { count, committed, verifier }))
            }
            (Ok(_), _) => {
                self.put(file);
                ExpectedReply::Return(Box::new(Done::Changed))
            }
        };
        if let Some(given) = given {
            self.give_back(given);
        }
        Ok(Step::Next(next))
    }

    /// The bytes of a small file that is open, in 4.0.
    fn rest(&mut self, ok: &OpenOk, file: FileHandle, transfer: Transfer) -> ExpectedReply {
        self.put(file);
        let (mut state, mut sequence, confirms) = (ok.state, 1, ok.must_confirm(Minor::V0));
        if confirms {
            self.compound.add(&ConfirmOpen { state, sequence });
            // A state counts its changes, and confirming is one (RFC 7530, section 9.1.4.2).
            state.sequence = state.sequence.wrapping_add(1);
            sequence += 1;
        }
        self.transfer(transfer, state, Close { sequence, state });
        if let Some(given) = ok.delegation.0 {
            self.give_back(given);
        }
        ExpectedReply::Rest { transfer, confirms, gives_back: ok.delegation.0.is_some() }
    }
}

/// What came of the bytes of a small file, and of its end.
pub(super) fn transferred<'a>(
    results: &mut Results<'a>,
    transfer: Transfer,
) -> Result<Done<'a>, Error> {
    let done = match transfer {
        Transfer::Put(0, _) => Done::Changed,
        Transfer::Put(count, stability) => write(results, count, stability)?,
        Transfer::Get(count) => read(results, count)?,
    };
    results.take::<Close>()?;
    Ok(done)
}
