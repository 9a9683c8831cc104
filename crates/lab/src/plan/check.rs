//! Whether a plan makes sense: names, who is linked with whom, and what each kind of host can do.

use super::places::a_path;
use super::{DiskKind, FileSystem, Host, HostKind, Image, Link, Plan};
use plimsoll_config::{Problem, nearest};
use plimsoll_model::is_lab_name;

type Checked = Result<(), Problem>;

/// Interfaces are called after their links, and Linux gives their names so many bytes.
const LONGEST_INTERFACE: usize = 15;

/// What IPv4 asks of every link.
const SHORTEST_MTU: u32 = 576;

/// The most that the header of IPv4 can say.
const LONGEST_MTU: u32 = 65_535;

/// A tap device counts the header of Ethernet too.
const LONGEST_TAP_MTU: u32 = LONGEST_MTU - 14;

/// Disks of a machine that are files, and links: each kind has so many places on its bus.
const MOST_DEVICES: usize = 8;

impl Plan {
    pub(crate) fn check(&self) -> Checked {
        if self.links.len() > 200 || self.hosts.len() > 200 {
            let happened = "a lab has at most 200 hosts and 200 links";
            return Err(Problem::new(&["host"], happened, "Remove some of them."));
        }
        if self.hosts.is_empty() {
            return Err(Problem::new(&["host"], "the lab has no hosts", "Add [host.server]."));
        }
        for (name, link) in &self.links {
            self.check_link(name, link)?;
        }
        for (name, host) in &self.hosts {
            named(&["host", name], name)?;
            self.check_host(name, host)?;
        }
        Ok(())
    }

    pub(super) fn known(&self, at: &[&str], host: &str) -> Result<&Host, Problem> {
        self.hosts.get(host).ok_or_else(|| {
            let good: Vec<&String> = self.hosts.keys().collect();
            Problem::new(at, format!("the lab has no host `{host}`"), nearest(host, &good))
        })
    }

    fn check_link(&self, name: &str, link: &Link) -> Checked {
        let at = ["link", name, "between"];
        if name.len() > LONGEST_INTERFACE || name == "lo" || !is_lab_name(name) {
            let happened = match name.len() {
                length if length > LONGEST_INTERFACE => format!(
                    "`{name}` has {length} characters, but the name of a network interface has at \
                    most {LONGEST_INTERFACE}"
                ),
                _ => format!("`{name}` is not a valid name for a network interface"),
            };
            let next = format!(
                "Use at most {LONGEST_INTERFACE} characters from a-z, 0-9 and '-', starting with a \
                letter; lo is reserved."
            );
            return Err(Problem::new(&["link", name], happened, next));
        }
        if link.between.len() < 2 || link.between.len() > 200 {
            let happened =
                format!("it has {} hosts, but a link connects 2 to 200", link.between.len());
            return Err(Problem::new(&at, happened, "Name 2 to 200 hosts."));
        }
        let mut machines = 0;
        for (i, host) in link.between.iter().enumerate() {
            let at = [at[0], at[1], at[2], &i.to_string()];
            machines += usize::from(self.known(&at, host)?.kind == HostKind::Vm);
            if link.between[..i].contains(host) {
                let happened = format!("`{host}` is named twice");
                return Err(Problem::new(&at, happened, "Name each host once."));
            }
        }
        if machines > 0 && link.between.len() > 2 {
            let happened = "a link with a virtual machine connects exactly two hosts";
            let next = "Connect them through a host with forward = true.";
            return Err(Problem::new(&at, happened, next));
        }
        if let Some(rates) = &link.rate {
            rates.check(name, &link.between)?;
        }
        let longest = if self.tap_host(name).is_some() { LONGEST_TAP_MTU } else { LONGEST_MTU };
        if link.mtu.is_some_and(|mtu| !(SHORTEST_MTU..=longest).contains(&mtu)) {
            let happened = "the packet length is out of range";
            let next = format!("Give {SHORTEST_MTU} to {longest}.");
            return Err(Problem::new(&["link", name, "mtu"], happened, next));
        }
        if link.loss.is_some_and(|loss| loss.0 > 100_000) {
            let happened = "a loss cannot exceed 100%";
            return Err(Problem::new(&["link", name, "loss"], happened, "Give 0% to 100%."));
        }
        if link.delay.is_some_and(|delay| delay.0 > 60_000_000) {
            let happened = "the delay is longer than a minute";
            return Err(Problem::new(&["link", name, "delay"], happened, "Take less."));
        }
        Ok(())
    }

