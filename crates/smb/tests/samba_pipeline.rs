//! Many calls in flight against Samba, in every dialect and protection, and with few credits.

mod support;

use plimsoll_smb::{Access, CreateHow, Error, Exchange, FileId, NtStatus, Pipeline};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use std::fs;
use std::path::Path;
use std::time::Duration;
use support::flight::{Ended, User, finish, pipeline};
use support::{Way, open, pattern, smbclient, tree};

/// Submits what `begin` begins for each tag, at most as many as there is room for at a time.
fn all(
    pipeline: &mut Pipeline,
    user: &mut User,
    tags: impl IntoIterator<Item = u32>,
    mut begin: impl FnMut(&mut Pipeline, u32) -> Result<(), plimsoll_smb::Full>,
) {
    for tag in tags {
        while begin(pipeline, tag).is_err() {
            let until = user.now() + 20_000_000_000;
            assert_ne!(pipeline.reap(until, user).unwrap(), 0, "nothing ended in time");
        }
    }
    finish(pipeline, user);
}

fn opened(pipeline: &mut Pipeline, user: &mut User, path: &str, how: CreateHow) -> FileId {
    pipeline.open(9, path, how, Access::ReadWrite).unwrap();
    finish(pipeline, user);
    let Ended::File(file, _) = user.ok(9) else { panic!("not a file") };
    file
}

/// Blocks written out of order and read back, whole and across their borders.
fn blocks(pipeline: &mut Pipeline, disk: &Path, block: usize, count: usize, name: &str) {
    let mut user = User::new();
    let content = pattern(block * count);
    let file = opened(pipeline, &mut user, "Blöcke", CreateHow::Replace);
    let most = pipeline.options().write_most.min(pipeline.options().read_most) as usize;
    assert!(block <= most, "{name}");
    for i in 0..count {
        user.payloads.insert(i as u32, content[i * block..(i + 1) * block].to_vec());
    }
    let tags = || (0..count as u32).rev();
    let place = |tag: u32| u64::from(tag) * block as u64;
    let length = block as u32;
    all(pipeline, &mut user, tags(), |p, t| p.write(t, file, place(t), length, t % 5 == 0));
    for tag in tags() {
        assert_eq!(user.ok(tag), Ended::Count(length), "{name}");
    }
    pipeline.flush(9, file).unwrap();
    finish(pipeline, &mut user);
    assert_eq!(user.ok(9), Ended::Done);
    assert!(fs::read(disk.join("Blöcke")).unwrap() == content, "{name}");
    let shift = |tag: u32| place(tag) + length as u64 / 2;
    all(pipeline, &mut user, tags(), |p, t| p.read(t, file, shift(t), length));
    for tag in tags() {
        let from = shift(tag) as usize;
        let expected = &content[from..(from + block).min(content.len())];
        assert!(user.ok(tag) == Ended::Data(expected.to_vec()), "{name} {tag}");
    }
    // Past the end nothing is read, and that is no error.
    let past = content.len() as u64;
    pipeline.read(9, file, past, length).unwrap();
    finish(pipeline, &mut user);
    assert_eq!(user.ok(9), Ended::Data(Vec::new()));
    pipeline.close(9, file).unwrap();
    finish(pipeline, &mut user);
    user.ok(9);
}

/// Small files up, and down again.
fn small_files(pipeline: &mut Pipeline, disk: &Path, count: u32, name: &str) {
    let mut user = User::new();
    let path = |tag: u32| format!("klein {tag}");
    let content = |tag: u32| pattern(tag as usize * 137);
    user.payloads = (0..count).map(|tag| (tag, content(tag))).collect();
    let length = |tag: u32| content(tag).len() as u32;
    all(pipeline, &mut user, 0..count, |p, t| p.put(t, &path(t), CreateHow::New, length(t)));
    for tag in 0..count {
        assert_eq!(user.ok(tag), Ended::Count(length(tag)), "{name}");
        assert!(fs::read(disk.join(path(tag))).unwrap() == content(tag), "{name}");
    }
    all(pipeline, &mut user, 0..count, |p, t| p.get(t, &path(t), 65_536));
    for tag in 0..count {
        assert!(user.ok(tag) == Ended::Data(content(tag)), "{name}");
    }
    // What is there is not made anew, and what is not there is not found; the others go on.
    pipeline.put(1, &path(1), CreateHow::New, length(1)).unwrap();
    pipeline.get(2, "none", 10).unwrap();
    pipeline.get(3, &path(3), 10).unwrap();
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
        let tree = tree(server.port(), "data", &way.options());
        let large = tree.facts().large_transfers;
        assert_eq!(large, way.dialect != plimsoll_smb::Dialect::Smb2_0_2, "{name}");
        let mut pipeline = pipeline(tree, 32, 1 << 20);
        blocks(&mut pipeline, &disk, 4096, 100, &name);
        blocks(&mut pipeline, &disk, 65_536, 8, &name);
        if large {
            blocks(&mut pipeline, &disk, 1 << 20, 3, &name);
        }
        small_files(&mut pipeline, &disk, 50, &name);
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
            if pipeline.options().read_most >= 1 << 20 && credits >= 20 {
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
    assert_eq!(pipeline.options().read_most, 100_000);
    assert_eq!(pipeline.options().write_most, 70_000);
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
    pipeline.write(1, file, 0, 1000, false).unwrap();
    let until = user.now() + Duration::from_millis(200).as_nanos() as u64;
    assert_eq!(pipeline.reap(until, &mut user).unwrap(), 0);
    assert_eq!(pipeline.in_flight(), 1);
    server.thaw().unwrap();
    finish(&mut pipeline, &mut user);
    assert_eq!(user.ok(1), Ended::Count(1000));
    pipeline.read(2, file, 0, 1000).unwrap();
    server.kill();
    let until = user.now() + 20_000_000_000;
    let died = (0..3).find_map(|_| {
        let _ = pipeline.read(3, file, 0, 1000);
        pipeline.reap(until, &mut user).err()
    });
    assert!(matches!(died, Some(Error::Tcp(_))), "{died:?}");
    assert!(pipeline.reap(until, &mut user).is_err(), "a dead connection stays dead");
}
