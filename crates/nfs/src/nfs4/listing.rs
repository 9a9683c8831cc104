//! A directory's names, page by page (RFC 8881, section 18.23).

use super::attributes::{Attributes, Bitmap};
use super::operations::operation;
use crate::nfs3::{Data, DirectoryEntry, Listed, Page, Verifier};
use crate::wire::wire;
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

wire! {
    /// READDIR.
    pub struct ReadDirectory {
        /// Where to go on; 0 at first.
        pub cookie: u64,
        /// As the last page gave it; 0 at first.
        pub verifier: Verifier,
        /// Most bytes of names.
        pub name_bytes: u32,
        /// Longest reply in bytes.
        pub count: u32,
        /// Which attributes come with the names.
        pub which: Bitmap,
    }
}

wire! {
    /// A name in a page.
    pub struct PageEntry<'a> {
        /// Where to go on after it.
        pub cookie: u64,
        /// The name.
        pub name: Data<'a>,
        /// Its attributes.
        pub attributes: Attributes,
    }
}

impl Listed for PageEntry<'_> {
    fn cookie(&self) -> u64 {
        self.cookie
    }
    fn entry(&self) -> DirectoryEntry {
        DirectoryEntry { name: self.name.0.to_vec(), kind: self.attributes.kind }
    }
}

/// What READDIR gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDirectoryOk<'a>(pub Page<PageEntry<'a>>);

impl Encode for ReadDirectoryOk<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.value(&self.0.verifier);
        for entry in &self.0.entries {
            to.bool(true);
            to.value(entry);
        }
        to.bool(false);
        to.bool(self.0.end);
    }
}

impl<'a> Decode<'a> for ReadDirectoryOk<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        let (verifier, mut entries) = (from.value()?, Vec::new());
        while from.bool()? {
            entries.push(from.value()?);
        }
        Ok(ReadDirectoryOk(Page { verifier, entries, end: from.bool()? }))
    }
}

operation! {
    ReadDirectory = ReadDirectory -> ReadDirectoryOk<'a>;
}
