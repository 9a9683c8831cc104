//! The cache of images, and a machine that does not boot.

use super::pair::{LIMIT, Pair, kill, machine};
use plimsoll_lab::vm::{self, Cable, Image, Images, images::Files};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Nobody is there: whatever asks for packages fails.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A cache of its own with the image that is there already.
struct Cache(TempDir);

impl Cache {
    fn new() -> Option<Cache> {
        if !Pair::possible() {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let files = Images::from_environment().get(Image::Debian, &mut |_| {}).unwrap();
        let from = files.initrd.parent().unwrap();
        let to = place.path().join(from.file_name().unwrap());
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() == "root.ext4" {
                std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name())).unwrap();
            } else {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
        let name = to.file_name().unwrap().to_str().unwrap();
        fs::write(place.path().join("debian.current"), name).unwrap();
        Some(Cache(place))
    }

    fn at(&self) -> &Path {
        self.0.path()
    }

    fn images(&self) -> Images<'static> {
        Images::at(self.at()).with_mirror(NOWHERE)
    }

    fn files(&self) -> Files {
        self.images().get(Image::Debian, &mut |_| {}).unwrap()
    }
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn an_image_that_is_there_needs_no_network() {
    let Some(cache) = Cache::new() else { return };
    let files = cache.files();
    assert!(files.kernel.starts_with(cache.at()) && files.root.is_some());
    // Once it is old, it is asked for news, and does without them.
    let current = File::options().write(true).open(cache.at().join("debian.current")).unwrap();
    current.set_modified(SystemTime::now() - Duration::from_secs(30 * 24 * 3600)).unwrap();
    let mut progress = Vec::new();
    let again =
        cache.images().get(Image::Debian, &mut |done| progress.push(done.to_owned())).unwrap();
    assert_eq!(again, files);
    assert!(progress.last().is_some_and(|last| last.contains("unreachable")), "{progress:?}");
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_damaged_image_is_not_used() {
    let Some(cache) = Cache::new() else { return };
    let initrd = cache.files().initrd;
    let mut bytes = fs::read(&initrd).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&initrd, bytes).unwrap();
    let failure = cache.images().get(Image::Debian, &mut |_| {}).unwrap_err();
    assert!(failure.next.contains(NOWHERE) && failure.next.contains("packages"), "{failure}");
    let empty = tempfile::tempdir().unwrap();
    let images = Images::at(empty.path()).with_mirror(NOWHERE);
    assert_eq!(images.get(Image::Debian, &mut |_| {}).unwrap_err().tried, failure.tried);
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn whoever_comes_second_waits_for_the_image() {
    let Some(cache) = Cache::new() else { return };
    let lock = File::create(cache.at().join("lock")).unwrap();
    lock.lock().unwrap();
    let (say, hear) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut progress = |done: &str| say.send(done.to_owned()).unwrap();
            cache.images().get(Image::Debian, &mut progress)
        });
        assert!(hear.recv_timeout(LIMIT).unwrap().contains("waiting"));
        assert!(!second.is_finished());
        lock.unlock().unwrap();
        second.join().unwrap().unwrap();
    });
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_machine_that_does_not_boot_shows_its_last_words() {
    let Some(cache) = Cache::new() else { return };
    let initrd = cache.files().initrd;
    // Whole, as far as the cache can tell.
    fs::write(&initrd, "no archive").unwrap();
    let directory = initrd.parent().unwrap();
    let sums = Command::new("sha256sum")
        .args(["vmlinuz", "initrd", "root.ext4"])
        .current_dir(directory)
        .output()
        .unwrap();
    fs::write(directory.join("sums"), sums.stdout).unwrap();
    // What KVM does is known.
    let known = Images::from_environment().cache().join("kvm");
    let _ = fs::copy(known, cache.at().join("kvm"));

    let place = tempfile::tempdir().unwrap();
    let mut broken = machine("server", place.path(), true);
    broken.disks.clear();
    let mut pid = 0;
    let mut journal = |started| {
        pid = started;
        Ok(())
    };
    vm::start(&broken, &cache.images(), &mut journal).unwrap();
    let failure = vm::ready(&broken, LIMIT).unwrap_err();
    kill(pid);
    assert!(failure.happened.contains("its kernel panicked"), "{failure}");
    assert!(failure.happened.contains("Kernel panic"), "{failure}");

    broken.memory_mib = 1 << 30;
    let refused = vm::start(&broken, &cache.images(), &mut |_| Ok(())).unwrap_err();
    assert!(refused.happened.contains("memory"), "{refused}");
    broken.memory_mib = 256;
    broken.nics[0].mac = "no address".to_owned();
    broken.name = "other".to_owned();
    broken.nics[0].cable = Cable::Socket { at: place.path().join("other-lan"), listens: true };
    let refused = vm::start(&broken, &cache.images(), &mut |_| Ok(())).unwrap_err();
    assert!(refused.happened.contains("mac"), "{refused}");
}
