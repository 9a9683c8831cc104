//! Many calls in flight against Samba, in every dialect and protection, and with few credits.

mod support;

use plimsoll_smb::{
    Access, CreateHow, Entry, EntryKind, Error, Exchange, FileId, Listing, NtStatus, Pipeline,
    PipelineOptions, Request, Tree,
};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use plimsoll_transport::UNREAD_LEAST;
use std::fs;
use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;
use support::flight::{Ended, User, finish, pipeline};
use support::{Way, open, pattern, smbclient, tree};

/// Submits a request for each tag, at most as many as there are slots for at a time.
fn all<'a>(
    pipeline: &mut Pipeline,
    user: &mut User,
    tags: impl IntoIterator<Item = u32>,
    request: impl Fn(u32) -> Request<'a>,
) {
    for tag in tags {
        while pipeline.submit(tag, request(tag)).is_err() {
            let until = user.now() + 20_000_000_000;
            assert_ne!(pipeline.reap(until, user).unwrap(), 0, "nothing ended in time");
        }
    }
    finish(pipeline, user);
}

fn opened(pipeline: &mut Pipeline, user: &mut User, path: &str, how: CreateHow) -> FileId {
    pipeline.submit(9, Request::Open { path, how, access: Access::ReadWrite }).unwrap();
    finish(pipeline, user);
    let Ended::File(file, _) = user.ok(9) else { panic!("not a file") };
    file
}

/// Blocks written out of order and read back, whole and across their borders.
fn blocks(pipeline: &mut Pipeline, disk: &Path, block: usize, count: usize, name: &str) {
    let mut user = User::new();
    let content = pattern(block * count);
    let file = opened(pipeline, &mut user, "Blöcke", CreateHow::Replace);
    let most = pipeline.protocol().options().write_most.min(pipeline.protocol().options().read_most)
        as usize;
    assert!(block <= most, "{name}");
    for i in 0..count {
        user.payloads.insert(i as u32, content[i * block..(i + 1) * block].to_vec());
    }
    let tags = || (0..count as u32).rev();
    let place = |tag: u32| u64::from(tag) * block as u64;
    let length = block as u32;
    all(pipeline, &mut user, tags(), |t| {
        let (offset, through) = (place(t), t % 5 == 0);
        Request::Write { file, offset, count: length, through }
    });
    for tag in tags() {
        assert_eq!(user.ok(tag), Ended::Count(length), "{name}");
    }
    pipeline.submit(9, Request::Flush { file }).unwrap();
    finish(pipeline, &mut user);
    assert_eq!(user.ok(9), Ended::Done);
    assert!(fs::read(disk.join("Blöcke")).unwrap() == content, "{name}");
    let shift = |tag: u32| place(tag) + length as u64 / 2;
    all(pipeline, &mut user, tags(), |t| Request::Read { file, offset: shift(t), count: length });
    for tag in tags() {
        let from = shift(tag) as usize;
        let expected = &content[from..(from + block).min(content.len())];
        assert!(user.ok(tag) == Ended::Data(expected.to_vec()), "{name} {tag}");
    }
    // Past the end nothing is read, and that is no error.
    let past = content.len() as u64;
    pipeline.submit(9, Request::Read { file, offset: past, count: length }).unwrap();
    finish(pipeline, &mut user);
    assert_eq!(user.ok(9), Ended::Data(Vec::new()));
    pipeline.submit(9, Request::Close { file }).unwrap();
    finish(pipeline, &mut user);
    user.ok(9);
}

/// Long reads of the file of [`blocks`] that nobody looks at: their lengths are right, and their bytes where those
/// had to be looked at.
fn unread(tree: Tree, disk: &Path, plain: bool, name: &str) {
    const BLOCK: usize = 200_000;
    let content = fs::read(disk.join("Blöcke")).unwrap();
    let depth = NonZeroU16::new(8).unwrap();
    let (most, unread) = (1 << 20, true);
    let options = PipelineOptions { depth, read_most: most, write_most: most, unread };
    let (mut pipeline, mut user) = (tree.into_pipeline(options), User::new());
    let file = opened(&mut pipeline, &mut user, "Blöcke", CreateHow::Open);
    let count = BLOCK.min(pipeline.protocol().options().read_most as usize);
    let place = |tag: u32| tag as usize * 150_000;
    let tags = || (0..7).filter(|tag| place(*tag) < content.len());
    all(&mut pipeline, &mut user, tags(), |tag| Request::Read {
        file,
        offset: place(tag) as u64,
        count: count as u32,
    });
    for tag in tags() {
        let expected = &content[place(tag)..(place(tag) + count).min(content.len())];
        let Ended::Data(data) = user.ok(tag) else { panic!("{name}: no data") };
        assert_eq!(data.len(), expected.len(), "{name}: {tag}");
        let dropped = plain && count >= UNREAD_LEAST as usize;
        assert_eq!(data != expected, dropped, "{name}: {tag}");
    }
    pipeline.submit(9, Request::Close { file }).unwrap();
    finish(&mut pipeline, &mut user);
    user.ok(9);
}

