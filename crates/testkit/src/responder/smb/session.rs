//! One connection: what is agreed on, who logs in, and how messages are signed (MS-SMB2, section 3.3.5).

use super::files::Files;
use super::request::{HEADER, Request, u16_at, u32_at};
use super::{SHARE, Shared, Status, login, reply, request};
use crate::responder::connection::Answer;
use plimsoll_smb::{Signer, SigningAlgorithm};
use smb2::crypto::kdf::{PreauthHasher, sp800_108_kdf};
use std::sync::Arc;

/// Commands (MS-SMB2, section 2.2.1.2).
mod command {
    pub const NEGOTIATE: u16 = 0;
    pub const SESSION_SETUP: u16 = 1;
    pub const LOGOFF: u16 = 2;
    pub const TREE_CONNECT: u16 = 3;
    pub const TREE_DISCONNECT: u16 = 4;
    pub const CANCEL: u16 = 12;
    pub const ECHO: u16 = 13;
}

/// Dialect 3.1.1.
const DIALECT: u16 = 0x0311;
/// Signing is required of both sides (section 2.2.4).
const SIGNING_REQUIRED: u8 = 3;
const CONTEXT_SIGNING: u16 = 8;
const SESSION: u64 = 0x51;
const TREE: u32 = 0x77;
/// Most credits granted in a reply.
const CREDITS: u16 = 8192;

const REPLY: u32 = 1;
const RELATED: u32 = 4;

/// How far it has come.
enum Phase {
    /// Nothing has been agreed on.
    New,
    /// It is agreed how messages will be signed; the user may have been challenged.
    Agreed(SigningAlgorithm),
    /// The user is known, and messages are signed.
    Known(Signer),
    /// The server has ended it, and has no keys any more.
    Ended,
}

pub(super) struct Session {
    shared: Arc<Shared>,
    /// How often all sessions had been ended when it began.
    life: u64,
    phase: Phase,
    /// Of all messages until the user is known.
    preauth: PreauthHasher,
    /// Whether the share is connected to.
    connected: bool,
    files: Files,
}

impl Session {
    pub fn new(shared: Arc<Shared>) -> Session {
        Session {
            life: shared.life(),
            shared,
            phase: Phase::New,
            preauth: PreauthHasher::new(),
            connected: false,
            files: Files::default(),
        }
    }

    /// Answers a frame, which may be a compound. What no client sends breaks the connection.
    pub fn answer(&mut self, mut frame: &mut [u8], replies: &mut Vec<u8>) -> Answer {
        if self.life != self.shared.life() {
            self.phase = Phase::Ended;
        }
        let begin = replies.len();
        let mut last = None;
        loop {
            let next = match u32_at(frame, 20) {
                Some(next) if frame.starts_with(b"\xfeSMB") && frame.len() > HEADER => {
                    next as usize
                }
                _ => return Answer::Cut,
            };
            let whole = next == 0;
            let length = if whole { frame.len() } else { next };
            if length <= HEADER || length > frame.len() || !(whole || next.is_multiple_of(8)) {
                return Answer::Cut;
            }
            let (message, rest) = frame.split_at_mut(length);
            if last.is_some() {
                // Each part of a compound lies at a multiple of eight.
                replies.resize(begin + (replies.len() - begin).next_multiple_of(8), 0);
            }
            let at = replies.len();
            match self.message(message, replies) {
                Some(true) => {
                    if let Some(before) = last.replace(at) {
                        self.link(before, at, replies);
                    }
                }
                Some(false) => {}
                None => return Answer::Cut,
            }
            if whole {
                break;
            }
            frame = rest;
        }
        if let Some(last) = last {
            self.sign(&mut replies[last..]);
        }
        // CANCEL alone is not answered.
        if replies.len() == begin { Answer::Nothing } else { Answer::Reply }
    }

