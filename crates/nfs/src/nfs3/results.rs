//! What replies carry (RFC 1813, section 3.3).

use super::attributes::{Attributes, Time};
use super::status::Status;
use super::types::{Data, FileHandle, Procedure, Stability, Verifier};
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Results of a call: what it gives, or why it failed. What stands beside a failure (attributes
/// of the file or directory) is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<T>(pub Result<T, Status>);

impl<'a, T: Decode<'a>> Decode<'a> for Reply<T> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        match Status::from_number(from.u32()?) {
            None => T::decode(from).map(|ok| Reply(Ok(ok))),
            Some(status) => {
                *from = Decoder::new(&[]);
                Ok(Reply(Err(status)))
            }
        }
    }
}

impl<T: Encode> Encode for Reply<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match &self.0 {
            Ok(ok) => {
                to.u32(0);
                to.value(ok);
            }
            Err(status) => to.u32(status.number()),
        }
    }
}

/// Attributes that may be there and are not of interest (post_op_attr); encoded as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped;

impl Encode for Skipped {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(false);
    }
}

impl Decode<'_> for Skipped {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.skip_option(Attributes::WIRE_BYTES).map(|()| Skipped)
    }
}

wire! {
    /// What a file was before a change (wcc_attr).
    pub struct Before {
        /// Size in bytes.
        pub size: u64,
        /// Last change of the content.
        pub modified: Time,
        /// Last change of the attributes.
        pub changed: Time,
    }
}

impl Before {
    const WIRE_BYTES: usize = 24;
}

/// A file before and after a change (wcc_data), not looked at; encoded as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

impl Encode for Changed {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(false);
        to.value(&Skipped);
    }
}

impl Decode<'_> for Changed {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.skip_option(Before::WIRE_BYTES)?;
        from.value::<Skipped>().map(|_| Changed)
    }
}

wire! {
    /// LOOKUP.
    pub struct LookupOk {
        /// The file.
        pub file: FileHandle,
        /// Its attributes, where the server gives them.
        pub attributes: Option<Attributes>,
        /// The directory's.
        pub directory: Skipped,
    }
}

wire! {
    /// ACCESS.
    pub struct AccessOk {
        /// The file's attributes.
        pub attributes: Skipped,
        /// Rights granted, as bits.
        pub rights: u32,
    }
}

wire! {
    /// CREATE and MKDIR.
    pub struct CreateOk {
        /// The new file, where the server gives it.
        pub file: Option<FileHandle>,
        /// Its attributes.
        pub attributes: Option<Attributes>,
        /// The directory.
        pub directory: Changed,
    }
}

wire! {
    /// READ, decoded in place: `data` are the bytes in the receive buffer.
    pub struct ReadOk<'a> {
        /// The file's attributes.
        pub attributes: Skipped,
        /// Bytes read; equals the length of `data` in a valid reply.
        pub count: u32,
        /// Whether the file ends after them.
        pub end_of_file: bool,
        /// The bytes.
        pub data: Data<'a>,
    }
}

wire! {
    /// WRITE.
    pub struct WriteOk {
        /// The file.
        pub file: Changed,
        /// Bytes written.
        pub count: u32,
        /// How safe they are.
        pub committed: Stability,
        /// Changes when the server restarts.
        pub verifier: Verifier,
    }
}

wire! {
    /// COMMIT.
    pub struct CommitOk {
        /// The file.
        pub file: Changed,
        /// Changes when the server restarts.
        pub verifier: Verifier,
    }
}

wire! {
    /// RENAME.
    pub struct Renamed {
        /// The directory of the name that was there.
        pub from: Changed,
        /// The directory of the name that it got.
        pub to: Changed,
    }
}

wire! {
    /// FSSTAT.
    pub struct FileSystemSpace {
        /// The file's attributes.
        pub attributes: Skipped,
        /// Size in bytes.
        pub total: u64,
        /// Free bytes.
        pub free: u64,
        /// Free bytes for this caller.
        pub available: u64,
        /// Files there can be.
        pub total_files: u64,
        /// Files there can be further.
        pub free_files: u64,
        /// Files this caller can make further.
        pub available_files: u64,
        /// Seconds for which this is not expected to change.
        pub unchanging_seconds: u32,
    }
}

