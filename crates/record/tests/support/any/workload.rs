//! Strategies of workloads, and of the jobs and metrics in them.

use super::text;
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::num::{NonZeroU16, NonZeroU32};

fn source() -> impl Strategy<Value = DataSource> {
    let class = select(DataClass::ALL.to_vec());
    let generated = (class, any::<(u64, u64)>(), any::<(f64, f64)>()).prop_map(|(class, n, x)| {
        let ((count, seed), (mean_bytes, scale)) = (n, x);
        DataSource::Generated(GeneratedData { class, count, mean_bytes, scale, seed })
    });
    prop_oneof![text().prop_map(|data| DataSource::Directory { data }), generated]
}

fn job() -> impl Strategy<Value = Job> {
    let pattern = (
        select(Pattern::ALL.to_vec()),
        any::<(u64, u64, bool)>(),
        select(vec![Layout::Disjoint, Layout::Shared]),
        select(vec![Stability::Unstable, Stability::FileSync]),
    )
        .prop_map(|(pattern, (block, size, verify), layout, stability)| {
            let (block, size) = (Bytes(block), Bytes(size));
            PatternJob { pattern, block, size, layout, stability, verify }.into()
        });
    let scan = any::<(u32, u32)>().prop_map(|(directories, files)| {
        Job::Scan(ScanJob { directories, files, ..ScanJob::default() })
    });
    let transfer = select(Transfer::ALL.to_vec());
    let method = prop_oneof![
        Just(Method::Rsync),
        any::<NonZeroU16>().prop_map(|files| Method::Pipelined { files })
    ];
    let copy = (source(), transfer, method, any::<[u64; 4]>());
    let copy = copy.prop_map(|(source, transfer, method, n)| {
        let [block, files, directories, bytes] = n;
        let (block, bytes) = (Bytes(block), Bytes(bytes));
        let dataset = Dataset { source, files, directories, bytes };
        Job::Copy(CopyJob { dataset, transfer, method, block, verify: true })
    });
    let stream = (any::<u16>(), option::of(any::<f64>()))
        .prop_map(|(connections, rate)| Job::Stream(StreamJob { connections, rate }));
    let operations = any::<(u32, u64)>().prop_map(|(entries, block)| {
        Job::Operations(OperationsJob { entries, block: Bytes(block) })
    });
    let file = (any::<(u64, u64)>(), any::<bool>()).prop_map(|((buffer, size), reads)| {
        let way = if reads { FileWay::Read } else { FileWay::Write };
        let (buffer, size, stability) = (Bytes(buffer), Bytes(size), Stability::FileSync);
        Job::File(FileJob { way, buffer, size, stability })
    });
    let flow = || select(vec![Flow::Out, Flow::In, Flow::Both]);
    let tcp = (flow(), any::<(u16, u64)>(), option::of(any::<u64>()), option::of(text()));
    let tcp = tcp.prop_map(|(flow, (streams, block), buffer, congestion)| {
        Job::TcpStream(TcpStreamJob {
            flow,
            streams,
            block: Bytes(block),
            socket_buffer: buffer.map(Bytes),
            no_delay: congestion.is_some(),
            congestion,
        })
    });
    let calls = select(vec![DatagramCall::One, DatagramCall::Mmsg, DatagramCall::Gso]);
    let datagrams = (flow(), calls, any::<(u16, u64)>(), any::<Option<NonZeroU32>>());
    let datagrams = datagrams.prop_map(|(flow, call, (streams, payload), rate)| {
        let socket_buffer = rate.map(|_| Bytes(payload));
        let payload = Bytes(payload);
        Job::Datagrams(DatagramsJob { flow, streams, payload, call, rate, socket_buffer })
    });
    let request = (any::<(u16, u64, u64)>(), any::<Option<NonZeroU32>>());
    let request = request.prop_map(|((streams, request, response), rate)| {
        let (request, response) = (Bytes(request), Bytes(response));
        Job::Request(RequestJob { streams, request, response, rate })
    });
    let connect = any::<u16>().prop_map(|streams| Job::Connect(ConnectJob { streams }));
    let of_frames = any::<(u64, u16, Option<u64>)>();
    let forwarding = (flow(), of_frames, any::<Option<NonZeroU32>>());
    let forwarding = forwarding.prop_map(|(flow, (frame, flows, imix), rate)| {
        let (frame, imix) = (Bytes(frame), imix.map(Bytes));
        Job::Forwarding(ForwardingJob { flow, frame, imix, flows, rate, is_timed: imix.is_some() })
    });
    let on_paths = prop_oneof![stream, tcp, datagrams, request, connect, forwarding];
    prop_oneof![pattern, scan, operations, file, copy, on_paths]
}