    fn check_host(&self, name: &str, host: &Host) -> Checked {
        let at = |key| ["host", name, key];
        match host.kind {
            HostKind::Netns => only_in_machines(name, host)?,
            HostKind::Vm => only_in_namespaces(name, host)?,
        }
        if host.cores == 0 || host.cores > 64 {
            return Err(Problem::new(
                &at("cores"),
                "the number of cores is out of range",
                "Give 1 \
            to 64.",
            ));
        }
        if host.memory.is_some_and(|size| !(32 << 20..=1 << 40).contains(&size.0)) {
            return Err(Problem::new(
                &at("memory"),
                "the amount of memory is out of range",
                "Give 32MiB to 1TiB.",
            ));
        }
        if host.cpu.is_some_and(|share| !(1_000..=100_000).contains(&share.0)) {
            return Err(Problem::new(
                &at("cpu"),
                "the share of a core is out of range",
                "Give 1% to \
            100%.",
            ));
        }
        if host.rules.as_ref().is_some_and(|rules| rules.contains('\0')) {
            return Err(Problem::new(&at("rules"), "they contain a NUL character", "Remove it."));
        }
        if let Some(gateway) = &host.gateway {
            self.check_next_hop(&at("gateway"), name, gateway)?;
        }
        self.check_routes(name)?;
        for (i, (disk, what)) in host.disks.iter().enumerate() {
            named(&["host", name, "disk", disk], disk)?;
            super::disk::check(name, disk, what, host)?;
            if host.disks.values().take(i).any(|other| other.at == what.at) {
                let at = ["host", name, "disk", disk, "at"];
                return Err(Problem::new(
                    &at,
                    "another disk is mounted at this path",
                    "Give another \
                path.",
                ));
            }
        }
        if host.kind == HostKind::Vm {
            let files = host.disks.values().filter(|disk| disk.kind == DiskKind::File).count();
            for (key, count) in [("disk", files), ("link", self.nics(name).len())] {
                if count > MOST_DEVICES {
                    let happened = format!(
                        "it has {count} of {key}, but a machine has room for \
                    {MOST_DEVICES}"
                    );
                    let next = format!("Give at most {MOST_DEVICES}.");
                    return Err(Problem::new(&at(key), happened, next));
                }
            }
        }
        self.check_services(name, host)?;
        self.check_mounts(name, host)
    }

    fn check_services(&self, name: &str, host: &Host) -> Checked {
        if let Some(nfsd) = &host.nfsd {
            let good = ["2", "3", "4.0", "4.1", "4.2"];
            if let Some(bad) = nfsd.versions.iter().find(|v| !good.contains(&v.as_str())) {
                let happened = format!("`{bad}` is not a version of NFS");
                let at = ["host", name, "nfsd", "versions"];
                return Err(Problem::new(&at, happened, nearest(bad, &good)));
            }
            if nfsd.threads == 0 || nfsd.threads > 1024 {
                let at = ["host", name, "nfsd", "threads"];
                return Err(Problem::new(
                    &at,
                    "the number of threads is out of range",
                    "Give 1 to \
                1024.",
                ));
            }
            for (i, export) in nfsd.exports.iter().enumerate() {
                let at = |key| ["host", name, "nfsd", "export", ITEMS[i.min(9)], key];
                a_path(&at("path"), &export.path)?;
                some_options(&at("options"), &export.options)?;
            }
        }
        for (i, export) in host.ganesha.iter().flat_map(|g| &g.exports).enumerate() {
            a_path(&["host", name, "ganesha", "export", ITEMS[i.min(9)], "path"], &export.path)?;
        }
        let Some(samba) = &host.samba else { return Ok(()) };
        if !is_lab_name(&samba.user) {
            let next = "Use at most 24 characters from a-z, 0-9 and '-', starting with a letter.";
            return Err(Problem::new(
                &["host", name, "samba", "user"],
                "it is not a valid user \
            name",
                next,
            ));
        }
        if samba.password.is_empty() || samba.password.chars().any(char::is_control) {
            let at = ["host", name, "samba", "password"];
            return Err(Problem::new(
                &at,
                "it is empty or has control characters",
                "Give a password \
            on one line.",
            ));
        }
        one_line_each(&["host", name, "samba", "lines"], &samba.lines)?;
        for (i, share) in samba.shares.iter().enumerate() {
            let at = |key| ["host", name, "samba", "share", ITEMS[i.min(9)], key];
            named(&at("name"), &share.name)?;
            if SPECIAL_SHARES.contains(&share.name.as_str()) {
                let happened =
                    format!("`{}` is a special section of smb.conf, not a share", share.name);
                return Err(Problem::new(&at("name"), happened, "Give another name."));
            }
            a_path(&at("path"), &share.path)?;
            one_line_each(&at("lines"), &share.lines)?;
        }
        Ok(())
    }

