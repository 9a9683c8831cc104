//! What calls carry (RFC 1094, section 2.2).

use super::{HANDLE_BYTES, LONGEST_TRANSFER};
use crate::nfs3::{CreateHow, FileHandle, Place, Procedure, Request, SetAttributes, Status};
use crate::xdr::Encoder;
use crate::{Error, Version};

/// A value of sattr that leaves as is (section 2.3.6).
const AS_IS: u32 = u32::MAX;

/// Why a request cannot be sent, if it cannot.
pub(crate) fn refusal(request: &Request<'_>) -> Option<Error> {
    let (procedure, offset, count) = match request {
        Request::Read(read) => (Procedure::Read, read.offset, read.count),
        Request::Write(write) => (Procedure::Write, write.offset, write.count),
        Request::SetAttributes(set) if set.attributes.size > Some(AS_IS.into()) => {
            (Procedure::SetAttributes, set.attributes.size.unwrap_or(0), 0)
        }
        Request::Commit(_) => return Some(not_there(Procedure::Commit)),
        Request::List(_) => return Some(not_there(Procedure::ReadDirectoryPlus)),
        Request::Access(_) => return Some(not_there(Procedure::Access)),
        _ => return None,
    };
    let within = offset.checked_add(count.into()).is_some_and(|end| end <= u32::MAX.into());
    (!within).then_some(Error::Beyond32Bits { procedure, offset, count })
}

fn not_there(procedure: Procedure) -> Error {
    Error::Nfs { version: Version::V2, procedure, status: Status::NotSupported }
}

/// The arguments of a call that is not refused, without the data of a WRITE.
pub(crate) fn encode(request: &Request<'_>, to: &mut Encoder<'_>) {
    match request {
        Request::Read(read) => {
            encode_handle(&read.file, to);
            to.u32(read.offset as u32);
            to.u32(read.count);
            to.u32(0); // totalcount, unused
        }
        Request::Write(write) => {
            encode_handle(&write.file, to);
            to.u32(0); // beginoffset, unused
            to.u32(write.offset as u32);
            to.u32(0); // totalcount, unused
            to.u32(write.count);
        }
        Request::Attributes(file) => encode_handle(file, to),
        Request::SetAttributes(set) => {
            encode_handle(&set.file, to);
            encode_attributes(&set.attributes, to);
        }
        Request::Rename(rename) => {
            encode_place(&rename.from, to);
            encode_place(&rename.to, to);
        }
        Request::Create(create) => {
            encode_place(&create.place, to);
            match &create.how {
                CreateHow::Unchecked(attributes) | CreateHow::Guarded(attributes) => {
                    encode_attributes(attributes, to);
                }
                CreateHow::Exclusive(_) => encode_attributes(&SetAttributes::default(), to),
            }
        }
        Request::MakeDirectory(make) => {
            encode_place(&make.place, to);
            encode_attributes(&make.attributes, to);
        }
        Request::Lookup(place) | Request::Remove(place) | Request::RemoveDirectory(place) => {
            encode_place(place, to);
        }
        Request::ListNames(page) => {
            encode_handle(&page.directory, to);
            to.u32(page.cookie as u32);
            to.u32(page.count.min(LONGEST_TRANSFER));
        }
        // Refused before.
        Request::Commit(_) | Request::List(_) | Request::Access(_) => {}
    }
}

/// A handle of version 2, whose length is fixed.
pub(crate) fn encode_handle(handle: &FileHandle, to: &mut Encoder<'_>) {
    let mut bytes = [0; HANDLE_BYTES];
    let given = &handle.as_bytes()[..handle.as_bytes().len().min(HANDLE_BYTES)];
    bytes[..given.len()].copy_from_slice(given);
    to.fixed(&bytes);
}

fn encode_place(place: &Place<'_>, to: &mut Encoder<'_>) {
    encode_handle(&place.directory, to);
    to.value(&place.name);
}

/// sattr: mode, uid, gid, size, and the times of access and of the last change.
fn encode_attributes(set: &SetAttributes, to: &mut Encoder<'_>) {
    to.u32(set.mode.unwrap_or(AS_IS));
    to.u32(AS_IS);
    to.u32(AS_IS);
    to.u32(set.size.map_or(AS_IS, |size| size as u32));
    to.u32(AS_IS);
    to.u32(AS_IS);
    to.u32(set.modified.map_or(AS_IS, |time| time.seconds));
    to.u32(set.modified.map_or(AS_IS, |time| time.nanoseconds / 1000));
}
