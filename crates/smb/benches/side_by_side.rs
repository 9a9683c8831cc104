//! Plimsoll's SMB client beside smbclient and the client of the `smb2` crate, against a private
//! Samba on loopback, in alternating rounds. Costs are CPU time of the client, user and system;
//! smbclient's without what its start and login take. Nothing is asserted; a peer that is missing
//! is not compared.
//!
//! `PLIMSOLL_BENCH_ROUNDS` is the number of rounds (5), and an argument narrows the cases to those
//! whose name contains it.

mod support;

use plimsoll_smb::CreateHow;
use plimsoll_testkit::Need;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::proxy::Proxy;
use support::{
    Cost, Outcome, Protection, Server, cost_of_thread, median, ours, print, rounds, smb2_crate,
    smbclient,
};

const MIB: u64 = 1 << 20;
/// Size of the large file.
const BLOCKS: u64 = 1024;
const DEPTH: u16 = 8;
const GIGABYTES: f64 = (BLOCKS * MIB) as f64 / 1e9;
/// Random reads of a run.
const RANDOM: u64 = 50_000;
const RANDOM_BLOCK: u64 = 4096;
/// Small files of a run, and their size in bytes.
const FILES: u64 = 5000;
const FILE_SIZE: usize = 11_500;

/// A comparison in so many rounds.
type Case = fn(&Server, usize) -> Outcome<()>;

fn main() -> Result<(), Box<dyn Error>> {
    if Need::Samba.missing().is_some() {
        println!("SMB side by side: not compared, because Samba is not installed");
        return Ok(());
    }
    let count = match std::env::var("PLIMSOLL_BENCH_ROUNDS") {
        Ok(text) => text.parse()?,
        Err(_) => 5,
    };
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let server = Server::start()?;
    std::fs::write(server.share().join("big"), vec![0x5a; (BLOCKS * MIB) as usize])?;
    std::fs::write(server.local().join("big"), vec![0x5a; (BLOCKS * MIB) as usize])?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "{count} rounds, medians; load average {}",
        load.split(' ').next().unwrap_or_default()
    );
    let cases: [(&str, Case); 7] = [
        ("read 1 MiB depth 8, signed", |s, n| large(s, n, Protection::Signed, false, 0.6)),
        ("write 1 MiB depth 8, signed", |s, n| large(s, n, Protection::Signed, true, 1.0)),
        ("read 1 MiB depth 8, encrypted", |s, n| large(s, n, Protection::Encrypted, false, 0.8)),
        ("write 1 MiB depth 8, encrypted", |s, n| large(s, n, Protection::Encrypted, true, 0.8)),
        ("read 4 KiB random depth 32, signed", random),
        ("small files up", small_files),
        ("round trip of 10 ms", far),
    ];
    for (name, case) in cases {
        if name.contains(&wanted) {
            case(&server, count)?;
        }
    }
    Ok(())
}

/// 1 MiB reads or writes of the large file against `get` or `put`. `put` reads a file in memory,
/// plimsoll sends a block of its own memory.
fn large(
    server: &Server,
    count: usize,
    protection: Protection,
    write: bool,
    goal: f64,
) -> Outcome<()> {
    let what = if write { "write" } else { "read" };
    let how = if protection == Protection::Signed { "signed" } else { "encrypted" };
    let name = format!("{what} 1 MiB depth {DEPTH}, {how}");
    if Need::Smbclient.missing().is_some() {
        println!("{name}: not compared, because smbclient is not installed");
        return Ok(());
    }
    let port = server.samba.port();
    let our_run = || {
        let (name, create) =
            if write { ("ours", CreateHow::Replace) } else { ("big", CreateHow::Open) };
        let (mut pipeline, file) = ours::file(port, protection, name, create, DEPTH, MIB as u32)?;
        let (bytes, cost) = cost_of_thread(|| {
            if write {
                ours::write(&mut pipeline, file, BLOCKS)
            } else {
                ours::read(&mut pipeline, file, BLOCKS, None)
            }
        })?;
        if bytes != BLOCKS * MIB {
            return Err(format!("{bytes} bytes moved").into());
        }
        Ok(cost)
    };
    let commands = if write {
        format!("put {} theirs", server.local().join("big").display())
    } else {
        "get big /dev/null".to_owned()
    };
    let all = rounds(count, our_run, || smbclient::run_alone(server, protection, &commands))?;
    let cpu = |side: fn(&(Cost, Cost)) -> Cost| median(all.iter().map(|r| side(r).cpu)) / GIGABYTES;
    print(&name, "CPU-s/GB", cpu(|r| r.0), ("smbclient", cpu(|r| r.1)), ("<=", goal));
    let rate =
        |side: fn(&(Cost, Cost)) -> Cost| GIGABYTES / median(all.iter().map(|r| side(r).elapsed));
    println!("{:<44} {:.2} and {:.2} GB/s", "", rate(|r| r.0), rate(|r| r.1));
    Ok(())
}

