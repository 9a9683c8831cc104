//! Servers to measure: NFS and SMB, real ones, and a small one inside the program.

pub mod builtin;
pub mod ganesha;
pub mod impacket;
pub mod samba;

pub use builtin::BuiltinServer;
pub use ganesha::{Export, Ganesha, GaneshaConfig, Squash};
pub use impacket::ImpacketServer;
pub use samba::{Samba, SambaConfig, SambaShare};
