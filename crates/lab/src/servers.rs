//! Servers to measure: NFS and SMB, real ones, and a small one inside the program. And hosts to
//! reach over ssh. And one that lies.

pub mod builtin;
pub mod dropbear;
pub mod ganesha;
pub mod impacket;
pub mod liar;
pub mod samba;
pub mod sshd;

pub use builtin::BuiltinServer;
pub use dropbear::Dropbear;
pub use ganesha::{Export, Ganesha, GaneshaConfig, Squash};
pub use impacket::ImpacketServer;
pub use samba::{Samba, SambaConfig, SambaShare};
pub use sshd::{Sshd, SshdConfig};
