//! Which shares a server has: NetrShareEnum (MS-SRVS, section 3.1.4.8) over the pipe `srvsvc`.

use crate::Error;
use crate::files::{close_request, parse_create, parse_read, parse_write, read_request};
use crate::files::{request_pipe, write_request};
use crate::link::FileId;
use crate::ms_smb2::rpc::{build_srvsvc_bind, parse_bind_ack, parse_response_fragment, srvsvc};
use crate::ms_smb2::types::status::NtStatus;
use crate::session::Session;
use crate::wire::{Reader, text};

/// The share of all pipes.
const PIPES: &str = "IPC$";
/// Bytes read from a pipe at once: more than a fragment's agreed length.
const READ_BYTES: usize = 16 << 10;
/// Longest list taken.
const MOST_BYTES: usize = 1 << 20;
/// Length of the header of a fragment (C706, section 12.6.3.1).
const FRAGMENT_HEADER_BYTES: usize = 16;

/// What a share is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareKind {
    /// Files.
    Files,
    /// A printer.
    Printer,
    /// Pipes, devices, anything else.
    Other,
}

/// One share of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareInfo {
    /// Its name.
    pub name: String,
    /// What the administrator says about it.
    pub comment: String,
    /// What it is for.
    pub kind: ShareKind,
}

impl Session {
    /// The shares that the server is willing to name, hidden ones among them.
    pub fn shares(&mut self) -> Result<Vec<ShareInfo>, Error> {
        let seal = self.connection.guard.seal;
        self.connect(PIPES)?;
        let shares = self.ask_for_shares();
        self.leave_tree();
        self.connection.guard.seal = seal;
        shares
    }

    fn ask_for_shares(&mut self) -> Result<Vec<ShareInfo>, Error> {
        let opened = self.connection.call(request_pipe("srvsvc"))?;
        let (pipe, _) = parse_create(&opened.message)?;
        let shares = self.ask_pipe(pipe);
        let _ = self.connection.call(close_request(pipe));
        shares
    }

    fn ask_pipe(&mut self, pipe: FileId) -> Result<Vec<ShareInfo>, Error> {
        self.write_pipe(pipe, &build_srvsvc_bind(1))?;
        parse_bind_ack(&self.read_fragment(pipe, &mut Fragments::default())?)?;
        let question = srvsvc::build_net_share_enum_all(2, &format!("\\\\{}", self.terms.host));
        self.write_pipe(pipe, &question)?;
        let mut fragments = Fragments::default();
        let mut answer = Vec::new();
        loop {
            let fragment = self.read_fragment(pipe, &mut fragments)?;
            let (stub, last) = parse_response_fragment(&fragment)?;
            answer.extend_from_slice(stub);
            if last {
                return parse(&answer);
            }
        }
    }

    fn write_pipe(&mut self, pipe: FileId, data: &[u8]) -> Result<(), Error> {
        let reply = self.connection.call(write_request(pipe, 0, data))?;
        let (asked, written) = (data.len(), parse_write(&reply.message, data.len())?);
        if written == asked { Ok(()) } else { Err(Error::ShortWrite { asked, written }) }
    }

    /// One whole fragment; what came after it stays in `fragments`.
    fn read_fragment(&mut self, pipe: FileId, fragments: &mut Fragments) -> Result<Vec<u8>, Error> {
        loop {
            if let Some(fragment) = fragments.next()? {
                return Ok(fragment);
            }
            let reply = self.connection.exchange(read_request(pipe, 0, READ_BYTES))?;
            let reply = reply.success_or(&[NtStatus::BUFFER_OVERFLOW])?;
            fragments.add(parse_read(&reply.message, READ_BYTES)?)?;
        }
    }
}

/// What was read of a pipe, to be taken apart into fragments of a remote procedure call.
#[derive(Default)]
struct Fragments {
    ahead: Vec<u8>,
    /// Bytes added until now.
    added: usize,
}

impl Fragments {
    fn add(&mut self, data: &[u8]) -> Result<(), Error> {
        if data.is_empty() {
            return Err(Error::Malformed("a pipe without a reply".into()));
        }
        // Fragments without content would never make the list too long.
        self.added += data.len();
        if self.added > MOST_BYTES {
            return Err(Error::OverLimit("the list of shares does not end".into()));
        }
        self.ahead.extend_from_slice(data);
        Ok(())
    }

    /// The next one that is whole.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match fragment_length(&self.ahead)? {
            Some(length) if self.ahead.len() >= length => {
                let rest = self.ahead.split_off(length);
                Ok(Some(std::mem::replace(&mut self.ahead, rest)))
            }
            _ => Ok(None),
        }
    }
}

/// What a pipe says, in pieces of a size: its fragments put together and read as a list of shares.
/// For fuzzing.
pub(crate) fn from_pipe(said: &[u8], piece: usize) -> Result<Vec<ShareInfo>, Error> {
    let mut fragments = Fragments::default();
    let mut answer = Vec::new();
    for data in said.chunks(piece.max(1)) {
        fragments.add(data)?;
        while let Some(fragment) = fragments.next()? {
            let _ = parse_bind_ack(&fragment);
            let (stub, last) = parse_response_fragment(&fragment)?;
            answer.extend_from_slice(stub);
            if last {
                return parse(&answer);
            }
        }
    }
    Err(Error::Malformed("a pipe that ended too early".into()))
}

