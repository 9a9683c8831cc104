//! What one end says of a trial: JSON sections become typed values. Nothing is believed: numbers of streams and
//! intervals are bounded, and keys that are missing or of another type are unknown.

use plimsoll_model::LatencySummary;
use serde_json::{Map, Value};

/// Most streams of a trial: 64 in each direction.
const MOST_STREAMS: usize = 128;
/// Most intervals of a stream.
const MOST_ROWS: usize = 4096;
/// Most steps of a histogram.
const MOST_STEPS: usize = 4096;
/// Most letters of a reason.
const MOST_LETTERS: usize = 240;

/// Everything that one end said of one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// The port that it listens at.
    pub port: Option<u16>,
    /// Whether all connections are up.
    pub is_started: bool,
    /// Its streams.
    pub streams: Vec<Stream>,
    /// Why the trial failed as a whole.
    pub failed: Option<Complaint>,
    /// How it ended.
    pub end: Option<Ending>,
}

/// How a trial ended at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// To its end.
    Done,
    /// By a failure.
    Failed,
    /// By the driver.
    Cancelled,
}

/// Why something failed, in the words of the probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// What was to be done.
    pub tried: String,
    /// With what.
    pub on: Option<String>,
    /// The reason.
    pub happened: String,
    /// Advice.
    pub next: Option<String>,
    /// The longest packet that the path takes, if the payload is too long.
    pub path_mtu: Option<u64>,
}

/// One stream at one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stream {
    /// Its number.
    pub number: u64,
    /// Whether this end sent.
    pub sends: bool,
    /// Why it ended early, in words; `None` if it ran to its end.
    pub broken: Option<String>,
    values: Map<String, Value>,
    /// What it had done by the end of each interval.
    pub rows: Vec<Row>,
    /// What became of the datagrams of each segment.
    pub segments: Vec<SegmentRow>,
}

/// The datagrams of a segment at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentRow {
    /// Datagrams, each counted once.
    pub packets: u64,
    /// Least and greatest of their times in nanoseconds: lateness where they are sent, one-way delay where they arrive.
    pub least_ns: i64,
    /// The greatest.
    pub most_ns: i64,
}

/// Sums of a stream up to one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Nanoseconds since its start.
    pub at_ns: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Datagrams, answered requests, connections; of TCP streams system calls.
    pub operations: u64,
    /// Round trip that TCP had measured by then, in microseconds; 0 if unknown.
    pub rtt_us: u64,
}