wire! {
    /// FSINFO.
    pub struct FileSystemInfo {
        /// The file's attributes.
        pub attributes: Skipped,
        /// Longest READ in bytes.
        pub read_most: u32,
        /// Preferred READ in bytes.
        pub read_preferred: u32,
        /// READ lengths should be a multiple of this.
        pub read_multiple: u32,
        /// Longest WRITE in bytes.
        pub write_most: u32,
        /// Preferred WRITE in bytes.
        pub write_preferred: u32,
        /// WRITE lengths should be a multiple of this.
        pub write_multiple: u32,
        /// Preferred READDIR in bytes.
        pub directory_preferred: u32,
        /// Longest file in bytes.
        pub longest_file: u64,
        /// Precision of times.
        pub time_precision: Time,
        /// Abilities, as bits.
        pub properties: u32,
    }
}

wire! {
    /// A name in a page of READDIR.
    pub struct PageEntry<'a> {
        /// Number of the file.
        pub file_id: u64,
        /// Its name, as the server gives it: not yet known to be safe.
        pub name: Data<'a>,
        /// Where to go on after it.
        pub cookie: u64,
    }
}

wire! {
    /// A name in a page of READDIRPLUS.
    pub struct PagePlusEntry<'a> {
        /// The name.
        pub entry: PageEntry<'a>,
        /// Attributes, where the server gives them.
        pub attributes: Option<Attributes>,
        /// The handle, where the server gives it.
        pub file: Option<FileHandle>,
    }
}

/// A page of a directory: READDIR with [`PageEntry`], READDIRPLUS with [`PagePlusEntry`]. Holds
/// no more entries than its bytes can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<E> {
    /// To be given back with the next call.
    pub verifier: Verifier,
    /// The names.
    pub entries: Vec<E>,
    /// Whether the directory ends here.
    pub end: bool,
}

/// A page of READDIRPLUS.
pub type PagePlus<'a> = Page<PagePlusEntry<'a>>;

impl<E: Encode> Encode for Page<E> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.value(&Skipped);
        to.value(&self.verifier);
        for entry in &self.entries {
            to.bool(true);
            to.value(entry);
        }
        to.bool(false);
        to.bool(self.end);
    }
}

impl<'a, E: Decode<'a>> Decode<'a> for Page<E> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        from.value::<Skipped>()?;
        let verifier = from.value()?;
        let mut entries = Vec::new();
        while let Some(entry) = from.option()? {
            entries.push(entry);
        }
        Ok(Page { verifier, entries, end: from.bool()? })
    }
}

/// The bytes of a READ, checked against what was asked for.
pub(crate) fn checked_data<'a>(ok: &ReadOk<'a>, asked: u32) -> Result<&'a [u8], crate::Error> {
    if ok.count > asked {
        let procedure = Procedure::Read;
        return Err(crate::Error::TooMuch { procedure, asked, got: ok.count });
    }
    if ok.data.0.len() != ok.count as usize {
        return Err(Error::Invalid("READ: count and data differ").into());
    }
    Ok(ok.data.0)
}

