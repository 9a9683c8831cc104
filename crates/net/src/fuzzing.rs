//! For fuzz targets.

use crate::figures;
use crate::iperf3::protocol::Conversation;
use crate::report::Report;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    ConnectJob, DatagramsJob, Flow, ForwardingJob, Job, RequestJob, TcpStreamJob,
};
use serde_json::json;
use std::time::Duration;

/// Sections of two ends, a line each, of which every second one is from B.
pub fn sections(bytes: &[u8]) {
    let mut ends = [Report::default(), Report::default()];
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if let Ok(value) = serde_json::from_slice(line)
            && let Err(words) = ends[number % 2].take(&value, 1)
        {
            assert!(!words.is_empty());
        }
    }
    let [near, far] = &ends;
    let jobs: [Job; 5] = [
        TcpStreamJob::new(Flow::Both).into(),
        DatagramsJob::new(Flow::Both).into(),
        RequestJob::new().into(),
        ConnectJob { streams: 1 }.into(),
        ForwardingJob::new(Flow::Both, Bytes(128)).into(),
    ];
    for job in jobs {
        let mut result = figures::part(&job, near, far, 0.1);
        crate::forwarded::add(&job, near, far, 0.5, &mut result);
        assert!(result.quantities.values().all(|value| value.is_finite()));
    }
}

/// The server's half of iperf3's control connection, and its results as figures.
pub fn iperf3_control(bytes: &[u8]) {
    let mut conversation = Conversation::new();
    for piece in bytes.chunks(7) {
        conversation.push(piece);
        while let Some(heard) = conversation.hear() {
            if heard.is_err() {
                return;
            }
        }
    }
    let Some(results) = conversation.results else { return };
    let mut near = Report::default();
    let stream = json!({"section": "net_stream", "outcome": "done", "elapsed_ns": 1_000_000_000, "bytes": 500,
        "total_bytes": 900, "packets_count": 5, "total_packets_count": 9});
    near.take(&stream, 1).expect("a stream");
    for flow in [Flow::Out, Flow::In] {
        let jobs: [Job; 2] = [TcpStreamJob::new(flow).into(), DatagramsJob::new(flow).into()];
        for job in jobs {
            let far = results.report(&job, &near, Duration::from_secs(1));
            let result = figures::part(&job, &near, &far, 0.1);
            assert!(result.quantities.values().all(|value| value.is_finite() && *value >= 0.0));
        }
    }
}
