//! What the probe's frames say: JSON objects and samples. Decoding alone, and nothing is believed.

use super::frame::{Frame, FrameKind};
use crate::printed::printable;
use plimsoll_model::Nanos;
use serde_json::Value;
use std::time::Duration;

/// A message from the probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The probe's clock, and the token of the question.
    Clock([u8; 8], Nanos),
    /// A section of a result: a JSON object. Its texts are free of control characters.
    Section(Value),
    /// A sample.
    Sample(RawSample),
    /// The end of a session.
    Done(Done),
    /// The end of a session that failed.
    Failed(Refusal),
}

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did all it was asked.
    Done,
    /// It was asked to stop.
    Stopped,
    /// It used up its time.
    Limit,
    /// It waited too long for a trial.
    Idle,
}

/// The last words of a probe that did its work, with what it cost that host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub elapsed: Duration,
    /// User and system time of the probe.
    pub cpu: Duration,
    /// Most memory it had in use, in bytes; 0 where the kernel does not tell.
    pub resident_peak_bytes: u64,
}

/// The last words of a probe that could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// One word for programs, listed in probe/README.md.
    pub error: String,
    /// What was to be done.
    pub tried: String,
    /// With what.
    pub on: Option<String>,
    /// In words.
    pub happened: String,
    /// The system's error number there.
    pub errno: Option<u64>,
    /// What to do about it.
    pub next: Option<String>,
}

/// A sample as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSample {
    /// The probe's clock before the first file was read.
    pub begin: Nanos,
    /// The same after the last one.
    pub end: Nanos,
    /// User and system time of the probe so far.
    pub probe_cpu: Duration,
    /// The files that could be read this time, in the order of the list.
    pub files: Vec<SampledFile>,
}

/// A file as the kernel of the host wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledFile {
    /// Which one.
    pub kind: FileKind,
    /// Its place in the list of files at the begin of the session.
    pub index: usize,
    /// Its text, cut off where it did not fit.
    pub text: String,
    /// Whether it was cut off.
    pub cut: bool,
}

/// The files of a sample, numbered as the protocol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FileKind {
    /// /proc/stat
    Stat = 1,
    /// /proc/meminfo
    Meminfo,
    /// /proc/diskstats
    Diskstats,
    /// /proc/net/dev
    NetDev,
    /// /proc/net/snmp
    NetSnmp,
    /// /proc/softirqs
    Softirqs,
    /// /proc/loadavg
    Loadavg,
    /// /proc/net/rpc/nfsd
    Nfsd,
    /// One policy's frequency, in kHz.
    Frequency,
    /// One sensor's temperature, in 1/1000 °C.
    Temperature,
    /// The scheduler's own clock: /proc/schedstat, or the root's cpuacct.usage.
    Scheduler,
    /// /proc/mdstat
    Mdstat,
    /// cpu.max or cpu.cfs_quota_us of the probe's own control group.
    GroupQuota,
    /// Its cpu.cfs_period_us.
    GroupPeriod,
    /// Its cpu.stat.
    GroupStat,
    /// Its cpuacct.usage.
    GroupUsage,
    /// /proc/pressure/memory
    Pressure,
    /// /proc/net/softnet_stat
    Softnet,
}

impl FileKind {
    /// All, in the order of their numbers.
    pub const ALL: [FileKind; 18] = [
        FileKind::Stat,
        FileKind::Meminfo,
        FileKind::Diskstats,
        FileKind::NetDev,
        FileKind::NetSnmp,
        FileKind::Softirqs,
        FileKind::Loadavg,
        FileKind::Nfsd,
        FileKind::Frequency,
        FileKind::Temperature,
        FileKind::Scheduler,
        FileKind::Mdstat,
        FileKind::GroupQuota,
        FileKind::GroupPeriod,
        FileKind::GroupStat,
        FileKind::GroupUsage,
        FileKind::Pressure,
        FileKind::Softnet,
    ];

