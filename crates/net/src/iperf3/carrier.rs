//! What carries a control connection: this machine, or the probe at A.

use super::control::Trouble;
use super::server::Iperf3Server;
use crate::ends::End;
use plimsoll_model::HostName;
use plimsoll_reach::probe::{Request, Serving};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest wait for a connection, and for a server that takes nothing.
const CONNECT: Duration = Duration::from_secs(5);
const TAKEN: Duration = Duration::from_secs(10);
/// Longest life of a relay, which the probe ends by itself.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Bytes of an order to the probe, which has two digits for each.
const PIECE: usize = 1024;

/// A connection to a server.
pub(super) enum Carrier {
    /// From this machine.
    Direct(TcpStream),
    /// From the host of a probe.
    Relay(Box<Serving>),
}

impl Carrier {
    /// Connects from A.
    pub fn connect(near: &End, server: &Iperf3Server) -> Result<Carrier, Trouble> {
        if near.name != HostName::Local {
            let request = Request::new("relay")
                .set("peer", server.peer())
                .set("port", server.address.port())
                .within(LONGEST);
            let relay = near.placed.serve(&request).map_err(Trouble::Unrelayed)?;
            return Ok(Carrier::Relay(Box::new(relay)));
        }
        let stream = TcpStream::connect_timeout(&server.address, CONNECT);
        let stream = stream.map_err(Trouble::Unconnected)?;
        let options = stream.set_nodelay(true).and(stream.set_write_timeout(Some(TAKEN)));
        options.map_err(Trouble::Unconnected)?;
        Ok(Carrier::Direct(stream))
    }

    /// The address that the server knows A by, if it is this machine.
    pub fn own_address(&self) -> Option<IpAddr> {
        match self {
            Carrier::Direct(stream) => {
                stream.local_addr().ok().map(|address| address.ip().to_canonical())
            }
            Carrier::Relay(_) => None,
        }
    }

    /// Writes everything; false if the connection is gone.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        match self {
            Carrier::Direct(stream) => stream.write_all(bytes).is_ok(),
            Carrier::Relay(relay) => bytes.chunks(PIECE).all(|piece| {
                let digits = piece.iter().map(|byte| format!("{byte:02x}"));
                relay.order(&format!("send\nhex={}\n", digits.collect::<String>())).is_ok()
            }),
        }
    }

    /// Reads what is there: `Some(0)` if the connection is over, `None` if nothing came before `until`.
    pub fn read(&mut self, buffer: &mut Vec<u8>, until: Instant) -> Option<usize> {
        match self {
            Carrier::Direct(stream) => read(stream, buffer, until),
            Carrier::Relay(relay) => loop {
                let Ok(section) = relay.section(until) else { return Some(0) };
                match bytes(&section?) {
                    Some(bytes) if bytes.is_empty() => {}
                    Some(bytes) => {
                        buffer.extend_from_slice(&bytes);
                        return Some(bytes.len());
                    }
                    None => return Some(0),
                }
            },
        }
    }

    /// Ends it.
    pub fn close(self) {
        if let Carrier::Relay(relay) = self {
            relay.stop();
        }
    }
}

fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>, until: Instant) -> Option<usize> {
    let mut bytes = [0; 16 << 10];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // None at all would be no limit.
        let left = left.max(Duration::from_millis(1));
        match stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut bytes)) {
            Ok(count) => {
                buffer.extend_from_slice(&bytes[..count]);
                return Some(count);
            }
            Err(error) if is_late(&error) => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Some(0),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Bytes of a section of the probe; `None` if it is the end, or nonsense.
fn bytes(section: &Value) -> Option<Vec<u8>> {
    if section.get("section").and_then(Value::as_str) != Some("relay_bytes") {
        return None;
    }
    let digits = section.get("hex").and_then(Value::as_str)?.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(value(*high)? << 4 | value(*low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_are_bytes_or_the_end() {
        let section_bytes = |section: Value| bytes(&section);
        assert_eq!(
            section_bytes(json!({"section": "relay_bytes", "hex": "09ff"})),
            Some(vec![9, 255])
        );
        assert_eq!(section_bytes(json!({"section": "relay_end"})), None);
        for hex in ["0", "0g", "+1", "é"] {
            assert_eq!(section_bytes(json!({"section": "relay_bytes", "hex": hex})), None, "{hex}");
        }
    }
}