fn part() -> impl Strategy<Value = Part> {
    let numbers = any::<(u16, NonZeroU16, NonZeroU16)>();
    let paced = any::<Option<NonZeroU32>>();
    (job(), numbers, any::<bool>(), paced).prop_map(
        |(job, (client, workers, depth), rounds, paced)| {
            let techniques = vec![
                Technique::AttributeCache { lifetime_seconds: f64::from(client) / 7.0 },
                Technique::WriteBack { gather: Bytes(client.into()) },
                Technique::ReadAhead { window: depth },
            ];
            let techniques = if rounds { techniques } else { Vec::new() };
            let part = Part { client, techniques, ..Part::closed(job, workers, depth) };
            match (rounds, paced) {
                (true, _) => Part { arrival: Arrival::Rounds { depth }, ..part },
                (false, Some(per_second)) => {
                    Part { arrival: Arrival::Paced { depth, per_second }, ..part }
                }
                (false, None) => part,
            }
        },
    )
}

pub fn workload() -> impl Strategy<Value = Workload> {
    let over =
        select(vec![Parameter::Depth, Parameter::Workers, Parameter::Rate, Parameter::Block]);
    let steps = (over, vec(any::<f64>(), 0..3), any::<[f64; 4]>(), metric(), any::<bool>())
        .prop_map(|(over, values, [from, to, resolution, at_most], metric, sweep)| match sweep {
            true => Steps::Sweep { over, values },
            false => {
                let limit = if to > 0.0 { Limit::AtMost(at_most) } else { Limit::AtLeast(at_most) };
                let accept = Bound { part: u16::from(resolution > 0.0), metric, limit };
                match values.is_empty() {
                    true => {
                        let accept = vec![accept; usize::from(from > 0.0) + 1];
                        Steps::Search { over, from, to, resolution, accept }
                    }
                    false => {
                        let final_seconds = values.first().copied();
                        Steps::Kept {
                            over,
                            from,
                            to,
                            width: resolution,
                            losses: values,
                            final_seconds,
                            accept: Some(accept).filter(|_| at_most > 0.0),
                            is_quick: from > 0.0,
                        }
                    }
                }
            }
        });
    let length = prop_oneof![
        any::<(f64, f64)>()
            .prop_map(|(seconds, warm_up_seconds)| Length::For { seconds, warm_up_seconds }),
        any::<f64>().prop_map(|at_most_seconds| Length::UntilDone { at_most_seconds }),
    ];
    (vec(part(), 0..3), option::of(steps), length).prop_map(|(parts, steps, length)| Workload {
        parts,
        steps,
        length,
    })
}

/// Metrics known here, and one that is not.
pub fn metric() -> impl Strategy<Value = Metric> {
    let later = ["some_later_figure_pixels".parse::<Metric>().unwrap()];
    let kinds = [None, Some(OpKind::READ), Some(OpKind::LOOKUP)];
    let known = kinds
        .into_iter()
        .flat_map(|kind| Measure::known().map(move |measure| Metric { kind, measure }));
    select(known.chain(later).collect::<Vec<_>>())
}
