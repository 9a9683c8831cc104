//! Disks of machines: formatted, mounted, as slow as is wanted (dm-delay), encrypted (dm-crypt), or
//! no disk at all (null_blk).
//!
//! The delay is there from the beginning, if only of 0 ms, so that it can be changed under a
//! mounted and exported file system. Encryption lies above it.

use super::script;
use crate::plan::{Delay, Disk, DiskKind};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// How a latency is measured: in rounds of reads that take so long together, if they are not too
/// many; once, where one read is long.
const ROUNDS: u64 = 5;
const ROUND_US: u64 = 40_000;
const MOST_READS: u64 = 16;
const LONG_US: u64 = 200_000;

/// What the n-th null disk of a machine, from 0, is called in it.
pub fn null_device(n: u8) -> String {
    format!("/dev/nullb{n}")
}

/// Makes a disk if it is memory, formats it if it is not, and mounts it. `device` is such as
/// `/dev/vdb`; `name` is what [`set_latency`] knows it by.
pub fn attach(host: &dyn Reach, name: &str, device: &str, disk: &Disk) -> Result<(), Failure> {
    let commands = commands(name, device, disk, milliseconds(host, disk.latency)?);
    script(host, &format!("set up the disk {name}"), &commands).map(drop)
}

fn commands(name: &str, device: &str, disk: &Disk, milliseconds: u64) -> String {
    let (mapped, table, at) = (mapped(name), table(device, milliseconds), quote(&disk.at));
    let mut text = "export DM_DISABLE_UDEV=1\n".to_owned();
    match disk.kind {
        DiskKind::Null => text.push_str(&null(device, disk)),
        // Nothing turns in a file, and what is delayed is delayed together: kernels take disks of virtual machines
        // for such that turn, and those above them (dm-delay) for what they are.
        _ => text.push_str(&format!(
            "echo 0 >/sys/block/{}/queue/rotational\n",
            device.trim_start_matches("/dev/")
        )),
    }
    text.push_str(&format!(
        "/sbin/modprobe dm-delay\ndmsetup create {mapped} --table {table}\ntop=/dev/mapper/{mapped}\n"
    ));
    if disk.encrypted {
        // The key goes by a pipe, past what other processes can see.
        text.push_str(&format!(
            "/sbin/modprobe dm-crypt
            key=$(od -A n -v -N 64 -t x1 /dev/urandom | tr -d ' \\n')
            echo \"0 $(blockdev --getsz $top) crypt aes-xts-plain64 $key 0 $top 0 1 allow_discards\" |
                dmsetup create {mapped}.clear
            top=$top.clear\n"
        ));
    }
    text.push_str(&format!(
        "mkdir -p {at}
        blkid $top >/dev/null || mke2fs -q -t ext4 -m 0 $top
        mount -t ext4 -o noinit_itable $top {at}"
    ));
    text
}

/// A disk in the machine's memory, called as its directory in configfs is.
fn null(device: &str, disk: &Disk) -> String {
    let name = device.trim_start_matches("/dev/");
    let (mib, discards) = (disk.size.0.div_ceil(1 << 20), u8::from(disk.discards));
    format!(
        "/sbin/modprobe null_blk nr_devices=0
        grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs config /sys/kernel/config
        mkdir /sys/kernel/config/nullb/{name}
        (cd /sys/kernel/config/nullb/{name}
            echo {mib} >size
            echo 1 >memory_backed
            echo {discards} >discard
            echo 1 >power)\n"
    )
}

/// Changes what is added to each operation of a disk.
pub fn set_latency(
    host: &dyn Reach,
    name: &str,
    device: &str,
    latency: Option<Delay>,
) -> Result<(), Failure> {
    let (mapped, table) = (mapped(name), table(device, milliseconds(host, latency)?));
    // Resumed in any case: what waits for a suspended disk waits for ever.
    let text = format!(
        "export DM_DISABLE_UDEV=1
        dmsetup suspend {mapped}
        dmsetup reload {mapped} --table {table} || {{ dmsetup resume {mapped}; exit 1; }}
        dmsetup resume {mapped}"
    );
    script(host, &format!("change the latency of the disk {name}"), &text).map(drop)
}

