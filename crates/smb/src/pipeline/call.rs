//! Calls in flight: what they ask for, and what their replies mean.

use super::{Completion, Done};
use crate::message::{Expected, HEADER_BYTES, ReplyHeader, body};
use crate::wire::part;
use crate::{Access, CreateHow, EntryKind, Error, FileId, NtStatus};
use smb2::types::Command;
use std::ops::Range;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Nothing,
    Read { file: FileId, offset: u64, count: u32 },
    Write { file: FileId, offset: u64, count: u32, through: Through },
    Flush { file: FileId },
    Put { how: CreateHow, count: u32 },
    Get { most: u32 },
    Open { how: CreateHow, access: Access },
    Close { file: FileId },
}

/// How safe a WRITE is before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// As the server likes.
    No,
    /// By the flag WRITE_THROUGH.
    Flag,
    /// By a FLUSH in the same compound: dialect 2.0.2 has no such flag (MS-SMB2, section 2.2.21).
    Flush,
}

/// Most requests of one call.
pub(super) const MOST_PARTS: usize = 3;

impl Asked {
    /// The requests that it takes, sent as one compound of related ones.
    pub fn parts(self) -> &'static [Command] {
        use Command::{Close, Create, Flush, Read, Write};
        match self {
            Asked::Nothing => &[],
            Asked::Read { .. } => &[Read],
            Asked::Write { through: Through::Flush, .. } => &[Write, Flush],
            Asked::Write { .. } => &[Write],
            Asked::Flush { .. } => &[Flush],
            Asked::Put { count: 0, .. } => &[Create, Close],
            Asked::Put { .. } => &[Create, Write, Close],
            Asked::Get { .. } => &[Create, Read, Close],
            Asked::Open { .. } => &[Create],
            Asked::Close { .. } => &[Close],
        }
    }

    /// Bytes of payload that a request of it moves: what is charged for.
    pub fn payload(self, part: Command) -> u32 {
        match (self, part) {
            (Asked::Read { count, .. } | Asked::Get { most: count }, Command::Read) => count,
            (Asked::Write { count, .. } | Asked::Put { count, .. }, Command::Write) => count,
            _ => 0,
        }
    }

    /// The file that its first request names; those after a CREATE mean the file made there.
    pub fn file(self) -> FileId {
        match self {
            Asked::Read { file, .. }
            | Asked::Write { file, .. }
            | Asked::Flush { file }
            | Asked::Close { file } => file,
            _ => FileId::OF_THE_REQUEST_BEFORE,
        }
    }
}

/// Where the bytes that were read are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    None,
    /// In the frame that is being looked at.
    InFrame(Range<usize>),
    /// Kept, because the server answers the rest of the compound in another frame.
    Held,
}

/// Room for a path in bytes that no call need allocate.
const PATH_ROOM: usize = 256;

/// Room for one call.
pub(super) struct Slot {
    pub tag: u32,
    pub asked: Asked,
    /// Of those calls that name one.
    pub path: String,
    /// The numbers of its requests.
    pub ids: [u64; MOST_PARTS],
    /// Credits that each of its requests asks for.
    pub wanted: [u16; MOST_PARTS],
    /// Credits that it costs.
    pub charge: u32,
    /// Position of the call's end in the stream.
    pub end: u64,
    pub sent: u64,
    /// A bit for each request that has been answered.
    answered: u8,
    /// A bit for each request that an interim reply has come to.
    postponed: u8,
    /// The failed request that comes first: those after it may fail because of it.
    failed: Option<(usize, Error)>,
    file: FileId,
    size: u64,
    written: u32,
    data: Data,
    held: Vec<u8>,
}

impl Slot {
    pub fn new() -> Self {
        Slot {
            tag: 0,
            asked: Asked::Nothing,
            path: String::with_capacity(PATH_ROOM),
            ids: [0; MOST_PARTS],
            wanted: [0; MOST_PARTS],
            charge: 0,
            // Nothing is expected before it is sent.
            end: u64::MAX,
            sent: 0,
            answered: 0,
            postponed: 0,
            failed: None,
            file: FileId::OF_THE_REQUEST_BEFORE,
            size: 0,
            written: 0,
            data: Data::None,
            held: Vec::new(),
        }
    }

    /// Begins a call.
    pub fn begin(&mut self, tag: u32, asked: Asked, path: &str) {
        (self.tag, self.asked, self.end) = (tag, asked, u64::MAX);
        (self.answered, self.postponed, self.failed) = (0, 0, None);
        (self.size, self.written, self.data) = (0, 0, Data::None);
        self.path.clear();
        self.path.push_str(path);
    }

    /// Which of its requests has this number.
    pub fn part_of(&self, message_id: u64) -> Option<usize> {
        self.ids.iter().take(self.asked.parts().len()).position(|id| *id == message_id)
    }

