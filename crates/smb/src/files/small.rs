//! Several requests, each going on with the file that the first opens: whole small files, and
//! changes to what has a name. Unless they are signed, they go in one round trip (MS-SMB2, section
//! 3.2.4.1.4).

use super::create::{self, close_request};
use super::transfer::{flush_request, parse_read, parse_write, read_request, write_request};
use super::{Access, CreateHow, EntryKind, FileInfo};
use crate::Error;
use crate::link::FileId;
use crate::message::{Reply, Request};
use crate::ms_smb2::types::{Command, status::NtStatus};
use crate::requests::OpenKind;
use crate::tree::Tree;

impl Tree {
    /// Opens a file, does something with it and closes it; gives what was opened and the replies to
    /// what was done. Any refusal is an error, the first one named, except for those statuses that
    /// are taken as well.
    pub(super) fn related(
        &mut self,
        open: Request,
        act: impl FnOnce(FileId) -> Vec<Request>,
        also: &[NtStatus],
    ) -> Result<(FileInfo, Vec<Reply>), Error> {
        if self.connection.guard.signing().is_some() {
            return self.one_by_one(open, act, also);
        }
        const IT: FileId = FileId::OF_THE_REQUEST_BEFORE;
        let mut requests = vec![open];
        requests.extend(act(IT));
        requests.push(close_request(IT));
        let mut replies = self.connection.compound(requests)?.into_iter();
        let opened = replies.next().ok_or(Error::NoCredits)?.success()?;
        let (file, info) = create::parse(&opened.message)?;
        let mut done: Vec<_> = replies.map(|reply| reply.success_or(also)).collect();
        let closed = done.pop();
        if matches!(closed, Some(Err(_))) {
            // Some servers end a compound at its first refusal: the file would stay open.
            let _ = self.close(file);
        }
        let done = done.into_iter().collect::<Result<_, _>>()?;
        closed.transpose()?;
        Ok((info, done))
    }

    /// The same without a compound. Some servers (impacket's, go-smb2) sign the replies of one
    /// before they write into them where the next lies, so that those signatures are wrong.
    fn one_by_one(
        &mut self,
        open: Request,
        act: impl FnOnce(FileId) -> Vec<Request>,
        also: &[NtStatus],
    ) -> Result<(FileInfo, Vec<Reply>), Error> {
        let opened = self.connection.call(open)?;
        let (file, info) = create::parse(&opened.message)?;
        let done: Result<Vec<_>, _> = act(file)
            .into_iter()
            .map(|request| self.connection.exchange(request)?.success_or(also))
            .collect();
        let closed = self.close(file);
        let done = done?;
        closed?;
        Ok((info, done))
    }

    /// Writes a small file whole: at most one request's worth.
    pub fn put_small(
        &mut self,
        path: &str,
        how: CreateHow,
        data: &[u8],
        flush: bool,
    ) -> Result<(), Error> {
        let most = self.facts().write_most as usize;
        if data.len() > most {
            let length = data.len();
            let why = format!("'{path}': {length} bytes exceed the limit of the server, {most}");
            return Err(Error::OverLimit(why));
        }
        let open = create::request(path, how, Access::ReadWrite.rights(), OpenKind::File)?;
        let act = |file| {
            let write = (!data.is_empty()).then(|| write_request(file, 0, data));
            write.into_iter().chain(flush.then(|| flush_request(file))).collect()
        };
        let (info, replies) = match self.related(open, act, &[]) {
            Err(error) if compound_not_followed(&error) => {
                return self.put_step_by_step(path, data, flush);
            }
            other => other?,
        };
        if info.kind != EntryKind::File {
            return Err(Error::NotAFile(path.to_owned()));
        }
        let asked = data.len();
        let written = match replies.first() {
            Some(reply) if asked > 0 => parse_write(&reply.message, asked)?,
            _ => 0,
        };
        if written == asked { Ok(()) } else { Err(Error::ShortWrite { asked, written }) }
    }

    /// The same on a file that the compound has made or emptied already.
    fn put_step_by_step(&mut self, path: &str, data: &[u8], flush: bool) -> Result<(), Error> {
        let (file, _) = self.create(path, CreateHow::Open, Access::ReadWrite)?;
        let asked = data.len();
        let done = match self.write(file, 0, data) {
            Ok(written) if written < asked => Err(Error::ShortWrite { asked, written }),
            Ok(_) if flush => self.flush(file),
            other => other.map(|_| ()),
        };
        let closed = self.close(file);
        done.and(closed)
    }

    /// Reads a small file whole: at most `limit` bytes of it, and at most one request's worth.
    pub fn get_small(&mut self, path: &str, limit: usize) -> Result<Vec<u8>, Error> {
        let open = create::request(path, CreateHow::Open, Access::Read.rights(), OpenKind::File)?;
        let most = limit.min(self.facts().read_most as usize);
        if most == 0 {
            self.related(open, |_| Vec::new(), &[])?;
            return Ok(Vec::new());
        }
        let read = |file| vec![read_request(file, 0, most)];
        let (info, replies) = match self.related(open, read, &[NtStatus::END_OF_FILE]) {
            Err(error) if compound_not_followed(&error) => {
                return self.get_step_by_step(path, most);
            }
            other => other?,
        };
        if info.kind != EntryKind::File {
            return Err(Error::NotAFile(path.to_owned()));
        }
        match replies.first() {
            Some(reply) if reply.header.status == NtStatus::SUCCESS => {
                Ok(parse_read(&reply.message, most)?.to_vec())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn get_step_by_step(&mut self, path: &str, most: usize) -> Result<Vec<u8>, Error> {
        let (file, info) = self.create(path, CreateHow::Open, Access::Read)?;
        let size = usize::try_from(info.size).unwrap_or(usize::MAX);
        let mut data = vec![0; most.min(size)];
        let done = self.read(file, 0, &mut data);
        let closed = self.close(file);
        data.truncate(done?);
        closed?;
        Ok(data)
    }
}

/// Whether a file was opened, and then a request did not find it or would have had to wait: some
/// servers follow compounds for some commands only, and Windows ends one with an internal error
/// where a request in its middle takes longer (MS-SMB2, section 3.3.5.2.7, note).
pub(crate) fn compound_not_followed(error: &Error) -> bool {
    const INVALID_HANDLE: NtStatus = NtStatus(0xc000_0008);
    matches!(
        error,
        Error::Status {
            command: Command::Read | Command::Write | Command::Flush,
            status: INVALID_HANDLE | NtStatus::FILE_CLOSED | NtStatus::INTERNAL_ERROR,
        }
    )
}
