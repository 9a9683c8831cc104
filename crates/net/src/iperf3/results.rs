//! Results that both ends exchange at the end of a test, and the server's as figures of the far end. Nothing is
//! believed: keys that are missing, of another type or below zero are unknown.

use crate::report::{Report, Stream};
use plimsoll_model::Job;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Most streams of a server.
const MOST_STREAMS: usize = 128;
/// Numbers that are sums of bytes or datagrams have fewer digits than this.
const MOST: f64 = 1e18;
const NANOSECONDS: f64 = 1e9;

/// What a server counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results {
    /// Share of one core that its process used.
    cores: Option<f64>,
    streams: Vec<Counted>,
}

/// One stream, as its end counted it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counted {
    bytes: Option<f64>,
    /// The highest number of a datagram.
    packets: Option<f64>,
    /// Datagrams that are missing among them.
    lost: Option<f64>,
    jitter_seconds: Option<f64>,
}

impl Results {
    /// Decodes what a server sent.
    ///
    /// # Errors
    /// In words, results that cannot be used.
    pub fn read(text: &[u8]) -> Result<Results, String> {
        let value: Value =
            serde_json::from_slice(text).map_err(|_| "its results are not JSON".to_owned())?;
        let number = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_f64).filter(|number| (0.0..MOST).contains(number))
        };
        let streams = value.get("streams").and_then(Value::as_array);
        let streams = streams.ok_or_else(|| "its results have no streams".to_owned())?;
        if streams.len() > MOST_STREAMS {
            return Err(format!("its results have {} streams", streams.len()));
        }
        let counted = |stream: &Value| Counted {
            bytes: number(stream, "bytes"),
            packets: number(stream, "packets"),
            lost: number(stream, "errors"),
            jitter_seconds: number(stream, "jitter"),
        };
        Ok(Results {
            cores: number(&value, "cpu_util_total").map(|percent| percent / 100.0),
            streams: streams.iter().map(counted).collect(),
        })
    }

    /// Payload bytes of all streams, as the server counted them.
    pub fn bytes(&self) -> Option<u64> {
        let all: Option<Vec<f64>> = self.streams.iter().map(|stream| stream.bytes).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() as u64)
    }

    /// The far end's report, as a probe there would have made it: as much of it as the server counts. The server
    /// counts the whole test, which lasted so long; what it counted is scaled to the part of the trial that counts.
    pub fn report(&self, job: &Job, near: &Report, whole: Duration) -> Report {
        let is_udp = match job {
            Job::Datagrams(_) => true,
            Job::TcpStream(_) => false,
            _ => return Report::default(),
        };
        let sum = |key: &str| Report::sum(near.streams.iter(), key);
        let part = sum("bytes").zip(sum("total_bytes").filter(|bytes| *bytes > 0.0));
        let part = part.map_or(0.0, |(counted, whole)| (counted / whole).min(1.0));
        let cpu = self.cores.map(|cores| cores * whole.as_secs_f64() * NANOSECONDS * part);
        let mut far = Report::default();
        for (own, other) in near.streams.iter().zip(&self.streams) {
            let (mut values, sends) = (Values::default(), !own.sends);
            values.put("elapsed_ns", own.number("elapsed_ns"));
            if sends {
                values.put("bytes", other.bytes.map(|bytes| bytes * part));
            } else if is_udp {
                received(&mut values, own, other);
            } else {
                // What was acknowledged has arrived; older kernels know only what was sent.
                let acked = own.number("counted_acked_bytes").filter(|bytes| *bytes > 0.0);
                values.put("bytes", acked.or(own.number("bytes")));
            }
            let mut stream = Stream::counted(own.number, sends, values.0);
            if !sends && !is_udp {
                stream.rows.clone_from(&own.rows);
                stream.rows.iter_mut().for_each(|row| row.rtt_us = 0);
            }
            far.streams.push(stream);
        }
        // Of several streams, the server does not say which used how much of a core.
        let mut process = Values::default();
        process.put("cpu_ns", cpu);
        match far.streams.as_mut_slice() {
            [only] => only.add(process.0),
            _ => far.streams.push(Stream::counted(u64::MAX, true, process.0)),
        }
        far
    }
}

