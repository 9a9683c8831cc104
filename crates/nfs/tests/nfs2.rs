//! NFS version 2 and MOUNT 1 with a server that is written from RFC 1094 alone, over TCP and UDP.

#[path = "support/user.rs"]
mod user;

use plimsoll_nfs::nfs3::{
    Client, CreateArguments, CreateHow, FileHandle, FileType, Listing, MakeDirectoryArguments,
    Name, Nfs3, PipelineOptions, Place, ReadArguments, RenameArguments, Request, SetAttributes,
    SetAttributesArguments, Stability, Status, Time, WriteArguments,
};
use plimsoll_nfs::rpc::{AcceptError, AuthSys, Credential, Rejection};
use plimsoll_nfs::{Error, Version, mount};
use plimsoll_testkit::servers::Nfs2Server;
use plimsoll_transport::{Calling, Channel, DatagramSocket, SourcePort, SystemClock};
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Duration;
use user::{User, block};

const LIMIT: Duration = Duration::from_secs(60);
/// READ and WRITE of RFC 1094.
const READ: u32 = 6;
const WRITE: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Tcp,
    Udp,
}

fn channel(server: &Nfs2Server, over: Over) -> Channel {
    let (to, free) = (server.address(), SystemClock::no_deadline());
    let (addresses, any) = ([to.ip()], SourcePort::Any);
    match over {
        Over::Tcp => {
            let socket = plimsoll_transport::connect(&addresses, to.port(), any, LIMIT, &free);
            socket.unwrap().into()
        }
        Over::Udp => DatagramSocket::connect(&addresses, to.port(), any, &free).unwrap().into(),
    }
}

fn credential() -> Credential {
    Credential::Sys(AuthSys::new("test", 1, 2, &[3]))
}

fn begin(server: &Nfs2Server, over: Over) -> (Client, FileHandle) {
    let mut mount =
        mount::Client::of_version(Version::V2, channel(server, over), &credential(), LIMIT);
    mount.null().unwrap();
    let exports = mount.exports().unwrap();
    assert_eq!(exports.iter().map(|export| &*export.path).collect::<Vec<_>>(), ["/export"]);
    let refused = mount.mount(mount::Path::new("/other").unwrap());
    assert_eq!(
        refused,
        Err(Error::Mount { version: Version::V2, status: mount::MountStatus::NoEntry })
    );
    let root = mount.mount(mount::Path::new("/export").unwrap()).unwrap();
    mount.unmount(mount::Path::new("/export").unwrap()).unwrap();
    assert_eq!(root.as_bytes().len(), 32);
    (Client::of_version(Version::V2, channel(server, over), &credential(), LIMIT), root)
}

fn name(name: &str) -> Name<'_> {
    Name::new(name).unwrap()
}

