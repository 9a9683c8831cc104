//! An authenticated connection (MS-SMB2, sections 3.2.4.2 and 3.2.5.3).

use crate::authenticate::Identity;
use crate::connection::Connection;
use crate::keys::Keys;
use crate::link::SessionFacts;
use crate::message::{Reply, Request, body};
use crate::ms_smb2::crypto::kdf::PreauthHasher;
use crate::ms_smb2::msg::session_setup::{
    SessionFlags, SessionSetupRequest, SessionSetupRequestFlags,
};
use crate::ms_smb2::types::flags::{Capabilities, SecurityMode};
use crate::ms_smb2::types::{Command, Dialect, status::NtStatus};
use crate::negotiate::{Negotiated, Offer, negotiate};
use crate::wire::part;
use crate::{Credentials, Error, Options, Protection};
use plimsoll_transport::Socket;

/// An authenticated connection to a server, not yet bound to a share.
pub struct Session {
    pub(crate) connection: Box<Connection>,
    pub(crate) terms: Box<Terms>,
    /// Whether a downgrade is ruled out, or need not be.
    pub(crate) validated: bool,
}

/// What a session rests on.
pub(crate) struct Terms {
    pub host: String,
    pub facts: SessionFacts,
    pub offer: Offer,
    pub negotiated: Negotiated,
    pub encrypt: Protection,
}

/// A server's reply to SESSION_SETUP.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub flags: SessionFlags,
    pub token: &'a [u8],
}

/// Decodes a reply to SESSION_SETUP.
pub(crate) fn parse(message: &[u8]) -> Result<Setup<'_>, Error> {
    const WHAT: &str = "a reply to SESSION_SETUP";
    let mut reader = body(message, 9, WHAT)?;
    let flags = SessionFlags(reader.u16()?);
    let (offset, length) = (reader.u16()?, reader.u16()?);
    let token = part(message, offset.into(), length.into(), WHAT)?;
    Ok(Setup { flags, token })
}

impl Session {
    /// Negotiates and logs in. A password is tried once: a wrong one is
    /// [`NtStatus::LOGON_FAILURE`], and no account is locked by trying again. Without a user the
    /// guest account is tried, then no account at all. With one, a session of a guest or of nobody
    /// is [`Error::GuestRefused`] unless [`Options::guests`] allows it.
    ///
    /// `host` is the server's name as the user knows it: it becomes part of share names.
    pub fn open(
        socket: Socket,
        host: &str,
        credentials: &Credentials,
        options: &Options,
    ) -> Result<Session, Error> {
        let mut connection = Connection::new(socket, options.call_timeout);
        let named = !credentials.user.is_empty();
        let guests =
            Guests { welcome: options.guests || !named, signed: options.sign == Protection::On };
        let mut options = options.clone();
        if named && options.sign == Protection::Auto {
            options.sign = Protection::On;
        }
        let (offer, negotiated, reply) = negotiate(&mut connection, &options)?;
        let mut preauth = PreauthHasher::new();
        preauth.update(connection.sent());
        preauth.update(&reply.message);

        let mut login =
            Login { connection, negotiated: &negotiated, options: &options, guests, preauth };
        let negotiated_only = login.preauth.clone();
        let mut guest = login.run(Identity::user(credentials));
        let refused = |e: &Error| e.status().is_some() && !named;
        if guest.as_ref().is_err_and(refused) {
            login.preauth = negotiated_only;
            guest = login.run(Identity::Anonymous);
        }
        let guest = guest.map_err(|e| perhaps_unencrypted(e, &negotiated, options.encrypt))?;
        let connection = login.connection;
        let facts = facts(&negotiated, &connection, guest);
        let validated =
            guest || negotiated.dialect == Dialect::Smb3_1_1 || offer.newest() < Dialect::Smb3_0;
        let (host, encrypt) = (host.to_owned(), options.encrypt);
        let terms = Box::new(Terms { host, facts, offer, negotiated, encrypt });
        Ok(Session { connection: Box::new(connection), terms, validated })
    }

