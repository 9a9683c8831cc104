//! For fuzz targets.

use crate::figures;
use crate::report::Report;
use plimsoll_model::{ConnectJob, DatagramsJob, Flow, Job, RequestJob, TcpStreamJob};

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
    let jobs: [Job; 4] = [
        TcpStreamJob::new(Flow::Both).into(),
        DatagramsJob::new(Flow::Both).into(),
        RequestJob::new().into(),
        ConnectJob { streams: 1 }.into(),
    ];
    for job in jobs {
        let result = figures::part(&job, near, far, 0.1);
        assert!(result.quantities.values().all(|value| value.is_finite()));
    }
}
