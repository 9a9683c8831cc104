//! Disks of hosts, and whether they make sense.

use super::places::{OWN_PLACES, a_path};
use super::{Delay, Host, HostKind, Size, Throughput};
use plimsoll_config::Problem;
use serde::{Deserialize, Serialize};

/// The largest rate of a disk, in bytes per second.
const FASTEST: u64 = 100_000_000_000;

/// A disk: formatted as ext4 in a machine, a tmpfs in a namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its size.
    pub size: Size,
    /// Where it is mounted.
    pub at: String,
    /// What holds its bytes; machines only.
    #[serde(default, skip_serializing_if = "DiskKind::is_file")]
    pub kind: DiskKind,
    /// Added to each of its operations; machines only (dm-delay).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Delay>,
    /// What is read and written together at most; machines only, by QEMU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Throughput>,
    /// More than that for a time, as a disk with a fast cache or one that gets hot has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Whether it is informed of blocks that are free again; machines only.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub discards: bool,
    /// Encrypted by dm-crypt with a key that is thrown away; machines only.
    #[serde(default, skip_serializing_if = "is_no")]
    pub encrypted: bool,
}

/// What a disk that has rested reads and writes before it falls to its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// So much together.
    pub rate: Throughput,
    /// For so long without a rest.
    pub seconds: u16,
}

/// What holds the bytes of a machine's disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// A file beside the machine.
    #[default]
    File,
    /// Memory of the machine's own (null_blk): what a disk costs that costs nothing.
    Null,
}

impl DiskKind {
    fn is_file(&self) -> bool {
        *self == DiskKind::File
    }
}

fn yes() -> bool {
    true
}

fn is_yes(it: &bool) -> bool {
    *it
}

fn is_no(it: &bool) -> bool {
    !*it
}

pub(super) fn check(host: &str, name: &str, disk: &Disk, of: &Host) -> Result<(), Problem> {
    let at = |key| ["host", host, "disk", name, key];
    let refuse = |key, happened: &str, next: &str| Err(Problem::new(&at(key), happened, next));
    a_path(&at("at"), &disk.at)?;
    if !(1 << 20..=1 << 40).contains(&disk.size.0) {
        return refuse("size", "the size is out of range", "Give 1MiB to 1TiB.");
    }
    if of.kind == HostKind::Netns {
        return in_namespace(&at, disk);
    }
    if disk.size.0 < 16 << 20 {
        return refuse("size", "the disk is too small for a file system", "Give at least 16MiB.");
    }
    let microseconds = disk.latency.map_or(0, |latency| latency.0);
    if !microseconds.is_multiple_of(1000) {
        let next = "Give whole milliseconds, such as 2ms.";
        return refuse("latency", "the kernel supports whole milliseconds only", next);
    }
    if microseconds > 60_000_000 {
        return refuse("latency", "the latency is longer than a minute", "Give at most 60s.");
    }
    if disk.rate.is_some_and(|rate| !(100_000..=FASTEST).contains(&rate.0)) {
        return refuse("rate", "the rate is out of range", "Give 100kB/s to 100GB/s.");
    }
    if let Some(burst) = disk.burst {
        check_burst(burst, disk.rate)
            .map_err(|(happened, next)| Problem::new(&at("burst"), happened, next))?;
    }
    if disk.kind == DiskKind::Null {
        if disk.rate.is_some() {
            let next = "Omit it, or omit kind = \"null\".";
            return refuse("rate", "a null disk is memory and cannot have a rate", next);
        }
        let memory = u64::from(of.memory_mib()) << 20;
        if disk.size.0 >= memory {
            let next = format!("Make the disk smaller, or give {host} more memory.");
            return refuse(
                "size",
                "a null disk needs memory of its machine, which has less",
                &next,
            );
        }
    }
    Ok(())
}

fn check_burst(burst: Burst, rate: Option<Throughput>) -> Result<(), (&'static str, &'static str)> {
    let Some(rate) = rate else {
        return Err(("a burst needs a rate that follows it", "Give the disk a rate, too."));
    };
    if burst.rate <= rate {
        return Err((
            "the burst is not faster than the rate",
            "Give the burst a higher rate than \
        the disk.",
        ));
    }
    if burst.rate.0 > FASTEST {
        return Err(("the rate of the burst is out of range", "Give at most 100GB/s."));
    }
    if !(1..=3600).contains(&burst.seconds) {
        return Err(("the length of the burst is out of range", "Give 1 to 3600 seconds."));
    }
    Ok(())
}

fn in_namespace<'a>(at: &impl Fn(&'a str) -> [&'a str; 5], disk: &Disk) -> Result<(), Problem> {
    let own = "a disk of a namespace is memory and cannot have";
    let next = "Omit it, or set kind = \"vm\".";
    let keys = [
        ("latency", "a latency", disk.latency.is_some()),
        ("rate", "a rate", disk.rate.is_some()),
        ("burst", "a burst", disk.burst.is_some()),
        ("kind", "a kind", disk.kind != DiskKind::File),
        ("encrypted", "encryption", disk.encrypted),
        ("discards", "discards switched off", !disk.discards),
    ];
    if let Some((key, what, _)) = keys.into_iter().find(|(_, _, given)| *given) {
        return Err(Problem::new(&at(key), format!("{own} {what}"), next));
    }
    if !OWN_PLACES.iter().any(|place| disk.at.starts_with(place)) {
        let happened = "disks of a namespace must be below /srv, /mnt or /media";
        return Err(Problem::new(&at("at"), happened, "Give a path such as /srv/data."));
    }
    Ok(())
}

