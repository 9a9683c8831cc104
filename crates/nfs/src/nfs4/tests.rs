//! The formats: exact bytes, what is encoded decodes, and what is cut or wrong is an error.

use super::identity::OwnerName;
use super::request::{Building, ExpectedReply, KeptPlace, Step, Transfer};
use super::*;
use crate::ByteRange;
use crate::nfs3::{Data, FileType, Name, Page, Verifier};
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error as XdrError, decode_all, encode_all};
use proptest::prelude::*;
use std::fmt::Debug;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn state(byte: u8) -> StateId {
    StateId { sequence: byte.into(), other: Fixed([byte; 12]) }
}

#[test]
fn a_compound_is_as_the_rfc_says() {
    let mut bytes = Vec::new();
    let (session, file) = (Fixed([7; 16]), FileHandle::new(&[9; 5]).unwrap());
    let mut compound = Compound::new(&mut bytes, Minor::V1);
    compound.add(&Sequence { session, sequence: 3, slot: 4, highest_slot: 5, keep: false });
    compound.add(&PutHandle { file });
    compound.add(&Read { state: state(1), offset: 1 << 33, count: 4096 });
    let expected = [
        words(&[0, 1, 3]), // no tag, minor version, three operations
        words(&[53, 0x0707_0707, 0x0707_0707, 0x0707_0707, 0x0707_0707, 3, 4, 5, 0]),
        words(&[22, 5, 0x0909_0909, 0x0900_0000]),
        words(&[25, 1, 0x0101_0101, 0x0101_0101, 0x0101_0101, 2, 0, 4096]),
    ];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn open_write_and_readdir_are_as_the_rfc_says() {
    let attributes = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    let open = Open {
        sequence: 0,
        access: 0x403,
        deny: 0,
        owner: StateOwner { client: 2, owner: Short(b"ab") },
        how: OpenHow::Guarded(attributes),
        claim: Claim::Name(Name::new("f").unwrap()),
    };
    let expected = [
        &[0, 0x403, 0, 0, 2, 2, u32::from_be_bytes(*b"ab\0\0")][..],
        &[1, 1, 2, 0, 2, 4, 0o600], // OPEN4_CREATE, GUARDED4, a bitmap of two words, the mode
        &[0, 1, u32::from_be_bytes(*b"f\0\0\0")], // CLAIM_NULL
    ];
    assert_eq!(encode_all(&open), words(&expected.concat()));
    let write =
        Write { state: state(0), offset: 1, stability: Stability::FileSync, data: Data(b"xyz") };
    let expected = words(&[0, 0, 0, 0, 0, 1, 2, 3, u32::from_be_bytes(*b"xyz\0")]);
    assert_eq!(encode_all(&write), expected);
    let (state, offset, stability) = (state(0), 1, Stability::FileSync);
    assert_eq!(
        encode_all(&WriteHead { state, offset, stability, count: 3 }),
        expected[..expected.len() - 4],
        "the data alone are missing"
    );
    let attributes = Attributes { kind: Some(FileType::Regular), ..Attributes::default() };
    let entry = PageEntry { cookie: 1 << 32, name: Data(b"f"), attributes };
    let page = Page { verifier: Verifier(6), entries: vec![entry], end: true };
    let expected = [0, 6, 1, 1, 0, 1, u32::from_be_bytes(*b"f\0\0\0"), 1, 2, 4, 1, 0, 1];
    assert_eq!(encode_all(&ReadDirectoryOk(page)), words(&expected));
}

/// The compound of a request.
fn requested(identity: &Identity, request: &Request<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (client, page_most, data_at, rest) = (5, 8192, None, &mut None);
    let compound = Compound::new(&mut bytes, identity.minor());
    let place = &mut KeptPlace::default();
    let mut building = Building { identity, client, compound, page_most, data_at, rest, place };
    building.request(request);
    bytes
}

/// The state of the locks that a reply tells of, or the compound that it leads to.
fn replied(
    identity: &Identity,
    expected: ExpectedReply,
    reply: &[u8],
) -> (Option<StateId>, Vec<u8>) {
    let mut results: Results<'_> = Decoder::new(reply).value().unwrap();
    let mut bytes = Vec::new();
    let (client, page_most, data_at, rest) = (5, 8192, None, &mut None);
    let compound = Compound::new(&mut bytes, identity.minor());
    let place = &mut KeptPlace::default();
    let mut building = Building { identity, client, compound, page_most, data_at, rest, place };
    let locks = match building.reply(expected, &mut results) {
        Ok(Step::Done(Done::Other(Other::Locks(state)))) => Some(state),
        Ok(Step::Next(_) | Step::Later(_)) => None,
        _ => panic!("neither locks nor another compound"),
    };
    (locks, bytes)
}

/// PUTFH and one operation.
fn on_file<A: Arguments>(minor: Minor, file: FileHandle, operation: &A) -> Vec<u8> {
    let mut bytes = Vec::new();
    Compound::new(&mut bytes, minor).add(&PutHandle { file }).add(operation);
    bytes
}

#[test]
fn calls_name_a_state_with_its_sequence_in_4_0_and_without_it_from_4_1_on() {
    let (file, stability) = (FileHandle::new(&[9; 5]).unwrap(), Stability::FileSync);
    let (offset, count, length) = (4096, 512, 3);
    let (kind, bytes) = (LockKind::Write, ByteRange { offset, length });
    for minor in [Minor::V0, Minor::V1, Minor::V2] {
        let in_4_0 = |number: u32| if minor == Minor::V0 { number } else { 0 };
        let identity = Identity::new(minor);
        // The server has counted two changes of the open file, and seven of the locks.
        let open = identity.add(file, 3, OwnerName::default(), state(2), 1);
        let opened = StateId { sequence: in_4_0(2), ..state(2) };
        let locked = StateId { sequence: in_4_0(7), ..state(7) };
        assert_eq!(open.state_id(), opened, "{minor}");
        for (expected, operation) in [(ExpectedReply::Lock, 12), (ExpectedReply::Unlock, 14)] {
            let reply = [words(&[0, 0, 2, 22, 0, operation, 0]), encode_all(&state(7))].concat();
            assert_eq!(replied(&identity, expected, &reply).0, Some(locked), "{minor}");
        }

        let assert_is = |request: Request<'_>, expected: Vec<u8>| {
            assert_eq!(requested(&identity, &request), expected, "{minor}: {request:?}");
        };
        let read = Read { state: opened, offset, count };
        let request = Request::Read { file, state: open.state_id(), offset, count };
        assert_is(request, on_file(minor, file, &read));
        let write = WriteHead { state: opened, offset, stability, count };
        let request = Request::Write { file, state: open.state_id(), offset, count, stability };
        assert_is(request, on_file(minor, file, &write));
        let name = 1u64.to_be_bytes();
        let owner = StateOwner { client: 5, owner: Short(&name) };
        let open_sequence = in_4_0(1);
        let locker = Locker::New { open_sequence, open: opened, lock_sequence: 0, owner };
        let lock = Lock { kind, reclaim: false, offset, length, locker };
        let request = Request::Lock { file: &open, kind, bytes, owner: None };
        assert_is(request, on_file(minor, file, &lock));
        let (owner, sequence) = (LockOwner { state: locked, sequence: 4 }, in_4_0(4));
        let lock = Lock { locker: Locker::Known { state: locked, sequence }, ..lock };
        let request = Request::Lock { file: &open, kind, bytes, owner: Some(owner) };
        assert_is(request, on_file(minor, file, &lock));
        let unlock = Unlock { kind, sequence, state: locked, offset, length };
        assert_is(Request::Unlock { file, bytes, owner }, on_file(minor, file, &unlock));
        let close = Close { sequence: in_4_0(2), state: opened };
        assert_is(Request::Close(&open), on_file(minor, file, &close));

        let bypass = StateId { sequence: u32::MAX, other: Fixed([0xff; 12]) };
        for special in [StateId::ANONYMOUS, StateId::CURRENT, bypass] {
            assert_eq!(special.in_calls(minor), special, "{minor}");
        }
    }
}