    fn check_mounts(&self, name: &str, host: &Host) -> Checked {
        for (i, mount) in host.mounts.iter().enumerate() {
            let at = |key| ["host", name, "mount", ITEMS[i.min(9)], key];
            a_path(&at("at"), &mount.at)?;
            some_options(&at("options"), &mount.options)?;
            if mount.fs == FileSystem::Nfs {
                a_path(&at("from"), &mount.from.path)?;
            }
            let server = self.known(&at("from"), &mount.from.host)?;
            if self.address_of(&mount.from.host, name).is_none() {
                let happened = format!("`{}` has no link", mount.from.host);
                return Err(Problem::new(&at("from"), happened, "Connect the two with a link."));
            }
            super::serves::check(&at("from"), mount, server)?;
        }
        Ok(())
    }
}

/// Parts of smb.conf that have a meaning of their own.
const SPECIAL_SHARES: [&str; 3] = ["global", "homes", "printers"];

/// Numbers of the first items of a list, for places.
const ITEMS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

fn refused(name: &str, key: &str, why: &str, next: &str) -> Checked {
    Err(Problem::new(&["host", name, key], format!("{key}: {why}"), next))
}

fn only_in_machines(name: &str, host: &Host) -> Checked {
    let own = "a namespace shares this machine's kernel, memory and processors";
    let next = "Omit it, or set kind = \"vm\".";
    if host.image.is_some() {
        return refused(name, "image", own, next);
    }
    if host.memory.is_some() {
        return refused(name, "memory", own, next);
    }
    if host.cores != 1 {
        return refused(
            name,
            "cores",
            own,
            "Omit it; cpu = \"50%\" limits the namespace to half a core.",
        );
    }
    if host.cpu.is_some() && host.forward {
        let why = "the kernel forwards packets in interrupts, to which no CPU quota applies: the \
        share would have no effect";
        let next = "Set kind = \"vm\", as in the built-in lab slow-router, or omit cpu.";
        return refused(name, "cpu", why, next);
    }
    if host.nfsd.is_some() {
        return refused(name, "nfsd", own, "Use ganesha, or set kind = \"vm\".");
    }
    if !host.mounts.is_empty() {
        return refused(
            name,
            "mount",
            own,
            "Use nfs:// and smb:// targets instead of mounts, or set kind = \"vm\".",
        );
    }
    Ok(())
}

fn only_in_namespaces(name: &str, host: &Host) -> Checked {
    let own = "virtual machines do not support it";
    if host.ganesha.is_some() {
        return refused(name, "ganesha", own, "Use nfsd, or set kind = \"netns\".");
    }
    if host.image == Some(Image::Mips) && host.cores != 1 {
        return refused(name, "cores", "the emulated board has one core", "Omit it.");
    }
    Ok(())
}

fn named(at: &[&str], name: &str) -> Checked {
    if is_lab_name(name) {
        return Ok(());
    }
    let next = "Use at most 24 characters from a-z, 0-9 and '-', starting with a letter.";
    Err(Problem::new(at, format!("`{name}` is not a valid name"), next))
}

fn some_options(at: &[&str], options: &str) -> Checked {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_=,.:/@+-".contains(c);
    if options.chars().all(plain) {
        return Ok(());
    }
    let next = "Write options as rw,sync, without spaces.";
    Err(Problem::new(at, format!("`{options}` is not a list of options"), next))
}

fn one_line_each(at: &[&str], lines: &[String]) -> Checked {
    // A line in brackets would begin another part of the file.
    let wrong = |line: &&String| line.chars().any(char::is_control) || line.trim().starts_with('[');
    match lines.iter().find(wrong) {
        None => Ok(()),
        Some(line) => Err(Problem::new(
            at,
            format!("`{line}` is not a line of smb.conf"),
            "Write \
        `key = value`.",
        )),
    }
}
