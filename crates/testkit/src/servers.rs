//! Servers to measure: NFS and SMB. Hosts to reach over ssh. And a server that lies.

pub mod dropbear;
mod files;
pub mod ganesha;
pub mod impacket;
pub mod liar;
mod process;
pub mod samba;
pub mod sshd;

pub use dropbear::Dropbear;
pub use ganesha::{Export, Ganesha, GaneshaConfig, Squash};
pub use impacket::ImpacketServer;
pub use samba::{Samba, SambaConfig, SambaShare};
pub use sshd::{Sshd, SshdConfig};
