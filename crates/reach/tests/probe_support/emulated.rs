//! A corner of this machine where programs for another processor run: a user namespace with
//! emulators registered with the kernel (binfmt_misc has been one a user namespace since Linux 6.7).

use super::directory_of_tests;
use plimsoll_reach::probe::Machine;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A machine, and the least of its processors that the probe must run on.
#[derive(Clone, Copy, Debug)]
pub struct Emulated {
    pub machine: Machine,
    /// What `uname -m` says there.
    pub uname: &'static str,
    emulator: &'static str,
    processor: &'static str,
    /// Of an ELF header: class, byte order, machine.
    elf: (u8, u8, u8),
}

const fn emulated(
    machine: Machine,
    uname: &'static str,
    emulator: &'static str,
    processor: &'static str,
    elf: (u8, u8, u8),
) -> Emulated {
    Emulated { machine, uname, emulator, processor, elf }
}

pub const ALL: [Emulated; 8] = [
    emulated(Machine::Mips, "mips", "qemu-mips-static", "24Kc", (1, 2, 8)),
    emulated(Machine::Mips, "mips", "qemu-mips-static", "4Kc", (1, 2, 8)),
    emulated(Machine::Mipsel, "mips", "qemu-mipsel-static", "24Kc", (1, 1, 8)),
    emulated(Machine::Mipsel, "mips", "qemu-mipsel-static", "4Kc", (1, 1, 8)),
    emulated(Machine::Armv6, "armv6l", "qemu-arm-static", "arm1176", (1, 1, 40)),
    emulated(Machine::Armv7, "armv7l", "qemu-arm-static", "cortex-a7", (1, 1, 40)),
    emulated(Machine::Aarch64, "aarch64", "qemu-aarch64-static", "cortex-a53", (2, 1, 183)),
    emulated(Machine::Riscv64, "riscv64", "qemu-riscv64-static", "rv64", (2, 1, 243)),
];

impl Emulated {
    /// The machine that [`Emulated::run_test`] runs this test on.
    pub fn inner() -> Option<Emulated> {
        let number = std::env::var("PLIMSOLL_TEST_INNER").ok()?;
        Some(ALL[number.parse::<usize>().unwrap()])
    }

    /// Makes a host with its own root directory such a machine, inside such a test.
    pub fn bring_into(&self, root: &Path) {
        let emulator = program(self.emulator).unwrap();
        let script = std::path::PathBuf::from(std::env::var_os("PLIMSOLL_TEST_EMULATOR").unwrap());
        for path in [&emulator, &script] {
            let place = root.join(path.strip_prefix("/").unwrap());
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(path, place).unwrap();
        }
        // BusyBox' shell has a uname of its own, before any program of that name.
        let shell = root.join("bin/sh");
        fs::remove_file(&shell).unwrap();
        let text = "#!/bin/busybox ash\n[ \"$1\" = -c ] || exec /bin/busybox ash \"$@\"\n";
        let uname = format!("uname() {{ echo {}; }}; eval \"$2\"\n", self.uname);
        write_executable(&shell, &format!("{text}{uname}"));
    }

    /// Runs a test of this program again in such a corner, where `PLIMSOLL_TEST_INNER` says the
    /// machine's place in [`ALL`], and `uname -m` what it says on that machine. Skipped, which is
    /// said on standard error, where this system lacks what it takes; a failure where everything
    /// ought to be there.
    pub fn run_test(&self, number: usize, name: &str) {
        let emulator = match (program(self.emulator), no_corner()) {
            (Some(emulator), None) => emulator,
            (found, missing) => {
                let missing = missing.filter(|_| found.is_some());
                let missing = missing.unwrap_or(format!("{} is missing", self.emulator));
                super::skip(&format!("{} {}: {missing}", self.machine, self.processor), true);
                return;
            }
        };
        let directory = tempfile::tempdir_in(directory_of_tests()).unwrap();
        let place = directory.path();
        fs::create_dir(place.join("bin")).unwrap();
        write_script(&place.join("bin/uname"), &format!("echo {}", self.uname));
        let run = format!("exec {} -cpu {} \"$@\"", emulator.display(), self.processor);
        write_script(&place.join("emulator"), &run);
        fs::create_dir(place.join("binfmt")).unwrap();
        let start = format!(
            "mount -t binfmt_misc none binfmt && cat rule >binfmt/register && cd / && \
             PATH={}/bin:$PATH exec \"$0\" --exact {name} --nocapture",
            place.display()
        );
        fs::write(place.join("rule"), self.rule(&place.join("emulator"))).unwrap();
        let mut corner = corner(&start);
        corner.current_dir(place).env("PLIMSOLL_TEST_INNER", number.to_string());
        corner.env("PLIMSOLL_TEST_EMULATOR", place.join("emulator"));
        let output = with_all_users(&mut corner);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.contains("1 passed"), "{self:?}\n{said}");
    }

    /// How the kernel is set up (admin-guide/binfmt-misc): beginning and mask of such programs. What
    /// an ABI may set freely is left out.
    fn rule(&self, emulator: &Path) -> String {
        let (class, order, machine) = self.elf;
        let word = |number: u8| if order == 1 { [number, 0] } else { [0, number] };
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("\\x{b:02x}")).collect::<String>();
        let identity = [0x7f, b'E', b'L', b'F', class, order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let magic = hex(&[&identity[..], &word(2), &word(machine)].concat());
        let mask = hex(&[&[0xff; 7][..], &[0; 2], &[0xff; 7], &word(0xfe), &word(0xff)].concat());
        format!(":probe:M::{magic}:{mask}:{}:\n", emulator.display())
    }
}

/// A shell in a user namespace, which waits until it has all users before it starts.
fn corner(start: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c"])
        .arg(format!("read -r go && mount -t proc none /proc && {start}"))
        .arg(std::env::current_exe().unwrap());
    command
}

/// Runs it, with every user of this system in its namespace: servers in there change theirs.
fn with_all_users(command: &mut Command) -> std::process::Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = format!("/proc/{}", child.id());
    let outside = fs::read_link("/proc/self/ns/user").unwrap();
    super::soon("the user namespace is there", || {
        fs::read_link(format!("{process}/ns/user")).is_ok_and(|inside| inside != outside)
            || child.try_wait().unwrap().is_some()
    });
    for map in ["uid_map", "gid_map"] {
        // Where that is refused, the shell is nobody and says what it may not.
        let _ = fs::write(format!("{process}/{map}"), "0 0 65536\n");
    }
    let _ = child.stdin.take().unwrap().write_all(b"go\n");
    child.wait_with_output().unwrap()
}

/// Why there cannot be such a corner.
fn no_corner() -> Option<String> {
    let place = tempfile::tempdir_in(directory_of_tests()).unwrap();
    let mut attempt = corner("mount -t binfmt_misc none .");
    let output = with_all_users(attempt.current_dir(place.path()));
    (!output.status.success()).then(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("binfmt_misc in a user namespace takes root and Linux 6.7: {}", said.trim())
    })
}

fn write_script(path: &Path, text: &str) {
    write_executable(path, &format!("#!/bin/sh\n{text}\n"));
}

fn write_executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn program(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}