#[test]
fn names_attributes_and_small_files() {
    for over in [Over::Tcp, Over::Udp] {
        let server = Nfs2Server::start().unwrap();
        let (mut client, root) = begin(&server, over);
        client.null().unwrap();
        let directory = client.make_directory(root, name("a directory"), 0o751).unwrap();
        let guarded =
            CreateHow::Guarded(SetAttributes { mode: Some(0o640), ..SetAttributes::default() });
        let file = client.create(directory, name("Übung"), guarded).unwrap();
        let again = client.create(directory, name("Übung"), guarded).unwrap_err();
        assert_eq!(again.status(), Some(Status::Exists));
        let again = client.make_directory(root, name("a directory"), 0o700).unwrap_err();
        assert_eq!(again.status(), Some(Status::Exists));

        // One WRITE takes no more than 8 KiB, and is stable.
        let bytes = block(1, 20_001);
        let mut at = 0;
        while at < bytes.len() {
            let (count, _) =
                client.write(file, at as u64, Stability::Unstable, &bytes[at..]).unwrap();
            assert_eq!(count as usize, (bytes.len() - at).min(8192));
            at += count as usize;
        }
        client.commit(file).unwrap();
        assert_eq!(server.calls(WRITE), 3);
        assert_eq!(server.content("a directory/Übung").unwrap(), bytes);
        assert_eq!(client.read(file, 0, 1 << 20).unwrap(), (&bytes[..8192], false));
        assert_eq!(client.read(file, 16_384, 8192).unwrap(), (&bytes[16_384..], true));
        assert_eq!(client.read(file, 20_000, 1).unwrap(), (&bytes[20_000..], true));
        assert_eq!(client.read(file, 30_000, 1).unwrap(), (&[][..], true));
        client.set_size(file, 7).unwrap();
        assert_eq!(server.content("a directory/Übung").unwrap(), bytes[..7]);

        let (found, attributes) = client.lookup(directory, name("Übung")).unwrap();
        assert_eq!((found, attributes), (file, client.attributes(file).unwrap()));
        let shown = (attributes.kind, attributes.mode, attributes.size, attributes.used);
        assert_eq!(shown, (FileType::Regular, 0o640, 7, 512), "without the type in the mode");
        assert_eq!((attributes.uid, attributes.gid, attributes.file_system), (1000, 100, 7));
        assert_eq!(attributes.modified, Time { seconds: 3, nanoseconds: 4000 });
        let of_directory = client.attributes(directory).unwrap();
        assert_eq!((of_directory.kind, of_directory.mode), (FileType::Directory, 0o751));

        let space = client.space(root).unwrap();
        assert_eq!((space.total, space.free, space.available), (4 << 30, 2 << 30, 1 << 30));
        let limits = client.information(root).unwrap();
        assert_eq!(
            (limits.read_most, limits.write_most, limits.longest_file),
            (8192, 8192, 0xffff_ffff)
        );
        let access = client.access(root, 1).unwrap_err();
        assert_eq!(access.status(), Some(Status::NotSupported));

        // More names than go on one page; each once, with what it is.
        for i in 0..400 {
            client
                .create(directory, name(&format!("a file with the number {i:05}")), guarded)
                .unwrap();
        }
        let mut names: Vec<_> = client.list(directory).unwrap();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(names.len(), 401);
        assert!(names.iter().all(|entry| entry.kind == Some(FileType::Regular)));
        assert_eq!(names[7].name, b"a file with the number 00007");

        let missing = client.lookup(root, name("nothing")).unwrap_err();
        assert_eq!(missing.status(), Some(Status::NoEntry));
        let full = client.remove_directory(root, name("a directory")).unwrap_err();
        assert_eq!(full.status(), Some(Status::NotEmpty));
        for entry in &names {
            client.remove(directory, name(std::str::from_utf8(&entry.name).unwrap())).unwrap();
        }
        let stale = client.attributes(file).unwrap_err();
        assert_eq!(stale.status(), Some(Status::Stale));
        client.remove_directory(root, name("a directory")).unwrap();
        assert_eq!(server.count(), 0);
        // ROOT and WRITECACHE are not to be called, and NULL was once.
        assert_eq!([0, 3, 7].map(|procedure| server.calls(procedure)), [1, 0, 0]);
    }
}

/// Bytes in a block.
const LENGTH: u32 = 5000;
/// What came of a call: the bytes that it read.
type Ended = Result<Vec<u8>, Error>;

/// Writes and reads, many at a time, and others one after the other.
fn all<'r>(
    mut calls: impl Calling<Nfs3>,
    writes: impl Iterator<Item = Request<'r>>,
    reads: impl Iterator<Item = Request<'r>>,
    others: &[Request<'r>],
) -> (BTreeMap<u32, Ended>, Vec<Ended>) {
    let mut user = User::new(LENGTH as usize);
    user.run(&mut calls, writes);
    assert!(user.ended.values().all(Result::is_ok), "{:?}", user.ended);
    user.run(&mut calls, reads);
    let read = std::mem::take(&mut user.ended);
    let one = |other: &Request<'r>| {
        user.run(&mut calls, [*other]);
        user.ended.remove(&0).unwrap()
    };
    (read, others.iter().map(one).collect())
}