    /// Says where the next part of a compound lies, and signs the one before with its padding.
    fn link(&self, before: usize, at: usize, replies: &mut [u8]) {
        let distance = (at - before) as u32;
        replies[before + 20..before + 24].copy_from_slice(&distance.to_le_bytes());
        self.sign(&mut replies[before..at]);
    }

    fn sign(&self, message: &mut [u8]) {
        if let Phase::Known(signer) = &self.phase {
            signer.sign(message);
        }
    }

    /// Appends the reply to one request; whether there is one. `None`: nobody sends such a thing.
    fn message(&mut self, message: &mut [u8], replies: &mut Vec<u8>) -> Option<bool> {
        let flags = u32_at(message, 16)?;
        let command = u16_at(message, 12)?;
        if flags & REPLY != 0 {
            return None;
        }
        if let Phase::Known(signer) = &self.phase {
            signer.verify(message).ok()?;
        }
        if command == command::CANCEL {
            return Some(false);
        }
        if matches!(command, command::NEGOTIATE | command::SESSION_SETUP) {
            self.preauth.update(message);
        }
        let asked = Request(message);
        let at = replies.len();
        replies.resize(at + HEADER, 0);
        let related = flags & RELATED != 0;
        let status = match self.perform(command, related, asked, replies) {
            Ok(status) => status,
            Err(status) => {
                replies.truncate(at + HEADER);
                replies.extend(reply::error());
                status
            }
        };
        let header = &mut replies[at..at + HEADER];
        header[..6].copy_from_slice(b"\xfeSMB\x40\0");
        header[6..8].copy_from_slice(&asked.0[6..8]);
        header[8..12].copy_from_slice(&status.0.to_le_bytes());
        header[12..14].copy_from_slice(&command.to_le_bytes());
        let wanted = u16_at(asked.0, 14)?.clamp(1, CREDITS);
        header[14..16].copy_from_slice(&wanted.to_le_bytes());
        header[16..20].copy_from_slice(&(REPLY | flags & RELATED).to_le_bytes());
        header[24..32].copy_from_slice(&asked.0[24..32]);
        if command > command::SESSION_SETUP {
            header[36..40].copy_from_slice(&TREE.to_le_bytes());
        }
        if command != command::NEGOTIATE {
            header[40..48].copy_from_slice(&SESSION.to_le_bytes());
        }
        let more = matches!(status, Status::MORE_PROCESSING);
        if command == command::NEGOTIATE || command == command::SESSION_SETUP && more {
            self.preauth.update(&replies[at..]);
        }
        Some(true)
    }