/// Reads of 4 KiB spread over the large file against the `smb2` crate.
fn random(server: &Server, count: usize) -> Outcome<()> {
    let port = server.samba.port();
    let among = BLOCKS * MIB / RANDOM_BLOCK;
    let our_run = || {
        let (mut pipeline, file) =
            ours::file(port, Protection::Signed, "big", CreateHow::Open, 32, RANDOM_BLOCK as u32)?;
        let (_, cost) = cost_of_thread(|| ours::read(&mut pipeline, file, RANDOM, Some(among)))?;
        Ok(cost)
    };
    let their_run = || smb2_crate::read(port, "big", RANDOM_BLOCK, among, RANDOM, 32);
    let all = rounds(count, our_run, their_run)?;
    let per = RANDOM as f64 / 1e5;
    let cpu = |side: fn(&(Cost, Cost)) -> Cost| median(all.iter().map(|r| side(r).cpu)) / per;
    let name = "read 4 KiB random depth 32, signed";
    print(name, "CPU-s/100k", cpu(|r| r.0), ("smb2 crate", cpu(|r| r.1)), ("<=", 0.7));
    let rate = |side: fn(&(Cost, Cost)) -> Cost| {
        RANDOM as f64 / 1e3 / median(all.iter().map(|r| side(r).elapsed))
    };
    println!("{:<44} {:.1} and {:.1} thousand/s", "", rate(|r| r.0), rate(|r| r.1));
    Ok(())
}

/// Small files from a directory of this machine, by compounds against `mput`.
fn small_files(server: &Server, count: usize) -> Outcome<()> {
    let name = format!("{FILES} files of {FILE_SIZE} bytes up, signed");
    if Need::Smbclient.missing().is_some() {
        println!("{name}: not compared, because smbclient is not installed");
        return Ok(());
    }
    let from = server.local().join("small");
    std::fs::create_dir_all(&from)?;
    let files: Vec<PathBuf> = (0..FILES).map(|i| from.join(format!("file-{i:05}.bin"))).collect();
    for (i, file) in files.iter().enumerate() {
        std::fs::write(file, vec![i as u8; FILE_SIZE])?;
    }
    // Each run finds an empty directory.
    let empty = |name: &str| -> Outcome<()> {
        let directory = server.share().join(name);
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        Ok(std::fs::create_dir(&directory)?)
    };
    let our_run = |port: u16, sessions: usize| {
        empty("ours-small")?;
        let (bytes, cost) = up(port, &files, "ours-small", sessions)?;
        if bytes != FILES * FILE_SIZE as u64 {
            return Err(format!("{bytes} bytes sent").into());
        }
        Ok(cost)
    };
    let commands = format!("prompt off; lcd {}; cd theirs-small; mput *", from.display());
    let port = server.samba.port();
    let their_run = || {
        empty("theirs-small")?;
        smbclient::run_alone(server, Protection::Signed, &commands)
    };
    // Samba serves a session by one process, whose work may be the limit; `mput` has one session.
    for sessions in [1, 4] {
        let all = rounds(count, || our_run(port, sessions), their_run)?;
        let rate = |side: fn(&(Cost, Cost)) -> Cost| {
            FILES as f64 / median(all.iter().map(|r| side(r).elapsed))
        };
        let name = format!("{name}, {sessions} session{}", if sessions > 1 { "s" } else { "" });
        print(&name, "files/s", rate(|r| r.0), ("smbclient mput", rate(|r| r.1)), (">=", 1.5));
        let cpu = |side: fn(&(Cost, Cost)) -> Cost| median(all.iter().map(|r| side(r).cpu));
        println!("{:<44} {:.2} and {:.2} CPU-s", "", cpu(|r| r.0), cpu(|r| r.1));
    }

    let proxy = Proxy::start(port, Duration::ZERO)?;
    let per_file = |before: (u64, u64)| {
        let after = proxy.so_far();
        let share = |count: u64| count as f64 / FILES as f64;
        (share(after.0 - before.0), share(after.1 - before.1))
    };
    let before = proxy.so_far();
    our_run(proxy.port, 1)?;
    let (our_frames, our_requests) = per_file(before);
    empty("theirs-small")?;
    let before = proxy.so_far();
    smbclient::run(server, proxy.port, Protection::Signed, &commands)?;
    let (their_frames, their_requests) = per_file(before);
    println!(
        "{:<44} a file takes plimsoll {our_requests:.2} requests in {our_frames:.2} frames, \
         smbclient {their_requests:.2} in {their_frames:.2}",
        ""
    );
    Ok(())
}

