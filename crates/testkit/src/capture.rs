//! Traffic of a stage's loopback, captured by dumpcap and decoded by tshark.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_testkit::servers::samba::PASSWORD;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running capture.
pub struct Capture {
    dumpcap: Child,
    said: BufReader<std::process::ChildStderr>,
    file: PathBuf,
}

impl Capture {
    /// Begins to capture everything from and to a port of this stage.
    pub fn start(port: u16, file: &str) -> Self {
        let mut dumpcap = Command::new("dumpcap")
            .args(["-i", "lo", "-B", "64", "-f", &format!("tcp port {port}"), "-w", file])
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

    /// Ends the capture; none of the packets may have been lost.
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
/// as a list. tshark knows the password: it opens what is encrypted and can check signatures.
pub fn decode(
    file: &Path,
    port: u16,
    signatures: bool,
    filter: &str,
    fields: &[&str],
) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-d", &format!("tcp.port=={port},nbss")]);
    command.args(["-o", &format!("ntlmssp.nt_password:{PASSWORD}")]);
    command.args(["-o", &format!("smb2.verify_signatures:{signatures}"), "-Y", filter]);
    command.args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| line.split('|').map(String::from).collect()).collect()
}