/// Small files up, and down again.
fn small_files(pipeline: &mut Pipeline, disk: &Path, count: u32, name: &str) {
    let mut user = User::new();
    let path = |tag: u32| format!("klein {tag}");
    let paths: Vec<_> = (0..count).map(path).collect();
    let content = |tag: u32| pattern(tag as usize * 137);
    user.payloads = (0..count).map(|tag| (tag, content(tag))).collect();
    let length = |tag: u32| content(tag).len() as u32;
    all(pipeline, &mut user, 0..count, |t| {
        let how = CreateHow::New;
        Request::Put { path: &paths[t as usize], how, count: length(t), through: false }
    });
    for tag in 0..count {
        assert_eq!(user.ok(tag), Ended::Count(length(tag)), "{name}");
        assert!(fs::read(disk.join(path(tag))).unwrap() == content(tag), "{name}");
    }
    all(pipeline, &mut user, 0..count, |t| Request::Get { path: &paths[t as usize], most: 65_536 });
    for tag in 0..count {
        assert!(user.ok(tag) == Ended::Data(content(tag)), "{name}");
    }
    // What is there is not made anew, and what is not there is not found; the others go on.
    pipeline
        .submit(
            1,
            Request::Put { path: &path(1), how: CreateHow::New, count: length(1), through: false },
        )
        .unwrap();
    pipeline.submit(2, Request::Get { path: "none", most: 10 }).unwrap();
    pipeline.submit(3, Request::Get { path: &path(3), most: 10 }).unwrap();
    finish(pipeline, &mut user);
    let status = |user: &mut User, tag: u32| user.ended.remove(&tag).unwrap().unwrap_err().status();
    assert_eq!(status(&mut user, 1), Some(NtStatus::OBJECT_NAME_COLLISION), "{name}");
    assert_eq!(status(&mut user, 2), Some(NtStatus::OBJECT_NAME_NOT_FOUND), "{name}");
    assert!(user.ok(3) == Ended::Data(content(3)[..10].to_vec()));
    for tag in 0..count {
        fs::remove_file(disk.join(path(tag))).unwrap();
    }
}

#[test]
fn everything_in_flight_comes_home_in_every_dialect_and_protection() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    for way in Way::ALL {
        let name = format!("{way:?}");
        let first = tree(server.port(), "data", &way.options());
        let large = first.facts().large_transfers;
        assert_eq!(large, way.dialect != plimsoll_smb::Dialect::Smb2_0_2, "{name}");
        let mut pipeline = pipeline(first, 32, 1 << 20);
        blocks(&mut pipeline, &disk, 4096, 100, &name);
        blocks(&mut pipeline, &disk, 65_536, 8, &name);
        if large {
            blocks(&mut pipeline, &disk, 1 << 20, 3, &name);
        }
        small_files(&mut pipeline, &disk, 50, &name);
        let plain = way.signing.is_none() && way.cipher.is_none();
        unread(tree(server.port(), "data", &way.options()), &disk, plain, &name);
    }
}

#[test]
fn few_credits_slow_it_down_and_stop_nothing() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    for (port, credits) in (20450..).zip([8_u16, 20, 64]) {
        let config = SambaConfig::one(SambaShare::new("data"))
            .port(port)
            .line(&format!("smb2 max credits = {credits}"));
        let server = Samba::start(&stage, config).unwrap();
        let disk = server.directory("data").unwrap();
        for way in [Way::ALL[0], Way::ALL[3], Way::ALL[13], Way::ALL[15]] {
            let name = format!("{credits} {way:?}");
            let mut pipeline = pipeline(tree(port, "data", &way.options()), 32, 1 << 20);
            blocks(&mut pipeline, &disk, 4096, 100, &name);
            blocks(&mut pipeline, &disk, 65_536, 16, &name);
            small_files(&mut pipeline, &disk, 50, &name);
            // A request of 1 MiB costs 16 credits.
            if pipeline.protocol().options().read_most >= 1 << 20 && credits >= 20 {
                blocks(&mut pipeline, &disk, 1 << 20, 4, &name);
            }
        }
    }
}

