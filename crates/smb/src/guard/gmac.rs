//! AES-128-GMAC (NIST SP 800-38D): GCM's tag over data that stays as it is.
//!
//! GHASH is POLYVAL over blocks with their bytes reversed (RFC 8452, appendix A). The blocks are
//! reversed a stretch at a time: reversing one just before it is multiplied, as GCM libraries do
//! with what they only authenticate, takes nearly as long as the multiplication.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use polyval::{Block, Polyval, universal_hash::UniversalHash};

const BLOCK: usize = 16;
/// Blocks reversed at a time: few enough to stay in the nearest cache.
const STRETCH: usize = 64;

/// A key, ready for use.
pub(super) struct Gmac {
    cipher: Aes128,
    hash: Polyval,
}

impl Gmac {
    pub fn new(key: &[u8; 16]) -> Gmac {
        let cipher = Aes128::new(key.into());
        let subkey = u128::from_be_bytes(encrypted(&cipher, [0; BLOCK]));
        Gmac { hash: Polyval::new(&times_x(subkey).to_le_bytes().into()), cipher }
    }

    /// The tag of `data` with a nonce that no other data has had.
    pub fn tag(&self, nonce: [u8; 12], data: &[u8]) -> [u8; 16] {
        let mut hash = self.hash.clone();
        let mut reversed = [Block::default(); STRETCH];
        let mut stretches = data.chunks_exact(STRETCH * BLOCK);
        for stretch in &mut stretches {
            let (blocks, _) = stretch.as_chunks::<BLOCK>();
            for (to, from) in reversed.iter_mut().zip(blocks) {
                *to = u128::from_be_bytes(*from).to_le_bytes().into();
            }
            hash.update(&reversed);
        }
        let (blocks, last) = stretches.remainder().as_chunks::<BLOCK>();
        for block in blocks {
            hash.update(&[u128::from_be_bytes(*block).to_le_bytes().into()]);
        }
        if !last.is_empty() {
            let mut padded = [0; BLOCK];
            padded[..last.len()].copy_from_slice(last);
            hash.update(&[u128::from_be_bytes(padded).to_le_bytes().into()]);
        }
        // Length of the data and of what is encrypted (nothing), in bits, 64 bits each.
        let lengths = (data.len() as u128 * 8) << 64;
        hash.update(&[lengths.to_le_bytes().into()]);
        let mut counter = [0; BLOCK];
        counter[..12].copy_from_slice(&nonce);
        counter[15] = 1;
        let mask = u128::from_be_bytes(encrypted(&self.cipher, counter));
        let hash: [u8; BLOCK] = hash.finalize().into();
        (u128::from_le_bytes(hash) ^ mask).to_be_bytes()
    }
}

fn encrypted(cipher: &Aes128, block: [u8; BLOCK]) -> [u8; BLOCK] {
    let mut block = block.into();
    cipher.encrypt_block(&mut block);
    block.into()
}

/// Multiplication by x in POLYVAL's field: modulo x^128 + x^127 + x^126 + x^121 + 1 (RFC 8452,
/// section 3).
fn times_x(element: u128) -> u128 {
    const MODULUS: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;
    (element << 1) ^ if element >> 127 == 1 { MODULUS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

    proptest! {
        /// Against another implementation, at every length around blocks and stretches.
        #[test]
        fn it_is_gcm_without_a_plaintext(
            key: [u8; 16],
            nonce: [u8; 12],
            data in prop::collection::vec(any::<u8>(), 0..2 * STRETCH * BLOCK + 40),
        ) {
            let peer = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
            let nonce_of_peer = Nonce::assume_unique_for_key(nonce);
            let tag = peer
                .seal_in_place_separate_tag(nonce_of_peer, Aad::from(&data), &mut [])
                .unwrap();
            prop_assert_eq!(&Gmac::new(&key).tag(nonce, &data)[..], tag.as_ref());
        }
    }
}
