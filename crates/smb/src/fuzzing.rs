//! Every decoder of what servers send, by name, for fuzz targets. Not part of the interface.

use crate::guard::{Cipher, Sealer};
use crate::{authenticate, connection, files, negotiate, session, shares, tree, validate};

/// Replies to NEGOTIATE.
pub fn negotiate(message: &[u8]) {
    let _ = negotiate::parse(message);
}

/// Replies to SESSION_SETUP, with the security token in them.
pub fn session_setup(message: &[u8]) {
    if let Ok(setup) = session::parse(message) {
        challenge(setup.token);
    }
}

/// Security tokens, answered as in a login.
pub fn challenge(token: &[u8]) {
    let mut identity = authenticate::Identity::user(&crate::Credentials::guest());
    identity.hello();
    let _ = identity.answer(token);
}

/// Replies to TREE_CONNECT.
pub fn tree_connect(message: &[u8]) {
    let _ = tree::parse(message);
}

/// Replies to CREATE.
pub fn create(message: &[u8]) {
    let _ = files::parse_create(message);
}

/// Replies to READ.
pub fn read(message: &[u8]) {
    let _ = files::parse_read(message, 1 << 20);
}

/// Replies to WRITE.
pub fn write(message: &[u8]) {
    let _ = files::parse_write(message, 1 << 20);
}

/// Replies to QUERY_DIRECTORY, with the listing in them.
pub fn query_directory(message: &[u8]) {
    let _ = files::parse_listing(message);
}

/// Listings by themselves.
pub fn listing(output: &[u8]) {
    let _ = files::parse_entries(output);
}

/// Replies to QUERY_INFO.
pub fn query_info(message: &[u8]) {
    let _ = files::parse_output(message);
}

/// Replies to IOCTL.
pub fn ioctl(message: &[u8]) {
    let _ = validate::output(message);
}

/// Lists of shares.
pub fn shares(answer: &[u8]) {
    let _ = shares::parse(answer);
}

/// Whole frames: their messages, strung together.
pub fn compound(frame: &[u8]) {
    let _ = connection::messages(frame);
}

/// Prefixes of frames.
pub fn frame(prefix: [u8; 4]) {
    let _ = connection::frame_length(prefix, 1 << 20);
}

/// Encrypted frames: their transform header, and what a wrong key makes of the rest.
pub fn transform(frame: &mut [u8]) {
    if let Ok(sealer) = Sealer::new(Cipher::Aes128Gcm, &[0; 16], &[0; 16], 0) {
        let _ = sealer.open(frame);
    }
}