    /// The kind of that number; `None` for one that this program does not know yet.
    pub fn from_number(number: u64) -> Option<FileKind> {
        FileKind::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// What a frame says; an error in words where it says nothing that can be meant.
pub fn decode(frame: &Frame) -> Result<Message, String> {
    let body = &frame.body[..];
    match frame.kind {
        FrameKind::Clock => clock(body).ok_or_else(|| "its clock is invalid".into()),
        FrameKind::Sample => sample(body)
            .map(Message::Sample)
            .ok_or_else(|| "the lengths in a sample contradict each other".into()),
        FrameKind::Result => {
            let value = object(body)?;
            match value.get("section") {
                Some(Value::String(_)) => Ok(Message::Section(value)),
                _ => Err("a result does not name its section".into()),
            }
        }
        FrameKind::Done => done(&object(body)?)
            .map(Message::Done)
            .ok_or_else(|| "its last message does not say whether it succeeded".into()),
        FrameKind::Error => Ok(Message::Failed(refusal(&object(body)?))),
        FrameKind::Request | FrameKind::Stop | FrameKind::Trial => {
            Err("it sent a message that only this program may send".into())
        }
    }
}

/// A JSON object. The length of a frame bounds what it can take, serde_json the depth (128).
fn object(body: &[u8]) -> Result<Value, String> {
    let mut value: Value =
        serde_json::from_slice(body).map_err(|error| format!("a message is not JSON: {error}"))?;
    if !value.is_object() {
        return Err("a message is not a JSON object".into());
    }
    make_printable(&mut value);
    Ok(value)
}

/// Everything in there may end up on a terminal.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.contains(char::is_control) {
                *text = printable(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_printable),
        Value::Object(entries) => {
            if entries.keys().any(|key| key.contains(char::is_control)) {
                let old = std::mem::take(entries);
                entries.extend(old.into_iter().map(|(key, value)| (printable(&key), value)));
            }
            entries.values_mut().for_each(make_printable);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn clock(body: &[u8]) -> Option<Message> {
    let (token, time) = body.split_first_chunk::<8>()?;
    Some(Message::Clock(*token, Nanos(u64::from_be_bytes(time.try_into().ok()?))))
}

fn done(value: &Value) -> Option<Done> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    let status = match value.get("status")?.as_str()? {
        "done" => Status::Done,
        "stopped" => Status::Stopped,
        "limit" => Status::Limit,
        "idle" => Status::Idle,
        _ => return None,
    };
    Some(Done {
        status,
        elapsed: Duration::from_nanos(number("elapsed_ns")),
        cpu: Duration::from_nanos(number("cpu_ns")),
        resident_peak_bytes: number("resident_peak_bytes"),
    })
}

fn refusal(value: &Value) -> Refusal {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(String::from);
    Refusal {
        error: text("error").unwrap_or_default(),
        tried: text("tried").unwrap_or_else(|| "run the request".into()),
        on: text("on"),
        happened: text("happened").unwrap_or_else(|| "no reason given".into()),
        errno: value.get("errno_number").and_then(Value::as_u64),
        next: text("next"),
    }
}

/// Takes a big-endian number off the front.
fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_be_bytes(*number))
}