#[cfg(test)]
impl Disk {
    /// 64 MiB in a file, at `/srv/data`, and nothing else that was asked for.
    pub(crate) fn plain() -> Disk {
        Disk {
            size: Size(64 << 20),
            at: "/srv/data".to_owned(),
            kind: DiskKind::File,
            latency: None,
            rate: None,
            burst: None,
            discards: true,
            encrypted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    const LAB: &str = "[host.a]\nkind = \"vm\"\n[host.a.disk.data]\nat = \"/srv/data\"\n";

    fn disk(lines: &str) -> Disk {
        let plan = Plan::read(&format!("{LAB}{lines}"), "lab.toml").unwrap();
        let again = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&again).unwrap(), plan, "{again}");
        plan.hosts["a"].disks["data"].clone()
    }

    #[test]
    fn disks_are_what_the_file_says() {
        let plain = Disk::plain();
        let size = "size = \"64MiB\"\n";
        assert_eq!(disk(size), plain);
        let slow = Disk {
            latency: Some(Delay(8000)),
            rate: Some(Throughput(20_000_000)),
            burst: Some(Burst { rate: Throughput(60_000_000), seconds: 30 }),
            encrypted: true,
            ..plain.clone()
        };
        let lines = "latency = \"8ms\"\nrate = \"20MB/s\"\nencrypted = true\n\
                     burst = { rate = \"60MB/s\", seconds = 30 }\n";
        assert_eq!(disk(&format!("{size}{lines}")), slow);
        let null = Disk { kind: DiskKind::Null, discards: false, ..plain };
        assert_eq!(disk(&format!("{size}kind = \"null\"\ndiscards = false\n")), null);
    }

    #[test]
    fn more_than_fit_into_a_machine_are_refused() {
        let lab = |files: usize, nulls: usize| {
            let disk = |n, kind| {
                format!(
                    "[host.a.disk.{kind}{n}]\nat = \"/{kind}{n}\"\nsize = \"16MiB\"\nkind = \"{kind}\"\n"
                )
            };
            let disks: String = (0..files)
                .map(|n| disk(n, "file"))
                .chain((0..nulls).map(|n| disk(n, "null")))
                .collect();
            Plan::read(&format!("[host.a]\nkind = \"vm\"\n{disks}"), "lab.toml")
        };
        assert!(lab(8, 3).is_ok());
        let failure = lab(9, 0).unwrap_err();
        assert!(failure.happened.contains("9 of disk"), "{failure}");
    }

    #[test]
    fn what_no_disk_can_do_is_reported_with_its_line() {
        const BURST: &str = "burst = { rate = \"30MB/s\", seconds = 20 }";
        let size = "size = \"64MiB\"";
        let too_fast = BURST.replace("30MB", "101GB");
        let (too_long, no_time) = (BURST.replace("20", "3601"), BURST.replace("20", "0"));
        for (vm, lines, line, happened) in [
            (true, &[size, "rate = \"20Mbit/s\""][..], 6, "`20Mbit/s` is not a rate of a disk"),
            (true, &[size, "rate = \"99kB/s\""], 6, "the rate is out of range"),
            (true, &[size, "latency = \"1.5ms\""], 6, "whole milliseconds"),
            (true, &[size, "latency = \"61s\""], 6, "longer than a minute"),
            (true, &[size, "encrypted = \"yes\""], 6, "expected a boolean"),
            (true, &[size, "kind = \"nul\""], 6, "unknown word `nul`"),
            (true, &[size, "kind = \"null\"", "rate = \"20MB/s\""], 7, "cannot have a rate"),
            (true, &["size = \"384MiB\"", "kind = \"null\""], 5, "which has less"),
            (true, &["size = \"8MiB\""], 5, "too small"),
            (true, &[size, BURST], 6, "needs a rate"),
            (true, &[size, "rate = \"30MB/s\"", BURST], 7, "not faster than the rate"),
            (true, &[size, "rate = \"20MB/s\"", &too_fast], 7, "rate of the burst is out of range"),
            (
                true,
                &[size, "rate = \"20MB/s\"", &too_long],
                7,
                "length of the burst is out of \
            range",
            ),
            (
                true,
                &[size, "rate = \"20MB/s\"", &no_time],
                7,
                "length of the burst is out of \
            range",
            ),
            (false, &[size, "latency = \"2ms\""], 6, "cannot have a latency"),
            (false, &[size, "rate = \"20MB/s\""], 6, "cannot have a rate"),
            (false, &[size, BURST], 6, "cannot have a burst"),
            (false, &[size, "kind = \"null\""], 6, "cannot have a kind"),
            (false, &[size, "encrypted = true"], 6, "cannot have encryption"),
            (false, &[size, "discards = false"], 6, "cannot have discards switched off"),
        ] {
            let lab = if vm { LAB.to_owned() } else { LAB.replace("vm", "netns") };
            let failure = Plan::read(&format!("{lab}{}\n", lines.join("\n")), "bad.toml");
            let failure = failure.unwrap_err();
            assert_eq!(failure.on, format!("bad.toml:{line}"), "{failure}");
            assert!(failure.happened.contains(happened), "{happened} in {failure}");
        }
    }
}