    /// What was agreed.
    pub fn facts(&self) -> &SessionFacts {
        &self.terms.facts
    }

    /// Leaves politely, as far as the server lets us.
    pub fn disconnect(mut self) {
        let logoff = crate::ms_smb2::msg::logoff::LogoffRequest;
        self.connection.farewell(Request::new(Command::Logoff, &logoff));
    }
}

/// A server that wants encryption where none was agreed on says no more than "access denied".
pub(crate) fn perhaps_unencrypted(error: Error, n: &Negotiated, encrypt: Protection) -> Error {
    match error.status() {
        Some(NtStatus::ACCESS_DENIED) if n.cipher.is_none() => {
            Error::RefusedUnencrypted(match (n.dialect, encrypt) {
                (Dialect::Smb2_0_2 | Dialect::Smb2_1, _) => "this dialect does not support",
                (_, Protection::Off) => "encrypt=off forbids",
                _ => "was not negotiated",
            })
        }
        _ => error,
    }
}

/// What protects the connection from now on, and its limits.
pub(crate) fn facts(n: &Negotiated, connection: &Connection, guest: bool) -> SessionFacts {
    let guard = &connection.guard;
    SessionFacts {
        dialect: n.dialect,
        server_guid: n.guid,
        signing: (guard.sign && !guard.seal).then_some(n.signing),
        cipher: if guard.seal { n.cipher } else { None },
        guest,
        read_most: n.read_most,
        write_most: n.write_most,
        transact_most: n.transact_most,
        large_transfers: n.large_transfers(),
    }
}

/// What a guest may be, who has no key.
#[derive(Clone, Copy)]
struct Guests {
    /// Whether to be one is what was asked for, or allowed.
    welcome: bool,
    /// Whether messages were to be signed whoever is let in.
    signed: bool,
}

/// One attempt to log in.
struct Login<'a> {
    connection: Connection,
    negotiated: &'a Negotiated,
    options: &'a Options,
    guests: Guests,
    preauth: PreauthHasher,
}

