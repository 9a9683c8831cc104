//! Every operation in every dialect and protection, against Samba.

mod support;

use plimsoll_smb::{Access, CreateHow, EntryKind, NtStatus, Tree};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use support::{Way, pattern, smbclient, tree};

/// What a tree can do, seen from the server's own directory as well.
fn round(tree: &mut Tree, disk: &Path, way: Way) {
    let content = pattern(300_001);
    let named = format!("{way:?}");
    tree.echo().unwrap();
    tree.make_directory("Ordner für Ärzte").unwrap();
    let path = "Ordner für Ärzte/Größe 日本.bin";
    let there = disk.join(path);

    // Writing, reading back, and past the end.
    let (file, facts) = tree.create(path, CreateHow::New, Access::ReadWrite).unwrap();
    assert_eq!(facts.size, 0, "{named}");
    let most = (tree.facts().write_most as usize).min(100_000);
    let mut at = 0;
    while at < content.len() {
        let end = (at + most).min(content.len());
        at += tree.write(file, at as u64, &content[at..end]).unwrap();
    }
    tree.flush(file).unwrap();
    assert!(fs::read(&there).unwrap() == content, "{named}");
    let mut back = vec![0; content.len()];
    let most = (tree.facts().read_most as usize).min(100_000);
    let mut at = 0;
    while at < back.len() {
        let end = (at + most).min(content.len());
        let read = tree.read(file, at as u64, &mut back[at..end]).unwrap();
        assert_ne!(read, 0, "{named}");
        at += read;
    }
    assert!(back == content, "{named}");
    let mut buffer = [0; 100];
    assert_eq!(tree.read(file, 300_000, &mut buffer).unwrap(), 1);
    assert_eq!(tree.read(file, 300_001, &mut buffer).unwrap(), 0);
    assert_eq!(tree.read(file, 1 << 40, &mut buffer).unwrap(), 0);

    // Size and times.
    tree.set_size(file, 1_000_000).unwrap();
    assert_eq!(tree.read(file, 999_990, &mut buffer).unwrap(), 10);
    assert_eq!(buffer[..10], [0; 10]);
    tree.set_size(file, 17).unwrap();
    let written = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_700);
    tree.set_times(file, written).unwrap();
    tree.close(file).unwrap();
    let metadata = fs::metadata(&there).unwrap();
    assert_eq!(metadata.len(), 17);
    assert_eq!(metadata.modified().unwrap(), written, "{named}");

    // Small files in one round trip each, over what is there, and refused.
    tree.put_small("small", CreateHow::New, &content[..11_500], true).unwrap();
    assert_eq!(tree.get_small("small", 20_000).unwrap(), content[..11_500]);
    let twice = tree.put_small("small", CreateHow::New, b"x", false).unwrap_err();
    assert_eq!(twice.status(), Some(NtStatus::OBJECT_NAME_COLLISION));
    assert!(!twice.is_fatal());
    tree.put_small("small", CreateHow::Replace, b"new", false).unwrap();
    assert_eq!(fs::read(disk.join("small")).unwrap(), b"new");
    tree.put_small("empty", CreateHow::New, b"", false).unwrap();
    assert_eq!(tree.get_small("empty", 10).unwrap(), b"");
    assert_eq!(tree.get_small("small", 2).unwrap(), b"ne");
    let gone = tree.get_small("none", 10).unwrap_err();
    assert_eq!(gone.status(), Some(NtStatus::OBJECT_NAME_NOT_FOUND));

    // Renaming, listing and removing.
    tree.rename(path, "renamed").unwrap();
    assert!(!there.exists() && disk.join("renamed").exists());
    let mut listed: Vec<_> = tree.list("", 100).unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let listed: Vec<_> = listed.iter().map(|e| (e.name.as_str(), e.kind, e.size)).collect();
    let expected = [
        ("Ordner für Ärzte", EntryKind::Directory),
        ("empty", EntryKind::File),
        ("renamed", EntryKind::File),
        ("small", EntryKind::File),
    ];
    assert_eq!(listed.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>(), expected, "{named}");
    assert_eq!(listed[1..].iter().map(|e| e.2).collect::<Vec<_>>(), [0, 17, 3]);
    assert_eq!(tree.list("Ordner für Ärzte", 10).unwrap(), []);
    tree.rename("renamed", "Ordner für Ärzte/again").unwrap();
    let full = tree.remove_directory("Ordner für Ärzte").unwrap_err();
    assert_eq!(full.status(), Some(NtStatus::DIRECTORY_NOT_EMPTY), "{full}");
    tree.remove_file("Ordner für Ärzte/again").unwrap();
    tree.remove_directory("Ordner für Ärzte").unwrap();
    tree.remove_file("small").unwrap();
    tree.remove_file("empty").unwrap();
    assert_eq!(fs::read_dir(disk).unwrap().count(), 0, "{named}");
    assert!(tree.remove_file("small").is_err());
    let space = tree.space().unwrap();
    assert!(space.total == 64 << 20 && space.available <= space.total, "{space:?}");
}

