//! Control messages of iperf3 3.1 to 3.22: states of one byte, and JSON after its length. No input or output.
//!
//! The client sends its cookie, and the server announces one state after the other: it wants the parameters, then the
//! streams; the test starts and runs. When the client ends the test, both exchange their results. The connection is
//! over when the client has confirmed the last state.

use super::results::Results;
use plimsoll_model::{Cause, DatagramsJob, Failure, Flow, Job, TcpStreamJob};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Port of an iperf3 server that names no other.
pub const PORT: u16 = 5201;

/// Words of the client: the test is over, the results have come, the test is given up.
pub(super) const TEST_END: u8 = 4;
pub(super) const DONE: u8 = 16;
pub(super) const CLIENT_TERMINATE: u8 = 12;

/// States of a server, in the order in which it announces them.
const STATES: [(u8, Heard); 6] = [
    (9, Heard::WantsParameters),
    (10, Heard::WantsStreams),
    (1, Heard::Starts),
    (2, Heard::Runs),
    (13, Heard::WantsResults),
    (14, Heard::Over),
];
const SERVER_TERMINATE: u8 = 11;
const ACCESS_DENIED: u8 = 0xff;
const SERVER_ERROR: u8 = 0xfe;

/// Longest results of a server. Those of 128 streams have 40 kB.
const MOST_RESULTS: usize = 256 << 10;
/// Bytes of an answer that is none of iperf3 which are shown.
const SHOWN: usize = 40;
/// Time that a server may wait beyond the end of the test.
const GRACE_SECONDS: u64 = 5;

/// What a server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    WantsParameters,
    WantsStreams,
    Starts,
    Runs,
    WantsResults,
    /// Its results came.
    Results,
    /// It waits for the last word of the client.
    Over,
}

/// Why a server does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has another client.
    Busy,
    /// An error by its number.
    Error(u32),
    /// Somebody ended it.
    Terminated,
    /// It is no iperf3 server: the beginning of its answer, escaped.
    Foreign(String),
    /// It contradicts the protocol, in words.
    Malformed(String),
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    State,
    Error,
    Results,
}

/// The server's half of a control connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    bytes: Vec<u8>,
    next: Next,
    /// States that were announced.
    states: usize,
    pub results: Option<Results>,
}

impl Conversation {
    pub fn new() -> Conversation {
        Conversation { bytes: Vec::new(), next: Next::State, states: 0, results: None }
    }

    /// Takes in bytes of the server.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What the bytes so far say next; `None` if they are too few.
    pub fn hear(&mut self) -> Option<Result<Heard, Refusal>> {
        match self.next {
            Next::State => self.state(),
            Next::Error => Some(Err(Refusal::Error(self.number()?))),
            Next::Results => self.results(),
        }
    }

    fn state(&mut self) -> Option<Result<Heard, Refusal>> {
        let byte = *self.bytes.first()?;
        match byte {
            ACCESS_DENIED => return Some(Err(Refusal::Busy)),
            SERVER_TERMINATE => return Some(Err(Refusal::Terminated)),
            SERVER_ERROR => {
                self.bytes.drain(..1);
                self.next = Next::Error;
                return self.hear();
            }
            _ => {}
        }
        match STATES.get(self.states) {
            Some((expected, heard)) if *expected == byte => {
                self.bytes.drain(..1);
                self.states += 1;
                if *heard == Heard::WantsResults {
                    self.next = Next::Results;
                }
                Some(Ok(*heard))
            }
            _ if self.states == 0 => {
                let start = &self.bytes[..self.bytes.len().min(SHOWN)];
                Some(Err(Refusal::Foreign(start.escape_ascii().to_string())))
            }
            _ => Some(Err(Refusal::Malformed(format!("it announced state {byte} out of order")))),
        }
    }

    fn number(&self) -> Option<u32> {
        self.bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn results(&mut self) -> Option<Result<Heard, Refusal>> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if length > MOST_RESULTS {
            let words = format!("its results have {length} bytes");
            return Some(Err(Refusal::Malformed(words)));
        }
        let text = self.bytes.get(4..4 + length)?;
        match Results::read(text) {
            Ok(results) => {
                self.results = Some(results);
                self.bytes.drain(..4 + length);
                self.next = Next::State;
                Some(Ok(Heard::Results))
            }
            Err(words) => Some(Err(Refusal::Malformed(words))),
        }
    }
}