    /// Does what is asked for, and appends what follows the header.
    fn perform(
        &mut self,
        command: u16,
        related: bool,
        asked: Request<'_>,
        to: &mut Vec<u8>,
    ) -> Result<Status, Status> {
        const DONE: Status = Status(0);
        match (command, &self.phase) {
            (command::NEGOTIATE, Phase::New) => {
                let signing = signing(asked, self.shared.signing)?;
                let chosen = [&[1, 0][..], &signing_id(signing).to_le_bytes()].concat();
                let contexts = [reply::preauth_context(), (CONTEXT_SIGNING, chosen)];
                let begin = to.len();
                to.extend(reply::negotiate(DIALECT, &contexts));
                to[begin + 2] = SIGNING_REQUIRED;
                self.phase = Phase::Agreed(signing);
                return Ok(DONE);
            }
            (command::SESSION_SETUP, Phase::Agreed(signing)) => {
                let token = asked.part(asked.u16(76)?, asked.u16(78)?.into())?;
                if token.starts_with(b"NTLMSSP\0\x01") {
                    to.extend(reply::session_setup(0, &login::challenge()));
                    return Ok(Status::MORE_PROCESSING);
                }
                let key = login::session_key(token).ok_or(Status::LOGON_FAILURE)?;
                let key = sp800_108_kdf(&key, b"SMBSigningKey\0", self.preauth.value(), 128);
                let signer = Signer::new(*signing, &key).map_err(|_| Status::LOGON_FAILURE)?;
                self.phase = Phase::Known(signer.of_server());
                to.extend(reply::session_setup(0, &[]));
                return Ok(DONE);
            }
            (_, Phase::Known(_)) => {}
            (_, Phase::Ended) => return Err(Status::NO_SESSION),
            _ => return Err(Status::ACCESS_DENIED),
        }
        // Related requests are about the session and the share of those before them.
        if !related && asked.u64(40)? != SESSION {
            return Err(Status::NO_SESSION);
        }
        match command {
            command::TREE_CONNECT => {
                let path = request::text(asked.part(asked.u16(68)?, asked.u16(70)?.into())?);
                let share = path.rsplit('\\').next().unwrap_or_default();
                if !share.eq_ignore_ascii_case(SHARE) {
                    return Err(Status::NO_SUCH_SHARE);
                }
                self.connected = true;
                to.extend(reply::tree_connect());
            }
            command::TREE_DISCONNECT | command::LOGOFF => {
                self.connected = false;
                to.extend(reply::empty());
            }
            command::ECHO => to.extend(reply::empty()),
            _ if !self.connected || !related && asked.u32(36)? != TREE => {
                return Err(Status::NO_TREE);
            }
            _ => self.files.perform(command, related, asked, &mut self.shared.tree(), to)?,
        }
        Ok(DONE)
    }
}

fn signing_id(algorithm: SigningAlgorithm) -> u16 {
    match algorithm {
        SigningAlgorithm::HmacSha256 => 0,
        SigningAlgorithm::AesCmac => 1,
        SigningAlgorithm::AesGmac => 2,
    }
}

