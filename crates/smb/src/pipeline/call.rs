//! Calls in flight, and what their replies mean.

use super::Done;
use super::request::{Action, MOST_PARTS, Replies};
use crate::files::{
    EntryKind, compound_not_followed, parse_create, parse_listing, parse_network_open, parse_write,
    place_of_read,
};
use crate::message::{Expected, ReplyHeader, body};
use crate::ms_smb2::types::Command;
use crate::{Error, FileId, NtStatus};
use std::ops::Range;

/// Where the bytes that were read are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    None,
    /// In the frame that is being looked at.
    InFrame(Range<usize>),
    /// Kept, because the server answers the rest of the call in another frame.
    Held,
}

/// Bytes of a path that no call need allocate.
const PATH_BYTES: usize = 256;

/// A call in flight. Its requests go as one compound of related ones, or one by one, each when the
/// reply to the one before it has come.
#[derive(Debug)]
pub struct Call {
    pub(super) action: Action,
    /// Of those calls that name one.
    pub(super) path: String,
    /// The path that what it names gets.
    pub(super) to: String,
    /// Whether its requests go one by one.
    pub(super) one_by_one: bool,
    /// Its requests in the frame that was sent last.
    under_way: Range<usize>,
    /// Their numbers.
    ids: [u64; MOST_PARTS],
    /// Credits that each of them asks for.
    wanted: [u16; MOST_PARTS],
    /// Credits that they cost together.
    pub(super) charge: u32,
    /// A bit for each request that has been answered.
    answered: u8,
    /// A bit for each request that an interim reply has come to.
    postponed: u8,
    /// The failed request that comes first: those after it may fail because of it.
    failed: Option<(usize, Error)>,
    /// Whether it is to be done again one by one, once its file is closed.
    again: bool,
    /// Whether the server has not followed the compound that it was.
    unfollowed: bool,
    /// What it has opened, and whether it has closed that.
    opened: Option<FileId>,
    closed: bool,
    replies: Replies,
    data: Data,
    held: Vec<u8>,
}

impl Call {
    pub(super) fn new() -> Self {
        Call {
            action: Action::Nothing,
            path: String::with_capacity(PATH_BYTES),
            to: String::new(),
            one_by_one: false,
            under_way: 0..0,
            ids: [0; MOST_PARTS],
            wanted: [0; MOST_PARTS],
            charge: 0,
            answered: 0,
            postponed: 0,
            failed: None,
            again: false,
            unfollowed: false,
            opened: None,
            closed: false,
            replies: Replies::default(),
            data: Data::None,
            held: Vec::new(),
        }
    }

    /// Begins a call.
    pub(super) fn begin(&mut self, action: Action, path: &str, to: &str, one_by_one: bool) {
        (self.action, self.one_by_one) = (action, one_by_one);
        (self.again, self.unfollowed) = (false, false);
        self.path.clear();
        self.path.push_str(path);
        self.to.clear();
        self.to.push_str(to);
        self.forget();
    }

    /// Nothing of it has been sent.
    fn forget(&mut self) {
        (self.failed, self.opened, self.closed) = (None, None, false);
        (self.replies, self.data) = (Replies::default(), Data::None);
        self.goes_on_with(0);
    }

    /// What is sent next: a request, and those after it unless they go one by one.
    fn goes_on_with(&mut self, part: usize) {
        let end = if self.one_by_one { part + 1 } else { self.action.commands().len() };
        self.under_way = part..end;
        (self.answered, self.postponed) = (0, 0);
    }

    /// The requests to be sent, or that were sent last.
    pub(super) fn under_way(&self) -> Range<usize> {
        self.under_way.clone()
    }

    /// Whether its path is still to be opened.
    pub(super) fn opens_a_path(&self) -> bool {
        self.under_way.start == 0 && self.action.commands().first() == Some(&Command::Create)
    }

    /// Whether nothing speaks against further compounds.
    pub(super) fn compounds_are_followed(&self) -> bool {
        !self.unfollowed
    }

    /// The file that one of its requests names.
    pub(super) fn file(&self, part: usize) -> FileId {
        if part > self.under_way.start {
            return FileId::OF_THE_REQUEST_BEFORE;
        }
        self.opened.unwrap_or(self.action.file())
    }

    /// Notes that a request is sent under this number and asks for so many credits.
    pub(super) fn send(&mut self, part: usize, id: u64, wanted: u16) {
        (self.ids[part], self.wanted[part]) = (id, wanted);
    }

    /// Which of its requests has this number.
    pub(super) fn part_of(&self, message_id: u64) -> Option<usize> {
        self.under_way().find(|part| self.ids[*part] == message_id)
    }

    /// Notes an interim reply to one of its requests.
    pub(super) fn postpone(&mut self, part: usize) {
        self.postponed |= 1 << part;
    }

