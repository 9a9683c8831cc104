//! A server of either protocol with one share, for tests that hold for both.

use super::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use crate::Error;
use crate::stage::Stage;
use std::path::PathBuf;

/// Protocol that a test of [`crate::test_each_peer`] runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// NFS 3, served by NFS-Ganesha.
    Nfs,
    /// SMB, served by Samba.
    Smb,
}

/// A running server with one share. Dropping it kills the server.
#[derive(Debug)]
pub struct PeerServer {
    server: Server,
    share: String,
}

#[derive(Debug)]
enum Server {
    Ganesha(Ganesha),
    Samba(Samba),
}

impl Peer {
    /// Starts a server with one share and waits until it serves.
    ///
    /// # Errors
    /// As [`Ganesha::start`] and [`Samba::start`].
    pub fn start(self, stage: &Stage, share: &str) -> Result<PeerServer, Error> {
        self.serve(stage, share, None)
    }

    /// The same with a file system of so many bytes below the share.
    ///
    /// # Errors
    /// As [`Peer::start`].
    pub fn start_small(self, stage: &Stage, share: &str, bytes: u64) -> Result<PeerServer, Error> {
        self.serve(stage, share, Some(bytes))
    }

    fn serve(self, stage: &Stage, share: &str, bytes: Option<u64>) -> Result<PeerServer, Error> {
        let server = match self {
            Peer::Nfs => {
                let export = bytes.into_iter().fold(Export::directory(share), Export::size);
                Server::Ganesha(Ganesha::start(stage, GaneshaConfig::one(export))?)
            }
            Peer::Smb => {
                let folder = bytes.into_iter().fold(SambaShare::new(share), SambaShare::size);
                Server::Samba(Samba::start(stage, SambaConfig::one(folder))?)
            }
        };
        Ok(PeerServer { server, share: share.to_owned() })
    }
}

impl PeerServer {
    /// The URL of its share for plimsoll: with ports, or the name of a user.
    pub fn url(&self) -> String {
        match &self.server {
            Server::Ganesha(server) => server.url_with_ports(&self.share),
            Server::Samba(server) => server.url(&self.share),
        }
    }

    /// The same with further options, such as `rsize=65536`.
    pub fn url_with(&self, options: &str) -> String {
        let url = self.url();
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{options}")
    }

    /// Where the files of its share lie.
    ///
    /// # Panics
    /// If the server does not know its own share.
    pub fn directory(&self) -> PathBuf {
        let directory = match &self.server {
            Server::Ganesha(server) => server.directory(&self.share).map(Into::into),
            Server::Samba(server) => server.directory(&self.share),
        };
        directory.expect("the share that it was started with")
    }

    /// Makes it fall silent (SIGSTOP): connections stay, nothing is answered.
    ///
    /// # Errors
    /// If it does not run.
    pub fn freeze(&self) -> Result<(), Error> {
        match &self.server {
            Server::Ganesha(server) => server.freeze(),
            Server::Samba(server) => server.freeze(),
        }
    }

    /// Lets it go on after [`PeerServer::freeze`].
    ///
    /// # Errors
    /// If it does not run.
    pub fn thaw(&self) -> Result<(), Error> {
        match &self.server {
            Server::Ganesha(server) => server.thaw(),
            Server::Samba(server) => server.thaw(),
        }
    }

    /// Kills it (SIGKILL), as a crash or a power cut would.
    pub fn kill(&mut self) {
        match &mut self.server {
            Server::Ganesha(server) => server.kill(),
            Server::Samba(server) => server.kill(),
        }
    }

    /// Kills it if it runs, and starts it again with the same share. Files stay.
    ///
    /// # Errors
    /// As [`Peer::start`].
    pub fn restart(&mut self) -> Result<(), Error> {
        match &mut self.server {
            Server::Ganesha(server) => server.restart(),
            Server::Samba(server) => server.restart(),
        }
    }
}

/// Makes two tests of each function: one on a stage with what NFS takes, one with what SMB takes. A
/// function takes the stage and the protocol.
#[macro_export]
macro_rules! test_each_peer {
    ($($test:ident),* $(,)?) => {
        mod over_nfs {$(
            #[test]
            fn $test() {
                let stage = $crate::enter_or_skip!($crate::Need::Ganesha);
                super::$test(&stage, $crate::servers::Peer::Nfs);
            }
        )*}
        mod over_smb {$(
            #[test]
            fn $test() {
                let stage = $crate::enter_or_skip!($crate::Need::Samba);
                super::$test(&stage, $crate::servers::Peer::Smb);
            }
        )*}
    };
}