/// How messages of this client will be signed (NEGOTIATE, section 2.2.3), if it speaks the dialect: as is
/// preferred where it has that.
fn signing(asked: Request<'_>, preferred: SigningAlgorithm) -> Result<SigningAlgorithm, Status> {
    let dialects = asked.part(100, u32::from(asked.u16(66)?) * 2)?;
    if !dialects.chunks_exact(2).any(|dialect| dialect == DIALECT.to_le_bytes()) {
        return Err(Status::NOT_SUPPORTED);
    }
    let (mut at, count) = (asked.u32(92)? as usize, asked.u16(96)?);
    for _ in 0..count {
        let context = asked.0.get(at..).ok_or(Status::INVALID)?;
        let (kind, length) = (u16_at(context, 0), u16_at(context, 2));
        let (Some(kind), Some(length)) = (kind, length) else { return Err(Status::INVALID) };
        if kind == CONTEXT_SIGNING {
            let known = request::bytes(context, 8, length.into()).ok_or(Status::INVALID)?;
            let mut ids = known.get(2..).unwrap_or(&[]).chunks_exact(2);
            if ids.any(|id| id == signing_id(preferred).to_le_bytes()) {
                return Ok(preferred);
            }
        }
        at = (at + 8 + usize::from(length)).next_multiple_of(8);
    }
    Ok(SigningAlgorithm::AesCmac)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responder::Costs;
    use proptest::prelude::*;

    const KEY: [u8; 16] = [7; 16];

    fn new() -> Session {
        Session::new(Arc::new(Shared::new(SigningAlgorithm::AesGmac, Costs::FREE)))
    }

    /// A session whose user is known, with a file that is open under number 1, and who signs for the user.
    fn known() -> (Session, Signer) {
        let signer = || Signer::new(SigningAlgorithm::AesGmac, &KEY).unwrap();
        let phase = Phase::Known(signer().of_server());
        let mut session = Session { phase, connected: true, ..new() };
        let mut create = vec![0; 57];
        create[36] = 2; // FILE_CREATE
        create[44] = 120;
        create[46] = 2;
        create[56] = b'f';
        create.push(0);
        let status = answered(&mut session, &signer(), message(5, 0, &create));
        assert_eq!(status, Some(0));
        (session, signer())
    }

    fn message(command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
        let mut message = vec![0; HEADER];
        message[..6].copy_from_slice(b"\xfeSMB\x40\0");
        message[12..14].copy_from_slice(&command.to_le_bytes());
        message[16..20].copy_from_slice(&flags.to_le_bytes());
        message[36..40].copy_from_slice(&TREE.to_le_bytes());
        message[40..48].copy_from_slice(&SESSION.to_le_bytes());
        message.extend_from_slice(body);
        message
    }

    /// The status of the reply to a message that is signed first; `None` where the connection breaks.
    fn answered(session: &mut Session, signer: &Signer, mut message: Vec<u8>) -> Option<u32> {
        signer.sign(&mut message);
        let mut replies = Vec::new();
        match session.answer(&mut message, &mut replies) {
            Answer::Reply => u32_at(&replies, 8),
            Answer::Nothing => Some(0),
            Answer::Cut | Answer::CutAll => None,
        }
    }

    #[test]
    fn a_stranger_gets_nothing_done() {
        let mut replies = Vec::new();
        for command in 1..20 {
            if command == command::CANCEL {
                continue;
            }
            replies.clear();
            assert_eq!(
                new().answer(&mut message(command, 0, &[0; 64]), &mut replies),
                Answer::Reply
            );
            assert_eq!(u32_at(&replies, 8), Some(Status::ACCESS_DENIED.0), "{command}");
        }
    }

    #[test]
    fn what_is_not_signed_or_wrongly_breaks_the_connection() {
        let (mut session, signer) = known();
        let echo = message(command::ECHO, 0, &[4, 0, 0, 0]);
        assert_eq!(answered(&mut session, &signer, echo.clone()), Some(0));
        assert_eq!(session.answer(&mut echo.clone(), &mut Vec::new()), Answer::Cut);
        let mut forged = echo;
        signer.sign(&mut forged);
        forged[64] ^= 1;
        assert_eq!(session.answer(&mut forged, &mut Vec::new()), Answer::Cut);
        let other = Signer::new(SigningAlgorithm::AesGmac, &[8; 16]).unwrap();
        assert_eq!(answered(&mut session, &other, message(command::ECHO, 0, &[4, 0, 0, 0])), None);
    }

    proptest! {
        /// Of a user who knows the password, about a file that is there, with anything in any field.
        #[test]
        fn any_request_is_answered_or_refused(
            command in 0_u16..20,
            related in any::<bool>(),
            mut body in prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 1..200),
            number in 0_u64..3,
            at in 0_usize..64,
        ) {
            let (mut session, signer) = known();
            if let Some(to) = body.get_mut(at..at + 8) {
                to.copy_from_slice(&number.to_le_bytes());
            }
            let flags = if related { RELATED } else { 0 };
            for _ in 0..2 {
                answered(&mut session, &signer, message(command, flags, &body));
            }
            let echo = message(command::ECHO, 0, &[4, 0, 0, 0]);
            let logoff = command == command::LOGOFF;
            prop_assert!(logoff || answered(&mut session, &signer, echo) == Some(0));
        }

        /// Of anybody, from the first byte on.
        #[test]
        fn any_frame_is_answered_or_breaks_the_connection(
            mut frame in prop::collection::vec(any::<u8>(), 0..300),
            like in any::<bool>(),
            next in 0_u32..40,
        ) {
            if like && frame.len() > HEADER {
                frame[..6].copy_from_slice(b"\xfeSMB\x40\0");
                frame[16..20].fill(0);
                frame[20..24].copy_from_slice(&(next * 8).to_le_bytes());
            }
            let mut replies = Vec::new();
            if new().answer(&mut frame, &mut replies) == Answer::Reply {
                prop_assert!(replies.starts_with(b"\xfeSMB"));
            }
        }
    }
}
