//! What is written, and what is expected of what is read: bytes that are made up so that they can be
//! checked, or those of files on the client.

mod generated;
mod local;
mod text;

pub use local::LocalFiles;

use crate::aligned::AlignedBuffer;
use crate::op::{FileId, OpError, Span};
pub(crate) use generated::PartOfPool;
use generated::{Generated, GeneratedWriter};
use plimsoll_model::ErrorKind;
use std::fmt;
use std::sync::Arc;

/// What is written, and what is expected of what is read: shared by all lanes.
pub struct Content(Source);

enum Source {
    Generated(Generated),
    /// A span's generation is the number of its file.
    Numbered(Generated),
    Local(Arc<LocalFiles>),
}

/// A span of the file whose number its generation is.
fn numbered(span: &Span) -> Span {
    Span { file: FileId(span.generation), generation: 0, ..*span }
}

/// Makes content, one span at a time. A lane has one, or one for each operation in flight where
/// the bytes must stay as they are until it completes.
pub struct ContentWriter(Writer);

enum Writer {
    Generated(GeneratedWriter),
    Numbered(GeneratedWriter),
    Local(Arc<LocalFiles>, AlignedBuffer),
}

/// What is wrong with content that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    /// `StaleContent`: the right place, but of another generation or study. `MisplacedContent`:
    /// ours, but of another file or offset. `CorruptContent`: anything else.
    pub kind: ErrorKind,
    /// Where, and what was found there.
    pub detail: String,
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

impl std::error::Error for ContentError {}

impl From<ContentError> for OpError {
    fn from(error: ContentError) -> OpError {
        OpError { kind: error.kind, detail: error.detail.into() }
    }
}

impl Content {
    /// The generated content of a study. Costs 1 MiB of memory and about a millisecond.
    pub fn new(study: u64) -> Content {
        Content(Source::Generated(Generated::new(study)))
    }

    /// The bytes of files that are generated, by a seed: a span's generation is the number of its file.
    /// Text is compressible, all else is not. Costs what [`new`](Content::new) does.
    pub fn of_generated(seed: u64, text: bool) -> Content {
        let generated = if text { Generated::text(seed) } else { Generated::new(seed) };
        Content(Source::Numbered(generated))
    }

    /// The bytes of files on the client: a span's generation is the number of its file there.
    pub fn of_files(files: Arc<LocalFiles>) -> Content {
        Content(Source::Local(files))
    }

    /// A writer of spans of at most `block` bytes. Costs 1 MiB + `block` of memory, page-aligned:
    /// spans at multiples of 512 bytes are as aligned in memory as in the file.
    pub fn writer(&self, block: u32) -> ContentWriter {
        ContentWriter(match &self.0 {
            Source::Generated(content) => Writer::Generated(content.writer(block)),
            Source::Numbered(content) => Writer::Numbered(content.writer(block)),
            Source::Local(files) => {
                Writer::Local(files.clone(), AlignedBuffer::new(block as usize))
            }
        })
    }

    /// Makes the bytes of `span` at the start of a buffer of the caller's; a longer span is cut to
    /// it. `holds` remembers what the buffer holds; it is `None` for other bytes.
    pub(crate) fn fill(&self, span: &Span, buffer: &mut [u8], holds: &mut Option<PartOfPool>) {
        match &self.0 {
            Source::Generated(content) => content.fill(span, buffer, holds),
            Source::Numbered(content) => content.fill(&numbered(span), buffer, holds),
            Source::Local(files) => {
                *holds = None;
                let length = buffer.len().min(span.length as usize);
                files.read(span.generation, span.offset, &mut buffer[..length]);
            }
        }
    }

    /// Checks bytes read at `offset` of a file against its content at `generation`. The first
    /// wrong piece of 512 bytes decides the error.
    pub fn check(
        &self,
        file: FileId,
        generation: u32,
        offset: u64,
        data: &[u8],
    ) -> Result<(), ContentError> {
        match &self.0 {
            Source::Generated(content) => content.check(file, generation, offset, data),
            Source::Numbered(content) => content.check(FileId(generation), 0, offset, data),
            Source::Local(files) => files.check(generation, offset, data),
        }
    }
}

impl ContentWriter {
    /// The bytes of `span`, valid until the next call. A span longer than the writer's block is
    /// cut to it.
    pub fn fill(&mut self, span: &Span) -> &[u8] {
        match &mut self.0 {
            Writer::Generated(writer) => writer.fill(span),
            Writer::Numbered(writer) => writer.fill(&numbered(span)),
            Writer::Local(files, buffer) => {
                let length = buffer.len().min(span.length as usize);
                let bytes = &mut buffer[..length];
                files.read(span.generation, span.offset, bytes);
                bytes
            }
        }
    }
}
