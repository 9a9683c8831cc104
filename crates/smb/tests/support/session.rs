//! A whole session of this client with a server, as a guest: every call it has, in an order that
//! does not depend on the answers. What came of each is kept, to be compared with what should have.

use plimsoll_smb::{
    Access, Completion, CreateHow, Credentials, Done, Error, Exchange, FileId, Options, Pipeline,
    PipelineOptions, Request, Session, Smb2, Tree,
};
use plimsoll_transport::{Socket, SourcePort, SystemClock};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

/// Bytes in a block of the file that is written and read.
pub const BLOCK: usize = 500;
/// Blocks of it.
pub const BLOCKS: u32 = 6;
/// The share that all is about.
pub const SHARE: &str = "data";

/// What came of each call, by its name.
pub type Account = plimsoll_testkit::servers::liar::Account<Error>;

/// What the file holds: no stretch of it is found twice.
pub fn content() -> Vec<u8> {
    let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 16) as u16;
    (0..BLOCK as u32 * BLOCKS / 2).flat_map(|i| number(i).to_be_bytes()).collect()
}

/// The session, over three connections. No call waits longer than the options say.
pub fn run(server: SocketAddr, options: &Options) -> Account {
    let mut account = Account::default();
    if let Some(mut session) = open(&mut account, "look around", server, options) {
        account.note("shares", session.shares());
        session.disconnect();
    }
    if let Some(tree) = bind(&mut account, "names", server, options) {
        names(&mut account, tree);
    }
    if let Some(tree) = bind(&mut account, "data", server, options) {
        transfer(&mut account, tree, options.call_timeout);
    }
    account
}

fn open(
    account: &mut Account,
    why: &str,
    server: SocketAddr,
    options: &Options,
) -> Option<Session> {
    let (limit, deadline) = (options.call_timeout, SystemClock::no_deadline());
    let socket = plimsoll_transport::connect(
        &[server.ip()],
        server.port(),
        SourcePort::Any,
        limit,
        &deadline,
    );
    let socket: Socket = socket.ok()?;
    let session = Session::open(socket, "server", &Credentials::guest(), options);
    let facts = session.as_ref().map(|session| session.facts().clone()).map_err(Error::clone);
    account.note(&format!("session to {why}"), facts);
    session.ok()
}

fn bind(account: &mut Account, why: &str, server: SocketAddr, options: &Options) -> Option<Tree> {
    let tree = open(account, why, server, options)?.tree(SHARE).map_err(|(_, error)| error);
    let access = tree.as_ref().map(|tree| format!("{:?}", tree.tree_facts().maximal_access));
    account.note(&format!("share for {why}"), access.map_err(Error::clone));
    tree.ok()
}

/// Names, attributes and small files.
fn names(account: &mut Account, mut tree: Tree) {
    account.note("echo", tree.echo());
    account.note("space", tree.space());
    account.note("make directory", tree.make_directory("Ordner"));
    account.note("put", tree.put_small("Ordner/klein", CreateHow::New, b"small", true));
    account.note("get", tree.get_small("Ordner/klein", 100));
    account.note("get what is not there", refusal(tree.get_small("Ordner/none", 100)));
    let created = tree.create("file", CreateHow::New, Access::ReadWrite);
    let nothing = FileId { persistent: 1, volatile: 2 };
    // When it was written is of no use here.
    let file = account.note("create", created.map(|(file, info)| (file, info.size)));
    let file = file.map_or(nothing, |created| created.0);
    account.note("write", tree.write(file, 3, b"some bytes"));
    account.note("flush", tree.flush(file));
    account.note("set size", tree.set_size(file, 10));
    let mut buffer = [0; 100];
    let read = tree.read(file, 0, &mut buffer).map(|count| buffer[..count].to_vec());
    account.note("read", read);
    account.note("close", tree.close(file));
    account.note("list", tree.list("", 100));
    account.note("rename", tree.rename("file", "Größe"));
    account.note("remove", tree.remove_file("Ordner/klein"));
    account.note("remove directory", tree.remove_directory("Ordner"));
    account.note("remove another", tree.remove_file("Größe"));
    tree.disconnect();
}

/// What the server says of a call that it is to refuse.
fn refusal<T>(result: Result<T, Error>) -> Result<Option<String>, Error> {
    match result {
        Ok(_) => Ok(None),
        Err(error) if error.is_fatal() => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    }
}