#[test]
fn every_operation_in_every_dialect_and_protection() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let share = SambaShare::new("data").size(64 << 20);
    let server = Samba::start(&stage, SambaConfig::one(share)).unwrap();
    let disk = server.directory("data").unwrap();
    for way in Way::ALL {
        let mut tree = tree(server.port(), "data", &way.options());
        way.check(tree.facts());
        assert_eq!(tree.tree_facts().encrypted, way.cipher.is_some(), "{way:?}");
        round(&mut tree, &disk, way);
        tree.disconnect();
    }
}

#[test]
fn smbclient_and_the_crate_read_each_other_in_every_way() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Smbclient);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let content = pattern(1_234_567);
    fs::write("/run/theirs", &content).unwrap();
    for way in Way::ALL {
        let mut tree = tree(server.port(), "data", &way.options());
        let name = "Übergabe";
        let (file, _) = tree.create(name, CreateHow::New, Access::ReadWrite).unwrap();
        let most = tree.facts().write_most.min(tree.facts().read_most) as usize;
        let mut at = 0;
        for part in content.chunks(most) {
            assert_eq!(tree.write(file, at, part).unwrap(), part.len());
            at += part.len() as u64;
        }
        tree.close(file).unwrap();
        let mut client = server.smbclient("data").unwrap();
        smbclient(&mut client, &format!("get {name} /run/ours; put /run/theirs theirs"));
        assert!(fs::read("/run/ours").unwrap() == content, "{way:?}");
        let (file, facts) = tree.create("theirs", CreateHow::Open, Access::Read).unwrap();
        assert_eq!(facts.size, content.len() as u64);
        let mut back = vec![0; content.len()];
        let mut at = 0;
        while at < back.len() {
            let end = (at + most).min(back.len());
            at += tree.read(file, at as u64, &mut back[at..end]).unwrap();
        }
        assert!(back == content, "{way:?}");
        tree.close(file).unwrap();
        tree.remove_file(name).unwrap();
        tree.remove_file("theirs").unwrap();
        tree.disconnect();
    }
}

#[test]
fn two_thousand_names_are_listed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    let mut names: Vec<_> =
        (0..2000).map(|i| format!("Datei {i:04} –{}", "x".repeat(i % 90))).collect();
    for name in &names {
        fs::write(disk.join(name), name).unwrap();
    }
    for way in [Way::ALL[0], Way::ALL[13], Way::ALL[15]] {
        let mut tree = tree(server.port(), "data", &way.options());
        let mut listed = tree.list("", 5000).unwrap();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        names.sort();
        let wrong = listed.iter().zip(&names).find(|(entry, name)| entry.name != **name);
        assert!(listed.len() == 2000 && wrong.is_none(), "{way:?} {} {wrong:?}", listed.len());
        assert!(listed.iter().all(|e| e.kind == EntryKind::File && e.size == e.name.len() as u64));
        assert_eq!(tree.list("", 2000).unwrap().len(), 2000);
        let over = tree.list("", 1999).unwrap_err();
        assert!(!over.is_fatal(), "{over}");
        tree.echo().unwrap();
        tree.disconnect();
    }
}

#[test]
fn links_are_neither_followed_nor_removed_with_what_they_point_to() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    // Samba hides links that lead out of a share; within it follows them and never shows them.
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    fs::create_dir(disk.join("directory")).unwrap();
    fs::write(disk.join("directory/kept"), "kept").unwrap();
    std::os::unix::fs::symlink("/etc", disk.join("outside")).unwrap();
    let mut tree = tree(server.port(), "data", &Way::ALL[13].options());
    assert!(tree.list("outside", 1000).is_err());
    assert!(tree.get_small("outside/hostname", 1000).is_err());
    let _ = tree.remove_directory("outside");
    assert!(Path::new("/etc/passwd").exists());
    assert_eq!(tree.get_small("directory/kept", 10).unwrap(), b"kept");
    tree.disconnect();
}
