//! Plimsoll's client, driven in a closed loop.

use super::{Outcome, PASSWORD, Protection, SHARE, USER};
use plimsoll_smb::{
    Access, Completion, CreateHow, Credentials, Done, Exchange, FileId, Options, Pipeline,
    PipelineOptions, Request, Session, Smb2, Tree,
};
use plimsoll_transport::SourcePort;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A tree on the share.
pub fn tree(port: u16, protection: Protection) -> Outcome<Tree> {
    let limit = Duration::from_secs(10);
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let socket = plimsoll_transport::connect(
        &here,
        port,
        SourcePort::Any,
        limit,
        &plimsoll_transport::SystemClock::no_deadline(),
    )?;
    let credentials =
        Credentials { user: USER.into(), domain: String::new(), password: PASSWORD.into() };
    let mut options = Options::default();
    match protection {
        Protection::Signed => options.sign = plimsoll_smb::Protection::On,
        Protection::Encrypted => options.encrypt = plimsoll_smb::Protection::On,
    }
    let session = Session::open(socket, "127.0.0.1", &credentials, &options)?;
    Ok(session.tree(SHARE).map_err(|(_, error)| error)?)
}

/// One file, opened or made anew, and a pipeline on it.
pub fn file(
    port: u16,
    protection: Protection,
    name: &str,
    how: CreateHow,
    depth: u16,
    most: u32,
) -> Outcome<(Pipeline, FileId)> {
    let mut tree = tree(port, protection)?;
    let (file, _) = tree.create(name, how, Access::ReadWrite)?;
    Ok((tree.into_pipeline(options(depth, most)), file))
}

/// A pipeline of a depth for blocks of at most so many bytes.
pub fn options(depth: u16, most: u32) -> PipelineOptions {
    let depth = NonZeroU16::new(depth).unwrap_or(NonZeroU16::MIN);
    PipelineOptions { depth, read_most: most, write_most: most, unread: true }
}

/// A user of a pipeline that only counts.
struct Counting {
    begun: Instant,
    /// Sent by every WRITE.
    block: Vec<u8>,
    /// Files to be sent, one a tag, where files are.
    contents: Vec<Vec<u8>>,
    free: Vec<u32>,
    bytes: u64,
    failed: Option<plimsoll_smb::Error>,
}

impl Counting {
    fn new(depth: u16, block: usize) -> Self {
        Counting {
            begun: Instant::now(),
            block: (0..block).map(|i| (i * 7) as u8).collect(),
            contents: vec![Vec::new(); depth.into()],
            free: (0..depth.into()).collect(),
            bytes: 0,
            failed: None,
        }
    }
}

impl Exchange<Smb2> for Counting {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        match self.contents.get(tag as usize) {
            Some(content) if !content.is_empty() => content,
            _ => &self.block,
        }
    }
    fn complete(&mut self, completion: Completion<'_>) {
        self.free.push(completion.tag);
        match completion.result {
            Ok(Done::Read { data }) => self.bytes += data.len() as u64,
            Ok(Done::Write { count } | Done::Put { count }) => self.bytes += u64::from(count),
            Ok(_) => {}
            Err(error) => self.failed = Some(error),
        }
    }
}

/// Runs so many calls, each made by `submit`; bytes moved.
fn drive(
    pipeline: &mut Pipeline,
    with: &mut Counting,
    calls: u64,
    mut submit: impl FnMut(&mut Pipeline, &mut Counting, u32, u64) -> Outcome<()>,
) -> Outcome<u64> {
    let mut submitted = 0;
    while submitted < calls || pipeline.in_flight() > 0 {
        while submitted < calls
            && let Some(tag) = with.free.pop()
        {
            submit(pipeline, with, tag, submitted)?;
            submitted += 1;
        }
        pipeline.reap(u64::MAX, with)?;
        if let Some(error) = with.failed.take() {
            return Err(error.into());
        }
    }
    Ok(with.bytes)
}

/// Reads blocks, in order or spread over the file.
pub fn read(
    pipeline: &mut Pipeline,
    file: FileId,
    blocks: u64,
    random: Option<u64>,
) -> Outcome<u64> {
    let most = pipeline.protocol().options().read_most;
    let mut with = Counting::new(pipeline.protocol().options().depth.get(), 0);
    drive(pipeline, &mut with, blocks, |pipeline, _, tag, number| {
        let number = random.map_or(number, |among| scattered(number, among));
        let offset = number * u64::from(most);
        pipeline
            .submit(tag, Request::Read { file, offset, count: most })
            .map_err(|_| "a free tag is a free slot".into())
    })
}

/// Some block among so many: a multiplier that visits them far apart.
pub fn scattered(number: u64, among: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % among
}

/// Writes blocks in order.
pub fn write(pipeline: &mut Pipeline, file: FileId, blocks: u64) -> Outcome<u64> {
    let most = pipeline.protocol().options().write_most;
    let mut with = Counting::new(pipeline.protocol().options().depth.get(), most as usize);
    drive(pipeline, &mut with, blocks, |pipeline, _, tag, number| {
        let offset = number * u64::from(most);
        let result =
            pipeline.submit(tag, Request::Write { file, offset, count: most, through: false });
        result.map_err(|_| "a free tag is a free slot".into())
    })
}

/// Sends files of this machine into a directory of the share.
pub fn put(pipeline: &mut Pipeline, files: &[PathBuf], into: &str) -> Outcome<u64> {
    let mut with = Counting::new(pipeline.protocol().options().depth.get(), 0);
    drive(pipeline, &mut with, files.len() as u64, |pipeline, with, tag, number| {
        let from = &files[number as usize];
        let content = std::fs::read(from)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        let count = content.len() as u32;
        with.contents[tag as usize] = content;
        let result = pipeline.submit(
            tag,
            Request::Put {
                path: &format!("{into}/{name}"),
                how: CreateHow::Replace,
                count,
                through: false,
            },
        );
        result.map_err(|_| "a free tag is a free slot".into())
    })
}
