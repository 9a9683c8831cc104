//! A share that a session is bound to (MS-SMB2, sections 2.2.9 and 2.2.10).

use crate::connection::Connection;
use crate::link::{Link, SessionFacts};
use crate::message::{Request, body};
use crate::ms_smb2::msg::tree_connect::{TreeConnectRequest, TreeConnectRequestFlags};
use crate::ms_smb2::types::flags::{FileAccessMask, ShareFlags};
use crate::ms_smb2::types::{Command, Dialect};
use crate::session::{self, Session, perhaps_unencrypted};
use crate::{Error, Protection, names};
use plimsoll_transport::{Deadline, Socket};

/// A share, over a connection of its own. Paths are relative to it, with `/` between names, and
/// the empty path is its root.
pub struct Tree {
    pub(crate) connection: Box<Connection>,
    facts: SessionFacts,
    tree_facts: TreeFacts,
}

/// What the server says of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFacts {
    /// Whether every message about it is encrypted.
    pub encrypted: bool,
    /// Whether this user may write nothing in it, as far as the server says beforehand.
    pub read_only: bool,
    /// Access this user may have at most: bits of MS-SMB2, section 2.2.13.1.1.
    pub maximal_access: u32,
    /// Flags of MS-SMB2, section 2.2.10.
    pub share_flags: u32,
}

/// A server's reply to TREE_CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connected {
    pub kind: u8,
    pub share_flags: u32,
    pub maximal_access: u32,
}

/// A share of files: neither a printer nor pipes.
const KIND_DISK: u8 = 1;

/// Decodes a reply to TREE_CONNECT.
pub(crate) fn parse(message: &[u8]) -> Result<Connected, Error> {
    let mut reader = body(message, 16, "a reply to TREE_CONNECT")?;
    let kind = reader.u8()?;
    reader.skip(1)?;
    let share_flags = reader.u32()?;
    reader.skip(4)?;
    let maximal_access = reader.u32()?;
    Ok(Connected { kind, share_flags, maximal_access })
}

impl Session {
    /// Binds the session to a share. If the server refuses, the session comes back and may be
    /// asked which shares there are.
    pub fn tree(mut self, share: &str) -> Result<Tree, (Session, Error)> {
        match self.connect_files(share) {
            Ok(tree_facts) => {
                let guest = self.terms.facts.guest;
                let facts = session::facts(&self.terms.negotiated, &self.connection, guest);
                Ok(Tree { connection: self.connection, facts, tree_facts })
            }
            Err(error) => Err((self, error)),
        }
    }

    fn connect_files(&mut self, share: &str) -> Result<TreeFacts, Error> {
        let connected = self.connect(share)?;
        if connected.kind != KIND_DISK {
            self.leave_tree();
            return Err(Error::NotFiles(share.to_owned()));
        }
        let writing = FileAccessMask::FILE_WRITE_DATA | FileAccessMask::FILE_APPEND_DATA;
        Ok(TreeFacts {
            encrypted: self.connection.guard.seal,
            read_only: connected.maximal_access & writing == 0,
            maximal_access: connected.maximal_access,
            share_flags: connected.share_flags,
        })
    }

    /// Connects to a share of any kind; requests are about it from then on.
    pub(crate) fn connect(&mut self, share: &str) -> Result<Connected, Error> {
        let path = names::share(&self.terms.host, share)?;
        let request = TreeConnectRequest { flags: TreeConnectRequestFlags(0), path };
        // 3.1.1 servers refuse what is not signed, to rule out a man in the middle (MS-SMB2,
        // section 3.3.5.7).
        let facts = &self.terms.facts;
        let sign = self.connection.guard.sign;
        let signs = facts.dialect == Dialect::Smb3_1_1 && !facts.guest;
        self.connection.guard.sign = sign || signs;
        let reply = self.connection.call(Request::new(Command::TreeConnect, &request));
        self.connection.guard.sign = sign;
        let reply = match reply {
            Err(error) if !facts.guest => {
                return Err(perhaps_unencrypted(error, &self.terms.negotiated, self.terms.encrypt));
            }
            reply => reply?,
        };
        let connected = parse(&reply.message)?;
        self.connection.tree_id = reply
            .header
            .tree_id
            .ok_or_else(|| Error::Malformed("a reply to TREE_CONNECT: no tree".into()))?;
        self.validate()?;
        if connected.share_flags & ShareFlags::ENCRYPT_DATA != 0 {
            self.encrypt_share(share).inspect_err(|_| self.leave_tree())?;
        }
        Ok(connected)
    }

    fn encrypt_share(&mut self, share: &str) -> Result<(), Error> {
        if self.connection.guard.sealer.is_none() {
            return Err(match self.terms.encrypt {
                Protection::Off => Error::EncryptionRequired(format!("the share '{share}'")),
                _ if self.terms.facts.guest => Error::GuestOnly("encrypted"),
                _ => Error::EncryptionRefused(format!(
                    "the share '{share}' requires it but the server negotiated none"
                )),
            });
        }
        self.connection.guard.seal = true;
        Ok(())
    }

    /// Disconnects from the share at hand, as far as the server lets us.
    pub(crate) fn leave_tree(&mut self) {
        let request = crate::ms_smb2::msg::tree_disconnect::TreeDisconnectRequest;
        let _ = self.connection.call(Request::new(Command::TreeDisconnect, &request));
        self.connection.tree_id = 0;
    }
}

impl Tree {
    /// What was agreed, and what protects messages about this share.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// What the server says of the share.
    pub fn tree_facts(&self) -> &TreeFacts {
        &self.tree_facts
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.connection.socket
    }

    /// What bounds the calls from now on, beside the limit of each: an end for several together.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.connection.socket.set_deadline(deadline);
    }

    /// Asks the server whether it is there.
    pub fn echo(&mut self) -> Result<(), Error> {
        self.connection
            .call(Request::new(Command::Echo, &crate::ms_smb2::msg::echo::EchoRequest))?;
        Ok(())
    }

    /// Leaves share and session politely, as far as the server lets us.
    pub fn disconnect(mut self) {
        let leave = crate::ms_smb2::msg::tree_disconnect::TreeDisconnectRequest;
        self.connection.farewell(Request::new(Command::TreeDisconnect, &leave));
        self.connection.tree_id = 0;
        let logoff = crate::ms_smb2::msg::logoff::LogoffRequest;
        self.connection.farewell(Request::new(Command::Logoff, &logoff));
    }

    /// What is needed to send requests about this share, as a pipeline does.
    pub fn into_link(self) -> Link {
        let Connection { socket, guard, session_id, tree_id, next_message_id, credits, .. } =
            *self.connection;
        let (facts, compounds) = (self.facts, guard.signing().is_none());
        Link { socket, guard, session_id, tree_id, next_message_id, credits, facts, compounds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::reply;

    #[test]
    fn replies_describe_the_share() {
        let body = [16, 0, 1, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xff, 1, 0x1f, 0];
        let message = reply(Command::TreeConnect, 1, 0, &body);
        let expected = Connected { kind: KIND_DISK, share_flags: 0x8000, maximal_access: 0x1f01ff };
        assert_eq!(parse(&message), Ok(expected));
        for length in 0..message.len() {
            assert!(parse(&message[..length]).is_err(), "{length}");
        }
    }
}
