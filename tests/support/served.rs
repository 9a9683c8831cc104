//! A running `plimsoll serve`, and a plain client for it.

use super::Plimsoll;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running server and where it is. Killed when dropped.
pub struct Served {
    /// The program.
    pub child: Child,
    /// Its port.
    pub port: u16,
    /// The token in its addresses.
    pub token: String,
}

impl Served {
    /// Starts it and reads where it is.
    pub fn start(program: &Plimsoll) -> Served {
        let mut child = program
            .command(&["serve"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("standard output is piped");
        BufReader::new(out).read_line(&mut line).expect("the address is printed");
        let address = line.trim().strip_prefix("http://127.0.0.1:").expect("a loopback address");
        let (port, token) = address.split_once('/').expect("a token");
        let token = token.trim_end_matches('/').to_owned();
        Served { port: port.parse().expect("a port"), token, child }
    }

    /// Sends a request as it stands.
    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The whole answer to a request.
    pub fn answer(&self, method: &str, path: &str, host: &str) -> Answer {
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        self.send(&request).read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// What is below the token.
    pub fn get(&self, page: &str) -> Answer {
        self.answer("GET", &format!("/{}/{page}", self.token), &self.host())
    }

    /// What a browser sends as the host.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The stream of events.
    pub fn events(&self) -> Events {
        let (token, host) = (&self.token, self.host());
        let request = format!("GET /{token}/events HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Events { lines: BufReader::new(self.send(&request)), name: String::new() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, in small letters.
    pub head: String,
    /// What follows them.
    pub body: String,
}

/// Server-sent events, line by line.
pub struct Events {
    lines: BufReader<TcpStream>,
    name: String,
}

impl Events {
    /// The next event's name and data, whose lines are put together; lengths of chunks are left
    /// out.
    pub fn next(&mut self) -> (String, String) {
        let begun = Instant::now();
        let mut data = String::new();
        loop {
            let mut line = String::new();
            let length = self.lines.read_line(&mut line).expect("an event within 30 s");
            assert!(length > 0, "the stream ended");
            if let Some(name) = line.strip_prefix("event: ") {
                self.name = name.trim().to_owned();
            } else if let Some(more) = line.strip_prefix("data: ") {
                data.push_str(more);
            } else if line == "\n" && !data.is_empty() {
                return (self.name.clone(), data);
            }
            // Comments that keep the connection alive are no events.
            assert!(begun.elapsed() < Duration::from_secs(60), "no event for a minute");
        }
    }

    /// Reads on until an event of this name satisfies `wanted`.
    #[track_caller]
    pub fn wait_for(&mut self, name: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let (found, data) = self.next();
            if found == name && wanted(&data) {
                return data;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no such event; last: {data}");
        }
    }
}