/// Checks what a WRITE did against what was asked for.
pub(super) fn check_written(ok: &WriteOk, sent: u32, asked: Stability) -> Result<(), crate::Error> {
    if ok.count > sent {
        return Err(crate::Error::TooMuch {
            procedure: Procedure::Write,
            asked: sent,
            got: ok.count,
        });
    }
    if ok.committed < asked {
        return Err(crate::Error::NotStable { asked, got: ok.committed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs3::FileType;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;
    use std::fmt::Debug;

    fn attributes(n: u64) -> Attributes {
        let time = Time { seconds: n as u32, nanoseconds: 1 };
        Attributes {
            kind: if n.is_multiple_of(2) { FileType::Regular } else { FileType::Directory },
            mode: n as u32,
            links: 1,
            uid: 2,
            gid: 3,
            size: n,
            used: n,
            device_major: 0,
            device_minor: 0,
            file_system: 4,
            file_id: n,
            accessed: time,
            modified: time,
            changed: time,
        }
    }

    fn reads_back<'a, T: Encode + Decode<'a> + PartialEq + Debug>(value: T) {
        let bytes: &'static [u8] = encode_all(&Reply(Ok(&value))).leak();
        assert_eq!(decode_all::<Reply<T>>(bytes), Ok(Reply(Ok(value))));
        for cut in 0..bytes.len() {
            assert!(decode_all::<Reply<T>>(&bytes[..cut]).is_err());
        }
    }

    impl<T: Encode> Encode for &T {
        fn encode(&self, to: &mut Encoder<'_>) {
            (**self).encode(to);
        }
    }

    #[test]
    fn attributes_that_are_there_are_skipped() {
        let mut bytes = Vec::new();
        let mut to = Encoder::new(&mut bytes);
        to.u32(0);
        to.value(&Some(Before {
            size: 1,
            modified: attributes(1).modified,
            changed: attributes(1).changed,
        }));
        to.value(&Some(attributes(7)));
        to.u32(100);
        to.value(&Stability::DataSync);
        to.u64(42);
        let Reply(reply) = decode_all::<Reply<WriteOk>>(&bytes).unwrap();
        let ok = reply.unwrap();
        assert_eq!((ok.count, ok.committed, ok.verifier), (100, Stability::DataSync, Verifier(42)));
    }

    #[test]
    fn what_stands_beside_a_failure_is_not_looked_at() {
        let bytes = [0, 0, 0, 70, 0xff, 0xff, 0xff, 0xff, 1, 2, 3];
        assert_eq!(decode_all::<Reply<LookupOk>>(&bytes), Ok(Reply(Err(Status::Stale))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn all_results_read_back(n: u64, a: u32, has: bool, handle in prop::collection::vec(any::<u8>(), 0..65),
                                 data in prop::collection::vec(any::<u8>(), 0..40), end: bool) {
            let data: &'static [u8] = data.leak();
            let file = FileHandle::new(&handle).unwrap();
            let some = has.then(|| attributes(n));
            reads_back(attributes(n));
            reads_back(LookupOk { file, attributes: some, directory: Skipped });
            reads_back(AccessOk { attributes: Skipped, rights: a });
            reads_back(CreateOk { file: has.then_some(file), attributes: some, directory: Changed });
            reads_back(ReadOk { attributes: Skipped, count: a, end_of_file: end, data: Data(data) });
            for committed in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
                reads_back(WriteOk { file: Changed, count: a, committed, verifier: Verifier(n) });
            }
            reads_back(CommitOk { file: Changed, verifier: Verifier(n) });
            reads_back(FileSystemSpace {
                attributes: Skipped, total: n, free: n ^ 1, available: n ^ 2, total_files: n ^ 3,
                free_files: n ^ 4, available_files: n ^ 5, unchanging_seconds: a,
            });
            reads_back(FileSystemInfo {
                attributes: Skipped, read_most: a, read_preferred: a ^ 1, read_multiple: a ^ 2,
                write_most: a ^ 3, write_preferred: a ^ 4, write_multiple: a ^ 5,
                directory_preferred: a ^ 6, longest_file: n, time_precision: attributes(n).changed,
                properties: a ^ 7,
            });
            let entry = PageEntry { file_id: n, name: Data(data), cookie: n ^ 9 };
            reads_back(Page { verifier: Verifier(n), entries: vec![entry; 3], end });
            let plus = PagePlusEntry { entry, attributes: some, file: has.then_some(file) };
            reads_back(Page { verifier: Verifier(n), entries: vec![plus; 2], end });
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
            let _ = decode_all::<Reply<LookupOk>>(&bytes);
            let _ = decode_all::<Reply<ReadOk>>(&bytes);
            let _ = decode_all::<Reply<WriteOk>>(&bytes);
            let _ = decode_all::<Reply<Page<PageEntry>>>(&bytes);
            let _ = decode_all::<Reply<PagePlus>>(&bytes);
        }
    }
}
