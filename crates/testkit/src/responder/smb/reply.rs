//! What follows the header in replies of SMB (MS-SMB2, section 2.2), and frames.

/// A frame of direct TCP transport (section 2.1).
pub fn frame(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes()[..], message].concat()
}

/// Of NEGOTIATE: large transfers, of 1 MiB at most; contexts belong to dialect 3.1.1 and follow at the next
/// multiple of eight.
pub fn negotiate(dialect: u16, contexts: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![0; 64];
    body[0] = 65;
    body[2] = 1;
    body[4..6].copy_from_slice(&dialect.to_le_bytes());
    body[6..8].copy_from_slice(&(contexts.len() as u16).to_le_bytes());
    body[24] = 4; // large transfers
    for at in [28, 32, 36] {
        body[at..at + 4].copy_from_slice(&0x0010_0000_u32.to_le_bytes());
    }
    body[56] = 128;
    if !contexts.is_empty() {
        body[60] = 128;
    }
    for (kind, data) in contexts {
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend_from_slice(&kind.to_le_bytes());
        body.extend_from_slice(&(data.len() as u16).to_le_bytes());
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(data);
    }
    body
}

/// The context of NEGOTIATE that says SHA-512.
pub fn preauth_context() -> (u16, Vec<u8>) {
    (1, [&[1, 0, 32, 0, 1, 0][..], &[5; 32]].concat())
}

/// Of SESSION_SETUP; flags: 1 is a guest, 2 nobody, 4 encryption.
pub fn session_setup(flags: u16, token: &[u8]) -> Vec<u8> {
    let length = (token.len() as u16).to_le_bytes();
    [&[9, 0], &flags.to_le_bytes()[..], &[72, 0], &length, token].concat()
}

/// Of TREE_CONNECT: files, with every right.
pub fn tree_connect() -> Vec<u8> {
    [&[16, 0, 1, 0][..], &[0; 8], &[0xff, 1, 0x1f, 0]].concat()
}

/// Of CREATE: what was done, times and sizes, attributes, and the file's identity.
pub fn create(action: u8, written: u64, size: u64, attributes: u32, file: [u8; 16]) -> Vec<u8> {
    let mut body = vec![0; 88];
    body[0] = 89;
    body[4] = action;
    body[24..32].copy_from_slice(&written.to_le_bytes());
    body[40..48].copy_from_slice(&size.to_le_bytes());
    body[48..56].copy_from_slice(&size.to_le_bytes());
    body[56..60].copy_from_slice(&attributes.to_le_bytes());
    body[64..80].copy_from_slice(&file);
    body
}

/// Of CLOSE, without attributes.
pub fn close() -> Vec<u8> {
    [&[60, 0][..], &[0; 58]].concat()
}

/// Of READ; an honest offset is 80 and an honest length that of the data.
pub fn read(offset: u8, length: u32, data: &[u8]) -> Vec<u8> {
    [&[17, 0, offset, 0][..], &length.to_le_bytes(), &[0; 8], data].concat()
}

/// Of WRITE.
pub fn write(count: u32) -> Vec<u8> {
    [&[17, 0, 0, 0][..], &count.to_le_bytes(), &[0; 8]].concat()
}

/// Of QUERY_DIRECTORY and QUERY_INFO: a buffer; an honest offset is 72.
pub fn buffer(offset: u16, length: u32, data: &[u8]) -> Vec<u8> {
    [&[9, 0], &offset.to_le_bytes()[..], &length.to_le_bytes(), data].concat()
}

/// Of every refusal (section 2.2.2).
pub fn error() -> Vec<u8> {
    vec![9, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// Of FLUSH, ECHO, LOGOFF and TREE_DISCONNECT.
pub fn empty() -> Vec<u8> {
    vec![4, 0, 0, 0]
}

/// An NTLM CHALLENGE_MESSAGE (MS-NLMP, section 2.2.1.2) of a server named X.
pub fn challenge(flags: u32, nonce: [u8; 8]) -> Vec<u8> {
    let name = [b'X', 0];
    let pair = |id: u8| [&[id, 0, 2, 0][..], &name].concat();
    let information = [pair(2), pair(1), vec![0; 4]].concat();
    let field = |length: usize, offset: u32| {
        let length = (length as u16).to_le_bytes();
        [&length[..], &length, &offset.to_le_bytes()].concat()
    };
    [
        &b"NTLMSSP\0\x02\0\0\0"[..],
        &field(name.len(), 56),
        &flags.to_le_bytes(),
        &nonce,
        &[0; 8],
        &field(information.len(), 58),
        &[10, 0, 0, 0, 0, 0, 0, 15],
        &name,
        &information,
    ]
    .concat()
}
