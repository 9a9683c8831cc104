//! Calls byte for byte as RFC 1094 has them, and replies cut anywhere.

use super::*;
use crate::nfs3::{
    CreateArguments, CreateHow, Done, ExpectedReply, FileHandle, MakeDirectoryArguments, Name,
    Place, ReadArguments, ReadDirectoryArguments, RenameArguments, Request, SetAttributes,
    SetAttributesArguments, Stability, Time, Verifier, WriteArguments,
};
use crate::xdr::{Decoder, Encoder};
use crate::{Error, Version};
use proptest::prelude::*;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// What a request is on the wire, as parts.
#[track_caller]
fn is(request: Request<'_>, number: u32, parts: &[&[u8]]) {
    let mut bytes = Vec::new();
    encode(&request, &mut Encoder::new(&mut bytes));
    assert_eq!(bytes, parts.concat(), "{request:?}");
    assert_eq!(Version::V2.number(request.expected_reply().procedure()), number);
    assert_eq!(refusal(&request), None);
}

#[test]
fn calls_are_as_the_rfc_says() {
    let raw: Vec<u8> = (1..=32).collect();
    let file = FileHandle::new(&raw).unwrap();
    let place = Place { directory: file, name: Name::new("abcde").unwrap() };
    let name = [&words(&[5])[..], b"abcde\0\0\0"].concat();
    let (offset, count) = (0x8000_0001, 512);
    let read = ReadArguments { file, offset, count };
    is(Request::Read(read), 6, &[&raw, &words(&[0x8000_0001, 512, 0])]);
    let write = WriteArguments { file, offset, count, stability: Stability::Unstable };
    is(Request::Write(write), 8, &[&raw, &words(&[0, 0x8000_0001, 0, 512])]);
    is(Request::Attributes(file), 1, &[&raw]);
    is(Request::Lookup(place), 4, &[&raw, &name]);
    is(Request::Remove(place), 10, &[&raw, &name]);
    is(Request::RemoveDirectory(place), 15, &[&raw, &name]);
    let rename = RenameArguments { from: place, to: place };
    is(Request::Rename(rename), 11, &[&raw, &name, &raw, &name]);
    const AS_IS: u32 = u32::MAX;
    let mode = SetAttributes { mode: Some(0o640), ..SetAttributes::default() };
    let only_mode = words(&[0o640, AS_IS, AS_IS, AS_IS, AS_IS, AS_IS, AS_IS, AS_IS]);
    let create = CreateArguments { place, how: CreateHow::Guarded(mode) };
    is(Request::Create(create), 9, &[&raw, &name, &only_mode]);
    let make = MakeDirectoryArguments { place, attributes: mode };
    is(Request::MakeDirectory(make), 14, &[&raw, &name, &only_mode]);
    let modified = Some(Time { seconds: 9, nanoseconds: 123_456_789 });
    let attributes = SetAttributes { mode: None, size: Some(77), modified };
    let set = words(&[AS_IS, AS_IS, AS_IS, 77, AS_IS, AS_IS, 9, 123_456]);
    let arguments = SetAttributesArguments { file, attributes };
    is(Request::SetAttributes(arguments), 2, &[&raw, &set]);
    let verifier = Verifier::default();
    let page = ReadDirectoryArguments { directory: file, cookie: 7, verifier, count: 65_536 };
    is(Request::ListNames(page), 16, &[&raw, &words(&[7, 8192])]);
}

#[test]
fn what_32_bits_cannot_say_is_refused() {
    let file = FileHandle::new(&[1; 32]).unwrap();
    let most = u64::from(u32::MAX);
    for (offset, count, refused) in [
        (most, 0, false),
        (most - 8, 8, false),
        (most - 7, 8, true),
        (most + 1, 0, true),
        (u64::MAX, 9, true),
    ] {
        let read = refusal(&Request::Read(ReadArguments { file, offset, count }));
        assert_eq!(read.is_some(), refused, "{offset} + {count}");
    }
    for (size, refused) in [(most - 1, false), (most + 1, true)] {
        let attributes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let set = Request::SetAttributes(SetAttributesArguments { file, attributes });
        assert_eq!(refusal(&set).is_some(), refused, "{size}");
    }
}

const ALL: [ExpectedReply; 7] = [
    ExpectedReply::Read { count: 8 },
    ExpectedReply::Write { count: 8, stability: Stability::Unstable },
    ExpectedReply::Attributes,
    ExpectedReply::Lookup,
    ExpectedReply::Make(Procedure::Create),
    ExpectedReply::Rename,
    ExpectedReply::ListNames,
];

#[test]
fn a_reply_that_is_cut_anywhere_is_none() {
    let attributes = [&[1][..], &[5; 16]].concat();
    let file = [&[3; 8][..], &attributes].concat();
    let replies = [
        [&words(&attributes)[..], &words(&[5]), b"12345\0\0\0"].concat(),
        words(&attributes),
        words(&attributes),
        words(&file),
        words(&file),
        Vec::new(),
        [&words(&[1, 9, 2])[..], b"ab\0\0", &words(&[4, 0, 1])].concat(),
    ];
    for (expected, reply) in ALL.into_iter().zip(replies) {
        let whole = [words(&[0]), reply].concat();
        let mut from = Decoder::new(&whole);
        let done = results(expected, &[0; 44], &mut from);
        assert!(done.is_ok() && from.remaining() == 0, "{expected:?}: {done:?}");
        if let Ok(Done::Read { data, end_of_file }) = done {
            assert_eq!((data, end_of_file), (&b"12345"[..], true));
        }
        for cut in 0..whole.len() {
            let cut = results(expected, &[0; 44], &mut Decoder::new(&whole[..cut]));
            assert!(matches!(cut, Err(Error::Malformed(_))), "{expected:?}: {cut:?}");
        }
        let refused = results(expected, &[0; 44], &mut Decoder::new(&[0, 0, 0, 13]));
        let status = refused.unwrap_err().status();
        assert_eq!(status, Some(crate::nfs3::Status::Access));
    }
}

#[test]
fn more_bytes_than_were_asked_for_are_refused() {
    let attributes = [&[1][..], &[5; 16]].concat();
    let reply = [&words(&[0])[..], &words(&attributes), &words(&[12]), &[7; 12]].concat();
    let read = results(ExpectedReply::Read { count: 8 }, &[0; 44], &mut Decoder::new(&reply));
    assert!(matches!(read, Err(Error::TooMuch { asked: 8, got: 12, .. })), "{read:?}");
    let huge = [&words(&[0])[..], &words(&attributes), &words(&[u32::MAX]), &[7; 12]].concat();
    let read = results(ExpectedReply::Read { count: 8 }, &[0; 44], &mut Decoder::new(&huge));
    assert!(matches!(read, Err(Error::Malformed(_))), "{read:?}");
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..160), n in 0..ALL.len(), short in 0usize..44) {
        let _ = results(ALL[n], &[0xff; 44][..short], &mut Decoder::new(&bytes));
        let zero = [&[0; 4][..], &bytes].concat();
        let _ = results(ALL[n], &[0xff; 44][..short], &mut Decoder::new(&zero));
    }
}
