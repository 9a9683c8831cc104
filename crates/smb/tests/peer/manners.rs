//! How the peer behaves, and misbehaves.

use plimsoll_smb::{Cipher, SigningAlgorithm};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protection {
    Plain,
    Sign(SigningAlgorithm),
    Seal(Cipher),
}

pub const EVERY_PROTECTION: [Protection; 8] = [
    Protection::Plain,
    Protection::Sign(SigningAlgorithm::HmacSha256),
    Protection::Sign(SigningAlgorithm::AesCmac),
    Protection::Sign(SigningAlgorithm::AesGmac),
    Protection::Seal(Cipher::Aes128Ccm),
    Protection::Seal(Cipher::Aes128Gcm),
    Protection::Seal(Cipher::Aes256Ccm),
    Protection::Seal(Cipher::Aes256Gcm),
];

/// How the peer behaves.
#[derive(Clone)]
pub struct Manners {
    pub protection: Protection,
    pub large_transfers: bool,
    /// Files are this long, for READ.
    pub file_size: u64,
    /// Most requests that are gathered and answered in reverse order.
    pub gather: usize,
    /// Whether parts of a compound are answered in frames of their own.
    pub split: bool,
    /// Whether each request is answered by an interim reply first, which brings the credits.
    pub pending: bool,
    /// Whether oplock breaks that concern nobody are sent in between.
    pub breaks: bool,
    /// Most credits granted in one reply.
    pub grant_most: u16,
    /// Refused commands, with the status.
    pub refuse: Vec<(u16, u32)>,
    /// Whether what comes after a refused request of a compound is refused as well.
    pub ends_compounds: bool,
    /// Changes what an interim reply would be.
    pub change_interim: fn(&mut Vec<u8>),
    /// Changes each reply before it is protected, and each frame afterwards.
    pub change_reply: fn(&mut Vec<u8>),
    pub change_frame: fn(&mut Vec<u8>),
    /// Lies of a server that does not behave at all. With any, it hangs up on a client that waits
    /// in vain.
    pub lies: Vec<Lie>,
}

/// A change of one reply, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Lie {
    pub reply: u8,
    pub how: How,
    pub at: u16,
    pub value: u8,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// A byte of the message, before it is protected: a server that holds the keys lies.
    Say,
    /// A byte of the frame, after it was protected: somebody in between lies. The length in front
    /// is among it.
    Flip,
    /// The frame ends early, its length with it.
    Cut,
    /// The frame comes twice.
    Twice,
    /// The frame never comes.
    Withhold,
}

impl Default for Manners {
    fn default() -> Self {
        Manners {
            protection: Protection::Plain,
            large_transfers: true,
            file_size: u64::MAX / 2,
            gather: 1,
            split: false,
            pending: false,
            breaks: false,
            grant_most: u16::MAX,
            refuse: Vec::new(),
            ends_compounds: false,
            change_interim: |_| {},
            change_reply: |_| {},
            change_frame: |_| {},
            lies: Vec::new(),
        }
    }
}