/// What arrived of datagrams. The server does not notice that the last ones are missing.
fn received(values: &mut Values, own: &Stream, other: &Counted) {
    let (Some(highest), Some(missing)) = (other.packets, other.lost) else { return };
    let got = (highest - missing).max(0.0);
    let Some(sent) = own.number("total_packets_count").filter(|sent| *sent > 0.0) else { return };
    let arrived = (got / sent).min(1.0);
    values.put("received_count", Some(got));
    values.put("lost_count", Some((sent - got).max(0.0)));
    values.put("packets_count", own.number("packets_count").map(|count| count * arrived));
    values.put("bytes", own.number("bytes").map(|bytes| bytes * arrived));
    values.put("jitter_ns", other.jitter_seconds.map(|seconds| seconds * NANOSECONDS));
}

/// Figures under their keys, in whole numbers.
#[derive(Default)]
struct Values(Map<String, Value>);

impl Values {
    fn put(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), (value.round() as u64).into());
        }
    }
}

/// This end's results, which the server wants before it sends its own.
pub(super) fn own(near: &Report) -> Value {
    let number = |stream: &Stream, key: &str| stream.number(key).unwrap_or(0.0);
    let sum = |key: &str| Report::sum(near.streams.iter(), key).unwrap_or(0.0);
    let elapsed = near.streams.iter().map(|stream| number(stream, "total_elapsed_ns"));
    let elapsed = elapsed.reduce(f64::max).filter(|ns| *ns > 0.0);
    let percent = |ns: f64| elapsed.map_or(0.0, |elapsed| 100.0 * ns / elapsed);
    let (user, system) = (percent(sum("total_user_ns")), percent(sum("total_system_ns")));
    let streams = near.streams.iter().enumerate().map(|(place, stream)| {
        json!({
            // As iperf3 counts them: 1, 3, 4, 5.
            "id": if place == 0 { 1 } else { place + 2 },
            "bytes": number(stream, "total_bytes") as u64,
            "retransmits": stream.number("retransmits_count").map_or(-1, |count| count as i64),
            "jitter": number(stream, "jitter_ns") / NANOSECONDS,
            "errors": number(stream, "lost_count") as u64,
            "packets": (number(stream, "total_packets_count") + number(stream, "lost_count")) as u64,
            "start_time": 0,
            "end_time": number(stream, "total_elapsed_ns") / NANOSECONDS,
        })
    });
    let retransmits = near.sent().any(|stream| stream.number("retransmits_count").is_some());
    let has_retransmits = match near.sent().next() {
        None => -1,
        Some(_) => i32::from(retransmits),
    };
    json!({
        "cpu_util_total": user + system,
        "cpu_util_user": user,
        "cpu_util_system": system,
        "sender_has_retransmits": has_retransmits,
        "streams": streams.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;
    use plimsoll_model::{DatagramsJob, Flow, Measure, Metric, StreamJob, TcpStreamJob};

    fn near(direction: &str, more: Value) -> Report {
        let mut section = json!({"section": "net_stream", "stream_number": 0, "direction": direction,
            "outcome": "done", "elapsed_ns": 2_000_000_000_u64, "total_elapsed_ns": 2_500_000_000_u64,
            "cpu_ns": 400_000_000, "bytes": 8_000_000, "total_bytes": 10_000_000});
        section.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let mut report = Report::default();
        report.take(&section, 0).unwrap();
        report
    }

    fn value(job: &Job, near: &Report, results: &Results, measure: Measure) -> Option<f64> {
        let far = results.report(job, near, Duration::from_millis(2500));
        let part = figures::part(job, near, &far, 0.1);
        part.quantities.get(&Metric::all(measure)).copied()
    }

    fn read(value: &Value) -> Results {
        Results::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_was_acknowledged_is_the_goodput_of_tcp() {
        let results =
            read(&json!({"cpu_util_total": 40, "streams": [{"id": 1, "bytes": 10_000_000}]}));
        let job = Job::from(TcpStreamJob::new(Flow::Out));
        let near = near("send", json!({"counted_acked_bytes": 7_900_000}));
        let figure = |measure| value(&job, &near, &results, measure).unwrap();
        assert_eq!(figure(Measure::THROUGHPUT), 3_950_000.0);
        // 40% of 2.5 s, of which 80% count.
        assert!((figure(Measure::FAR_CPU_PER_BYTE) - 0.8 / 7.9e6).abs() < 1e-12);
        assert!((figure(Measure::FAR_BUSIEST) - 0.4).abs() < 1e-9);
        assert_eq!(results.bytes(), Some(10_000_000));
    }

    #[test]
    fn several_streams_have_one_process() {
        let stream = json!({"bytes": 5});
        let results = read(&json!({"cpu_util_total": 150, "streams": [stream, stream]}));
        let job = Job::from(TcpStreamJob::new(Flow::In));
        let mut near = near("receive", json!({}));
        near.streams.push(near.streams[0].clone());
        assert_eq!(value(&job, &near, &results, Measure::FAR_BUSIEST), None);
        assert!(value(&job, &near, &results, Measure::FAR_CPU_PER_BYTE).unwrap() > 0.0);
        assert_eq!(value(&job, &near, &results, Measure::THROUGHPUT), Some(8e6));
    }

    #[test]
    fn streams_in_both_directions_are_counted_where_they_arrive() {
        let results = read(&json!({"cpu_util_total": 80, "streams": [
            {"id": 1, "bytes": 10_000_000}, {"id": 3, "bytes": 5_000_000}]}));
        let job = Job::from(TcpStreamJob::new(Flow::Both));
        let mut both = near("send", json!({"counted_acked_bytes": 7_900_000}));
        let back = json!({"bytes": 4_000_000, "total_bytes": 5_000_000, "stream_number": 1});
        both.streams.extend(near("receive", back).streams);
        let figure = |measure| value(&job, &both, &results, measure);
        assert_eq!(figure(Measure::GOODPUT_OUT), Some(3_950_000.0));
        assert_eq!(figure(Measure::GOODPUT_IN), Some(2_000_000.0));
        // One process of the server serves both.
        assert_eq!(figure(Measure::FAR_BUSIEST), None);
        assert!(figure(Measure::FAR_CPU_PER_BYTE).unwrap() > 0.0);
        assert_eq!(own(&both)["streams"][1]["id"], 3);
    }

    #[test]
    fn datagrams_that_did_not_arrive_are_lost() {
        let stream =
            json!({"bytes": 7_200_000, "packets": 9900, "errors": 2700, "jitter": 0.00002});
        let results = read(&json!({"streams": [stream]}));
        let job = Job::from(DatagramsJob::new(Flow::Out));
        let near = near("send", json!({"packets_count": 8000, "total_packets_count": 10_000}));
        let figure = |measure| value(&job, &near, &results, measure);
        assert_eq!(figure(StreamJob::LOSS), Some(0.28));
        assert_eq!(figure(Measure::PACKETS), Some(2880.0));
        assert_eq!(figure(Measure::JITTER), Some(20e-6));
        assert_eq!((figure(Measure::FAR_BUSIEST), figure(Measure::REORDERED)), (None, None));
    }

    #[test]
    fn nonsense_is_refused_or_unknown() {
        for (text, words) in
            [("", "not JSON"), ("[]", "no streams"), ("{\"streams\": 5}", "no streams")]
        {
            assert!(Results::read(text.as_bytes()).unwrap_err().contains(words), "{text}");
        }
        let many = json!({"streams": vec![json!({}); 129]});
        assert!(Results::read(many.to_string().as_bytes()).unwrap_err().contains("129 streams"));
        let odd = read(&json!({"cpu_util_total": -5, "streams": [{"bytes": 1e300}, "x"]}));
        assert_eq!((odd.cores, odd.bytes(), odd.streams.len()), (None, None, 2));
    }

    #[test]
    fn own_results_have_the_ids_of_iperf3() {
        let mut near = near("receive", json!({}));
        near.streams.extend([near.streams[0].clone(), near.streams[0].clone()]);
        let value = own(&near);
        let ids: Vec<&Value> =
            value["streams"].as_array().unwrap().iter().map(|s| &s["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(3), &json!(4)]);
        assert_eq!(value["streams"][0]["bytes"], 10_000_000);
        assert_eq!(value["sender_has_retransmits"], -1);
    }
}