#[test]
fn a_small_file_that_could_not_be_written_is_closed_without_its_sequence() {
    let (file, identity) = (FileHandle::new(&[9; 5]).unwrap(), Identity::new(Minor::V1));
    let change = ChangeInfo { atomic: true, before: 1, after: 2 };
    let (set, delegation) = (Bitmap::default(), Delegation(None));
    let ok = OpenOk { state: state(2), change, flags: 0, set, delegation };
    let no_space = 28;
    let reply = [
        words(&[no_space, 0, 4, 22, 0, 18, 0]),
        encode_all(&ok),
        words(&[10, 0]),
        encode_all(&file),
        words(&[38, no_space]),
    ];
    let put = ExpectedReply::Whole(Transfer::Put(3, Stability::FileSync));
    let (_, next) = replied(&identity, put, &reply.concat());
    let close = Close { sequence: 0, state: StateId { sequence: 0, ..state(2) } };
    assert_eq!(next, on_file(Minor::V1, file, &close));
}

/// Also: every cut is an error.
fn reads_back<'a, T: Encode + Decode<'a> + PartialEq + Debug>(value: T) {
    let bytes: &'static [u8] = encode_all(&value).leak();
    assert_eq!(decode_all::<T>(bytes), Ok(value));
    for cut in 0..bytes.len() {
        assert!(decode_all::<T>(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn everything_reads_back(
        file in prop::collection::vec(any::<u8>(), 0..129), name in "[^/\0]{1,60}",
        a: u64, b: u32, c: u64, d: u8, yes: bool, data in prop::collection::vec(any::<u8>(), 0..40),
        size: Option<u64>, mode: Option<u32>, time: Option<(i64, u32)>,
    ) {
        prop_assume!(Name::new(&name).is_some());
        let name = Name::new(name.leak()).unwrap();
        let data: &'static [u8] = data.leak();
        let file = FileHandle::new(&file).unwrap();
        let state = state(d);
        let modified = time.map(|(seconds, nanoseconds)| Time { seconds, nanoseconds });
        let attributes = SetAttributes { size, mode, modified };
        let owner = StateOwner { client: a, owner: Short(data) };
        let session = Fixed([d; 16]);
        let change = ChangeInfo { atomic: yes, before: a, after: c };
        let set = Bitmap([b, 0, u32::from(d)]);
        let channel = Channel { request_most: b, reply_most: 2, kept_most: 3, operations: 4, slots: b ^ 5 };

        reads_back(PutHandle { file });
        reads_back(Lookup { name });
        reads_back(GetAttributes { which: set });
        reads_back(SetAttributesOf { state, attributes });
        reads_back(Access { rights: b });
        reads_back(AccessOk { supported: b, rights: 1 });
        reads_back(Read { state, offset: a, count: b });
        reads_back(ReadOk { end_of_file: yes, data: Data(data) });
        for stability in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
            reads_back(WriteHead { state, offset: a, stability, count: b });
            reads_back(Write { state, offset: a, stability, data: Data(data) });
            reads_back(WriteOk { count: b, committed: stability, verifier: Verifier(a) });
        }
        reads_back(Commit { offset: a, count: b });
        reads_back(CreateDirectory { name, attributes });
        reads_back(CreateOk { change, set });
        reads_back(Remove { name });
        reads_back(Rename { from: name, to: name });
        reads_back(RenameOk { from: change, to: change });
        reads_back(ReturnDelegation { state });
        reads_back(Allocate { state, offset: a, length: c });
        reads_back(ReadPlus { state, offset: a, count: b });
        reads_back(Segment::Data { offset: a, data: Data(data) });
        reads_back(Segment::Hole { offset: a, length: c });
        let hows = [
            OpenHow::Existing, OpenHow::Unchecked(attributes), OpenHow::Guarded(attributes),
            OpenHow::Exclusive(Verifier(a)), OpenHow::ExclusiveWith(Verifier(c), attributes),
        ];
        for (how, claim) in hows.into_iter().zip([Claim::Name(name), Claim::Previous, Claim::Handle].into_iter().cycle()) {
            reads_back(Open { sequence: b, access: 1, deny: 2, owner, how, claim });
        }
        for delegation in [Delegation(None), Delegation(Some(state))] {
            reads_back(OpenOk { state, change, flags: b, set, delegation });
        }
        reads_back(ConfirmOpen { state, sequence: b });
        reads_back(Close { sequence: b, state });
        let new = Locker::New { open_sequence: b, open: state, lock_sequence: 1, owner };
        for locker in [new, Locker::Known { state, sequence: b }] {
            reads_back(Lock { kind: LockKind::Write, reclaim: yes, offset: a, length: c, locker });
        }
        reads_back(TestLock { kind: LockKind::Read, offset: a, length: c, owner });
        reads_back(Unlock { kind: LockKind::Read, sequence: b, state, offset: a, length: c });
        reads_back(ExchangeId { verifier: Verifier(a), owner: Short(data), flags: b });
        reads_back(ExchangeIdOk { client: a, sequence: b, flags: 7 });
        reads_back(CreateSession { client: a, sequence: b, fore: channel, back: channel });
        reads_back(CreateSessionOk { session, sequence: b, flags: 0, fore: channel, back: channel });
        reads_back(DestroySession { session });
        reads_back(DestroyClient { client: a });
        reads_back(Sequence { session, sequence: b, slot: 1, highest_slot: 2, keep: yes });
        reads_back(SequenceOk { session, sequence: b, slot: 1, highest_slot: 2, target_highest_slot: 3, status: 4 });
        reads_back(ReclaimComplete { one_file_system: yes });
        let (network, address) = (Short(b"tcp"), Short(data));
        reads_back(SetClient { verifier: Verifier(a), owner: Short(data), program: b, network, address, ident: 1 });
        reads_back(Registration { client: a, confirm: Fixed([d; 8]) });
        reads_back(Renew { client: c });
        reads_back(ReadDirectory { cookie: a, verifier: Verifier(c), name_bytes: b, count: 1, which: set });
        let known = Attributes {
            kind: Some(FileType::Directory), size, mode, modified, links: Some(b), change: Some(a),
            file_system: Some(FileSystemId { major: a, minor: c }), owner: Some(Owner(Some(b))),
            group: Some(Owner(None)), space_total: Some(a), ..Attributes::default()
        };
        reads_back(known);
        reads_back(Verify { attributes: known });
        let entry = PageEntry { cookie: a, name: Data(data), attributes: known };
        reads_back(ReadDirectoryOk(Page { verifier: Verifier(c), entries: vec![entry, entry], end: yes }));
    }

    #[test]
    fn any_bytes_are_results_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_all::<Attributes>(&bytes);
        let _ = decode_all::<OpenOk>(&bytes);
        let _ = decode_all::<ExchangeIdOk>(&bytes);
        let _ = decode_all::<ReadDirectoryOk>(&bytes);
        let _ = Decoder::new(&bytes).value::<ReadPlusOk<'_>>();
    }
}

/// Results of PUTFH and READ, or of what is made of them.
fn results(status: u32, count: u32, tail: &[u32]) -> Result<Vec<u8>, crate::Error> {
    let bytes = words(&[&[status, 0, count], tail].concat());
    let mut results: Results<'_> = Decoder::new(&bytes).value()?;
    results.take::<PutHandle>()?;
    let data = results.take::<Read>()?.data.0.to_vec();
    results.finish()?;
    Ok(data)
}

#[test]
fn an_error_ends_a_compound_where_it_stands_and_nowhere_else() {
    use crate::Error;
    let read = [25, 0, 1, 4, 0x0102_0304];
    let good = [&[22, 0][..], &read].concat();
    assert_eq!(results(0, 2, &good), Ok(vec![1, 2, 3, 4]));
    let refused = |operation, status| Err(Error::Nfs4 { operation, status });
    assert_eq!(results(70, 1, &[22, 70]), refused(Operation::PutHandle, Status::Stale));
    assert_eq!(results(13, 2, &[22, 0, 25, 13]), refused(Operation::Read, Status::Access));
    let minor = refused(Operation::Compound, Status::MinorVersion);
    assert_eq!(results(10021, 0, &[]), minor, "before the first operation");
    let illegal = refused(Operation::Read, Status::Illegal);
    assert_eq!(results(10044, 2, &[22, 0, 10044, 10044]), illegal);
    let wrong: [(u32, u32, &[u32]); 9] = [
        (0, 1, &[22, 70]),          // the compound says nothing of the error
        (70, 2, &[22, 70, 25, 0]),  // it goes on after the error
        (13, 1, &[22, 70]),         // another error
        (0, 1, &[22, 0]),           // results are missing
        (0, 2, &[22, 0]),           // they are promised
        (0, u32::MAX, &good),       // more than was asked for
        (5, 2, &good),              // an error of nobody
        (0, 2, &[25, 0, 22, 0]),    // in another order
        (0, 2, &[22, 0, 10044, 0]), // ILLEGAL succeeds
    ];
    for (status, count, tail) in wrong {
        let error = results(status, count, tail).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{status} {count} {tail:?}: {error}");
    }
    for cut in 0..good.len() {
        assert!(results(0, 2, &good[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn foreign_lengths_and_what_nobody_asked_for_are_refused() {
    assert!(FileHandle::new(&[1; 129]).is_none());
    assert!(decode_all::<FileHandle>(&encode_all(&Data(&[1; 129]))).is_err());
    let long = decode_all::<Bitmap>(&words(&[u32::MAX, 1]));
    assert_eq!(long, Err(XdrError::TooLong { length: u32::MAX, limit: 16 }));
    assert!(decode_all::<Bitmap>(&words(&[4, 0, 0, 0, 0])).is_ok());
    assert!(decode_all::<Bitmap>(&words(&[4, 0, 0, 0, 1])).is_err());
    // Attribute 2 (fh_expire_type), of which this client does not know how long it is.
    assert!(decode_all::<Attributes>(&words(&[1, 4, 4, 1])).is_err());
    // A list that is longer, or shorter, than its attributes.
    assert!(decode_all::<Attributes>(&words(&[1, 2, 8, 1, 1])).is_err());
    assert!(decode_all::<Attributes>(&words(&[1, 2, 0])).is_err());
    let many = words(&[1, u32::MAX, 1, 0, 0, 0, 9]);
    assert!(Decoder::new(&many).value::<ReadPlusOk<'_>>().is_err());
    // A delegation of a kind that does not exist, and why there is none.
    assert!(decode_all::<Delegation>(&words(&[4])).is_err());
    assert_eq!(decode_all::<Delegation>(&words(&[3, 1, 1])), Ok(Delegation(None)));
    assert_eq!(decode_all::<Delegation>(&words(&[3, 0])), Ok(Delegation(None)));
}

#[test]
fn pieces_of_read_plus_make_the_file_without_a_gap() {
    let data = |offset, bytes: &'static [u8]| Segment::Data { offset, data: Data(bytes) };
    let append = |segments: &[Segment<'_>], count| {
        let mut bytes = words(&[1, segments.len() as u32]);
        let mut to = Encoder::new(&mut bytes);
        segments.iter().for_each(|segment| to.value(segment));
        let mut out = vec![b'-'];
        let ok: ReadPlusOk<'_> = decode_reply(&bytes);
        ok.append(10, count, &mut out).map(|()| out)
    };
    let hole = |offset, length| Segment::Hole { offset, length };
    assert_eq!(append(&[data(10, b"ab"), hole(12, 3), data(15, b"c")], 6).unwrap(), b"-ab\0\0\0c");
    assert_eq!(append(&[hole(10, u64::MAX)], 4).unwrap(), b"-\0\0\0\0", "no longer than asked for");
    for wrong in [&[data(11, b"ab")][..], &[hole(10, 1), data(12, b"x")], &[data(10, b"abcdefg")]] {
        assert!(append(wrong, 6).is_err(), "{wrong:?}");
    }
    assert!(append(&[hole(10, u64::MAX), data(9, b"x")], 6).is_err());
}

fn decode_reply(bytes: &[u8]) -> ReadPlusOk<'_> {
    Decoder::new(bytes).value().unwrap()
}