    /// What an interim reply to one of its requests may say without a signature.
    pub(super) fn expected(&self, part: usize, session_id: u64) -> Expected {
        Expected {
            command: self.action.commands()[part],
            session_id,
            credits_wanted: self.wanted[part],
            answered: (self.answered | self.postponed) & 1 << part != 0,
        }
    }

    /// Whether all its requests under way are answered.
    pub(super) fn is_answered(&self) -> bool {
        self.under_way().all(|part| self.answered & 1 << part != 0)
    }

    /// Takes the final reply to one of its requests: the message at `place` of the frame. What
    /// breaks the format ends the connection; what the server refuses ends the call alone.
    pub(super) fn take(
        &mut self,
        part: usize,
        header: &ReplyHeader,
        frame: &[u8],
        place: Range<usize>,
    ) -> Result<(), Error> {
        let command = self.action.commands()[part];
        if header.command != u16::from(command) || self.answered & 1 << part != 0 {
            return Err(Error::UnknownMessage(header.message_id));
        }
        self.answered |= 1 << part;
        let message = &frame[place.clone()];
        match header.status {
            NtStatus::SUCCESS => self.results(command, message, place.start)?,
            NtStatus::END_OF_FILE if command == Command::Read => {}
            NtStatus::NO_MORE_FILES if command == Command::QueryDirectory => {
                self.replies.end = true
            }
            status => self.fails(part, Error::Status { command, status }),
        }
        Ok(())
    }

    fn fails(&mut self, part: usize, error: Error) {
        if self.failed.as_ref().is_none_or(|(earlier, _)| part < *earlier) {
            self.failed = Some((part, error));
        }
    }

    /// Reads the results of a request and checks them against what was asked for.
    fn results(&mut self, command: Command, message: &[u8], start: usize) -> Result<(), Error> {
        let most = self.action.payload(command) as usize;
        match command {
            Command::Create => {
                let (file, info) = parse_create(message)?;
                (self.opened, self.replies.info) = (Some(file), info);
                if self.action.wants_a_file() && self.replies.info.kind != EntryKind::File {
                    self.fails(0, Error::NotAFile(self.path.clone()));
                }
            }
            Command::Read => {
                let place = place_of_read(message, most)?;
                self.data = Data::InFrame(start + place.start..start + place.end);
            }
            Command::Write => self.replies.written = parse_write(message, most)? as u32,
            Command::QueryInfo => self.replies.info = parse_network_open(message)?,
            Command::QueryDirectory => self.replies.entries = parse_listing(message)?,
            Command::Flush => {
                body(message, 4, "a FLUSH reply")?;
            }
            Command::Lock => {
                body(message, 4, "a LOCK reply")?;
            }
            Command::Close => {
                body(message, 60, "a CLOSE reply")?;
                self.closed = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether it goes on, once all its requests under way are answered: with the next of them, by
    /// closing what would stay open, or all over again where the server does not follow compounds.
    pub(super) fn goes_on(&mut self) -> bool {
        let parts = self.action.commands();
        let (next, last) = (self.under_way.end, parts.len().saturating_sub(1));
        if let (Action::Open { .. }, Some(_), Some(file)) = (self.action, &self.failed, self.opened)
        {
            // It is open, and not what it should be.
            (self.action, self.opened) = (Action::Close { file }, None);
            self.goes_on_with(0);
            return true;
        }
        let Some((_, error)) = &self.failed else {
            self.goes_on_with(next);
            return next <= last;
        };
        self.again |= !self.one_by_one && compound_not_followed(error);
        self.unfollowed |= self.again;
        let tried = self.one_by_one && self.under_way.start == last;
        self.one_by_one = true;
        let closes = last > 0 && parts[last] == Command::Close;
        if closes && self.opened.is_some() && !self.closed && !tried {
            // Some servers end a compound at its first refusal: the file would stay open.
            self.goes_on_with(last);
            return true;
        }
        if std::mem::take(&mut self.again) {
            self.action = self.action.again();
            self.forget();
            return true;
        }
        false
    }

    /// Keeps data that would be lost with the frame.
    pub(super) fn hold(&mut self, frame: &[u8]) {
        if let Data::InFrame(place) = &self.data {
            self.held.clear();
            self.held.extend_from_slice(frame.get(place.clone()).unwrap_or(&[]));
            self.data = Data::Held;
        }
    }

    /// Ends the call: what came of it.
    pub(super) fn result<'a>(&'a mut self, frame: &'a [u8]) -> Result<Done<'a>, Error> {
        let action = std::mem::replace(&mut self.action, Action::Nothing);
        let data = match &self.data {
            Data::None => &[],
            Data::InFrame(place) => frame.get(place.clone()).unwrap_or(&[]),
            Data::Held => &self.held[..],
        };
        match self.failed.take() {
            Some((_, error)) => Err(error),
            None => Ok(action.done(std::mem::take(&mut self.replies), self.opened, data)),
        }
    }
}
