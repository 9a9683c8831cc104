//! A whole session of this client with a server of version 4: every call it has in each minor version, in an
//! order that does not depend on the answers.

use plimsoll_nfs::nfs3::{Listing, Name, Stability};
use plimsoll_nfs::nfs4::{
    Client, Completion, Done, FileHandle, Identity, LockKind, Minor, Nfs4, OpenHow, Place, Request,
    SetAttributes, Status, Time,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_nfs::{ByteRange, Error};
use plimsoll_transport::{Exchange, PipelineOptions, SourcePort, SystemClock};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

/// Bytes in a block of the file that is written and read.
const BLOCK: usize = 500;
/// Blocks of it, and small files.
const BLOCKS: u32 = 6;
const DEPTH: NonZeroU16 = NonZeroU16::new(4).unwrap();

/// What came of each call, by its name.
pub type Account = plimsoll_testkit::servers::liar::Account<Error>;

/// What is in a block.
pub fn content(block: u32) -> Vec<u8> {
    (0..BLOCK as u32).map(|i| (i * 7 + block * 31 + (i >> 8)) as u8).collect()
}

/// The name under which a block that was read is in the account.
pub fn read_of(minor: Minor, block: u32) -> String {
    format!("{minor}: read {block}")
}

/// The session. No call waits longer than `limit`.
pub fn run(server: SocketAddr, export: &str, limit: Duration) -> Account {
    let mut account = Account::default();
    for minor in [Minor::V0, Minor::V1, Minor::V2] {
        let (identity, mut directory) = (Identity::new(minor), None);
        let connected = |account: &mut Account, call: &str| {
            let free = SystemClock::no_deadline();
            let port = server.port();
            let socket =
                plimsoll_transport::connect(&[server.ip()], port, SourcePort::Any, limit, &free);
            let credential = Credential::Sys(AuthSys::new("client", 0, 0, &[0]));
            let client = Client::new(socket.ok()?, &credential, &identity, DEPTH, limit);
            let registered = client.as_ref().map(|_| ()).map_err(Error::clone);
            account.note(&format!("{minor}: {call}"), registered);
            client.ok()
        };
        if let Some(client) = connected(&mut account, "register") {
            directory = Some(blocking(&mut account, minor, client, export));
        }
        if let Some(client) = connected(&mut account, "register once more")
            && let Some(directory) = directory
        {
            in_flight(&mut account, minor, client, directory, limit);
        }
    }
    account
}

/// What the server says of a call that it is to refuse.
fn refusal<T>(result: Result<T, Error>) -> Result<Option<Status>, Error> {
    match result {
        Ok(_) => Ok(None),
        Err(Error::Nfs4 { status, .. }) => Ok(Some(status)),
        Err(error) => Err(error),
    }
}

/// One call after the other; the directory that the target names.
fn blocking(account: &mut Account, minor: Minor, mut client: Client, export: &str) -> FileHandle {
    let mut note = |call: &str, found: Result<String, Error>| {
        account.note(&format!("{minor}: {call}"), found);
    };
    let name = |text| Name::new(text).expect("a name");
    let mode = |mode| SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    let nothing = FileHandle::new(b"nothing").expect("a handle");
    let root = client.root();
    note("root", text(&root));
    let mut base = root.map_or(nothing, |found| found.0);
    for part in export.split('/').filter(|part| !part.is_empty()) {
        let found = client.lookup(base, name(part));
        note(&format!("look up {part}"), text(&found));
        base = found.map_or(base, |found| found.0);
    }
    note("null", text(&client.null()));
    note("attributes", text(&client.attributes(base)));
    note("file system", text(&client.file_system(base)));
    note("access", text(&client.access_rights(base, 0x3f)));
    note("look up what is not there", text(&refusal(client.lookup(base, name("none")))));
    let made = client.make_directory(base, name("Größe"), 0o755);
    note("make directory", text(&made));
    let inside = made.unwrap_or(base);
    let opened = client.open_to_write(inside, name("file"), OpenHow::Guarded(mode(0o644)));
    note("create", opened.as_ref().map(|(_, of)| format!("{of:?}")).map_err(Error::clone));
    if let Ok((file, _)) = opened {
        for block in 0..BLOCKS {
            let stability = [Stability::Unstable, Stability::FileSync][block as usize % 2];
            let offset = u64::from(block) * BLOCK as u64;
            let written = client.write(&file, offset, stability, &content(block));
            note(&format!("write {block}"), text(&written));
        }
        note("commit", text(&client.commit(file.handle)));
        for block in 0..BLOCKS {
            let offset = u64::from(block) * BLOCK as u64;
            let read = client.read(&file, offset, BLOCK as u32);
            assert!(
                read.as_ref().map_or(0, |(data, _)| data.len()) <= BLOCK,
                "more than asked for"
            );
            note(&format!("read {block}"), text(&read));
        }
        note("read plus", text(&client.read_plus(&file, 0, BLOCK as u32)));
        note("allocate", text(&refusal(client.allocate(&file, 0, 8192))));
        note("set size", text(&client.set_size(&file, 100)));
        let locked = client.lock(&file, LockKind::Write, bytes(10, 50), b"one");
        note("lock", text(&locked));
        if let Ok(state) = locked {
            let unlocked = client.unlock(file.handle, state, LockKind::Write, bytes(10, 50));
            note("unlock", text(&unlocked));
        }
        let test = client.test_lock(file.handle, LockKind::Read, bytes(0, 10), b"two");
        note("test lock", text(&test));
        note("close", text(&client.close(&file)));
        let modified = Some(Time { seconds: 1_000_000_000, nanoseconds: 0 });
        let new = SetAttributes { modified, ..mode(0o600) };
        note("set attributes", text(&client.set_attributes(file.handle, new)));
    }
    let opened = client.open(inside, name("file"));
    note("open", opened.as_ref().map(|(_, of)| format!("{of:?}")).map_err(Error::clone));
    if let Ok((file, _)) = opened {
        note("close what was read", text(&client.close(&file)));
    }
    note("list", text(&client.list(inside)));
    note("rename", text(&client.rename(place(inside, "file"), place(base, "moved"))));
    note("remove", text(&client.remove(base, name("moved"))));
    note("remove directory", text(&client.remove(base, name("Größe"))));
    note("renew", text(&client.renew()));
    base
}

fn place(directory: FileHandle, file: &str) -> Place<'_> {
    Place { directory, name: Name::new(file).expect("a name") }
}

