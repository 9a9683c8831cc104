//! What the program writes, as another client has read it.

use plimsoll_load::{Content, FileId, Span};

/// Fails unless these are the bytes of a whole test file of the run in this directory. A page begins with whose
/// it is: study (8 bytes), file, generation (4 each).
#[track_caller]
pub fn assert_own_content(bytes: &[u8], directory: &str) {
    let number = |at| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a page"));
    let study = u64::from(number(0)) | u64::from(number(4)) << 32;
    let name = format!(".plimsoll-{:08x}-", number(0));
    assert!(directory.starts_with(&name), "{directory} holds what belongs to {name}");
    let (file, generation, length) = (FileId(number(8)), number(12), bytes.len() as u32);
    let whole = Span { file, offset: 0, length, generation };
    let same = Content::new(study).writer(length).fill(&whole) == bytes;
    assert!(same, "{file:?} of {directory}: other bytes");
}