/// The length that a fragment says it has.
fn fragment_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    if bytes.len() < FRAGMENT_HEADER_BYTES {
        return Ok(None);
    }
    let mut reader = Reader::new(bytes, "a fragment of a remote procedure call");
    reader.skip(8)?;
    let length = usize::from(reader.u16()?);
    if length < FRAGMENT_HEADER_BYTES {
        return Err(reader.malformed("it is shorter than its header"));
    }
    Ok(Some(length))
}

/// Decodes the answer: SHARE_INFO_1_CONTAINER in NDR (MS-SRVS, section 2.2.4.33; C706, chapter
/// 14). Nothing is allocated by counts that the answer names.
pub(crate) fn parse(answer: &[u8]) -> Result<Vec<ShareInfo>, Error> {
    let mut reader = Reader::new(answer, "the list of shares");
    if reader.u32()? != 1 || reader.u32()? != 1 {
        return Err(reader.malformed("wrong level of detail"));
    }
    if reader.u32()? == 0 {
        return Ok(Vec::new());
    }
    let count = reader.length()?;
    if reader.u32()? == 0 {
        return Ok(Vec::new());
    }
    if reader.length()? < count {
        return Err(reader.malformed("more shares than bytes"));
    }
    let mut heads = Vec::new();
    for _ in 0..count {
        heads.push((reader.u32()?, reader.u32()?, reader.u32()?));
    }
    let mut shares = Vec::new();
    for (has_name, kind, has_comment) in heads {
        let name = if has_name == 0 { String::new() } else { string(&mut reader)? };
        let comment = if has_comment == 0 { String::new() } else { string(&mut reader)? };
        let kind = match kind & 0xffff {
            srvsvc::STYPE_DISKTREE => ShareKind::Files,
            srvsvc::STYPE_PRINTQ => ShareKind::Printer,
            _ => ShareKind::Other,
        };
        shares.push(ShareInfo { name, comment, kind });
    }
    Ok(shares)
}

/// A conformant and varying string, its end a zero, padded to four bytes.
fn string(reader: &mut Reader<'_>) -> Result<String, Error> {
    reader.skip(8)?;
    let bytes = reader.length()?.saturating_mul(2);
    let string = text(reader.bytes(bytes)?);
    if bytes % 4 != 0 {
        // The very last string may come without its padding.
        let _ = reader.skip(4 - bytes % 4);
    }
    Ok(string.trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::utf16;
    use proptest::prelude::*;

    fn put(to: &mut Vec<u8>, numbers: &[u32]) {
        to.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    }

    fn answer(shares: &[(&str, u32, &str)]) -> Vec<u8> {
        let count = shares.len() as u32;
        let mut bytes = Vec::new();
        put(&mut bytes, &[1, 1, 0x20000, count, 0x20004, count]);
        for (_, kind, _) in shares {
            put(&mut bytes, &[0x20008, *kind, 0x2000c]);
        }
        for text in shares.iter().flat_map(|(name, _, comment)| [name, comment]) {
            let units = text.encode_utf16().count() as u32 + 1;
            put(&mut bytes, &[units, 0, units]);
            bytes.extend(utf16(text));
            bytes.extend([0, 0]);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn shares_are_listed() {
        let bytes = answer(&[("musik", 0, "alles"), ("IPC$", 0x8000_0003, ""), ("hp", 1, "p")]);
        let shares = parse(&bytes).unwrap();
        let kinds: Vec<_> = shares.iter().map(|s| (s.name.as_str(), s.kind)).collect();
        assert_eq!(
            kinds,
            [("musik", ShareKind::Files), ("IPC$", ShareKind::Other), ("hp", ShareKind::Printer)]
        );
        assert_eq!(shares[0].comment, "alles");
        for length in 0..bytes.len() - 4 {
            assert!(parse(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn counts_are_not_believed() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[1, 1, 1, u32::MAX, 1, u32::MAX]);
        assert!(parse(&bytes).is_err());
    }

    /// A fragment of an answer (C706, section 12.6.4.10).
    fn fragment(stub: &[u8], last: bool) -> Vec<u8> {
        let length = (24 + stub.len()) as u16;
        let mut bytes = vec![5, 0, 2, if last { 2 } else { 0 }, 0x10, 0, 0, 0];
        bytes.extend(length.to_le_bytes());
        bytes.extend([0, 0, 2, 0, 0, 0]);
        bytes.extend((stub.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(stub);
        bytes
    }

    #[test]
    fn fragments_are_put_together_from_any_pieces() {
        let whole = answer(&[("musik", 0, "alles"), ("hp", 1, "p")]);
        let said =
            [fragment(&whole[..30], false), fragment(&[], false), fragment(&whole[30..], true)];
        for piece in [1, 7, 24, 1000] {
            assert_eq!(from_pipe(&said.concat(), piece).unwrap().len(), 2);
        }
        assert!(from_pipe(&said[..2].concat(), 9).is_err());
    }

    #[test]
    fn fragments_without_content_come_to_an_end() {
        let endless = fragment(&[], false).repeat(MOST_BYTES / 24 + 1);
        assert!(matches!(from_pipe(&endless, 4096), Err(Error::OverLimit(_))));
    }

    #[test]
    fn fragments_say_how_long_they_are() {
        assert_eq!(fragment_length(&[0; 15]), Ok(None));
        let mut fragment = [0; 16];
        assert!(fragment_length(&fragment).is_err());
        fragment[8] = 20;
        assert_eq!(fragment_length(&fragment), Ok(Some(20)));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(flips in prop::collection::vec((0usize..120, any::<u8>()), 0..8)) {
            let mut bytes = answer(&[("musik", 0, "alles"), ("hp", 1, "p")]);
            for (at, value) in flips {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            let _ = parse(&bytes);
        }
    }
}
