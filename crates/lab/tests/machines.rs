//! Virtual machines. They are slow to boot, so one pair serves many checks.

mod machines {
    pub mod commands;
    mod images;
    pub mod other;
    pub mod pair;
    pub mod shares;
}

use machines::pair::Pair;

/// Two machines with a cable between them, a disk in one, and all that is asked of them.
#[test]
#[ignore = "machines take minutes: make check-machines"]
fn two_machines_serve_and_mount() {
    if !Pair::possible() {
        return;
    }
    let pair = Pair::start();
    machines::commands::pass_both_ways(&pair);
    machines::commands::end_with_whoever_asked(&pair);
    machines::commands::many_at_once(&pair);
    machines::commands::are_refused_or_given_up(&pair);
    machines::shares::nfs_and_smb(&pair);
    machines::shares::slow_disk(&pair);
    machines::shares::power_cut(&pair);
    machines::commands::lost_machine(pair);
}

/// The older kernel serves NFS version 2. Its image takes a minute to make: `cargo test -- --ignored`.
#[test]
#[ignore = "makes another image"]
fn an_older_kernel_serves_version_2() {
    if Pair::possible() {
        machines::other::version_2();
    }
}

/// A MIPS machine, as in small routers.
#[test]
#[ignore = "makes another image, with a cross compiler"]
fn a_mips_machine_takes_commands() {
    if Pair::possible() && plimsoll_testkit::available(plimsoll_testkit::Need::Mips) {
        machines::other::mips();
    }
}

/// What the program does that is killed in `end_with_whoever_asked`.
#[test]
fn a_client_that_is_killed() {
    let Some(directory) = std::env::var_os("PLIMSOLL_TEST_MACHINE") else { return };
    let host = plimsoll_lab::vm::reach(std::path::Path::new(&directory), "client");
    // As programs are deployed.
    let guard =
        "mkdir /run/left; trap 'sleep 1; rmdir /run/left' EXIT; while read -r x; do :; done";
    let _guard = host.open(guard).unwrap();
    let _ = host.run("exec sleep 600.25", b"", machines::pair::LIMIT);
}
