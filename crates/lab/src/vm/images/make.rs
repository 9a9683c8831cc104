//! How an image is made: by the script `guest/build.sh`.

use super::{MIRROR_VARIABLE, fingerprint};
use crate::plan::Image;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the root of a machine is made of.
const PACKAGES: &str = "bash busybox-static cifs-utils conntrack coreutils cryptsetup-bin dash dmsetup \
    e2fsprogs ethtool findutils grep gzip iperf3 iproute2 iputils-ping kmod libc-bin mawk mount \
    ncurses-base netbase nfs-common nfs-kernel-server nftables procps rpcbind rsync samba sed \
    sqlite3 tar util-linux wireguard-tools";

/// What the image with PPP has as well.
const OF_PPP: &str = "ppp";

/// What goes to the script, by name.
const GUEST: [(&str, &str); 5] = [
    ("build.sh", include_str!("../../../guest/build.sh")),
    ("root.sh", include_str!("../../../guest/root.sh")),
    ("initrd.sh", include_str!("../../../guest/initrd.sh")),
    ("start.sh", include_str!("../../../guest/start.sh")),
    ("agent.c", include_str!("../../../guest/agent.c")),
];

/// What this machine must have, and Debian's package that brings it.
const PROGRAMS: [(&str, &str); 5] = [
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("tar", "tar"),
    ("sha256sum", "coreutils"),
    ("truncate", "coreutils"),
];

/// The compilers of the program that runs in it.
const COMPILER: (&str, &str) = ("cc", "gcc libc6-dev");
const MIPS_COMPILER: (&str, &str) =
    ("mipsel-linux-gnu-gcc", "gcc-mipsel-linux-gnu libc6-dev-mipsel-cross");

/// What an image is made of.
pub(super) struct Recipe {
    name: &'static str,
    /// The package that depends on the newest kernel, and its suite.
    kernel: &'static str,
    suite: &'static str,
    packages: String,
    stamp: String,
    mirror: String,
}

impl Recipe {
    pub(super) fn for_image(image: Image, mirror: &str) -> Recipe {
        let (name, kernel, suite) = match image {
            Image::Debian => ("debian", "linux-image-cloud-amd64", "bookworm"),
            Image::DebianOld => ("debian-old", "linux-image-cloud-amd64", "bullseye"),
            Image::DebianGeneric => ("debian-generic", "linux-image-amd64", "bookworm"),
            Image::Mips => ("mips", "linux-image-4kc-malta", "bookworm"),
        };
        let packages = match image {
            Image::DebianGeneric => format!("{PACKAGES} {OF_PPP}"),
            Image::Debian | Image::DebianOld | Image::Mips => PACKAGES.to_owned(),
        };
        let texts: Vec<_> = [name, kernel, suite, packages.as_str()]
            .into_iter()
            .chain(GUEST.iter().map(|(_, text)| *text))
            .collect();
        let stamp = format!("recipe-{:016x}", fingerprint(&texts));
        Recipe { name, kernel, suite, packages, stamp, mirror: mirror.to_owned() }
    }

    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// A file name that changes with anything that this program puts into the image.
    pub(super) fn stamp(&self) -> &str {
        &self.stamp
    }

    /// Which packages it is made of, as the mirror has them now.
    pub(super) fn versions(
        &self,
        cache: &Path,
        lock: &File,
        stop: &AtomicBool,
    ) -> Result<String, Failure> {
        let compiler = if self.name == "mips" { MIPS_COMPILER } else { COMPILER };
        if let Some((program, package)) = PROGRAMS
            .into_iter()
            .chain([compiler])
            .find(|(program, _)| child::find(program).is_none())
        {
            return Err(self.cannot(
                format!("the program {program} is not installed on this machine"),
                format!("Install it (Debian: {package}). {}", elsewhere(cache)),
            ));
        }
        self.write_guest(cache)?;
        self.step("update", cache, None, lock, stop)?;
        let versions = self.step("versions", cache, None, lock, stop)?;
        if versions.lines().count() < 2 {
            let next = "Check the mirror, and try again.";
            return Err(self.cannot(format!("{} does not have the packages", self.mirror), next));
        }
        Ok(versions)
    }

    /// Makes it in an empty directory.
    pub(super) fn make(
        &self,
        cache: &Path,
        out: &Path,
        lock: &File,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        self.step("make", cache, Some(out), lock, stop).map(drop)
    }

