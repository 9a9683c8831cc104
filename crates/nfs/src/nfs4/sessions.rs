//! Registering a client, and sessions (RFC 8881, sections 18.35 to 18.51; RFC 7530, sections 16.33
//! and 16.34).

use super::client::OVERHEAD;
use super::operations::operation;
use super::types::{Fixed, SessionId, Short};
use crate::nfs3::Verifier;
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Neither a client nor a server of pNFS (EXCHGID4_FLAG_USE_NON_PNFS).
pub const NO_PNFS: u32 = 0x0001_0000;
/// The registration has had a session (EXCHGID4_FLAG_CONFIRMED_R).
const CONFIRMED: u32 = 0x8000_0000;

/// EXCHANGE_ID, without protection of state and without a name of the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeId<'a> {
    /// Changes when the client restarts.
    pub verifier: Verifier,
    /// The client's own name.
    pub owner: Short<'a>,
    /// What it is, as bits.
    pub flags: u32,
}

impl Encode for ExchangeId<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.value(&self.verifier);
        to.value(&self.owner);
        to.u32(self.flags);
        to.u32(0); // SP4_NONE
        to.u32(0); // no implementation
    }
}

impl<'a> Decode<'a> for ExchangeId<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let (verifier, owner, flags) = (from.value()?, from.value()?, from.u32()?);
        match (from.u32()?, from.u32()?) {
            (0, 0) => Ok(ExchangeId { verifier, owner, flags }),
            _ => Err(Error::Invalid("EXCHANGE_ID of this client: protection")),
        }
    }
}

/// What EXCHANGE_ID gives; who the server is, is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeIdOk {
    /// The registration.
    pub client: u64,
    /// Number of the first CREATE_SESSION; nothing where the registration is confirmed.
    pub sequence: u32,
    /// What the server is, as bits.
    pub flags: u32,
}

impl ExchangeIdOk {
    /// Whether the registration has had a session: then its client knows the number of the next one.
    pub(super) fn is_confirmed(&self) -> bool {
        self.flags & CONFIRMED != 0
    }
}

impl Encode for ExchangeIdOk {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(self.client);
        to.u32(self.sequence);
        to.u32(self.flags);
        to.u32(0); // SP4_NONE
        to.u64(0);
        (0..3).for_each(|_| to.u32(0));
    }
}

impl Decode<'_> for ExchangeIdOk {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let ok = ExchangeIdOk { client: from.u64()?, sequence: from.u32()?, flags: from.u32()? };
        match from.u32()? {
            0 => {}
            value => {
                return Err(Error::Unknown {
                    what: "state protection that was not requested",
                    value,
                });
            }
        }
        from.u64()?; // so_minor_id
        from.value::<Short<'_>>()?; // so_major_id
        from.value::<Short<'_>>()?; // eir_server_scope
        match from.u32()? {
            0 => {}
            1 => {
                from.opaque(u32::MAX)?; // its domain
                from.opaque(u32::MAX)?; // its name
                from.u64()?;
                from.u32()?;
            }
            length => return Err(Error::TooLong { length, limit: 1 }),
        }
        Ok(ok)
    }
}

/// Limits of one direction of a session (channel_attrs4), without RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Longest call in bytes.
    pub request_most: u32,
    /// Longest reply in bytes.
    pub reply_most: u32,
    /// Longest reply that is kept to be repeated, in bytes.
    pub kept_most: u32,
    /// Most operations in a compound.
    pub operations: u32,
    /// Slots.
    pub slots: u32,
}

impl Channel {
    /// Longest READ in bytes: what else is in a reply has its own space.
    pub fn largest_read(&self) -> u32 {
        self.reply_most.saturating_sub(OVERHEAD).max(1)
    }

    /// Longest WRITE in bytes.
    pub fn largest_write(&self) -> u32 {
        self.request_most.saturating_sub(OVERHEAD).max(1)
    }
}

impl Encode for Channel {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(0);
        for word in [self.request_most, self.reply_most, self.kept_most] {
            to.u32(word);
        }
        to.u32(self.operations);
        to.u32(self.slots);
        to.u32(0);
    }
}