/// What a read of 4 KiB takes there that no cache of the machine's answers: the latency that was
/// asked for, rounded up to the ticks of its kernel, and what is there without any. The best of some
/// rounds: what else this machine has to do comes on top of that.
pub fn measure_latency(
    host: &dyn Reach,
    name: &str,
    latency: Option<Delay>,
) -> Result<Delay, Failure> {
    let asked_us = latency.map_or(1, |latency| latency.0.max(1));
    let reads = (ROUND_US / asked_us).clamp(1, MOST_READS);
    let rounds = if asked_us > LONG_US { 1 } else { ROUNDS };
    // dd's own word for how long it read; the start of a program takes longer than a read.
    let text = format!(
        "for round in $(seq {rounds}); do
            dd if=/dev/mapper/{} of=/dev/null bs=4096 count={reads} iflag=direct 2>&1 || exit 1
        done | awk '
            / copied, / {{ for (i = 2; i <= NF; i++) if ($i == \"s,\") t = $(i - 1)
                if (!n++ || t < best) best = t }}
            END {{ if (!n) exit 1; printf \"%d\", best * 1e6 / {reads} }}'",
        mapped(name)
    );
    let tried = format!("measure the latency of the disk {name}");
    let said = script(host, &tried, &text)?;
    let microseconds = said.trim().parse().map_err(|_| {
        Failure::new(Cause::Unreachable, &tried)
            .on(host.name())
            .happened("the output is not a number")
    })?;
    Ok(Delay(microseconds))
}

fn mapped(name: &str) -> String {
    quote(&format!("plimsoll-{name}"))
}

fn table(device: &str, milliseconds: u64) -> String {
    format!(r#""0 $(blockdev --getsz {device}) delay {device} 0 {milliseconds}""#)
}

/// The kernel counts in whole milliseconds.
fn milliseconds(host: &dyn Reach, latency: Option<Delay>) -> Result<u64, Failure> {
    let microseconds = latency.map_or(0, |delay| delay.0);
    if !microseconds.is_multiple_of(1000) {
        let happened = format!("{} is not a whole number of milliseconds", Delay(microseconds));
        let next = "Give whole milliseconds, such as 2ms.";
        return Err(Failure::new(Cause::Usage, "slow a disk down")
            .on(host.name())
            .happened(happened)
            .next(next));
    }
    Ok(microseconds / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the spaces before lines.
    fn plain(text: &str) -> String {
        text.lines().map(|line| format!("{}\n", line.trim())).collect()
    }

    #[test]
    fn what_a_machine_runs_for_its_disks() {
        let mut disk = Disk::plain();
        let first = "export DM_DISABLE_UDEV=1\n";
        let solid = "echo 0 >/sys/block/vdb/queue/rotational\n";
        let delay = |device: &str, milliseconds: u64| {
            format!(
                "/sbin/modprobe dm-delay\n\
                 dmsetup create 'plimsoll-data' --table \
                 \"0 $(blockdev --getsz {device}) delay {device} 0 {milliseconds}\"\n\
                 top=/dev/mapper/'plimsoll-data'\n"
            )
        };
        let last = "mkdir -p '/srv/data'\n\
             blkid $top >/dev/null || mke2fs -q -t ext4 -m 0 $top\n\
             mount -t ext4 -o noinit_itable $top '/srv/data'\n";
        let script = commands("data", "/dev/vdb", &disk, 2);
        assert_eq!(plain(&script), [first, solid, &delay("/dev/vdb", 2), last].concat());

        disk.encrypted = true;
        let crypt = "/sbin/modprobe dm-crypt\n\
             key=$(od -A n -v -N 64 -t x1 /dev/urandom | tr -d ' \\n')\n\
             echo \"0 $(blockdev --getsz $top) crypt aes-xts-plain64 $key 0 $top 0 1 allow_discards\" |\n\
             dmsetup create 'plimsoll-data'.clear\n\
             top=$top.clear\n";
        let script = commands("data", "/dev/vdb", &disk, 2);
        assert_eq!(plain(&script), [first, solid, &delay("/dev/vdb", 2), crypt, last].concat());

        (disk.encrypted, disk.discards, disk.kind) = (false, false, DiskKind::Null);
        let null = "/sbin/modprobe null_blk nr_devices=0\n\
             grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs config /sys/kernel/config\n\
             mkdir /sys/kernel/config/nullb/nullb1\n\
             (cd /sys/kernel/config/nullb/nullb1\n\
             echo 64 >size\n\
             echo 1 >memory_backed\n\
             echo 0 >discard\n\
             echo 1 >power)\n";
        let script = commands("data", "/dev/nullb1", &disk, 0);
        assert_eq!(plain(&script), [first, null, &delay("/dev/nullb1", 0), last].concat());
    }
}