impl Login<'_> {
    /// Logs in and sets up what protects messages; gives whether the server took us for a guest.
    fn run(&mut self, mut identity: Identity) -> Result<bool, Error> {
        self.connection.session_id = 0;
        let reply = self.setup(identity.hello())?;
        let reply = reply.success_or(&[NtStatus::MORE_PROCESSING_REQUIRED])?;
        if reply.header.status == NtStatus::SUCCESS {
            return Err(Error::Malformed("a login that ended before it started".into()));
        }
        self.preauth.update(&reply.message);
        self.connection.session_id = reply.header.session_id;
        let answer = identity.answer(parse(&reply.message)?.token)?;
        let reply = self.setup(answer)?.success()?;
        let flags = parse(&reply.message)?.flags;
        let nobody = matches!(identity, Identity::Anonymous);
        if flags.is_guest() || flags.is_null() || nobody {
            self.take_guest(if flags.is_guest() { "a guest" } else { "an anonymous user" })?;
            return Ok(true);
        }
        let key = identity
            .session_key()
            .ok_or_else(|| Error::SigningRefused("no user has logged in".into()))?;
        self.protect(&key, flags, reply)?;
        Ok(false)
    }

    fn setup(&mut self, token: Vec<u8>) -> Result<Reply, Error> {
        if token.len() > usize::from(u16::MAX) {
            return Err(Error::Malformed("a challenge that is too long".into()));
        }
        let mode = match self.options.sign {
            Protection::On => SecurityMode::SIGNING_REQUIRED,
            _ => SecurityMode::SIGNING_ENABLED,
        };
        let request = SessionSetupRequest {
            flags: SessionSetupRequestFlags(0),
            security_mode: SecurityMode::new(mode),
            capabilities: Capabilities::default(),
            channel: 0,
            previous_session_id: 0,
            security_buffer: token,
        };
        let reply = self.connection.exchange(Request::new(Command::SessionSetup, &request))?;
        self.preauth.update(self.connection.sent());
        Ok(reply)
    }

    /// Guests have no key, so nothing of theirs is signed or encrypted, whatever the server would
    /// like; a share that wants encryption is refused to them later. Who named a user wants that
    /// server to know the password, which nothing shows then.
    fn take_guest(&self, taken_for: &'static str) -> Result<(), Error> {
        if !self.guests.welcome {
            return Err(Error::GuestRefused(taken_for));
        }
        if self.guests.signed {
            return Err(Error::GuestOnly("signed"));
        }
        if self.options.encrypt == Protection::On {
            return Err(Error::GuestOnly("encrypted"));
        }
        Ok(())
    }

    /// Sets up keys and checks the server's last word with them: it proves that the server knows
    /// the password too, and that nobody changed what was sent before (3.1.1).
    fn protect(&mut self, key: &[u8], flags: SessionFlags, mut last: Reply) -> Result<(), Error> {
        let Negotiated { dialect, cipher, signing, .. } = *self.negotiated;
        let Options { sign, encrypt, .. } = *self.options;
        let keys = Keys { dialect, session_key: key, preauth: self.preauth.value() };
        let must_sign = sign == Protection::On
            || (sign == Protection::Auto && self.negotiated.requires_signing());
        let signer = keys.signer(signing)?;
        if last.header.is_signed() {
            signer.verify(&mut last.message)?;
        } else if must_sign || dialect == Dialect::Smb3_1_1 {
            return Err(Error::NotSigned);
        }
        let guard = &mut self.connection.guard;
        guard.signer = Some(signer);
        guard.sign = must_sign;
        if let Some(cipher) = cipher {
            guard.sealer = Some(keys.sealer(cipher, self.connection.session_id)?);
        }
        let asked = flags.encrypt_data();
        if asked && encrypt == Protection::Off {
            return Err(Error::EncryptionRequired("the server".into()));
        }
        if asked && cipher.is_none() {
            return Err(Error::EncryptionRefused(
                "the server requires it but negotiated none".into(),
            ));
        }
        guard.seal = asked || encrypt == Protection::On;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::SigningAlgorithm;
    use crate::message::tests::reply;

    #[test]
    fn replies_carry_flags_and_a_token() {
        let message = reply(Command::SessionSetup, 1, 0, &[9, 0, 5, 0, 72, 0, 3, 0, 7, 8, 9]);
        let setup = parse(&message).unwrap();
        assert!(setup.flags.is_guest() && setup.flags.encrypt_data() && !setup.flags.is_null());
        assert_eq!(setup.token, [7, 8, 9]);
        for length in 0..message.len() {
            assert!(parse(&message[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn access_denied_is_put_down_to_encryption_only_where_none_was_agreed_on() {
        let denied =
            Error::Status { command: Command::TreeConnect, status: NtStatus::ACCESS_DENIED };
        let agreed = |dialect, cipher| Negotiated {
            dialect,
            security_mode: 1,
            guid: [0; 16],
            capabilities: 0,
            transact_most: 65536,
            read_most: 65536,
            write_most: 65536,
            cipher,
            signing: SigningAlgorithm::AesCmac,
        };
        let judge = |n: &Negotiated, encrypt| perhaps_unencrypted(denied.clone(), n, encrypt);
        let new = agreed(Dialect::Smb3_1_1, None);
        let said = judge(&new, Protection::Off);
        assert_eq!(said, Error::RefusedUnencrypted("encrypt=off forbids"));
        assert_eq!(said.status(), Some(NtStatus::ACCESS_DENIED));
        assert!(!said.is_fatal());
        let old = agreed(Dialect::Smb2_1, None);
        let said = judge(&old, Protection::Auto);
        assert_eq!(said, Error::RefusedUnencrypted("this dialect does not support"));
        let sealed = agreed(Dialect::Smb3_0, Some(crate::Cipher::Aes128Ccm));
        assert_eq!(judge(&sealed, Protection::Auto), denied);
        let other =
            Error::Status { command: Command::TreeConnect, status: NtStatus::BAD_NETWORK_NAME };
        assert_eq!(perhaps_unencrypted(other.clone(), &new, Protection::Off), other);
    }
}
