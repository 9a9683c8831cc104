//! iperf3's own program on this machine's loopback device.

use crate::{Error, program};
use plimsoll_process::child;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// States of sockets in the kernel's tables.
const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// `iperf3 -s -J`. Dropping it kills it.
#[derive(Debug)]
pub struct Iperf3 {
    child: Child,
    port: u16,
    output: Arc<Mutex<Vec<u8>>>,
}

impl Iperf3 {
    /// Starts a server on a free port, and waits until it listens.
    ///
    /// # Errors
    /// It cannot be started, or does not listen.
    pub fn start() -> Result<Iperf3, Error> {
        Iperf3::start_with(&[])
    }

    /// The same with more options.
    ///
    /// # Errors
    /// It cannot be started, or does not listen.
    pub fn start_with(more: &[&str]) -> Result<Iperf3, Error> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
        let port = free.map_err(Error::when("cannot find a free port"))?.port();
        let own = port.to_string();
        let words = [&["-s", "-J", "-p", own.as_str()], more].concat();
        let mut child = run(&words, Stdio::piped())?;
        let output = Arc::default();
        if let Some(pipe) = child.stdout.take() {
            let output = Arc::clone(&output);
            std::thread::spawn(move || keep(pipe, &output));
        }
        let server = Iperf3 { child, port, output };
        let end = Instant::now() + PATIENCE;
        while server.sockets(LISTENS) == 0 {
            if Instant::now() > end {
                return Err(Error::new(format!("iperf3 does not listen at port {port}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Starts a client of it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn client(&self, words: &[&str]) -> Result<Child, Error> {
        let port = self.port.to_string();
        run(&[&["-c", "127.0.0.1", "-p", &port], words].concat(), Stdio::null())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// What it printed: a JSON text for each test that is over.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Open TCP connections, both ends of each counted.
    pub fn connections(&self) -> usize {
        self.sockets(ESTABLISHED)
    }

    /// Whether it waits for a client.
    pub fn is_free(&self) -> bool {
        self.sockets(ESTABLISHED) == 0 && self.sockets(LISTENS) > 0
    }

    /// Ends it at once.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn kill(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Sockets from or to its port in a state.
    fn sockets(&self, state: &str) -> usize {
        let port = format!(":{:04X}", self.port);
        let table = |path| std::fs::read_to_string(path).unwrap_or_default();
        let all = table("/proc/net/tcp") + &table("/proc/net/tcp6");
        let is_own = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ends = words.get(1..3).unwrap_or_default();
            words.get(3) == Some(&state) && ends.iter().any(|end| end.ends_with(&port))
        };
        all.lines().filter(is_own).count()
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The program, which is another one if `PLIMSOLL_IPERF3` names it; it dies with the thread that starts it.
fn run(words: &[&str], output: Stdio) -> Result<Child, Error> {
    let named = std::env::var_os("PLIMSOLL_IPERF3").map(PathBuf::from);
    let iperf3 = named.map_or_else(|| program::locate("iperf3"), Ok)?;
    child::command(program::locate("setpriv")?)
        .args(["--pdeathsig", "KILL"])
        .arg(iperf3)
        .args(words)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(Error::when("cannot start iperf3"))
}

fn keep(mut pipe: impl Read, output: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend_from_slice(&buffer[..count]);
    }
}