/// JSON after its length.
pub(super) fn framed(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

/// Parameters of a test that lasts so long.
///
/// # Errors
/// [`Cause::Usage`] for a job that an iperf3 server cannot do.
pub(super) fn parameters(job: &Job, whole: Duration) -> Result<Value, Failure> {
    let (flow, mut parameters) = match job {
        Job::TcpStream(job) => (job.flow, tcp(job)),
        Job::Datagrams(job) => (job.flow, datagrams(job)),
        other => return Err(unavailable(&other.title())),
    };
    match flow {
        Flow::Out => {}
        Flow::In => {
            parameters.insert("reverse".to_owned(), true.into());
        }
        // Versions before 3.7 pass over this.
        Flow::Both if matches!(job, Job::TcpStream(_)) => {
            parameters.insert("bidirectional".to_owned(), true.into());
        }
        Flow::Both => return Err(unavailable(&job.title())),
    }
    parameters.insert("omit".to_owned(), 0.into());
    // The server gives up some time after this.
    let seconds = whole.as_secs() + 1 + GRACE_SECONDS;
    parameters.insert("time".to_owned(), seconds.into());
    Ok(Value::Object(parameters))
}

/// The failure of a job that needs a probe at both ends.
pub(super) fn unavailable(job: &str) -> Failure {
    let happened = "iperf3 has no such test: it needs a probe at both ends";
    let next = "Choose --job tcp-out, tcp-in, tcp-both, udp-out or udp-in, or name a host with a login: ssh://HOST.";
    Failure::new(Cause::Usage, "measure with an iperf3 server")
        .on(job)
        .happened(happened)
        .next(next)
}

fn object<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn tcp(job: &TcpStreamJob) -> Map<String, Value> {
    let mut parameters = object([
        ("tcp", true.into()),
        ("parallel", job.streams.into()),
        ("len", job.block.0.into()),
    ]);
    if job.no_delay {
        parameters.insert("nodelay".to_owned(), true.into());
    }
    if let Some(bytes) = job.socket_buffer {
        parameters.insert("window".to_owned(), bytes.0.into());
    }
    if let Some(name) = &job.congestion {
        parameters.insert("congestion".to_owned(), json!(name));
    }
    parameters
}

fn datagrams(job: &DatagramsJob) -> Map<String, Value> {
    let mut parameters = object([
        ("udp", true.into()),
        ("parallel", job.streams.into()),
        ("len", job.payload.0.into()),
        ("udp_counters_64bit", 1.into()),
    ]);
    // Bits of payload per second; without it, the server sends as fast as it can.
    if let Some(rate) = job.rate {
        let bits = u64::from(rate.get()).saturating_mul(8 * job.payload.0);
        parameters.insert("bandwidth".to_owned(), bits.into());
    }
    if let Some(bytes) = job.socket_buffer {
        parameters.insert("window".to_owned(), bytes.0.into());
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{RequestJob, units::Bytes};
    use std::num::NonZeroU32;

    fn said(bytes: &[u8]) -> (Vec<Heard>, Option<Refusal>) {
        let (mut conversation, mut heard) = (Conversation::new(), Vec::new());
        // Byte by byte: a message may come in pieces.
        for byte in bytes {
            conversation.push(&[*byte]);
            while let Some(next) = conversation.hear() {
                match next {
                    Ok(word) => heard.push(word),
                    Err(refusal) => return (heard, Some(refusal)),
                }
            }
        }
        (heard, None)
    }

    const RUNNING: [Heard; 4] =
        [Heard::WantsParameters, Heard::WantsStreams, Heard::Starts, Heard::Runs];

    #[test]
    fn a_test_goes_through_all_states() {
        let results = framed(&json!({"cpu_util_total": 1.5, "streams": []}));
        let bytes = [&[9, 10, 1, 2, 13][..], &results, &[14]].concat();
        let (heard, refusal) = said(&bytes);
        let rest = [Heard::WantsResults, Heard::Results, Heard::Over];
        assert_eq!((heard, refusal), ([&RUNNING[..], &rest].concat(), None));
    }

    #[test]
    fn refusals_are_told_apart() {
        for (bytes, heard, expected) in [
            (&[0xff][..], 0, Refusal::Busy),
            (&[9, 0xfe, 0, 0, 0, 142, 0, 0, 0, 0], 1, Refusal::Error(142)),
            (&[9, 10, 1, 2, 11], 4, Refusal::Terminated),
            (b"S", 0, Refusal::Foreign("S".to_owned())),
            (&[9, 2], 1, Refusal::Malformed("it announced state 2 out of order".to_owned())),
            (
                &[9, 10, 1, 2, 13, 0x7f, 0, 0, 0],
                5,
                Refusal::Malformed("its results have 2130706432 bytes".to_owned()),
            ),
        ] {
            let (said, refusal) = said(bytes);
            assert_eq!((said.len(), refusal), (heard, Some(expected)));
        }
        let mut web = Conversation::new();
        web.push(b"HTTP/1.1 400 Bad Request\r\nServer: a\x1b[2J");
        let start = "HTTP/1.1 400 Bad Request\\r\\nServer: a\\x1b[2J";
        assert_eq!(web.hear(), Some(Err(Refusal::Foreign(start.to_owned()))));
    }

    #[test]
    fn jobs_become_parameters() {
        let whole = Duration::from_millis(2500);
        let job = TcpStreamJob { streams: 4, ..TcpStreamJob::new(Flow::In) };
        let value = parameters(&job.into(), whole).unwrap();
        assert_eq!(
            value,
            json!({"tcp": true, "parallel": 4, "len": 131_072, "reverse": true, "omit": 0, "time": 8})
        );
        let rate = NonZeroU32::new(1000);
        let job = DatagramsJob { payload: Bytes(500), rate, ..DatagramsJob::new(Flow::Out) };
        let value = parameters(&job.into(), whole).unwrap();
        assert_eq!((&value["bandwidth"], &value["reverse"]), (&json!(4_000_000), &Value::Null));
        let job = TcpStreamJob { no_delay: true, ..TcpStreamJob::new(Flow::In) };
        assert_eq!(parameters(&job.into(), whole).unwrap()["nodelay"], json!(true));
        let value = parameters(&TcpStreamJob::new(Flow::Both).into(), whole).unwrap();
        assert_eq!((&value["bidirectional"], &value["reverse"]), (&json!(true), &Value::Null));
        for job in [Job::from(RequestJob::new()), DatagramsJob::new(Flow::Both).into()] {
            let failure = parameters(&job, whole).unwrap_err();
            assert!(failure.next.contains("tcp-out"), "{failure}");
        }
    }
}
