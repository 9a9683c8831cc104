//! Frames survive any cut.

use super::*;
use proptest::prelude::*;

/// As RFC 5531, section 11, marks them: the highest bit ends a frame.
struct HighBit;

const LAST_FRAGMENT: u32 = 0x8000_0000;

impl Mark for HighBit {
    type Error = BadFrame;
    fn parse(mark: [u8; MARK_BYTES]) -> Result<(usize, bool), BadFrame> {
        let mark = u32::from_be_bytes(mark);
        Ok(((mark & !LAST_FRAGMENT) as usize, mark & LAST_FRAGMENT != 0))
    }
}

fn fragment(bytes: &[u8], last: bool) -> Vec<u8> {
    let mark = bytes.len() as u32 | if last { LAST_FRAGMENT } else { 0 };
    [&mark.to_be_bytes()[..], bytes].concat()
}

/// Feeds a stream in pieces of the given sizes and collects the frames.
fn feed(
    buffer: &mut FrameBuffer<HighBit>,
    mut stream: &[u8],
    pieces: &[usize],
) -> Result<Vec<Vec<u8>>, BadFrame> {
    let mut frames = Vec::new();
    let mut sizes = pieces.iter().copied().cycle();
    while !stream.is_empty() {
        let remaining = buffer.remaining();
        assert!(!remaining.is_empty());
        let n = sizes.next().unwrap_or(1).max(1).min(remaining.len()).min(stream.len());
        remaining[..n].copy_from_slice(&stream[..n]);
        buffer.filled(n);
        stream = &stream[n..];
        while let Some(place) = buffer.next_frame()? {
            frames.push(buffer.frame(place).to_vec());
        }
    }
    Ok(frames)
}

#[test]
fn lengths_are_checked_before_bytes_come() {
    let mut buffer = FrameBuffer::new(100);
    let stream = 0xffff_ffffu32.to_be_bytes();
    assert!(matches!(
        feed(&mut buffer, &stream, &[4]),
        Err(BadFrame::TooLong { length: 0x7fff_ffff, limit: 100 })
    ));
    let mut buffer = FrameBuffer::new(100);
    let stream = [fragment(&[1; 60], false), fragment(&[1; 60], true)].concat();
    assert!(matches!(
        feed(&mut buffer, &stream, &[7]),
        Err(BadFrame::TooLong { length: 120, limit: 100 })
    ));
}

#[test]
fn endless_empty_fragments_are_refused() {
    let mut buffer = FrameBuffer::new(100);
    let few = [vec![0; 4 * MOST_EMPTY as usize], fragment(b"x", true)].concat();
    assert_eq!(feed(&mut buffer, &few, &[3]).unwrap(), [b"x"]);
    assert_eq!(feed(&mut buffer, &[0; 1000], &[64]), Err(BadFrame::EmptyFragments));
}

#[test]
fn large_frames_are_not_moved() {
    let limit = 1 << 20;
    let mut buffer = FrameBuffer::new(limit);
    let stream = [fragment(&vec![1; limit], true), fragment(&vec![2; limit], true)].concat();
    let frames = feed(&mut buffer, &stream, &[usize::MAX]).unwrap();
    assert_eq!(frames, [vec![1; limit], vec![2; limit]]);
    assert!(buffer.bytes.len() <= limit + CHUNK + MARK_BYTES);
}

proptest! {
    #[test]
    fn any_cut_into_fragments_and_pieces_gives_the_same_frames(
        frames in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5), 1..8),
        pieces in prop::collection::vec(1usize..90, 1..10),
    ) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        for fragments in &frames {
            for (i, bytes) in fragments.iter().enumerate() {
                stream.extend(fragment(bytes, i + 1 == fragments.len()));
            }
            expected.push(fragments.concat());
        }
        let mut buffer = FrameBuffer::new(200);
        prop_assert_eq!(feed(&mut buffer, &stream, &pieces).unwrap(), expected.clone());
        // Once more through the same buffer, shrunk so that it must compact.
        buffer.bytes = vec![0; 200 + 64].into_boxed_slice();
        (buffer.start, buffer.assembled, buffer.unread, buffer.end) = (0, 0, 0, 0);
        prop_assert_eq!(feed(&mut buffer, &stream, &pieces).unwrap(), expected);
    }

    #[test]
    fn any_stream_is_read_or_refused(stream in prop::collection::vec(any::<u8>(), 0..600),
                                     pieces in prop::collection::vec(1usize..90, 1..4)) {
        let _ = feed(&mut FrameBuffer::<HighBit>::new(256), &stream, &pieces);
    }
}
