//! Reading, writing and making stable (MS-SMB2, sections 2.2.17 to 2.2.22).

use crate::Error;
use crate::link::FileId;
use crate::message::{Request, body};
use crate::ms_smb2::types::{Command, status::NtStatus};
use crate::requests::{self, READ_DATA};
use crate::tree::Tree;
use crate::wire::part;
use std::ops::Range;

/// A request to read at most so many bytes.
pub(crate) fn read_request(file: FileId, offset: u64, most: usize) -> Request {
    let count = u32::try_from(most).unwrap_or(u32::MAX);
    Request::encoded(Command::Read, |to| requests::read(to, file, offset, count)).with_payload(most)
}

/// A request to write.
pub(crate) fn write_request(file: FileId, offset: u64, data: &[u8]) -> Request {
    let body = |to: &mut Vec<u8>| {
        let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
        requests::write(to, file, offset, count, false);
        to.extend_from_slice(data);
    };
    Request::encoded(Command::Write, body).with_payload(data.len())
}

pub(super) fn flush_request(file: FileId) -> Request {
    Request::encoded(Command::Flush, |to| requests::flush_or_close(to, file))
}

/// Decodes a reply to READ: its data, at most as many bytes as were asked for.
pub(crate) fn parse_read(message: &[u8], most: usize) -> Result<&[u8], Error> {
    place_of_read(message, most).map(|place| message.get(place).unwrap_or(&[]))
}

/// The same: where in the message the data lie.
pub(crate) fn place_of_read(message: &[u8], most: usize) -> Result<Range<usize>, Error> {
    const WHAT: &str = "a reply to READ";
    let mut reader = body(message, 17, WHAT)?;
    let offset = reader.u8()?;
    reader.skip(1)?;
    let length = reader.length()?;
    reader.skip(8)?;
    if length > most {
        return Err(reader.malformed("more bytes than requested"));
    }
    if length > 0 && offset < READ_DATA {
        return Err(reader.malformed("its data overlaps its header"));
    }
    part(message, offset.into(), length, WHAT)?;
    let offset = usize::from(offset);
    Ok(offset..offset + length)
}

/// Decodes a reply to WRITE: bytes written, at most as many as were sent.
pub(crate) fn parse_write(message: &[u8], most: usize) -> Result<usize, Error> {
    let mut reader = body(message, 17, "a reply to WRITE")?;
    reader.skip(2)?;
    let count = reader.length()?;
    if count > most {
        return Err(reader.malformed("more bytes than were sent"));
    }
    Ok(count)
}

impl Tree {
    /// Reads at `offset`, at most one request's worth: fewer bytes than the buffer holds at the
    /// end of the file, beyond [`SessionFacts::read_most`](crate::SessionFacts::read_most) or
    /// where the server grants few credits. 0: the file ends there.
    pub fn read(&mut self, file: FileId, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let most = buffer.len().min(self.affordable(self.facts().read_most));
        if most == 0 {
            return Ok(0);
        }
        let reply = self.connection.exchange(read_request(file, offset, most))?;
        let reply = reply.success_or(&[NtStatus::END_OF_FILE])?;
        if reply.header.status == NtStatus::END_OF_FILE {
            return Ok(0);
        }
        let data = parse_read(&reply.message, most)?;
        if let Some(buffer) = buffer.get_mut(..data.len()) {
            buffer.copy_from_slice(data);
        }
        Ok(data.len())
    }

    /// Writes at `offset`, at most one request's worth; gives how many bytes were written.
    pub fn write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<usize, Error> {
        let most = data.len().min(self.affordable(self.facts().write_most));
        if most == 0 {
            return Ok(0);
        }
        let data = data.get(..most).unwrap_or(data);
        let reply = self.connection.call(write_request(file, offset, data))?;
        parse_write(&reply.message, most)
    }

    /// Makes what was written stable.
    pub fn flush(&mut self, file: FileId) -> Result<(), Error> {
        self.connection.call(flush_request(file))?;
        Ok(())
    }

    /// Payload in bytes that the credits at hand pay for, up to a limit.
    fn affordable(&self, limit: u32) -> usize {
        let credits = self.connection.credits.max(1) as usize;
        (limit as usize).min(credits.saturating_mul(65536))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_BYTES;
    use crate::message::tests::reply;

    const FILE: FileId = FileId { persistent: 1, volatile: 2 };

    #[test]
    fn requests_are_built() {
        let read = read_request(FILE, 4096, 65537);
        let body = &read.message[HEADER_BYTES..];
        assert_eq!(body.len(), 49);
        assert_eq!(body[..8], [49, 0, 80, 0, 1, 0, 1, 0]);
        assert_eq!(body[8..16], 4096u64.to_le_bytes());
        assert_eq!(read.payload, 65537);
        let write = write_request(FILE, 7, b"data");
        let body = &write.message[HEADER_BYTES..];
        assert_eq!(body[..8], [49, 0, 112, 0, 4, 0, 0, 0]);
        assert_eq!(&body[48..], b"data");
        assert_eq!(write.payload, 4);
    }

    #[test]
    fn no_reply_gives_more_than_was_asked_for() {
        let mut body = vec![17, 0, 80, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        body.extend_from_slice(b"data");
        let message = reply(Command::Read, 1, 0, &body);
        assert_eq!(parse_read(&message, 4).unwrap(), b"data");
        assert!(parse_read(&message, 3).is_err());
        for length in 0..message.len() {
            assert!(parse_read(&message[..length], 4).is_err(), "{length}");
        }
        let message = reply(Command::Write, 1, 0, &[17, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(parse_write(&message, 4), Ok(4));
        assert!(parse_write(&message, 3).is_err());
    }
}