fn bytes(offset: u64, length: u64) -> ByteRange {
    ByteRange { offset, length }
}

fn text<T: std::fmt::Debug>(result: &Result<T, Error>) -> Result<String, Error> {
    result.as_ref().map(|found| format!("{found:?}")).map_err(Error::clone)
}

/// The user's side of the pipeline.
struct User<'a> {
    account: &'a mut Account,
    minor: Minor,
    begun: Instant,
    bytes: Vec<u8>,
}

impl Exchange<Nfs4> for User<'_> {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        self.bytes = content(tag);
        &self.bytes
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.sent <= completion.done, "answered before it was sent");
        let done = completion.result.map(|done| match done {
            Done::Read { data, end_of_file } => {
                assert!(data.len() <= BLOCK, "more than asked for");
                format!("{data:?}, {end_of_file}")
            }
            Done::Write { count, committed, .. } => {
                assert!(count as usize <= BLOCK, "more than sent");
                assert!(committed == Stability::FileSync, "less safe than asked for");
                format!("{count}")
            }
            other => format!("{other:?}"),
        });
        self.account.note(&format!("{}: in flight {}", self.minor, completion.tag), done);
    }
}

/// Small files whole, then their names.
fn in_flight(
    account: &mut Account,
    minor: Minor,
    client: Client,
    directory: FileHandle,
    limit: Duration,
) {
    let options =
        PipelineOptions { depth: DEPTH, read_most: 4096, write_most: 4096, unread: false };
    let Ok(mut pipeline) = Nfs4::pipeline(client, options) else { return };
    let mut user = User { account, minor, begun: Instant::now(), bytes: Vec::new() };
    let mut tags = 0..3 * BLOCKS + 3;
    while !tags.is_empty() || pipeline.in_flight() > 0 {
        // A server answers what is in flight in any order, and a transcript has but one.
        if pipeline.in_flight() == 0
            && let Some(tag) = tags.next()
        {
            submit(&mut pipeline, tag, directory);
        }
        let until = user.now() + limit.as_nanos() as u64;
        match pipeline.reap(until, &mut user) {
            Ok(1..) => {}
            // Silence, or an answer that leads to another call.
            Ok(0) if user.now() < until => {}
            Ok(0) => return,
            Err(error) => {
                user.account.note(&format!("{minor}: in flight"), Err::<(), _>(error));
                return;
            }
        }
    }
}

fn submit(pipeline: &mut plimsoll_nfs::nfs4::Pipeline, tag: u32, directory: FileHandle) {
    let file = format!("small {}", tag % BLOCKS);
    let place = |text| place(directory, text);
    let how = OpenHow::Guarded(SetAttributes { mode: Some(0o600), ..SetAttributes::default() });
    let (count, stability) = (BLOCK as u32, Stability::FileSync);
    let listing = Listing::default();
    let request = match tag {
        ..BLOCKS => Request::Put { place: place(&file), how, count, stability },
        _ if tag < 2 * BLOCKS => Request::Get { place: place(&file), count },
        _ if tag == 2 * BLOCKS => Request::Lookup(place("small 0")),
        _ if tag == 2 * BLOCKS + 1 => Request::Attributes(directory),
        _ if tag == 2 * BLOCKS + 2 => Request::List(directory, &listing),
        _ => Request::Remove(place(&file)),
    };
    pipeline.submit(tag, request).expect("a slot is free");
}
