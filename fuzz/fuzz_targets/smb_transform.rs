//! Encrypted frames: what nobody with the keys has sealed does not open, what was sealed opens to
//! the same, and a changed byte is noticed. The first byte is the cipher and what to do.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_smb::{Cipher, Sealer, TRANSFORM_HEADER};

const KEY: [u8; 32] = [0x5a; 32];
const CIPHERS: [Cipher; 4] =
    [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let cipher = CIPHERS[usize::from(choice & 3)];
    let key = &KEY[..cipher.key_length()];
    let mut sealer = Sealer::new(cipher, key, key, 7).expect("the key is long enough");
    if choice & 4 == 0 {
        assert!(sealer.open(&mut data.to_vec()).is_err(), "a forgery was believed");
        return;
    }
    let mut frame = [&[0; TRANSFORM_HEADER][..], data].concat();
    sealer.seal(&mut frame);
    let mut changed = frame.clone();
    let at = usize::from(choice >> 3) * changed.len() / 32;
    changed[at] ^= 1;
    // The last four bytes of the nonce's field are covered like the rest.
    assert!(sealer.open(&mut changed).is_err(), "byte {at} does not count");
    assert_eq!(sealer.open(&mut frame).expect("it was sealed with this key"), data);
});
