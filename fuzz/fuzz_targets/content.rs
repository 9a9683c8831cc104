//! Files read back: whatever they hold is the content, or what is wrong is reported. The first byte is
//! the generation, the second where in a piece the data begins, the third what of the true content
//! stands in front of the rest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_load::{Content, ContentWriter, FileId, Span};
use std::sync::{LazyLock, Mutex};

static CONTENT: LazyLock<Content> = LazyLock::new(|| Content::new(7));
static WRITER: LazyLock<Mutex<ContentWriter>> = LazyLock::new(|| Mutex::new(CONTENT.writer(4096)));

fuzz_target!(|data: &[u8]| {
    let [generation, at, true_part, rest @ ..] = data else { return };
    let (generation, offset) = (u32::from(*generation), 4096 + u64::from(*at));
    let length = u32::from(*true_part) * 16;
    let span = Span { file: FileId(0), generation, offset, length };
    let mut read = WRITER.lock().expect("one thread").fill(&span).to_vec();
    assert_eq!(CONTENT.check(FileId(0), generation, offset, &read), Ok(()));
    read.extend_from_slice(rest);
    let _ = CONTENT.check(FileId(0), generation, offset, &read);
    let wrong = CONTENT.check(FileId(0), generation + 1, offset, &read);
    // A page's stamp says which it is.
    assert!(*at > 0 || length < 32 || wrong.is_err(), "another generation is not noticed");
});