    fn write_guest(&self, cache: &Path) -> Result<(), Failure> {
        let guest = cache.join("guest");
        let write = || -> io::Result<()> {
            fs::create_dir_all(&guest)?;
            GUEST.iter().try_for_each(|(name, text)| fs::write(guest.join(name), text))
        };
        write().map_err(|error| self.cannot(error, "Free space there."))
    }

    /// A step of the script; what it wrote to standard output. Where this program is killed, the
    /// script goes on, and so does the lock, which is its standard input.
    fn step(
        &self,
        step: &str,
        cache: &Path,
        out: Option<&Path>,
        lock: &File,
        stop: &AtomicBool,
    ) -> Result<String, Failure> {
        let guest = cache.join("guest");
        let run = || {
            let mut command = child::command("/bin/sh");
            command
                .arg(guest.join("build.sh"))
                .arg(step)
                .arg(cache.join("apt"))
                .args(out)
                .env("PATH", path())
                .env("MIRROR", &self.mirror)
                .env("IMAGE", self.name)
                .env("KERNEL", self.kernel)
                .env("SUITE", self.suite)
                .env("PACKAGES", &self.packages)
                .env("GUEST", &guest)
                .stdin(Stdio::from(lock.try_clone()?));
            output_unless(command, stop)
        };
        let Some(done) = run().map_err(|error| self.cannot(error, ""))? else {
            return Err(super::super::interrupted("its image"));
        };
        let log = [&done.stdout[..], &done.stderr].concat();
        let _ = fs::write(cache.join(format!("{step}-{}.log", self.name)), &log);
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let log = String::from_utf8_lossy(&log);
        let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines().find(|line| line.starts_with("E:")).or(lines().next_back());
        let happened = error.unwrap_or("the script printed no error").to_owned();
        let next = format!(
            "It needs Debian's packages from {} (name another mirror with {MIRROR_VARIABLE}) and \
            free space in {}. {}",
            self.mirror,
            cache.display(),
            elsewhere(cache)
        );
        Err(self.cannot(happened, next))
    }

    fn cannot(&self, happened: impl std::fmt::Display, next: impl Into<String>) -> Failure {
        let tried = "build the image of a virtual machine";
        Failure::new(Cause::Unreachable, tried).on(self.name).happened(happened).next(next)
    }
}

/// What a program leaves that is ended with all that it has started once `stop` is set; `None` then.
fn output_unless(mut command: Command, stop: &AtomicBool) -> io::Result<Option<Output>> {
    let mut child =
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let group = Pid::from_raw(child.id().cast_signed());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let out = scope.spawn(|| read(out));
        let err = scope.spawn(|| read(err));
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if stop.load(Ordering::Relaxed) {
                // Whoever has ended meanwhile is not there any more.
                let _ = killpg(group, Signal::SIGKILL);
                child.wait()?;
                break None;
            }
            std::thread::sleep(super::TURN);
        };
        let joined = |thread: std::thread::ScopedJoinHandle<'_, io::Result<Vec<u8>>>| {
            thread.join().unwrap_or_else(|_| Ok(Vec::new()))
        };
        let (stdout, stderr) = (joined(out)?, joined(err)?);
        Ok(status.map(|status| Output { status, stdout, stderr }))
    })
}

fn read(from: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    from.map(|mut from| from.read_to_end(&mut all)).transpose()?;
    Ok(all)
}

fn elsewhere(cache: &Path) -> String {
    format!(
        "Images can be built on Debian only; you can copy {} from a machine that has them.",
        cache.display()
    )
}

/// Daemons' directories belong to it: root's programs are there.
fn path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/local/sbin:/usr/sbin:/sbin")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The others need not be made anew for it.
    #[test]
    fn ppp_is_in_one_image_alone() {
        let of = |image| Recipe::for_image(image, "http://mirror");
        for image in [Image::Debian, Image::DebianOld, Image::Mips] {
            assert_eq!(of(image).packages, PACKAGES, "{image:?}");
        }
        let generic = of(Image::DebianGeneric);
        assert_eq!(generic.packages.strip_prefix(PACKAGES), Some(" ppp"));
        assert_eq!((generic.name(), generic.kernel), ("debian-generic", "linux-image-amd64"));
    }
}
