//! A whole session of this client with a server: every call it has, in an order that does not
//! depend on the answers. What came of each is kept, to be compared with what should have.

use plimsoll_nfs::nfs3::{
    self, Client, Completion, CreateArguments, CreateHow, Done, Exchange, FileHandle, Listing,
    MakeDirectoryArguments, Name, Nfs3, PipelineOptions, Place, ReadArguments, Request,
    SetAttributes, Stability, WriteArguments,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_nfs::{Error, mount, portmap};
use plimsoll_transport::{Socket, SourcePort, SystemClock};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

/// Bytes in a block of the file that is written and read.
const BLOCK: usize = 500;
/// Blocks of it.
const BLOCKS: u32 = 6;
/// The file's name, that of another, and that of a directory.
const NAMES: [&str; 3] = ["file", "Größe", "directory"];

/// Where a server is.
#[derive(Clone, Copy)]
pub struct Server {
    pub portmapper: SocketAddr,
    pub mount: SocketAddr,
    pub nfs: SocketAddr,
}

impl Server {
    pub fn at(address: SocketAddr) -> Server {
        Server { portmapper: address, mount: address, nfs: address }
    }
}

/// What came of each call, by its name.
pub type Account = plimsoll_testkit::servers::liar::Account<Error>;

/// What the file holds: no stretch of it is found twice.
pub fn content() -> Vec<u8> {
    let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 16) as u16;
    (0..BLOCK as u32 * BLOCKS / 2).flat_map(|i| number(i).to_be_bytes()).collect()
}

/// The session. No call waits longer than `limit`.
pub fn run(server: Server, export: &str, limit: Duration) -> Account {
    let mut account = Account::default();
    let connect = |to: SocketAddr| {
        plimsoll_transport::connect(
            &[to.ip()],
            to.port(),
            SourcePort::Any,
            limit,
            &SystemClock::no_deadline(),
        )
    };
    let credential = Credential::Sys(AuthSys::new("client", 0, 0, &[0]));
    let path = mount::Path::new(export).expect("a path");

    for (call, program) in [("port of MOUNT", mount::PROGRAM), ("port of NFS", nfs3::PROGRAM)] {
        if let Ok(socket) = connect(server.portmapper) {
            account.note(call, portmap::port_of(socket, program, limit));
        }
    }
    let mut root = FileHandle::new(b"nothing").expect("a handle");
    if let Ok(socket) = connect(server.mount) {
        let mut client = mount::Client::new(socket, &credential, limit);
        account.note("exports", client.exports());
        root = account.note("mount", client.mount(path)).unwrap_or(root);
    }
    let mut file = root;
    if let Ok(socket) = connect(server.nfs) {
        file = prepare(&mut account, Client::new(socket, &credential, limit), root);
    }
    if let Ok(socket) = connect(server.nfs) {
        transfer(&mut account, socket, &credential, [root, file], limit);
    }
    if let Ok(socket) = connect(server.nfs) {
        clean_up(&mut account, Client::new(socket, &credential, limit), root);
    }
    if let Ok(socket) = connect(server.mount) {
        let mut client = mount::Client::new(socket, &credential, limit);
        account.note("unmount", client.unmount(path));
    }
    account
}

/// Names and attributes; the file's handle.
fn prepare(account: &mut Account, mut client: Client, root: FileHandle) -> FileHandle {
    let [file, other, directory] = NAMES.map(|name| Name::new(name).expect("a name"));
    account.note("null", client.null());
    account.note("attributes", client.attributes(root));
    account.note("information", client.information(root));
    account.note("space", client.space(root));
    account.note("access", client.access(root, 0x3f));
    account.note("look up what is not there", refusal(client.lookup(root, file)));
    let plain = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let made = account.note("make directory", client.make_directory(root, directory, 0o755));
    let inside = made.unwrap_or(root);
    account.note("create", client.create(inside, other, CreateHow::Unchecked(plain)));
    let made = account.note("create another", client.create(root, file, CreateHow::Guarded(plain)));
    let made = made.unwrap_or(root);
    account.note("set size", client.set_size(made, 10));
    account.note("write", client.write(made, 3, Stability::Unstable, b"some bytes"));
    account.note("commit", client.commit(made));
    let read = client.read(made, 0, 100).map(|(data, end)| (data.to_vec(), end));
    if let Some((data, _)) = account.note("read", read) {
        assert!(data.len() <= 100, "more than asked for");
    }
    account.note("list", client.list(root));
    made
}

