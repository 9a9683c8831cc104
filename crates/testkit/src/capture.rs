//! Traffic of a stage's loopback, captured by dumpcap and decoded by tshark: somebody else's view of what
//! goes over the wire.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_process::child;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    dumpcap: Child,
    said: BufReader<std::process::ChildStderr>,
    file: PathBuf,
}

impl Capture {
    /// Begins to capture what passes a filter (pcap-filter(7)) on this stage's loopback.
    ///
    /// # Panics
    /// dumpcap does not start.
    pub fn start(filter: &str, file: &str) -> Self {
        let mut dumpcap = child::command("dumpcap")
            .args(["-i", "lo", "-B", "64", "-f", filter, "-w", file])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(dumpcap.stderr.take().unwrap());
        let mut line = String::new();
        // It says "Capturing on", then "File:" once it does.
        while !line.starts_with("File:") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "dumpcap ended");
        }
        Self { dumpcap, said, file: file.into() }
    }

    /// Ends the capture.
    ///
    /// # Panics
    /// Packets were lost.
    pub fn stop(mut self) -> PathBuf {
        // The kernel hands packets over in batches.
        std::thread::sleep(std::time::Duration::from_millis(500));
        kill(Pid::from_raw(self.dumpcap.id().cast_signed()), Signal::SIGINT).unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        assert!(self.dumpcap.wait().unwrap().success(), "{said}");
        assert!(said.contains("/0 (pcap:0/dumpcap:0/flushed:0/ps_ifdrop:0)"), "{said}");
        self.file.clone()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.dumpcap.kill();
        let _ = self.dumpcap.wait();
    }
}

/// Fields of the packets that pass a display filter, a row a packet, a field of several values
/// as a list. `settings` are further arguments of tshark.
///
/// # Panics
/// tshark fails.
pub fn decode(file: &Path, settings: &[&str], filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = child::command("tshark");
    command.arg("-r").arg(file).arg("-n").args(settings).args(["-Y", filter]);
    command.args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| line.split('|').map(String::from).collect()).collect()
}