impl Decode<'_> for Channel {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u32()?; // padding of headers, for RDMA
        let channel = Channel {
            request_most: from.u32()?,
            reply_most: from.u32()?,
            kept_most: from.u32()?,
            operations: from.u32()?,
            slots: from.u32()?,
        };
        match from.u32()? {
            0 => {}
            1 => drop(from.u32()?),
            length => return Err(Error::TooLong { length, limit: 1 }),
        }
        Ok(channel)
    }
}

/// CREATE_SESSION, without callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateSession {
    /// The registration.
    pub client: u64,
    /// Number of this call.
    pub sequence: u32,
    /// From client to server.
    pub fore: Channel,
    /// Back.
    pub back: Channel,
}

impl Encode for CreateSession {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(self.client);
        to.u32(self.sequence);
        to.u32(0); // neither persistent nor with callbacks
        to.value(&self.fore);
        to.value(&self.back);
        to.u32(0); // the program that would be called back
        to.u32(1);
        to.u32(0); // and how: AUTH_NONE
    }
}

impl Decode<'_> for CreateSession {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let (client, sequence, flags) = (from.u64()?, from.u32()?, from.u32()?);
        let (fore, back) = (from.value()?, from.value()?);
        match (flags, from.u32()?, from.u32()?, from.u32()?) {
            (0, 0, 1, 0) => Ok(CreateSession { client, sequence, fore, back }),
            _ => Err(Error::Invalid("CREATE_SESSION of this client: callbacks")),
        }
    }
}

wire! {
    /// What CREATE_SESSION gives.
    pub struct CreateSessionOk {
        /// The session.
        pub session: SessionId,
        /// Number of the call.
        pub sequence: u32,
        /// What it has, as bits.
        pub flags: u32,
        /// From client to server.
        pub fore: Channel,
        /// Back.
        pub back: Channel,
    }
}

wire! {
    /// DESTROY_SESSION.
    pub struct DestroySession {
        /// The session.
        pub session: SessionId,
    }
}

wire! {
    /// DESTROY_CLIENTID.
    pub struct DestroyClient {
        /// The registration.
        pub client: u64,
    }
}

wire! {
    /// SEQUENCE.
    pub struct Sequence {
        /// The session.
        pub session: SessionId,
        /// Number of the call in its slot.
        pub sequence: u32,
        /// The slot.
        pub slot: u32,
        /// The highest slot in use.
        pub highest_slot: u32,
        /// Whether the reply is to be kept to be repeated.
        pub keep: bool,
    }
}

wire! {
    /// What SEQUENCE gives.
    pub struct SequenceOk {
        /// The session.
        pub session: SessionId,
        /// Number of the call in its slot.
        pub sequence: u32,
        /// The slot.
        pub slot: u32,
        /// The highest slot that the server takes.
        pub highest_slot: u32,
        /// The highest slot that the server wants to be used.
        pub target_highest_slot: u32,
        /// What has happened to what the client has open, as bits.
        pub status: u32,
    }
}

wire! {
    /// RECLAIM_COMPLETE.
    pub struct ReclaimComplete {
        /// Of one file system alone.
        pub one_file_system: bool,
    }
}

wire! {
    /// SETCLIENTID (4.0). The server would call back by TCP.
    pub struct SetClient<'a> {
        /// Changes when the client restarts.
        pub verifier: Verifier,
        /// The client's own name.
        pub owner: Short<'a>,
        /// The program that would be called back.
        pub program: u32,
        /// The kind of network.
        pub network: Short<'a>,
        /// The address there.
        pub address: Short<'a>,
        /// Which registration a call back is about.
        pub ident: u32,
    }
}

wire! {
    /// What SETCLIENTID gives, and SETCLIENTID_CONFIRM takes (4.0).
    pub struct Registration {
        /// The registration.
        pub client: u64,
        /// Confirms it.
        pub confirm: Fixed<8>,
    }
}

wire! {
    /// RENEW (4.0).
    pub struct Renew {
        /// The registration.
        pub client: u64,
    }
}

operation! {
    ExchangeId<'_> = ExchangeId -> ExchangeIdOk;
    CreateSession = CreateSession -> CreateSessionOk;
    DestroySession = DestroySession -> ();
    DestroyClient = DestroyClient -> ();
    Sequence = Sequence -> SequenceOk;
    ReclaimComplete = ReclaimComplete -> ();
    SetClient<'_> = SetClient -> Registration;
    Registration = ConfirmClient -> ();
    Renew = Renew -> ();
}
