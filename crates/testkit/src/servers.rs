//! Servers to measure: NFS and SMB. Hosts to reach over ssh. And a server that lies.

pub mod dropbear;
mod files;
pub mod ganesha;
pub mod go_nfs;
pub mod impacket;
pub mod liar;
pub mod nfs2;
mod peer;
mod process;
pub mod samba;
pub mod sshd;
mod xdr;

pub use dropbear::Dropbear;
pub use ganesha::{Export, Ganesha, GaneshaConfig, Squash};
pub use go_nfs::GoNfs;
pub use impacket::ImpacketServer;
pub use nfs2::Nfs2Server;
pub use peer::{Peer, PeerServer};
pub use samba::{Samba, SambaConfig, SambaShare};
pub use sshd::{Sshd, SshdConfig};
