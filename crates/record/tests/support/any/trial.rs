//! Strategies of trials, and of the results in them.

use super::super::{imported, load, mount};
use super::flags::flags;
use super::workload::metric;
use super::{failure, host, text};
use plimsoll_model::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn latency() -> impl Strategy<Value = LatencySummary> {
    let histogram = vec(any::<(u64, u64)>(), 0..4).prop_map(|buckets_ns| Histogram { buckets_ns });
    (any::<[f64; 3]>(), btree_map(text(), any::<f64>(), 0..3), option::of(histogram)).prop_map(
        |(x, quantiles_seconds, histogram)| LatencySummary {
            mean_seconds: x[0],
            min_seconds: x[1],
            max_seconds: x[2],
            standard_deviation_seconds: histogram.as_ref().map(|_| x[0]),
            quantiles_seconds,
            histogram,
        },
    )
}

fn ops() -> impl Strategy<Value = OpStats> {
    let errors = [ErrorKind::ConnectionLost, ErrorKind::Lost, ErrorKind::Io, ErrorKind::Protocol];
    let errors = btree_map(select(errors.to_vec()), any::<u64>(), 0..3);
    (any::<(u64, u64)>(), errors, latency(), option::of(latency())).prop_map(
        |((count, bytes), errors, client_latency, rpc_latency)| OpStats {
            count,
            bytes,
            errors,
            client_latency,
            rpc_latency,
        },
    )
}

fn kind() -> impl Strategy<Value = OpKind> {
    let later: OpKind = "some_later_operation".parse().unwrap();
    select(vec![OpKind::READ, OpKind::WRITE, OpKind::FLUSH, OpKind::READ_DIRECTORY, later])
}

/// Without windows there is no length of windows.
fn series() -> impl Strategy<Value = Series> {
    let counts = || vec(any::<u64>(), 0..4);
    let column = (vec(any::<u64>(), 1..4), counts())
        .prop_map(|(operations, bytes)| Column { operations, bytes });
    let late =
        (any::<u64>(), any::<u64>()).prop_map(|(operations, bytes)| Count { operations, bytes });
    (any::<f64>(), btree_map(kind(), column, 0..3), counts(), late).prop_map(
        |(window_seconds, kinds, in_flight_ns, late)| {
            let series = Series { window_seconds, kinds, in_flight_ns, late };
            if series.is_empty() { Series::default() } else { series }
        },
    )
}

fn results() -> impl Strategy<Value = Vec<PartResult>> {
    let part = (btree_map(metric(), any::<f64>(), 0..9), btree_map(kind(), ops(), 0..3), series())
        .prop_map(|(quantities, ops, series)| PartResult {
            quantities,
            ops,
            series,
            rate_basis: Some(RateBasis {
                from_seconds: 0.25,
                length_seconds: 4.0,
                answered_seconds: 2.0,
                flush_seconds: 0.125,
                done: [(OpKind::READ, PartialCount { operations: 10.5, bytes: 43_008.0 })].into(),
            }),
            answered_seconds: Some(0.5),
            stalls: vec![Stall { phase: StallPhase::WarmUp, start_seconds: 0.1, seconds: 2.0 }],
            functions: vec![kernel_trace::KernelFunction {
                depth: 3,
                name: "nft_do_chain".into(),
                block: Some("netfilter".into()),
                traced_nanoseconds: Some(1200),
            }],
            buffer: Some(BufferSeries { every_seconds: 0.25, seconds: vec![0.5, 1.0] }),
        });
    vec(part, 0..3)
}

pub fn any_trial() -> impl Strategy<Value = Trial> {
    let outcome = prop_oneof![
        2 => Just(Outcome::Complete),
        1 => Just(Outcome::Stopped),
        1 => (text(), failure()).prop_map(|(phase, failure)| Outcome::Failed { phase, failure }),
        1 => any::<(f64, f64)>().prop_map(|(late_seconds, seconds)| Outcome::Void {
            reason: VoidReason::LateGenerator { late_seconds, seconds },
        }),
    ];
    let cell = (0u16..5, 0u16..5, 0u16..5).prop_map(|(subject, workload, setting)| Cell {
        subject,
        workload,
        setting,
    });
    let point = (any::<f64>(), option::of(any::<bool>()), results(), vec(host(), 0..2)).prop_map(
        |(at, accepted, parts, hosts)| Point { at, accepted, parts, loads: loads(&hosts) },
    );
    (
        (any::<u32>(), option::of(0u32..9), cell, any::<[f64; 3]>()),
        outcome,
        results(),
        vec(point, 0..2),
        flags(),
        vec(host(), 0..2),
    )
        .prop_map(|((number, block, cell, x), outcome, parts, points, flags, hosts)| Trial {
            number,
            block,
            cell,
            started_seconds: x[1],
            result: PointResult {
                outcome,
                together: parts.last().cloned(),
                parts,
                whole: [(Metric::all(Measure::MACHINE_CPU_PER_OP), 0.25)].into(),
                flags,
            },
            points,
            loads: loads(&hosts),
            mount: number.is_multiple_of(2).then(|| mount(x[2], number.into())),
            imported: (x[2] > 0.0).then(|| imported(x[2], number)),
        })
}

fn loads(hosts: &[HostName]) -> Vec<HostLoad> {
    hosts.iter().cloned().map(load).collect()
}

/// What a store notes of the measures of these trials.
pub fn measures(trials: &[Trial]) -> Vec<MeasureInfo> {
    let points = |trial: &Trial| trial.points.clone();
    let parts = trials.iter().flat_map(|trial| {
        let of_points = points(trial).into_iter().flat_map(|point| point.parts);
        trial.result.parts.clone().into_iter().chain(of_points)
    });
    let used: std::collections::BTreeSet<Measure> =
        parts.flat_map(|part| part.quantities.into_keys()).map(|metric| metric.measure).collect();
    used.into_iter().filter(|m| !m.is_common()).filter_map(Measure::info).collect()
}