impl Report {
    /// Takes in a section of this trial; sections of others, and unknown ones, are passed over.
    ///
    /// # Errors
    /// In words, a section that contradicts the protocol.
    pub fn take(&mut self, section: &Value, trial: u32) -> Result<(), String> {
        let number = |key: &str| section.get(key).and_then(Value::as_u64);
        if number("trial_number").is_some_and(|own| own != u64::from(trial)) {
            return Ok(());
        }
        match section.get("section").and_then(Value::as_str).unwrap_or_default() {
            "net_listening" => {
                let port = number("port_number").and_then(|port| u16::try_from(port).ok());
                self.port = Some(port.filter(|port| *port > 0).ok_or("it listens at no port")?);
            }
            "net_started" => self.is_started = true,
            "net_stream" => {
                if self.streams.len() >= MOST_STREAMS {
                    return Err("it has too many streams".to_owned());
                }
                self.streams.push(Stream::read(section));
            }
            "net_intervals" => {
                let stream = number("stream_number");
                let own = self.streams.iter_mut().rev().find(|s| Some(s.number) == stream);
                own.ok_or("intervals belong to no stream")?.add_rows(section)?;
            }
            "net_segments" => {
                let stream = number("stream_number");
                let own = self.streams.iter_mut().rev().find(|s| Some(s.number) == stream);
                own.ok_or("segments belong to no stream")?.add_segments(section)?;
            }
            "net_failed" => self.failed = Some(complaint(section)),
            "net_end" => {
                self.end = Some(match section.get("status").and_then(Value::as_str) {
                    Some("done") => Ending::Done,
                    Some("failed") => Ending::Failed,
                    Some("cancelled") => Ending::Cancelled,
                    _ => return Err("it does not say how the trial ended".to_owned()),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The streams that this end received; of requests and connections those that it made.
    pub fn received(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|stream| !stream.sends)
    }

    /// The streams that this end sent.
    pub fn sent(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|stream| stream.sends)
    }

    /// A number of all streams together; `None` if none of them has it.
    pub fn sum<'a>(streams: impl Iterator<Item = &'a Stream>, key: &str) -> Option<f64> {
        let values: Vec<f64> = streams.filter_map(|stream| stream.number(key)).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }
}

impl Stream {
    fn read(section: &Value) -> Stream {
        let text = |key: &str| section.get(key).and_then(Value::as_str);
        let outcome = text("outcome").unwrap_or("killed");
        let broken = (outcome != "done").then(|| match (outcome, complaint(section)) {
            ("peer_ended", _) => "the other end closed the connection".to_owned(),
            ("failed", why) => format!("it could not {}: {}", why.tried, why.happened),
            _ => "its process was killed".to_owned(),
        });
        Stream {
            number: section.get("stream_number").and_then(Value::as_u64).unwrap_or(0),
            sends: text("direction") == Some("send"),
            broken,
            values: section.as_object().cloned().unwrap_or_default(),
            rows: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// A stream of an end that has no probe, with the figures that are known.
    pub fn counted(number: u64, sends: bool, values: Map<String, Value>) -> Stream {
        Stream { number, sends, values, ..Stream::default() }
    }

    /// Adds figures.
    pub fn add(&mut self, values: Map<String, Value>) {
        self.values.extend(values);
    }

    /// A figure.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.values.get(key).and_then(Value::as_u64).map(|number| number as f64)
    }

    /// Nanoseconds from its start to the part that counts.
    pub fn lead_ns(&self) -> u64 {
        let whole = self.rows.last().map_or(0, |row| row.at_ns);
        whole.saturating_sub(self.number("elapsed_ns").unwrap_or(0.0) as u64)
    }

    /// Whether it says so.
    pub fn is(&self, key: &str) -> bool {
        self.values.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// A distribution of times.
    pub fn times(&self, key: &str) -> Option<LatencySummary> {
        let times = self.values.get(key)?;
        let number = |key: &str| times.get(key).and_then(Value::as_u64);
        let steps = times.get("steps")?.as_array()?;
        let pair = |step: &Value| Some((step.get(0)?.as_u64()?, step.get(1)?.as_u64()?));
        let mut steps: Vec<(u64, u64)> =
            steps.iter().take(MOST_STEPS).map(pair).collect::<Option<_>>()?;
        steps.sort_unstable();
        let sum = number("sum_ns")? as f64;
        Some(LatencySummary::of_buckets(&steps, sum, number("least_ns")?, number("most_ns")?))
    }

    fn add_segments(&mut self, section: &Value) -> Result<(), String> {
        let list = |key: &str| section.get(key).and_then(Value::as_array);
        let columns = list("columns").ok_or("segments have no columns")?;
        let place = |name: &str| columns.iter().position(|column| column.as_str() == Some(name));
        let packets = place("times_count").ok_or("segments have no datagrams")?;
        let (least, most) = (place("times_least_ns"), place("times_most_ns"));
        for row in list("rows").ok_or("segments have no rows")? {
            if self.segments.len() >= MOST_ROWS {
                return Err("a stream has too many segments".to_owned());
            }
            let time = |place: Option<usize>| {
                place.and_then(|at| row.get(at)?.as_i64()).unwrap_or_default()
            };
            let packets = row.get(packets).and_then(Value::as_u64).unwrap_or_default();
            self.segments.push(SegmentRow { packets, least_ns: time(least), most_ns: time(most) });
        }
        Ok(())
    }

    fn add_rows(&mut self, section: &Value) -> Result<(), String> {
        let list = |key: &str| section.get(key).and_then(Value::as_array);
        let columns = list("columns").ok_or("intervals have no columns")?;
        let place = |name: &str| columns.iter().position(|column| column.as_str() == Some(name));
        let at = place("at_ns").ok_or("intervals have no time")?;
        let (bytes, rtt) = (place("bytes"), place("rtt_us"));
        let operations = place("packets_count").or_else(|| place("calls_count"));
        for row in list("rows").ok_or("intervals have no rows")? {
            if self.rows.len() >= MOST_ROWS {
                return Err("a stream has too many intervals".to_owned());
            }
            let number =
                |place: Option<usize>| place.and_then(|at| row.get(at)?.as_u64()).unwrap_or(0);
            let row = Row {
                at_ns: number(Some(at)),
                bytes: number(bytes),
                operations: number(operations),
                rtt_us: number(rtt),
            };
            let last = self.rows.last().copied().unwrap_or_default();
            if row.at_ns < last.at_ns || row.bytes < last.bytes || row.operations < last.operations
            {
                return Err("sums of a stream decrease".to_owned());
            }
            self.rows.push(row);
        }
        Ok(())
    }
}

fn complaint(section: &Value) -> Complaint {
    let text = |key: &str| {
        let text = section.get(key).and_then(Value::as_str)?;
        Some(text.chars().take(MOST_LETTERS).collect::<String>())
    };
    Complaint {
        tried: text("tried").unwrap_or_else(|| "run the trial".to_owned()),
        on: text("on"),
        happened: text("happened").unwrap_or_else(|| "no reason given".to_owned()),
        next: text("next").filter(|next| !next.is_empty()),
        path_mtu: section.get("path_mtu_bytes").and_then(Value::as_u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn taken(sections: &[Value]) -> Result<Report, String> {
        let mut report = Report::default();
        sections.iter().try_for_each(|section| report.take(section, 3)).map(|()| report)
    }

    #[test]
    fn a_trial_is_read_from_its_sections() {
        let report = taken(&[
            json!({"section": "net_listening", "trial_number": 3, "port_number": 40585}),
            json!({"section": "net_started", "trial_number": 3}),
            json!({"section": "net_stream", "trial_number": 3, "stream_number": 0, "direction": "receive",
                "outcome": "done", "bytes": 5000, "later": {"key": [1]}}),
            json!({"section": "net_intervals", "trial_number": 3, "stream_number": 0,
                "columns": ["at_ns", "bytes", "calls_count", "cpu_ns", "rtt_us"],
                "rows": [[100, 10, 1, 5, 70], [200, 5000, 2, 9, 80]]}),
            json!({"section": "net_end", "trial_number": 2, "status": "failed"}),
            json!({"section": "net_end", "trial_number": 3, "status": "done"}),
        ])
        .unwrap();
        assert_eq!(
            (report.port, report.is_started, report.end),
            (Some(40585), true, Some(Ending::Done))
        );
        let stream = &report.streams[0];
        assert_eq!((stream.number("bytes"), stream.number("later")), (Some(5000.0), None));
        assert_eq!(stream.rows[1], Row { at_ns: 200, bytes: 5000, operations: 2, rtt_us: 80 });
        assert_eq!(Report::sum(report.received(), "bytes"), Some(5000.0));
        assert_eq!(Report::sum(report.sent(), "bytes"), None);
    }

    #[test]
    fn contradictions_are_refused_in_words() {
        for (section, words) in [
            (json!({"section": "net_listening", "port_number": 70000}), "no port"),
            (json!({"section": "net_intervals", "stream_number": 4}), "no stream"),
            (json!({"section": "net_segments", "stream_number": 4}), "no stream"),
            (json!({"section": "net_end", "status": "well"}), "how the trial ended"),
        ] {
            let refused = taken(std::slice::from_ref(&section)).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let stream = json!({"section": "net_stream", "stream_number": 0});
        let back = json!({"section": "net_intervals", "stream_number": 0, "columns": ["at_ns"],
            "rows": [[5], [4]]});
        assert!(taken(&[stream.clone(), back]).unwrap_err().contains("decrease"));
        assert!(taken(&vec![stream; 200]).unwrap_err().contains("too many"));
    }

    #[test]
    fn why_a_stream_broke_off_is_said() {
        let ended = json!({"section": "net_stream", "outcome": "peer_ended"});
        let failed = json!({"section": "net_stream", "outcome": "failed", "tried": "send", "happened": "no route"});
        let long = json!({"section": "net_failed", "happened": "x".repeat(30_000)});
        let report = taken(&[ended, failed, long]).unwrap();
        assert_eq!(report.failed.as_ref().unwrap().happened.len(), MOST_LETTERS);
        assert!(report.streams[0].broken.as_ref().unwrap().contains("the other end"));
        assert_eq!(report.streams[1].broken.as_deref(), Some("it could not send: no route"));
    }

    /// A section as a probe sends it, with any numbers.
    fn section() -> impl Strategy<Value = Value> {
        let names = [
            "net_listening",
            "net_started",
            "net_stream",
            "net_intervals",
            "net_segments",
            "net_failed",
            "net_end",
        ];
        let name = prop::sample::select(names.to_vec());
        (name, any::<bool>(), any::<[u64; 8]>()).prop_map(|(section, sends, n)| {
            let mut sums = [n[0], n[1], n[2]];
            let mut times = sums.map(|number| number % 2_000_000_000);
            sums.sort_unstable();
            times.sort_unstable();
            let rows = [0, 1, 2].map(|row| json!([times[row], sums[row], sums[row], n[3]]));
            let steps = json!([[n[4], n[5]], [n[6], n[7]]]);
            json!({"section": section, "stream_number": n[0] % 2, "port_number": n[1] % 65_536, "status": "done",
                "direction": if sends { "send" } else { "receive" }, "outcome": "done",
                "elapsed_ns": n[0], "total_elapsed_ns": n[1], "bytes": n[2], "cpu_ns": n[3],
                "packets_count": n[4], "unanswered_count": n[5], "retransmitted_bytes": n[6],
                "acked_bytes": n[7], "latency": {"sum_ns": n[0], "least_ns": n[1], "most_ns": n[2],
                "steps": steps}, "columns": ["at_ns", "bytes", "packets_count", "rtt_us"], "rows": rows})
        })
    }

    proptest! {
        #[test]
        fn whatever_comes_makes_no_panic(text in "[\\[\\]{}\",:a-z0-9_ -]{0,200}") {
            crate::fuzzing::sections(text.as_bytes());
        }

        #[test]
        fn whatever_numbers_come_make_no_panic(sections in prop::collection::vec(section(), 1..12)) {
            let lines: Vec<String> = sections.iter().map(Value::to_string).collect();
            crate::fuzzing::sections(lines.join("\n").as_bytes());
        }
    }
}