#[test]
fn smaller_limits_of_the_server_are_kept() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("data"))
        .line("smb2 max read = 100000")
        .line("smb2 max write = 70000");
    let server = Samba::start(&stage, config).unwrap();
    let session = open(server.port(), &Way::ALL[13].options()).unwrap();
    assert_eq!(session.facts().read_most, 100_000);
    assert_eq!(session.facts().write_most, 70_000);
    let tree = session.tree("data").map_err(|(_, error)| error).unwrap();
    let mut pipeline = pipeline(tree, 8, 1 << 20);
    assert_eq!(pipeline.protocol().options().read_most, 100_000);
    assert_eq!(pipeline.protocol().options().write_most, 70_000);
    blocks(&mut pipeline, &server.directory("data").unwrap(), 70_000, 20, "limits");
}

#[test]
fn what_a_pipeline_wrote_smbclient_reads() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Smbclient);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    for way in [Way::ALL[1], Way::ALL[6], Way::ALL[13], Way::ALL[17]] {
        let mut pipeline = pipeline(tree(server.port(), "data", &way.options()), 16, 1 << 20);
        blocks(&mut pipeline, &disk, 60_000, 20, "smbclient");
        let mut client = server.smbclient("data").unwrap();
        smbclient(&mut client, "get Blöcke /run/back");
        assert!(fs::read("/run/back").unwrap() == pattern(1_200_000), "{way:?}");
    }
}

#[test]
fn a_server_that_dies_is_an_error_and_one_that_freezes_is_waited_for() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let mut server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let mut pipeline = pipeline(tree(server.port(), "data", &Way::ALL[13].options()), 8, 1 << 16);
    let mut user = User::new();
    user.payloads.insert(1, vec![7; 1000]);
    let file = opened(&mut pipeline, &mut user, "file", CreateHow::New);
    server.freeze().unwrap();
    pipeline.submit(1, Request::Write { file, offset: 0, count: 1000, through: false }).unwrap();
    let until = user.now() + Duration::from_millis(200).as_nanos() as u64;
    assert_eq!(pipeline.reap(until, &mut user).unwrap(), 0);
    assert_eq!(pipeline.in_flight(), 1);
    server.thaw().unwrap();
    finish(&mut pipeline, &mut user);
    assert_eq!(user.ok(1), Ended::Count(1000));
    pipeline.submit(2, Request::Read { file, offset: 0, count: 1000 }).unwrap();
    server.kill();
    let until = user.now() + 20_000_000_000;
    let died = (0..3).find_map(|_| {
        let _ = pipeline.submit(3, Request::Read { file, offset: 0, count: 1000 });
        pipeline.reap(until, &mut user).err()
    });
    assert!(matches!(died, Some(Error::Tcp(_))), "{died:?}");
    assert!(pipeline.reap(until, &mut user).is_err(), "a dead connection stays dead");
}