fn sample(mut body: &[u8]) -> Option<RawSample> {
    let begin = Nanos(take_u64(&mut body)?);
    let end = Nanos(take_u64(&mut body)?);
    let probe_cpu = Duration::from_nanos(take_u64(&mut body)?);
    let mut files = Vec::new();
    while !body.is_empty() {
        let (&[number, flags, i, j, a, b, c, d], rest) = body.split_first_chunk()?;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let (text, rest) = rest.split_at_checked(length)?;
        body = rest;
        // What a later probe may add is passed over.
        if let Some(kind) = FileKind::from_number(number.into()) {
            files.push(SampledFile {
                kind,
                index: u16::from_be_bytes([i, j]).into(),
                text: String::from_utf8_lossy(text).into_owned(),
                cut: flags & 1 != 0,
            });
        }
    }
    Some(RawSample { begin, end, probe_cpu, files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(kind: FrameKind, body: &[u8]) -> Result<Message, String> {
        decode(&Frame { kind, body: body.to_vec() })
    }

    fn section(number: u8, flags: u8, index: u16, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number, flags];
        bytes.extend(index.to_be_bytes());
        bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        bytes.extend(text);
        bytes
    }

    fn head() -> Vec<u8> {
        [1_000_u64, 2_000, 3_000].iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    #[test]
    fn a_sample_is_its_files() {
        let body = [
            head(),
            section(1, 0, 0, b"cpu  1 2"),
            section(200, 0, 1, b"of a later probe"),
            section(10, 1, 7, b"49\xff"),
        ]
        .concat();
        let file =
            |kind, index, text: &str, cut| SampledFile { kind, index, text: text.into(), cut };
        assert_eq!(
            said(FrameKind::Sample, &body),
            Ok(Message::Sample(RawSample {
                begin: Nanos(1000),
                end: Nanos(2000),
                probe_cpu: Duration::from_nanos(3000),
                files: vec![
                    file(FileKind::Stat, 0, "cpu  1 2", false),
                    file(FileKind::Temperature, 7, "49\u{fffd}", true),
                ],
            }))
        );
        for cut in 1..body.len() {
            let cut_in_a_section = ![24, 40, 64].contains(&cut);
            assert_eq!(said(FrameKind::Sample, &body[..cut]).is_err(), cut_in_a_section, "{cut}");
        }
        let absurd = [head(), vec![1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, b'x']].concat();
        assert!(said(FrameKind::Sample, &absurd).is_err());
    }

    #[test]
    fn the_last_messages() {
        let done = br#"{"status":"limit","elapsed_ns":5,"cpu_ns":18446744073709551615,"x":[]}"#;
        let Ok(Message::Done(done)) = said(FrameKind::Done, done) else { panic!() };
        assert_eq!((done.status, done.elapsed), (Status::Limit, Duration::from_nanos(5)));
        assert_eq!((done.cpu, done.resident_peak_bytes), (Duration::from_nanos(u64::MAX), 0));
        assert!(said(FrameKind::Done, br#"{"status":"perhaps"}"#).is_err());
        let failed = br#"{"error":"disk","tried":"write","on":"/a\u001b[2J","happened":"no","errno_number":28}"#;
        let Ok(Message::Failed(failed)) = said(FrameKind::Error, failed) else { panic!() };
        assert_eq!((failed.error.as_str(), failed.errno), ("disk", Some(28)));
        assert_eq!(failed.on.as_deref(), Some("/a\u{fffd}[2J"));
    }

    #[test]
    fn a_section_has_a_name_and_no_control_characters() {
        let Ok(Message::Section(value)) = said(
            FrameKind::Result,
            br#"{"section":"cpu","a\u0007":["\u0000\n",{"b":"\u009b"}],"n":1e308}"#,
        ) else {
            panic!()
        };
        assert_eq!(value["a\u{fffd}"][0], "\u{fffd}\u{fffd}");
        assert_eq!(value["a\u{fffd}"][1]["b"], "\u{fffd}");
        for wrong in ["", "[]", "{}", r#"{"section":1}"#, "{\"section\":\"a\"", "\u{0}", "nul"] {
            assert!(said(FrameKind::Result, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let deep = format!("{{\"section\":{}1{}}}", "[".repeat(30_000), "]".repeat(30_000));
        let error = said(FrameKind::Result, deep.as_bytes()).unwrap_err();
        assert!(error.contains("recursion"), "{error}");
        let open = "[".repeat(65_536);
        assert!(said(FrameKind::Result, open.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            letter in prop::sample::select(vec![FrameKind::Clock, FrameKind::Result, FrameKind::Sample, FrameKind::Done, FrameKind::Error]),
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = said(letter, &body);
            let _ = said(letter, &[head(), body].concat());
        }
    }
}
