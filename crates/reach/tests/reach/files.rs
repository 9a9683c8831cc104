//! Files copied to hosts.

use crate::support::{LIMIT, Server, everywhere, run, said};
use plimsoll_model::Cause;
use plimsoll_reach::{put, quote};
use plimsoll_testkit::Need;

#[test]
fn files_arrive_whole_with_their_mode() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let bytes: Vec<u8> = (0..300_007_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
    everywhere(&stage, |host| {
        said(host, "mkdir -p '/tmp/a '\\''place'");
        for (path, mode) in [("/tmp/a 'place/-x $y", 0o700), ("/tmp/a 'place/z", 0o640)] {
            put(host, &bytes, path, mode, LIMIT).unwrap();
            let name = quote(path);
            assert!(run(host, &format!("cat {name}"), b"").output == bytes, "{}", host.name());
            let modes = said(host, &format!("stat -c %a {name}"));
            assert_eq!(modes, format!("{mode:o}\n"));
        }
        // Again, over what is there.
        put(host, b"", "/tmp/a 'place/z", 0o600, LIMIT).unwrap();
        assert_eq!(said(host, "cd '/tmp/a '\\''place'; ls; cat z; rm -r \"$PWD\""), "-x $y\nz\n");
    });
}

#[test]
fn places_that_take_no_file_are_distinguished() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let directory = format!("/tmp/places-{}", std::process::id());
        said(host, &format!("mkdir -p {directory}; echo >{directory}/file"));
        let to = |path: &str| put(host, &[7; 4096], path, 0o700, LIMIT).unwrap_err();
        let missing = to(&format!("{directory}/none/x"));
        assert_eq!(missing.cause, Cause::NotPermitted, "{missing}");
        assert!(missing.next.contains("exists"), "{missing}");
        let below_a_file = to(&format!("{directory}/file/x"));
        assert_eq!(below_a_file.cause, Cause::NotPermitted, "{below_a_file}");
        let read_only = to("/proc/x");
        assert_eq!(read_only.cause, Cause::NotPermitted, "{read_only}");
        assert_eq!(said(host, &format!("ls {directory}; rm -r {directory}")), "file\n");
    });
}

#[test]
fn a_full_file_system_keeps_nothing_of_it() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    for server in Server::each(&stage) {
        let root = match &server {
            Server::Sshd(_) => std::path::Path::new("/run"),
            Server::Dropbear(host) => host.root(),
        };
        // Mounted after the server was started, and seen there.
        let small = stage.tmpfs(root.join("small"), 64 << 10).unwrap();
        let path = if root == "/run" { "/run/small/x" } else { "/small/x" };
        let host = server.reach();
        let failure = put(&host, &[7; 200_000], path, 0o700, LIMIT).unwrap_err();
        assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
        assert_eq!(std::fs::read_dir(small.path()).unwrap().count(), 0);
        put(&host, &[7; 2000], path, 0o700, LIMIT).unwrap();
        drop(host);
        drop(server);
    }
}