/// What the names of a directory are, as a second, blocking client sees them.
fn listed(server: &Samba, path: &str) -> Vec<(String, EntryKind, u64)> {
    let mut tree = tree(server.port(), "data", &Way::ALL[13].options());
    let entries = tree.list(path, 10_000).unwrap();
    let mut all: Vec<_> = entries.into_iter().map(|e| (e.name, e.kind, e.size)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// All names of a directory, page by page.
fn list(pipeline: &mut Pipeline, user: &mut User, path: &str) -> Vec<Entry> {
    pipeline.submit(9, Request::OpenDirectory { path }).unwrap();
    finish(pipeline, user);
    let Ended::File(directory, _) = user.ok(9) else { panic!("not a directory") };
    let mut listing = Listing::new(10_000);
    loop {
        pipeline.submit(9, Request::List { directory }).unwrap();
        finish(pipeline, user);
        let Ended::Page(entries, end) = user.ok(9) else { panic!("not a page") };
        if end {
            break;
        }
        listing.add(path, entries).unwrap();
    }
    pipeline.submit(9, Request::Close { file: directory }).unwrap();
    finish(pipeline, user);
    assert_eq!(user.ok(9), Ended::Done);
    listing.entries
}

#[test]
fn names_are_made_found_listed_and_removed_at_depth_and_refused_where_they_should_be() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    for way in [Way::ALL[0], Way::ALL[3], Way::ALL[13], Way::ALL[15], Way::ALL[17]] {
        let name = format!("{way:?}");
        let mut pipeline = pipeline(tree(server.port(), "data", &way.options()), 8, 1 << 16);
        let mut user = User::new();
        let count = 60;
        let directories: Vec<_> = (0..count).map(|i| format!("Ordner {i:02}")).collect();
        let files: Vec<_> = directories.iter().map(|d| format!("{d}/Datei")).collect();
        let path_of =
            |paths: &[String], t: u32| -> &'static str { paths[t as usize].clone().leak() };
        all(&mut pipeline, &mut user, 0..count, |t| Request::MakeDirectory {
            path: path_of(&directories, t),
        });
        assert!((0..count).all(|tag| user.ok(tag) == Ended::Done), "{name}");
        user.payloads = (0..count).map(|t| (t, pattern(t as usize))).collect();
        all(&mut pipeline, &mut user, 0..count, |t| Request::Put {
            path: path_of(&files, t),
            how: CreateHow::New,
            count: t,
            through: false,
        });
        all(&mut pipeline, &mut user, count..2 * count, |t| Request::Lookup {
            path: path_of(&files, t - count),
        });
        all(&mut pipeline, &mut user, 2 * count..3 * count, |t| Request::Lookup {
            path: path_of(&directories, t - 2 * count),
        });
        for tag in 0..count {
            assert_eq!(user.ok(tag), Ended::Count(tag), "{name}");
            assert_eq!(fs::read(disk.join(&files[tag as usize])).unwrap(), pattern(tag as usize));
            let found = |user: &mut User, tag| match user.ok(tag) {
                Ended::Found(info) => (info.kind, info.size),
                other => panic!("{other:?}"),
            };
            assert_eq!(found(&mut user, count + tag), (EntryKind::File, tag.into()), "{name}");
            assert_eq!(found(&mut user, 2 * count + tag).0, EntryKind::Directory, "{name}");
        }
        let mut seen = list(&mut pipeline, &mut user, "");
        seen.sort_by(|a, b| a.name.cmp(&b.name));
        let seen: Vec<_> = seen.into_iter().map(|e| (e.name, e.kind, e.size)).collect();
        assert_eq!(seen, listed(&server, ""), "{name}");
        assert_eq!(seen.len(), count as usize);

        // Each is refused as it should be, and leaves the others alone.
        let (how, access) = (CreateHow::New, Access::Read);
        let (a_file, a_directory) = (path_of(&files, 1), path_of(&directories, 1));
        let refused = [
            (Request::MakeDirectory { path: a_directory }, NtStatus::OBJECT_NAME_COLLISION),
            (Request::Open { path: a_file, how, access }, NtStatus::OBJECT_NAME_COLLISION),
            (Request::Lookup { path: "none" }, NtStatus::OBJECT_NAME_NOT_FOUND),
            (Request::Lookup { path: "none/none" }, NtStatus::OBJECT_PATH_NOT_FOUND),
            (Request::Remove { path: "none" }, NtStatus::OBJECT_NAME_NOT_FOUND),
            (Request::Remove { path: a_directory }, NtStatus::FILE_IS_A_DIRECTORY),
            (Request::RemoveDirectory { path: a_directory }, NtStatus::DIRECTORY_NOT_EMPTY),
            (Request::RemoveDirectory { path: a_file }, NtStatus::NOT_A_DIRECTORY),
        ];
        for (tag, (request, _)) in refused.iter().enumerate() {
            pipeline.submit(tag as u32, *request).unwrap();
        }
        finish(&mut pipeline, &mut user);
        for (tag, (request, status)) in refused.iter().enumerate() {
            let ended = user.ended.remove(&(tag as u32)).unwrap();
            assert_eq!(ended.unwrap_err().status(), Some(*status), "{request:?} {name}");
        }

        all(&mut pipeline, &mut user, 0..count, |t| Request::Remove { path: path_of(&files, t) });
        all(&mut pipeline, &mut user, count..2 * count, |t| Request::RemoveDirectory {
            path: path_of(&directories, t - count),
        });
        assert!((0..2 * count).all(|tag| user.ok(tag) == Ended::Done), "{name}");
        assert_eq!(listed(&server, ""), [], "{name}");
    }
}

#[test]
fn a_long_listing_is_complete_and_without_doubles() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let directory = server.directory("data").unwrap().join("viele");
    fs::create_dir(&directory).unwrap();
    for i in 0..3000 {
        fs::write(directory.join(format!("eine Datei mit langem Namen {i:04}")), b"").unwrap();
    }
    for way in [Way::ALL[0], Way::ALL[13]] {
        let mut pipeline = pipeline(tree(server.port(), "data", &way.options()), 2, 1 << 16);
        let mut names = list(&mut pipeline, &mut User::new(), "viele");
        names.sort_by(|a, b| a.name.cmp(&b.name));
        names.dedup_by(|a, b| a.name == b.name);
        assert_eq!(names.len(), 3000, "{way:?}");
        let seen: Vec<_> = names.into_iter().map(|e| (e.name, e.kind, e.size)).collect();
        assert_eq!(seen, listed(&server, "viele"));
    }
}