#[test]
fn many_calls_in_flight() {
    for over in [Over::Tcp, Over::Udp] {
        let server = Nfs2Server::start().unwrap();
        let (mut client, root) = begin(&server, over);
        let unchecked = CreateHow::Unchecked(SetAttributes::default());
        let file = client.create(root, name("file"), unchecked).unwrap();
        let depth = NonZeroU16::new(32).unwrap();
        let options =
            PipelineOptions { depth, read_most: 1 << 20, write_most: 1 << 20, unread: false };
        let place = |i: u32| u64::from(i) * u64::from(LENGTH);
        let stability = Stability::Unstable;
        let writes = (0..300).map(|i| {
            Request::Write(WriteArguments { file, offset: place(i), count: LENGTH, stability })
        });
        let reads = (0..300)
            .map(|i| Request::Read(ReadArguments { file, offset: place(i), count: LENGTH }));
        let beyond = u64::from(u32::MAX);
        let directory = Place { directory: root, name: name("directory") };
        let [one, two] = ["one", "two"].map(|n| Place { directory: root, name: name(n) });
        let time = Time { seconds: 77, nanoseconds: 8_000 };
        let modified = SetAttributes { modified: Some(time), ..SetAttributes::default() };
        let how = CreateHow::Guarded(SetAttributes::default());
        let others = [
            Request::Create(CreateArguments { place: one, how }),
            Request::Rename(RenameArguments { from: one, to: two }),
            Request::MakeDirectory(MakeDirectoryArguments {
                place: directory,
                attributes: SetAttributes::default(),
            }),
            Request::RemoveDirectory(directory),
            Request::SetAttributes(SetAttributesArguments { file, attributes: modified }),
            Request::ListNames(Listing::default().next_names(root)),
            Request::Remove(two),
            // What version 2 does not have, and what it cannot reach.
            Request::commit(file),
            Request::List(Listing::default().next_page(root)),
            Request::Read(ReadArguments { file, offset: beyond - 99, count: 100 }),
            Request::Write(WriteArguments { file, offset: beyond + 1, count: LENGTH, stability }),
            Request::Write(WriteArguments { file, offset: u64::MAX, count: LENGTH, stability }),
            Request::Read(ReadArguments { file, offset: beyond - 100, count: 100 }),
        ];
        let (read, others) = match channel(&server, over) {
            Channel::Stream(socket) => {
                let calls = Nfs3::pipeline_of(Version::V2, socket, &credential(), options);
                all(calls, writes, reads, &others)
            }
            Channel::Datagrams(socket) => {
                let calls = Nfs3::datagrams(Version::V2, socket, &credential(), options);
                all(calls, writes, reads, &others)
            }
        };
        let expected: Vec<u8> = (0..300).flat_map(|i| block(i, LENGTH as usize)).collect();
        assert!(server.content("file").unwrap() == expected, "{over:?}");
        assert_eq!(read.len(), 300);
        for (i, data) in read {
            assert!(data == Ok(block(i, LENGTH as usize)), "{over:?}: block {i}");
        }
        let ended = |tag: usize| others[tag].as_ref().map(Vec::len);
        assert!((0..7).all(|tag| ended(tag) == Ok(0)), "{others:?}");
        assert_eq!(ended(12), Ok(0), "as far as 32 bits reach");
        for tag in [7, 8] {
            assert_eq!(ended(tag).unwrap_err().status(), Some(Status::NotSupported));
        }
        for tag in [9, 10, 11] {
            let error = ended(tag).unwrap_err();
            assert!(matches!(error, Error::Beyond32Bits { .. }), "{error}");
            assert!(error.to_string().contains("vers=3") && !error.is_fatal(), "{error}");
        }
        assert_eq!(client.attributes(file).unwrap().modified, time);
        // Nothing of what is refused was sent: 300 blocks, and the last read.
        assert_eq!(server.calls(WRITE), 300);
        assert_eq!(server.calls(READ), 301);
        assert_eq!(server.count(), 1);
    }
}

#[test]
fn a_server_says_which_versions_it_has() {
    let server = Nfs2Server::start().unwrap();
    for over in [Over::Tcp, Over::Udp] {
        let only = |version| {
            let mismatch = AcceptError::ProgramMismatch { low: version, high: version };
            Err(Error::Rejected(Rejection::Accepted(mismatch)))
        };
        assert_eq!(Client::new(channel(&server, over), &credential(), LIMIT).null(), only(2));
        assert_eq!(
            mount::Client::new(channel(&server, over), &credential(), LIMIT).null(),
            only(1)
        );
    }
}
