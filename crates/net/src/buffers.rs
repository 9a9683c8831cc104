//! Socket buffers that the kernel of a host did not grant. Pure: no input or output.

use crate::report::{Report, Stream};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Flag, HostName, Job};

/// The flag of a job whose buffers at a host are smaller than the user wants. Programs without root get no more than the
/// system's limit, and are told of no error.
pub(crate) fn flag(job: &Job, report: &Report, host: &HostName) -> Option<Flag> {
    let wanted = match job {
        Job::TcpStream(job) => job.socket_buffer,
        Job::Datagrams(job) => job.socket_buffer,
        _ => None,
    }?;
    let granted = |stream: &Stream| {
        let key = if stream.sends { "send_buffer_bytes" } else { "receive_buffer_bytes" };
        // The kernel adds as much again for its own use.
        Some(stream.number(key)? as u64 / 2)
    };
    let used = report.streams.iter().filter_map(granted).filter(|bytes| *bytes > 0).min()?;
    (used < wanted.0).then(|| Flag::SocketBufferCapped {
        host: host.clone(),
        wanted,
        used: Bytes(used),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Flow, RequestJob, TcpStreamJob};
    use serde_json::json;

    #[test]
    fn a_buffer_that_is_smaller_than_wanted_is_named() {
        let mut report = Report::default();
        for (number, direction) in [(0, "send"), (1, "receive")] {
            let section = json!({"section": "net_stream", "stream_number": number, "direction": direction,
                "outcome": "done", "send_buffer_bytes": 425_984, "receive_buffer_bytes": 8_388_608});
            report.take(&section, 0).unwrap();
        }
        let job = |bytes| {
            let socket_buffer = Some(Bytes(bytes));
            Job::from(TcpStreamJob { socket_buffer, ..TcpStreamJob::new(Flow::Both) })
        };
        let flagged = |job: &Job| flag(job, &report, &HostName::Local);
        let capped = Flag::SocketBufferCapped {
            host: HostName::Local,
            wanted: Bytes(4 << 20),
            used: Bytes(212_992),
        };
        assert_eq!(flagged(&job(4 << 20)), Some(capped));
        assert_eq!(flagged(&job(212_992)), None);
        for job in [TcpStreamJob::new(Flow::Both).into(), Job::from(RequestJob::new())] {
            assert_eq!(flagged(&job), None, "nothing was wanted");
        }
        let silent = Report::default();
        assert_eq!(flag(&job(4 << 20), &silent, &HostName::Local), None);
    }
}
