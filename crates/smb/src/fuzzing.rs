//! Every decoder of what servers send, by name, for fuzz targets. Not part of the interface.

use crate::guard::{Cipher, Sealer};
use crate::pipeline::Prefix;
use crate::{authenticate, connection, files, negotiate, session, shares, tree, validate};
use plimsoll_transport::FrameBuffer;

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
    let _ = files::parse_network_open(message);
}

/// Replies to IOCTL.
pub fn ioctl(message: &[u8]) {
    let _ = validate::output(message);
}

/// Lists of shares.
pub fn shares(answer: &[u8]) {
    let _ = shares::parse(answer);
}

/// What a pipe says, read in pieces of this size: fragments of a remote procedure call, and the
/// list of shares in them.
pub fn pipe(said: &[u8], piece: usize) {
    let _ = shares::from_pipe(said, piece);
}

/// A pipeline's buffer for frames of at most `limit` bytes: the frames in a stream that comes in
/// pieces of this size. `None`: the stream was refused.
pub fn frames(mut stream: &[u8], piece: usize, limit: usize) -> Option<Vec<Vec<u8>>> {
    let mut buffer = FrameBuffer::<Prefix>::new(limit);
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let remaining = buffer.remaining();
        assert!(!remaining.is_empty(), "nothing remains, and no frame");
        let count = piece.max(1).min(remaining.len()).min(stream.len());
        remaining[..count].copy_from_slice(&stream[..count]);
        buffer.filled(count);
        stream = &stream[count..];
        while let Some(place) = buffer.next_frame().ok()? {
            frames.push(buffer.frame(place).to_vec());
        }
    }
    Some(frames)
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
