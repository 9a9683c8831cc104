//! The workloads of each kind of load.

use super::arguments::{CallChoice, JobChoice, NagleChoice, NetArguments, RateChoice};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Bound, ConnectJob, DatagramCall, DatagramsJob, Flow, Job, Length, Metric, Parameter, Part,
    RequestJob, Steps, StreamJob, TcpStreamJob, Workload,
};
use std::num::NonZeroU16;

/// Seconds of a trial of streams, of requests on the idle path, and of requests under load: long enough for a 99th
/// percentile.
const STREAM_SECONDS: f64 = 2.5;
const REQUEST_SECONDS: f64 = 1.2;
const LOADED_SECONDS: f64 = 7.5;
const QUICK_SECONDS: f64 = 1.5;
/// Seconds of each point of a search for the highest rate, its ends in bytes per second, and the width of its result as
/// a share; the narrower one where differences as small are to be told.
const SEARCH_SECONDS: f64 = 1.0;
const SEARCHED_BYTES_PER_SECOND: [f64; 2] = [1e3, 12.5e9];
pub(super) const WIDTH: f64 = 0.01;
pub(super) const FINE_WIDTH: f64 = 0.005;
pub(super) const FINE_MARGIN: f64 = 0.02;
/// Share of a trial that is not counted, and most of it in seconds: connections start slowly.
const WARM_UP: f64 = 0.2;
const MOST_WARM_UP_SECONDS: f64 = 0.5;
/// Streams in each direction of the presets up, down and rrul.
const PRESET_STREAMS: u16 = 4;
/// Largest share of datagrams that may be lost at the highest rate, if the user names none.
pub(super) const LOSS: f64 = 0.005;

/// The workloads of a kind of load: one for each combination of the sizes and numbers that matter to it.
pub(super) fn workloads(arguments: &NetArguments, job: JobChoice) -> Vec<Workload> {
    let seconds = |usual: f64| match (arguments.time, arguments.study.quick) {
        (Some(time), _) => time.as_secs_f64(),
        (None, true) => usual.min(QUICK_SECONDS),
        (None, false) => usual,
    };
    let streams: Vec<Option<u16>> = match arguments.streams.as_slice() {
        [] => vec![None],
        some => some.iter().map(|streams| Some(streams.get())).collect(),
    };
    let blocks: Vec<Bytes> = match arguments.blocks.as_slice() {
        [] => vec![TcpStreamJob::BLOCK],
        some => some.to_vec(),
    };
    let nagle = match arguments.nagle.as_slice() {
        [] => &[NagleChoice::On][..],
        some => some,
    };
    let tcp = |flow: Flow, usual: u16| -> Vec<TcpStreamJob> {
        let sizes = streams.iter().flat_map(|s| blocks.iter().map(move |b| (*s, *b)));
        let all = sizes.flat_map(|(s, b)| nagle.iter().map(move |nagle| (s, b, *nagle)));
        all.map(|(streams, block, nagle)| TcpStreamJob {
            streams: streams.unwrap_or(usual),
            block,
            no_delay: nagle == NagleChoice::Off,
            socket_buffer: arguments.socket_buffer,
            congestion: arguments.congestion.clone(),
            ..TcpStreamJob::new(flow)
        })
        .collect()
    };
    let udp = |flow: Flow| -> Vec<Workload> {
        let payloads: Vec<Bytes> = match arguments.payloads.as_slice() {
            [] => vec![DatagramsJob::PAYLOAD],
            some => some.to_vec(),
        };
        let all = streams.iter().flat_map(|s| payloads.iter().map(move |p| (*s, *p)));
        all.map(|(streams, payload)| {
            Job::Datagrams(DatagramsJob {
                streams: streams.unwrap_or(1),
                payload,
                call: match arguments.call {
                    None | Some(CallChoice::One) => DatagramCall::One,
                    Some(CallChoice::Mmsg) => DatagramCall::Mmsg,
                    Some(CallChoice::Gso) => DatagramCall::Gso,
                },
                rate: match arguments.rate {
                    Some(RateChoice::Fixed(rate)) => Some(rate),
                    Some(RateChoice::Max) | None => None,
                },
                socket_buffer: arguments.socket_buffer,
                ..DatagramsJob::new(flow)
            })
        })
        .map(|job| match arguments.rate {
            Some(_) => Workload::new(part(job), length(seconds(STREAM_SECONDS))),
            None => Workload {
                steps: Some(highest_rate(arguments)),
                ..Workload::new(part(job), length(seconds(SEARCH_SECONDS)))
            },
        })
        .collect()
    };
    let alone = |jobs: Vec<Job>, usual: f64| -> Vec<Workload> {
        jobs.into_iter().map(|job| Workload::new(part(job), length(seconds(usual)))).collect()
    };
    let streams_alone =
        |flow: Flow| alone(tcp(flow, 1).into_iter().map(Job::from).collect(), STREAM_SECONDS);
    let under = |flow: Flow, usual: u16| -> Vec<Workload> {
        let load = tcp(flow, usual).into_iter().map(|load| Workload {
            parts: vec![part(RequestJob::sparse().into()), part(load.into())],
            steps: None,
            length: length(seconds(LOADED_SECONDS)),
        });
        load.collect()
    };
    match job {
        JobChoice::TcpOut => streams_alone(Flow::Out),
        JobChoice::TcpIn => streams_alone(Flow::In),
        JobChoice::TcpBoth => streams_alone(Flow::Both),
        JobChoice::UdpOut => udp(Flow::Out),
        JobChoice::UdpIn => udp(Flow::In),
        JobChoice::Request => alone(vec![RequestJob::new().into()], REQUEST_SECONDS),
        JobChoice::Connect => alone(vec![ConnectJob { streams: 1 }.into()], REQUEST_SECONDS),
        JobChoice::Loaded => under(Flow::Both, 1),
        JobChoice::Up => under(Flow::Out, PRESET_STREAMS),
        JobChoice::Down => under(Flow::In, PRESET_STREAMS),
        JobChoice::Rrul => under(Flow::Both, PRESET_STREAMS),
    }
}

/// The search for the highest rate with little loss.
fn highest_rate(arguments: &NetArguments) -> Steps {
    let [from, to] = SEARCHED_BYTES_PER_SECOND;
    let resolution = if arguments.study.margin <= FINE_MARGIN { FINE_WIDTH } else { WIDTH };
    let accept = vec![Bound::at_most(Metric::all(StreamJob::LOSS), arguments.loss.unwrap_or(LOSS))];
    Steps::Search { over: Parameter::Rate, from, to, resolution, accept }
}

/// The workload of datagrams with trials at each of these rates: datagrams per second of each stream.
pub fn at_rates(workload: Workload, per_second: &[f64]) -> Workload {
    let one_each = match workload.main().map(|main| &main.job) {
        Some(Job::Datagrams(job)) => job.payload.0 as f64 * f64::from(job.streams),
        _ => 1.0,
    };
    // All streams together, in bytes.
    let values = per_second.iter().map(|rate| rate * one_each).collect();
    Workload { steps: Some(Steps::Sweep { over: Parameter::Rate, values }), ..workload }
}

pub(super) fn part(job: Job) -> Part {
    Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)
}

pub(super) fn length(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: (WARM_UP * seconds).min(MOST_WARM_UP_SECONDS) }
}
