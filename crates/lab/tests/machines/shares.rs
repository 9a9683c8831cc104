//! What one machine serves, the other mounts.

use super::pair::{LIMIT, Pair, data, eventually, run, said};
use plimsoll_lab::plan::{FileSystem, Mount, Nfsd, NfsdExport, Samba, SambaShare};
use plimsoll_lab::services::{disk, mount, nfsd, samba};
use plimsoll_lab::vm;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);

pub fn nfs_and_smb(pair: &Pair) {
    let begun = Instant::now();
    let export = |path: &str| NfsdExport {
        path: path.to_owned(),
        options: "rw,sync,no_root_squash".to_owned(),
    };
    let versions = ["3", "4.1", "4.2"].map(str::to_owned).to_vec();
    let exports = vec![export("/srv/data"), export("/srv/memory")];
    nfsd::start(&*pair.to_server, &Nfsd { threads: 4, versions, exports }).unwrap();
    let share = |name: &str, lines: &[&str]| SambaShare {
        name: name.to_owned(),
        path: "/srv/data".to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let samba_plan = Samba {
        user: "anna".to_owned(),
        password: "it's, secret".to_owned(),
        lines: vec!["server signing = mandatory".to_owned()],
        shares: vec![share("plain", &[]), share("sealed", &["smb encrypt = required"])],
    };
    samba::start(&*pair.to_server, &samba_plan).unwrap();
    eprintln!("served after {:.1?}", begun.elapsed());
    let mounts = [
        ("v3", "server:/srv/data", FileSystem::Nfs, "vers=3", "vers=3"),
        ("v42", "server:/srv/data", FileSystem::Nfs, "vers=4.2", "vers=4.2"),
        ("memory", "server:/srv/memory", FileSystem::Nfs, "vers=4.1", "vers=4.1"),
        ("smb", "server:plain", FileSystem::Cifs, "vers=3.1.1", "vers=3.1.1"),
        ("sealed", "server:sealed", FileSystem::Cifs, "vers=3.1.1,seal", "seal"),
    ];
    for (name, from, fs, options, sign) in mounts {
        let at = format!("/mnt/{name}");
        let from = from.to_owned().try_into().unwrap();
        let wanted = Mount { at: at.clone(), from, fs, options: options.to_owned() };
        mount::mount(&*pair.to_client, &wanted, SERVER, Some(&samba_plan)).unwrap();
        let mounted = said(&*pair.to_client, &format!("grep ' {at} ' /proc/mounts"));
        assert!(mounted.contains(sign), "{mounted}");
        // The same on both sides, in both directions.
        let write = format!(
            "head -c 300000 /dev/urandom >{at}/{name}; sync {at}/{name}; sha256sum <{at}/{name}"
        );
        let there = if name == "memory" { "/srv/memory" } else { "/srv/data" };
        let sum = said(&*pair.to_client, &write);
        assert_eq!(said(&*pair.to_server, &format!("sha256sum <{there}/{name}")), sum, "{name}");
        said(&*pair.to_server, &format!("echo from the server >{there}/back-{name}"));
        assert_eq!(said(&*pair.to_client, &format!("cat {at}/back-{name}")), "from the server\n");
    }
    eprintln!("mounted after {:.1?}", begun.elapsed());
    let without = Mount {
        at: "/mnt/none".to_owned(),
        from: "server:/srv/data".to_owned().try_into().unwrap(),
        fs: FileSystem::Nfs,
        options: "vers=4.0".to_owned(),
    };
    let failure = mount::mount(&*pair.to_client, &without, SERVER, None).unwrap_err();
    assert!(failure.tried.contains("/mnt/none"), "{failure}");
    said(&*pair.to_client, "umount /mnt/v3 /mnt/v42 /mnt/memory /mnt/smb /mnt/sealed");
}

/// Reads of a disk that is delayed by 40 ms take at least so long, and change with it.
pub fn slow_disk(pair: &Pair) {
    let host = &*pair.to_server;
    said(host, "head -c 400000 /dev/urandom >/srv/data/blocks; sync");
    // Milliseconds that 20 reads take which no cache answers.
    let reads = || {
        let script = "echo 3 >/proc/sys/vm/drop_caches; cut -d ' ' -f 1 /proc/uptime; \
            dd if=/srv/data/blocks of=/dev/null bs=4k count=20 iflag=direct 2>/dev/null; \
            cut -d ' ' -f 1 /proc/uptime";
        let times: Vec<f64> = said(host, script).lines().map(|t| t.parse().unwrap()).collect();
        (times[1] - times[0]) * 1000.0
    };
    pair.set_latency(40);
    let slow = reads();
    pair.set_latency(0);
    let quick = reads();
    eprintln!("20 reads: {slow:.0} ms with 40 ms each, {quick:.0} ms without");
    assert!(slow >= 800.0, "{slow} ms");
    // Where it is busy, nothing is quick: what is set is looked at.
    let table = said(host, "dmsetup table plimsoll-data");
    assert!(table.trim_end().ends_with(" 0"), "{table}");
}

/// What was fsynced before the power failed is there; what was only written need not be.
pub fn power_cut(pair: &Pair) {
    let host = &*pair.to_server;
    said(host, "head -c 500000 /dev/urandom >/srv/data/kept; sync /srv/data/kept");
    let sum = said(host, "sha256sum </srv/data/kept");
    std::thread::scope(|scope| {
        let writer = "while :; do head -c 3000000 /dev/zero >/srv/data/lost; done";
        let writing = scope.spawn(|| host.run(writer, b"", Duration::from_secs(200)));
        eventually("it writes", || run(host, "test -s /srv/data/lost", b"").status == Some(0));
        said(host, "echo only in memory >/srv/data/unsynced");
        vm::reset(&pair.server).unwrap();
        let failure = writing.join().unwrap().unwrap_err();
        assert!(failure.happened.contains("restarted"), "{failure}");
    });
    vm::ready(&pair.server, LIMIT).unwrap();
    assert_eq!(said(host, "ls /srv"), "", "it is as it was at first");
    disk::attach(host, super::pair::DISK, super::pair::DEVICE, &data()).unwrap();
    assert_eq!(said(host, "sha256sum </srv/data/kept"), sum);
    assert_eq!(run(host, "cat /srv/data/unsynced", b"").output, b"", "not written to the disk");
}
