use super::*;
use crate::clock_call::{ClockId, ClockJob};
use crate::device;
use crate::kernel_samples::SampleJob;
use crate::kernel_trace::{TraceJob, TracedOperation};
use crate::units::MIB;
use crate::{
    Arrival, Cause, ConnectJob, CopyJob, DataClass, DatabaseJob, DatagramsJob, DeviceJob, FileJob,
    FileWay, Film, Flow, ForwardingJob, GeneratedData, Job, Length, LogJob, Method, OperationsJob,
    Pace, Part, Pattern, PatternJob, PlaybackJob, Player, RequestJob, ScanJob, SlidesJob,
    Stability, Steps, StreamJob, TcpStreamJob, Transfer, Workload,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::num::NonZeroU16;

/// A job of each kind. A datagram has one byte, so that a rate of bytes is one of datagrams.
fn jobs() -> Vec<Job> {
    let (block, size) = (Bytes(4096), Bytes(64 * MIB));
    let (class, count, mean_bytes) = (DataClass::Music, 10, 1e6);
    let data = GeneratedData { class, count, mean_bytes, scale: 1.0, seed: 1 };
    let (transfer, method) = (Transfer::Up, Method::Rsync);
    let film = Film::constant("1080p", 1.5e6);
    let (player, pace, seek_every_seconds) = (Player::kodi(), Pace::Played, None);
    let (operation, payload, calls) = (TracedOperation::Sendto, Bytes(400), 50);
    vec![
        PatternJob::new(Pattern::RandomRead, block, size).into(),
        ScanJob::default().into(),
        LogJob { block, size }.into(),
        DatabaseJob::default().into(),
        PlaybackJob { film, player, pace, size, seek_every_seconds }.into(),
        SlidesJob { photo: Bytes(MIB), shown_seconds: 1.0, ahead: false, block, size }.into(),
        OperationsJob { entries: 10, block }.into(),
        FileJob { way: FileWay::Read, buffer: block, size, stability: Stability::FileSync }.into(),
        CopyJob { dataset: data.dataset(), transfer, method, block, verify: false }.into(),
        StreamJob { connections: 1, rate: None }.into(),
        DeviceJob { part: device::Part::Cpu, quick: false }.into(),
        TcpStreamJob::new(Flow::Out).into(),
        DatagramsJob { payload: Bytes(1), ..DatagramsJob::new(Flow::Out) }.into(),
        RequestJob::new().into(),
        ConnectJob { streams: 1 }.into(),
        ForwardingJob::new(Flow::Out, Bytes(128)).into(),
        ClockJob { clock: ClockId::Monotonic }.into(),
        TraceJob { operation, payload, calls }.into(),
        SampleJob { operation, payload, calls }.into(),
    ]
}

fn workload(job: Job) -> Workload {
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
}

/// The value of a parameter that the settings of a part in a closed loop tell; `None` of one worker.
fn told(part: &Part, parameter: Parameter) -> Option<f64> {
    let words = part.settings();
    let before = |unit: &str| {
        words.split(", ").find_map(|word| word.strip_suffix(unit)?.parse::<f64>().ok())
    };
    let named = |names: &[&str]| {
        let parameters = part.job.parameters();
        let found = parameters.iter().find(|(name, _)| names.contains(name));
        found.and_then(|(_, value)| value.parse::<f64>().ok())
    };
    match parameter {
        Parameter::Workers => before(" workers"),
        Parameter::Depth => before(" in flight each"),
        Parameter::Block => named(&["block_bytes", "payload_bytes", "frame_bytes"]),
        Parameter::Rate => before(" operations a second")
            .or_else(|| named(&["rate_per_second", "rate_bytes_per_second"])),
    }
}

#[test]
fn every_kind_of_job_is_among_them() {
    let name = |job: &Job| serde_json::to_value(job).unwrap()["job"].to_string();
    let names: BTreeSet<String> = jobs().iter().map(name).collect();
    assert_eq!(names.len(), Job::KINDS, "{names:?}");
}

#[test]
fn a_parameter_of_any_job_has_the_value_that_was_set_or_is_an_error() {
    for job in jobs() {
        let has = job.settable();
        for parameter in Parameter::ALL {
            let at = workload(job.clone()).at(parameter, 8192.0);
            let what = format!("{}: {parameter}: {at:?}", job.kind());
            assert_eq!(at.is_ok(), has.has(parameter), "{what}");
            match at {
                Ok(at) => {
                    assert_eq!(told(&at.parts[0], parameter), Some(8192.0), "{what}");
                    assert_eq!(at.steps, None, "{what}");
                }
                Err(failure) => {
                    assert_eq!((failure.cause, &failure.on), (Cause::Usage, &job.title()));
                    assert!(failure.tried.contains(&parameter.to_string()), "{failure}");
                    assert!(failure.happened.contains(&has.to_string()), "{failure}");
                }
            }
        }
    }
}

#[test]
fn no_job_has_a_value_that_is_not_above_zero_or_is_too_large() {
    for job in jobs() {
        for parameter in Parameter::ALL {
            for value in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
                let at = workload(job.clone()).at(parameter, value);
                assert!(at.is_err(), "{}: {parameter} {value}", job.kind());
            }
            let unit = job.settable().rate.filter(|_| parameter == Parameter::Rate);
            let is_kept_as_it_is = matches!(job, Job::Stream(_)) && unit.is_some();
            let too_large = workload(job.clone()).at(parameter, 1e30);
            assert_eq!(too_large.is_ok(), is_kept_as_it_is, "{}: {parameter}", job.kind());
            // As much as the sender can send.
            let is_own = unit.is_some_and(|unit| unit != RateUnit::Operations);
            let endless = workload(job.clone()).at(parameter, f64::INFINITY);
            assert_eq!(endless.is_ok(), is_own, "{}: {parameter}", job.kind());
            let rate = endless.ok().and_then(|at| told(&at.parts[0], Parameter::Rate));
            assert_eq!(rate, None, "{}", job.kind());
        }
    }
}