    /// Notes an interim reply to one of its requests.
    pub fn postpone(&mut self, part: usize) {
        self.postponed |= 1 << part;
    }

    /// What an interim reply to one of its requests may say without a signature.
    pub fn expected(&self, part: usize, session_id: u64) -> Expected {
        Expected {
            command: self.asked.parts()[part],
            session_id,
            credits_wanted: self.wanted[part],
            answered: (self.answered | self.postponed) & 1 << part != 0,
        }
    }

    /// Whether all its requests are answered.
    pub fn is_answered(&self) -> bool {
        u32::from(self.answered).count_ones() as usize == self.asked.parts().len()
    }

    /// Takes the final reply to one of its requests: the message at `place` of the frame. What
    /// breaks the format ends the connection; what the server refuses ends the call alone.
    pub fn take(
        &mut self,
        part: usize,
        header: &ReplyHeader,
        frame: &[u8],
        place: Range<usize>,
    ) -> Result<(), Error> {
        let command = self.asked.parts()[part];
        if header.command != u16::from(command) || self.answered & 1 << part != 0 {
            return Err(Error::UnknownMessage(header.message_id));
        }
        self.answered |= 1 << part;
        let message = &frame[place.clone()];
        match header.status {
            NtStatus::SUCCESS => self.results(command, message, place.start),
            NtStatus::END_OF_FILE if command == Command::Read => Ok(()),
            status => {
                if self.failed.as_ref().is_none_or(|(earlier, _)| part < *earlier) {
                    self.failed = Some((part, Error::Status { command, status }));
                }
                Ok(())
            }
        }
    }

    /// Reads the results of a request and checks them against what was asked for.
    fn results(&mut self, command: Command, message: &[u8], start: usize) -> Result<(), Error> {
        let most = self.asked.payload(command) as usize;
        match command {
            Command::Create => {
                let mut from = body(message, 89, "a CREATE reply")?;
                from.skip(46)?;
                self.size = from.u64()?;
                let kind = EntryKind::of(from.u32()?);
                from.skip(4)?;
                self.file = FileId { persistent: from.u64()?, volatile: from.u64()? };
                if kind != EntryKind::File {
                    self.failed = Some((0, Error::NotAFile(self.path.clone())));
                }
            }
            Command::Read => {
                let mut from = body(message, 17, "a READ reply")?;
                let offset = usize::from(from.u8()?);
                from.skip(1)?;
                let length = from.length()?;
                if length > most {
                    return Err(from.malformed("more data than asked for"));
                }
                // The offset leads behind the fixed part.
                if length > 0 && offset < HEADER_BYTES + 16 {
                    return Err(from.malformed("its data lies in its header"));
                }
                part(message, offset, length, "a READ reply")?;
                self.data = Data::InFrame(start + offset..start + offset + length);
            }
            Command::Write => {
                let mut from = body(message, 17, "a WRITE reply")?;
                from.skip(2)?;
                let count = from.u32()?;
                if count as usize > most {
                    return Err(from.malformed("more data than sent"));
                }
                self.written = count;
            }
            Command::Flush => {
                body(message, 4, "a FLUSH reply")?;
            }
            _ => {
                body(message, 60, "a CLOSE reply")?;
            }
        }
        Ok(())
    }

    /// Keeps data that would be lost with the frame.
    pub fn hold(&mut self, frame: &[u8]) {
        if let Data::InFrame(place) = &self.data {
            self.held.clear();
            self.held.extend_from_slice(frame.get(place.clone()).unwrap_or(&[]));
            self.data = Data::Held;
        }
    }

    /// Ends the call: what came of it.
    pub fn completion<'a>(&'a mut self, frame: &'a [u8], done: u64) -> Completion<'a> {
        let asked = std::mem::replace(&mut self.asked, Asked::Nothing);
        let data = match &self.data {
            Data::None => &[],
            Data::InFrame(place) => frame.get(place.clone()).unwrap_or(&[]),
            Data::Held => &self.held[..],
        };
        let result = match self.failed.take() {
            Some((_, error)) => Err(error),
            None => Ok(match asked {
                Asked::Read { .. } => Done::Read { data },
                Asked::Write { .. } => Done::Write { count: self.written },
                Asked::Flush { .. } => Done::Flush,
                Asked::Put { .. } => Done::Put { count: self.written },
                Asked::Get { .. } => Done::Get { data, size: self.size },
                Asked::Open { .. } => Done::Open { file: self.file, size: self.size },
                Asked::Close { .. } | Asked::Nothing => Done::Close,
            }),
        };
        Completion { tag: self.tag, sent: self.sent, done, result }
    }
}