/// What the server says of a call that it is to refuse.
fn refusal<T>(result: Result<T, Error>) -> Result<Option<nfs3::Status>, Error> {
    match result {
        Ok(_) => Ok(None),
        Err(Error::Nfs { status, .. }) => Ok(Some(status)),
        Err(error) => Err(error),
    }
}

fn clean_up(account: &mut Account, mut client: Client, root: FileHandle) {
    let [file, other, directory] = NAMES.map(|name| Name::new(name).expect("a name"));
    let inside = account.note("look up", client.lookup(root, directory)).map_or(root, |f| f.0);
    account.note("list the directory", client.list(inside));
    account.note("remove", client.remove(inside, other));
    account.note("remove directory", client.remove_directory(root, directory));
    account.note("remove another", client.remove(root, file));
}

/// The user's side of the pipeline.
struct User<'a> {
    account: &'a mut Account,
    begun: Instant,
    content: Vec<u8>,
}

impl Exchange<Nfs3> for User<'_> {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.content[tag as usize * BLOCK..][..BLOCK]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done, "answered before it was sent");
        match &completion.result {
            Ok(Done::Read { data, .. }) => assert!(data.len() <= BLOCK, "more than asked for"),
            Ok(Done::Write { count, committed, .. }) => {
                assert!(*count as usize <= BLOCK, "more than sent");
                assert!(*committed >= stability(completion.tag), "less safe than asked for");
            }
            _ => {}
        }
        self.account.note(&format!("pipeline {}", completion.tag), completion.result);
    }
}

fn stability(tag: u32) -> Stability {
    if tag.is_multiple_of(2) { Stability::Unstable } else { Stability::FileSync }
}

/// Blocks written, made stable and read back, several at a time; then names.
fn transfer(
    account: &mut Account,
    socket: Socket,
    credential: &Credential,
    files: [FileHandle; 2],
    limit: Duration,
) {
    let depth = NonZeroU16::new(4).expect("not 0");
    let most = 4096;
    let options = PipelineOptions { depth, read_most: most, write_most: most, unread: false };
    let mut pipeline = Nfs3::pipeline(socket, credential, options);
    let mut user = User { account, begun: Instant::now(), content: content() };
    const WRITTEN: u32 = BLOCKS + 1;
    const NAMED: u32 = 2 * BLOCKS + 1;
    // What is read has been written, and what is looked up has been made.
    let steps = [0, WRITTEN, NAMED, NAMED + 4, NAMED + 6, NAMED + 8];
    for mut tags in steps.windows(2).map(|ends| ends[0]..ends[1]) {
        while !tags.is_empty() || pipeline.in_flight() > 0 {
            while pipeline.in_flight() < 4
                && let Some(tag) = tags.next()
            {
                pipeline.submit(tag, request(tag, files)).expect("a slot is free");
            }
            let until = user.now() + limit.as_nanos() as u64;
            match pipeline.reap(until, &mut user) {
                Ok(1..) => {}
                // Silence: as a frozen server is noticed.
                Ok(0) => return,
                Err(error) => {
                    user.account.note("pipeline", Err::<(), _>(error));
                    return;
                }
            }
        }
    }
}

/// What is asked for under a tag.
fn request(tag: u32, [directory, file]: [FileHandle; 2]) -> Request<'static> {
    let (at, count) = (|block: u32| u64::from(block) * BLOCK as u64, BLOCK as u32);
    let place = |name| Place { directory, name: Name::new(name).expect("a name") };
    let attributes = SetAttributes { mode: Some(0o700), ..SetAttributes::default() };
    match tag {
        ..BLOCKS => {
            let (offset, stability) = (at(tag), stability(tag));
            return Request::Write(WriteArguments { file, offset, count, stability });
        }
        BLOCKS => return Request::commit(file),
        _ => {}
    }
    let listing = Listing::default();
    match tag - BLOCKS - 1 {
        block @ ..BLOCKS => Request::Read(ReadArguments { file, offset: at(block), count }),
        6 => Request::MakeDirectory(MakeDirectoryArguments { place: place("more"), attributes }),
        7 => {
            let how = CreateHow::Guarded(attributes);
            Request::Create(CreateArguments { place: place("new"), how })
        }
        8 => Request::Lookup(place(NAMES[0])),
        9 => Request::Attributes(file),
        10 => Request::List(listing.next_page(directory)),
        11 => Request::ListNames(listing.next_names(directory)),
        12 => Request::Remove(place("new")),
        _ => Request::RemoveDirectory(place("more")),
    }
}