/// The user's side of the pipeline.
struct User<'a> {
    account: &'a mut Account,
    begun: Instant,
    content: Vec<u8>,
    file: FileId,
}

impl Exchange<Smb2> for User<'_> {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.content[(tag % BLOCKS) as usize * BLOCK..][..BLOCK]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done, "answered before it was sent");
        match &completion.result {
            Ok(Done::Read { data } | Done::Get { data, .. }) => {
                assert!(data.len() <= BLOCK, "more than asked for");
            }
            Ok(Done::Write { count } | Done::Put { count }) => {
                assert!(*count as usize <= BLOCK, "more than sent");
            }
            Ok(Done::Open { file, .. }) => self.file = *file,
            _ => {}
        }
        self.account.note(&format!("pipeline {}", completion.tag), completion.result);
    }
}

/// The first of the tags that read blocks.
pub const FIRST_READ: u32 = BLOCKS + 1;

/// A file opened, blocks of it written, made stable and read back, several at a time; then small files
/// and names.
fn transfer(account: &mut Account, tree: Tree, limit: Duration) {
    let depth = NonZeroU16::new(4).expect("not 0");
    let most = 4096;
    let options = PipelineOptions { depth, read_most: most, write_most: most, unread: false };
    let mut pipeline = tree.into_pipeline(options);
    let file = FileId { persistent: 1, volatile: 2 };
    let mut user = User { account, begun: Instant::now(), content: content(), file };
    const OPEN: u32 = 100;
    pipeline
        .submit(
            OPEN,
            Request::Open { path: "blocks", how: CreateHow::Replace, access: Access::ReadWrite },
        )
        .expect("a slot is free");
    let calls = FIRST_READ + BLOCKS;
    // What of the small calls after those may be in flight together.
    let ends = [0, 1, 2, 3, 4, 7, 8, 9, 11, 12].map(|end| calls + end);
    let batches = ends.windows(2).map(|ends| ends[0]..ends[1]);
    for batch in [0..0, 0..calls].into_iter().chain(batches) {
        if !flight(&mut pipeline, &mut user, batch, limit) {
            return;
        }
    }
}

/// Calls in flight until all have ended; whether they have.
fn flight(
    pipeline: &mut Pipeline,
    user: &mut User<'_>,
    mut tags: std::ops::Range<u32>,
    limit: Duration,
) -> bool {
    const CALLS: u32 = FIRST_READ + BLOCKS;
    let length = BLOCK as u32;
    while !tags.is_empty() || pipeline.in_flight() > 0 {
        while pipeline.in_flight() < 4
            && let Some(tag) = tags.next()
        {
            let at = |block: u32| u64::from(block) * BLOCK as u64;
            let (file, count, how) = (user.file, length, CreateHow::Replace);
            let request = match tag {
                ..BLOCKS => {
                    let (offset, through) = (at(tag), tag % 2 == 0);
                    Request::Write { file, offset, count, through }
                }
                BLOCKS => Request::Flush { file },
                FIRST_READ..CALLS => Request::Read { file, offset: at(tag - FIRST_READ), count },
                _ => match tag - CALLS {
                    0 => Request::Put { path: "klein", how, count, through: false },
                    1 => Request::Get { path: "klein", most: count },
                    3 => Request::MakeDirectory { path: "Verzeichnis" },
                    4 => Request::Put { path: "Verzeichnis/a", how, count, through: true },
                    5 => Request::Lookup { path: "klein" },
                    6 => Request::OpenDirectory { path: "" },
                    7 | 8 => Request::List { directory: file },
                    10 => Request::Remove { path: "Verzeichnis/a" },
                    11 => Request::RemoveDirectory { path: "Verzeichnis" },
                    _ => Request::Close { file },
                },
            };
            pipeline.submit(tag, request).expect("a slot is free");
        }
        let until = user.now() + limit.as_nanos() as u64;
        match pipeline.reap(until, user) {
            Ok(1..) => {}
            // Silence: as a frozen server is noticed.
            Ok(0) => return false,
            Err(error) => {
                user.account.note("pipeline", Err::<(), _>(error));
                return false;
            }
        }
    }
    true
}