/// Sends files over so many sessions at once, each by a thread with 32 compounds in flight: bytes,
/// and the CPU time of all threads.
fn up(port: u16, files: &[PathBuf], into: &str, sessions: usize) -> Outcome<(u64, Cost)> {
    let pipelines = (0..sessions)
        .map(|_| Ok(ours::tree(port, Protection::Signed)?.into_pipeline(ours::options(32, 65536))))
        .collect::<Outcome<Vec<_>>>()?;
    let begun = Instant::now();
    let parts = std::thread::scope(|scope| {
        let shares = files.chunks(files.len().div_ceil(sessions));
        let threads: Vec<_> = pipelines
            .into_iter()
            .zip(shares)
            .map(|(mut pipeline, share)| {
                let send = move || ours::put(&mut pipeline, share, into);
                scope.spawn(move || cost_of_thread(send).map_err(|e| e.to_string()))
            })
            .collect();
        let ends = threads.into_iter().map(|t| t.join().map_err(|_| "a thread panicked".into()));
        ends.map(|end| end.and_then(|part| part)).collect::<Result<Vec<_>, String>>()
    })?;
    let elapsed = begun.elapsed().as_secs_f64();
    let cpu = parts.iter().map(|(_, cost)| cost.cpu).sum();
    Ok((parts.iter().map(|(bytes, _)| bytes).sum(), Cost { cpu, elapsed }))
}

/// What depth is worth where the server is far away.
fn far(server: &Server, count: usize) -> Outcome<()> {
    let proxy = Proxy::start(server.samba.port(), Duration::from_millis(5))?;
    let rate = |depth: u16, blocks: u64| {
        let most = RANDOM_BLOCK as u32;
        let (mut pipeline, file) =
            ours::file(proxy.port, Protection::Signed, "big", CreateHow::Open, depth, most)?;
        // The first ones bring the credits.
        ours::read(&mut pipeline, file, 2 * u64::from(depth), Some(1000))?;
        let (_, cost) = cost_of_thread(|| ours::read(&mut pipeline, file, blocks, Some(1000)))?;
        Ok(Cost { elapsed: cost.elapsed / blocks as f64, ..cost })
    };
    let all = rounds(count, || rate(32, 3200), || rate(1, 100))?;
    let per_second =
        |side: fn(&(Cost, Cost)) -> Cost| 1.0 / median(all.iter().map(|r| side(r).elapsed));
    let name = "round trip of 10 ms, 4 KiB reads, depth 32";
    print(name, "reads/s", per_second(|r| r.0), ("depth 1", per_second(|r| r.1)), (">=", 25.0));
    Ok(())
}
