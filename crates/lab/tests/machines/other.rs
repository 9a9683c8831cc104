//! Machines of other images.

use super::pair::{LIMIT, data, kill, machine, said};
use plimsoll_lab::plan::{Nfsd, NfsdExport};
use plimsoll_lab::services::{disk, nfsd};
use plimsoll_lab::vm::{self, DiskFile, Image, Images};
use plimsoll_reach::Reach;

/// Boots one machine of an image, without a network, and does something with it.
fn with(image: Image, test: impl FnOnce(&dyn Reach)) {
    let place = tempfile::tempdir().unwrap();
    let images = Images::from_environment();
    images.get(image, &mut |done| eprintln!("{done}")).unwrap();
    let mut machine = machine("server", place.path(), true);
    machine.image = image;
    machine.nics.clear();
    let mut process = None;
    let mut journal = |pid| {
        process = Some(Killed(pid));
        Ok(())
    };
    vm::start(&machine, &images, &mut journal).unwrap();
    vm::ready(&machine, LIMIT).unwrap();
    test(&*vm::reach(place.path(), "server"));
}

struct Killed(u32);

impl Drop for Killed {
    fn drop(&mut self) {
        kill(self.0);
    }
}

pub fn version_2() {
    with(Image::DebianOld, |host| {
        disk::attach(host, "data", "/dev/vdb", &data()).unwrap();
        let export =
            NfsdExport { path: "/srv/data".to_owned(), options: "rw,no_root_squash".to_owned() };
        let versions = ["2", "3", "4.1"].map(str::to_owned).to_vec();
        nfsd::start(host, &Nfsd { threads: 2, versions, exports: vec![export] }).unwrap();
        let ports = said(host, "rpcinfo -p | awk '$5 == \"nfs\" { print $2, $3, $4 }' | sort");
        assert_eq!(ports, "2 tcp 2049\n2 udp 2049\n3 tcp 2049\n3 udp 2049\n4 tcp 2049\n");
        said(host, "rpcinfo -t 127.0.0.1 nfs 2 && rpcinfo -u 127.0.0.1 nfs 2");
    });
}

pub fn mips() {
    with(Image::Mips, |host| {
        assert_eq!(said(host, "uname -m"), "mips\n");
        assert!(said(host, "cat /proc/cpuinfo").contains("24Kc"));
        // Cards share interrupts 10 and 11: an edge would be lost while another card holds the line.
        let levels = "dd if=/dev/port bs=1 skip=1233 count=1 2>/dev/null | od -An -tu1";
        assert_eq!(said(host, levels).trim(), "12");
        assert_eq!(host.run("cat; exit 3", b"both ways", LIMIT).unwrap().output, b"both ways");
        let device = DiskFile::device(Image::Mips, 0);
        disk::attach(host, "data", &device, &data()).unwrap();
        said(host, "echo kept >/srv/data/file; sync /srv/data/file");
    });
}