#[test]
fn what_a_job_has_is_named() {
    let names: Vec<(&str, String)> =
        jobs().iter().map(|job| (job.kind(), job.settable().to_string())).collect();
    for (kind, has) in [
        ("random-read", "workers, depth, block size, rate in operations per second"),
        ("log", "workers, rate in operations per second"),
        ("forward-out", "block size, rate in frames per second"),
        ("udp-out", "block size, rate in bytes per second"),
        ("request", "rate in requests per second"),
        ("connect", ""),
    ] {
        assert!(names.contains(&(kind, has.to_owned())), "{names:?}");
    }
    let log = workload(LogJob { block: Bytes(4096), size: Bytes(MIB) }.into());
    let failure = log.at(Parameter::Depth, 8.0).unwrap_err();
    let happened = "it has no depth that can be set, only: workers, rate in operations per second";
    assert_eq!((failure.on.as_str(), failure.happened.as_str()), ("log", happened));
}

#[test]
fn a_rate_of_operations_keeps_the_number_in_flight() {
    let mut part =
        workload(PatternJob::random_reads(Bytes(4096), Bytes(MIB)).into()).parts.remove(0);
    part.set(Parameter::Depth, 32.0).unwrap();
    part.set(Parameter::Rate, 500.0).unwrap();
    let depth = NonZeroU16::new(32).unwrap();
    let paced = |rate| Arrival::Paced { depth, per_second: NonZeroU32::new(rate).unwrap() };
    assert_eq!(part.arrival, paced(500));
    // Stepped again from there.
    part.set(Parameter::Rate, 700.0).unwrap();
    assert_eq!(part.arrival, paced(700));
}

#[test]
fn steps_are_possible_where_all_their_values_are() {
    let of_reads = |steps: Steps| {
        let reads = workload(PatternJob::random_reads(Bytes(4096), Bytes(MIB)).into());
        Workload { steps: Some(steps), ..reads }.expect_steps()
    };
    let sweep = |over, values: &[f64]| Steps::Sweep { over, values: values.to_vec() };
    assert_eq!(of_reads(sweep(Parameter::Workers, &[1.0, 65_535.0])), Ok(()));
    assert!(of_reads(sweep(Parameter::Workers, &[1.0, 65_536.0])).is_err());
    assert!(of_reads(sweep(Parameter::Rate, &[1.0, 0.0])).is_err());
    let kept = |job: Job| {
        let (over, from, to) = (Parameter::Rate, 20.0, 10e6);
        let (width, losses, final_seconds) = (0.01, vec![0.005], None);
        let (accept, is_quick) = (None, false);
        let steps = Steps::Kept { over, from, to, width, losses, final_seconds, accept, is_quick };
        Workload { steps: Some(steps), ..workload(job) }.expect_steps()
    };
    assert_eq!(kept(ForwardingJob::new(Flow::Out, Bytes(128)).into()), Ok(()));
    let failure = kept(ScanJob::default().into()).unwrap_err();
    assert!(failure.happened.contains("inf is not above 0, or is too large"), "{failure}");
}

proptest! {
    /// One rule for all numbers: the nearest whole one that is at least 1.
    #[test]
    fn values_are_rounded_to_the_nearest_whole_number(value in prop_oneof![
        -2.0..1e5_f64,
        any::<f64>(),
    ]) {
        for job in jobs() {
            for parameter in Parameter::ALL {
                let Ok(at) = workload(job.clone()).at(parameter, value) else { continue };
                prop_assert!(value > 0.0);
                let nearest = match job {
                    Job::Stream(_) if parameter == Parameter::Rate => value,
                    _ => value.round().max(1.0),
                };
                let told = told(&at.parts[0], parameter);
                // One worker is no number of several; no rate is as much as can be.
                let is_told = told.is_some() || nearest == 1.0 || value == f64::INFINITY;
                prop_assert!(is_told, "{}: {} {}", job.kind(), parameter, value);
                prop_assert!(told.is_none_or(|told| told == nearest), "{:?} of {}", told, value);
            }
        }
    }
}
