//! Messages, types and cryptography of MS-SMB2, from the crate `smb2`. Its interface changes between minor versions,
//! so no other module names it.

pub(crate) use smb2::{Error, auth, crypto, msg, pack, rpc, types};
