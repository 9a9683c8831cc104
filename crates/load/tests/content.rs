//! Content is pure, checkable in any piece, and its errors are distinguished.

use plimsoll_load::{Content, FileId, Span};
use plimsoll_model::ErrorKind;
use proptest::prelude::*;
use std::sync::LazyLock;

static CONTENT: LazyLock<Content> = LazyLock::new(|| Content::new(7));

fn bytes(content: &Content, file: u32, generation: u32, offset: u64, length: u32) -> Vec<u8> {
    let span = Span { file: FileId(file), offset, length, generation };
    content.writer(length).fill(&span).to_vec()
}

fn kind(result: Result<(), plimsoll_load::ContentError>) -> Option<ErrorKind> {
    result.err().map(|e| e.kind)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_span_checks_and_is_a_slice_of_a_longer_one(
        offset in 0u64..1 << 40, length in 1u32..20_000, generation: u32, cut in any::<prop::sample::Index>()
    ) {
        let whole = bytes(&CONTENT, 3, generation, offset, length);
        prop_assert_eq!(whole.len(), length as usize);
        prop_assert_eq!(CONTENT.check(FileId(3), generation, offset, &whole), Ok(()));
        let at = cut.index(whole.len());
        let part = bytes(&CONTENT, 3, generation, offset + at as u64, length - at as u32);
        prop_assert_eq!(&whole[at..], &part[..]);
    }

    #[test]
    fn one_writer_makes_spans_in_any_order(
        spans in prop::collection::vec((0u64..4 << 20, 1u32..8192, 0u32..3), 1..20)
    ) {
        let mut writer = CONTENT.writer(8192);
        for (offset, length, generation) in spans {
            let span = Span { file: FileId(1), offset, length, generation };
            prop_assert_eq!(CONTENT.check(FileId(1), generation, offset, writer.fill(&span)), Ok(()));
        }
    }

    #[test]
    fn any_flipped_bit_is_corrupt(
        page in 0u64..1000, length in prop::sample::select(vec![512u32, 1024, 4096, 12288]),
        bit in any::<prop::sample::Index>()
    ) {
        let mut data = bytes(&CONTENT, 1, 5, page * 4096, length);
        let bit = bit.index(data.len() * 8);
        data[bit / 8] ^= 1 << (bit % 8);
        let found = CONTENT.check(FileId(1), 5, page * 4096, &data);
        prop_assert_eq!(kind(found), Some(ErrorKind::CorruptContent));
    }

    #[test]
    fn content_of_another_place_is_misplaced(
        from in 0u64..1 << 30, to in 0u64..1 << 30, block in prop::sample::select(vec![512u64, 1024, 4096])
    ) {
        prop_assume!(from != to);
        let data = bytes(&CONTENT, 1, 2, from * block, block as u32);
        let found = CONTENT.check(FileId(1), 2, to * block, &data);
        prop_assert_eq!(kind(found), Some(ErrorKind::MisplacedContent));
    }

    #[test]
    fn an_older_generation_is_stale(
        offset in 0u64..1 << 30, newer in 1u32..16, block in prop::sample::select(vec![512u64, 1024, 4096])
    ) {
        let data = bytes(&CONTENT, 1, 40, offset * block, block as u32);
        let found = CONTENT.check(FileId(1), 40 + newer, offset * block, &data);
        prop_assert_eq!(kind(found), Some(ErrorKind::StaleContent));
    }
}

#[test]
fn other_files_and_studies_are_told_apart() {
    let other_file = bytes(&CONTENT, 2, 1, 8192, 4096);
    let found = CONTENT.check(FileId(1), 1, 8192, &other_file);
    assert_eq!(kind(found), Some(ErrorKind::MisplacedContent));
    let other_study = bytes(&Content::new(8), 1, 1, 8192, 4096);
    let found = CONTENT.check(FileId(1), 1, 8192, &other_study);
    assert_eq!(kind(found), Some(ErrorKind::StaleContent));
}

#[test]
fn a_page_of_which_a_part_was_not_written_is_stale() {
    let mut data = bytes(&CONTENT, 1, 2, 4096, 4096);
    data[2048..].copy_from_slice(&bytes(&CONTENT, 1, 1, 4096, 4096)[2048..]);
    let error = CONTENT.check(FileId(1), 2, 4096, &data).unwrap_err();
    assert_eq!(error.kind, ErrorKind::StaleContent);
    assert!(error.detail.contains(&(4096 + 2048).to_string()), "{error}");
}

#[test]
fn zeros_are_named() {
    let error = CONTENT.check(FileId(1), 0, 0, &[0; 4096]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CorruptContent);
    assert!(error.detail.contains("zeros"), "{error}");
}

#[test]
fn nothing_repeats_within_a_mebibyte() {
    let data = bytes(&CONTENT, 1, 0, 0, 1 << 20);
    let mut words: Vec<_> = data.chunks_exact(8).collect();
    words.sort();
    // Of the stamps, the study and the (file, generation) repeat: 2 words in each of 256 pages.
    let repeated = words.windows(2).filter(|w| w[0] == w[1]).count();
    assert_eq!(repeated, 2 * 255);
    let pages: std::collections::HashSet<_> =
        bytes(&CONTENT, 1, 0, 0, 4 << 20).chunks_exact(4096).map(<[u8]>::to_vec).collect();
    assert_eq!(pages.len(), 1024, "no page twice in 4 MiB");
}

#[test]
fn spans_are_as_aligned_in_memory_as_in_the_file() {
    let mut writer = CONTENT.writer(4096);
    for offset in [0u64, 512, 4096, 1 << 20, (1 << 30) + 1536] {
        let span = Span { file: FileId(9), offset, length: 4096, generation: 3 };
        assert_eq!(writer.fill(&span).as_ptr().addr() as u64 % 4096, offset % 4096);
    }
}
