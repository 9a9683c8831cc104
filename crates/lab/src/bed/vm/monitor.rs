//! What QEMU is told while a machine runs, by its monitor.

use super::qemu;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// QEMU answers at once, unless this machine is very busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// No answer is longer.
const LONGEST: usize = 65536;

const PROMPT: &[u8] = b"(qemu)";

/// Tells it something, and waits until that is done.
pub(super) fn tell(directory: &Path, machine: &str, command: &str) -> io::Result<()> {
    let mut monitor = UnixStream::connect(qemu::monitor(directory, machine))?;
    monitor.set_read_timeout(Some(PATIENCE))?;
    monitor.write_all(format!("{command}\n").as_bytes())?;
    // It shows its prompt again when that is done.
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    while said.len() < LONGEST && said.windows(PROMPT.len()).filter(|w| *w == PROMPT).count() < 2 {
        match monitor.read(&mut buffer)? {
            0 => break,
            count => said.extend_from_slice(&buffer[..count]),
        }
    }
    let said = String::from_utf8_lossy(&said);
    match said.lines().find_map(|line| line.split_once("Error: ")) {
        Some((_, error)) => Err(io::Error::other(error.trim().to_owned())),
        None => Ok(()),
    }
}
