//! Who a client is to its server, for all of its connections, and what it has open there.

use super::opening::{Close, StateOwner};
use super::revoked::Revoked;
use super::types::{FileHandle, Minor, Short, StateId};
use crate::nfs3::Verifier;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A client of one server: one name and one registration for all of its connections, so that a file
/// that is opened on one of them is open on all. Its name is random: two of them share nothing.
#[derive(Debug)]
pub struct Identity {
    minor: Minor,
    name: String,
    registered: Mutex<Registered>,
    losses: Mutex<Losses>,
    files: Mutex<Vec<Weak<OpenFile>>>,
    next_owner: AtomicU64,
}

/// How the server has registered it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registered {
    pub client: Option<u64>,
    /// Changes when the client begins anew: then the server forgets what it had before.
    pub verifier: Verifier,
    /// The registration that `sequence` is of (4.1). It outlasts `client`: a server that still has it gives it again.
    pub numbered: Option<u64>,
    /// Number of the next CREATE_SESSION.
    pub sequence: u32,
    /// Whether it has been registered before: then there may be something to reclaim.
    pub before: bool,
    /// The bits of SEQUENCE by which the server says that it has revoked open files (4.1).
    pub watched: u32,
}

/// Open files that the server has revoked.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// The registration that they were open under, until it is given up.
    client: Option<u64>,
    /// Until it is told.
    untold: Option<Revoked>,
}

impl Identity {
    /// One that no server knows yet.
    pub fn new(minor: Minor) -> Arc<Identity> {
        let random = || RandomState::new().hash_one(0u8);
        Arc::new(Identity {
            minor,
            name: format!("plimsoll {:016x}{:016x}", random(), random()),
            registered: Mutex::new(Registered {
                verifier: Verifier(random()),
                ..Registered::default()
            }),
            losses: Mutex::default(),
            files: Mutex::default(),
            next_owner: AtomicU64::new(1),
        })
    }

    /// The minor version that it speaks.
    pub fn minor(&self) -> Minor {
        self.minor
    }

    pub(super) fn name(&self) -> Short<'_> {
        Short(self.name.as_bytes())
    }

    pub(super) fn registered(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn losses(&self) -> MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server says that it has revoked open files of a registration: the next connection begins another
    /// one. Noted apart from that, which is held for as long as a server may be away.
    #[cold]
    pub(super) fn revoked(&self, client: u64, what: Revoked) {
        *self.losses() = Losses { client: Some(client), untold: Some(what) };
    }

    /// Gives up a registration whose open files the server has revoked.
    pub(super) fn give_up_revoked(&self, registered: &mut Registered) {
        let lost = self.losses().client.take();
        if lost.is_some() && lost == registered.client {
            registered.client = None;
            registered.verifier.0 = registered.verifier.0.wrapping_add(1);
        }
    }

    /// Open files that the server has revoked since this was asked last.
    pub fn take_revoked(&self) -> Option<Revoked> {
        self.losses().untold.take()
    }

    /// An owner for one open file, never used before. With one for each, closing a file closes no
    /// other, and no two calls of an owner have to wait for each other.
    pub(super) fn next_owner(&self) -> OwnerName {
        OwnerName(self.next_owner.fetch_add(1, Ordering::Relaxed).to_be_bytes())
    }

    /// Adds a file that has been opened, to be reclaimed after a restart of the server. `state` is the server's,
    /// `sequence` the number of the owner's next call (4.0).
    pub(super) fn add(
        &self,
        handle: FileHandle,
        access: u32,
        owner: OwnerName,
        state: StateId,
        sequence: u32,
    ) -> Arc<OpenFile> {
        let id = state.in_calls(self.minor);
        let state = Mutex::new(OpenState { id, sequence, closed: false });
        let file = Arc::new(OpenFile { handle, access, owner, state });
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() == files.capacity() {
            files.retain(|file| file.strong_count() > 0);
        }
        files.push(Arc::downgrade(&file));
        file
    }

    /// The files that are open.
    pub(super) fn files(&self) -> Vec<Arc<OpenFile>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|file| file.strong_count() > 0);
        files.iter().filter_map(Weak::upgrade).filter(|file| !file.state().closed).collect()
    }
}

/// The name of who has one file open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnerName(pub [u8; 8]);

impl OwnerName {
    /// As OPEN says it.
    pub fn for_client(&self, client: u64) -> StateOwner<'_> {
        StateOwner { client, owner: Short(&self.0) }
    }
}

/// A file that is open at the server, for all connections of an [`Identity`].
#[derive(Debug)]
pub struct OpenFile {
    /// Its handle.
    pub handle: FileHandle,
    pub(super) access: u32,
    pub(super) owner: OwnerName,
    state: Mutex<OpenState>,
}

/// What changes of an open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenState {
    /// What calls name it by.
    pub id: StateId,
    /// Number of the owner's next call (4.0).
    pub sequence: u32,
    pub closed: bool,
}

impl OpenFile {
    pub(super) fn state(&self) -> MutexGuard<'_, OpenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What READ and WRITE name it by.
    #[inline]
    pub fn state_id(&self) -> StateId {
        self.state().id
    }

    /// Whether the server knows that it is open. It does not where it has lost that in a restart and refused
    /// to have it back (4.0): then the file is read and written as nobody's open file.
    pub fn is_open(&self) -> bool {
        self.state_id() != StateId::ANONYMOUS
    }

    /// The number of the owner's next call (4.0).
    pub(super) fn next_sequence(&self) -> u32 {
        let mut state = self.state();
        state.sequence = state.sequence.wrapping_add(1);
        state.sequence.wrapping_sub(1)
    }

    /// What closes it: once, as each try is numbered in 4.0 and it is not reclaimed any more.
    pub(super) fn close(&self, minor: Minor) -> Close {
        let mut state = self.state();
        state.closed = true;
        let sequence = if minor == Minor::V0 { state.sequence } else { 0 };
        state.sequence = state.sequence.wrapping_add(1);
        Close { sequence, state: state.id }
    }
}
