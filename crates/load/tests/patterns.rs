//! What patterns issue: within the file, aligned, disjoint, uniform, reproducible.

mod common;

use common::{files, job, workers};
use plimsoll_load::{FileId, Files, LaidOut, Op, OperationSource, PatternSource, Span, Step};
use plimsoll_model::units::{Bytes, KIB};
use plimsoll_model::{Layout, Nanos, OpKind, Pattern, PatternJob, Stability};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A job and its workers.
type Team = (PatternJob, u16);

fn source((job, n): &Team, worker: u16, seed: u64) -> Result<PatternSource, String> {
    PatternSource::new(job, workers(*n), worker, files(), seed)
}

fn operations(team: &Team, worker: u16, seed: u64, count: usize) -> Vec<Op> {
    let mut work = source(team, worker, seed).unwrap();
    (0..count)
        .map(|_| match work.next(Nanos(0)) {
            Step::Issue(op) => op,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn span(op: &Op) -> Span {
    match op {
        Op::Read(span) | Op::Write(span, _) => *span,
        other => panic!("patterns read and write: {other:?}"),
    }
}

fn any_team() -> impl Strategy<Value = Team> {
    let pattern = prop::sample::select(Pattern::ALL.to_vec());
    (pattern, 1u64..300, 1u16..9, prop::sample::select(vec![512u64, 4096, 1 << 20]), 0u64..512)
        .prop_map(|(pattern, blocks, n, block, rest)| {
            let size = Bytes(blocks.max(u64::from(n)) * block + rest.min(block - 1));
            (PatternJob { block: Bytes(block), size, ..job(pattern) }, n)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn operations_stay_aligned_and_within_the_file((job, n) in any_team(), seed: u64, shared: bool) {
        let layout = if shared { Layout::Shared } else { Layout::Disjoint };
        let team = (PatternJob { layout, ..job }, n);
        for worker in 0..n {
            let job = &team.0;
            for op in operations(&team, worker, seed, 200) {
                let span = span(&op);
                prop_assert_eq!(u64::from(span.length), job.block.0);
                prop_assert!(span.offset.is_multiple_of(job.block.0));
                prop_assert!(span.offset + job.block.0 <= job.size.0);
                let (file, generation) = match op {
                    Op::Read(_) => (files().read[0].file, 4),
                    _ => (files().write[0].file, 5),
                };
                prop_assert_eq!((span.file, span.generation), (file, generation));
            }
        }
    }

    #[test]
    fn disjoint_workers_never_meet_and_together_cover_the_file((job, n) in any_team(), seed: u64) {
        let job = PatternJob {
            pattern: Pattern::SequentialRead, layout: Layout::Disjoint, ..job
        };
        let blocks = (job.size.0 / job.block.0) as usize;
        let mut seen = BTreeSet::new();
        let team = (job, n);
        for worker in 0..n {
            let mine: BTreeSet<u64> =
                operations(&team, worker, seed, blocks + 1).iter().map(|o| span(o).offset).collect();
            prop_assert!(mine.is_disjoint(&seen));
            seen.extend(mine);
        }
        prop_assert_eq!(seen.len(), blocks);
    }
}

#[test]
fn sequential_patterns_rise_and_wrap_around() {
    let team = (PatternJob { size: Bytes(24 * KIB), ..job(Pattern::SequentialWrite) }, 2);
    let offsets = |worker| -> Vec<u64> {
        operations(&team, worker, 0, 5).iter().map(|o| span(o).offset / 4096).collect()
    };
    assert_eq!(offsets(0), [0, 1, 2, 0, 1]);
    assert_eq!(offsets(1), [3, 4, 5, 3, 4]);
}

#[test]
fn sequential_mixed_reads_and_writes_rise_each_on_its_own() {
    let team = (PatternJob { size: Bytes(24 * KIB), ..job(Pattern::SequentialMixed) }, 2);
    let operations = operations(&team, 1, 3, 400);
    for kind in [OpKind::READ, OpKind::WRITE] {
        let of_kind = operations.iter().filter(|op| op.kind() == kind);
        let offsets: Vec<u64> = of_kind.map(|op| span(op).offset / 4096).collect();
        assert!((140..260).contains(&offsets.len()), "{} of 400 are {kind}s", offsets.len());
        assert!(offsets.iter().copied().eq([3, 4, 5].into_iter().cycle().take(offsets.len())));
    }
}

#[test]
fn random_offsets_are_uniform_and_mixed_is_half_and_half() {
    let team = (job(Pattern::RandomMixed), 1);
    let (blocks, draws) = (256usize, 256 * 400usize);
    let mut counts = vec![0f64; blocks];
    let mut writes = 0f64;
    for op in operations(&team, 0, 11, draws) {
        counts[(span(&op).offset / 4096) as usize] += 1.0;
        writes += f64::from(u8::from(matches!(op, Op::Write(..))));
    }
    // Chi-square with 255 degrees of freedom: mean 255, standard deviation 22.6; five of them.
    let chi_square: f64 = counts.iter().map(|c| (c - 400.0).powi(2) / 400.0).sum();
    assert!((255.0 - 113.0..255.0 + 113.0).contains(&chi_square), "{chi_square}");
    // Standard deviation of the share: 0.5 / sqrt(draws) = 0.0016; five of them.
    assert!((writes / draws as f64 - 0.5).abs() < 0.008, "{writes} of {draws}");
}

/// The files in turn as `count` operations of one kind go to them, each with the offsets.
fn turns(
    job: &PatternJob,
    of: OpKind,
    n: u16,
    worker: u16,
    count: usize,
) -> Vec<(FileId, Vec<u64>)> {
    let laid_out = |file| LaidOut { file: FileId(file), generation: file };
    let (read, write) = ((10..18).map(laid_out).collect(), (20..28).map(laid_out).collect());
    let files = Files { read, write };
    let mut work = PatternSource::new(job, workers(n), worker, files, 7).unwrap();
    let mut turns: Vec<(FileId, Vec<u64>)> = Vec::new();
    while turns.iter().map(|(_, offsets)| offsets.len()).sum::<usize>() < count {
        let Step::Issue(op) = work.next(Nanos(0)) else { panic!("it ends") };
        let (span, writes) = (span(&op), op.kind() == OpKind::WRITE);
        assert_eq!(span.generation, span.file.0 + u32::from(writes));
        assert_eq!(writes, (20..28).contains(&span.file.0), "each kind has files of its own");
        match turns.last_mut() {
            _ if op.kind() != of => {}
            Some((file, offsets)) if *file == span.file => offsets.push(span.offset / job.block.0),
            _ => turns.push((span.file, vec![span.offset / job.block.0])),
        }
    }
    turns
}

#[test]
fn files_are_gone_over_whole_in_turn_and_in_random_order_a_quarter_of_each() {
    for (of, first, patterns) in [
        (OpKind::READ, 10, [Pattern::SequentialRead, Pattern::RandomRead, Pattern::RandomMixed]),
        (OpKind::WRITE, 20, [Pattern::SequentialWrite, Pattern::RandomWrite, Pattern::RandomMixed]),
    ] {
        let in_turn = |turns: &[(FileId, Vec<u64>)]| {
            let files = (0..turns.len()).map(|n| FileId(first + n as u32 % 8));
            assert!(turns.len() == 10 && turns.iter().map(|turn| turn.0).eq(files), "{turns:?}");
        };
        // 1 MiB in eight files: 32 blocks in each, 16 for each of two workers.
        let [sequential, random @ ..] = patterns;
        let gone_over = turns(&job(sequential), of, 2, 1, 10 * 16);
        in_turn(&gone_over);
        assert!(gone_over.iter().all(|(_, offsets)| offsets.iter().copied().eq(16..32)));
        for pattern in random {
            let gone_over = turns(&job(pattern), of, 2, 0, 10 * 4);
            in_turn(&gone_over);
            assert!(gone_over.iter().all(|(_, offsets)| offsets.len() == 4));
            assert!(gone_over.iter().flat_map(|(_, offsets)| offsets).all(|block| *block < 16));
        }
    }
}

#[test]
fn a_working_set_of_less_than_a_block_for_each_worker_in_each_file_is_everybodys() {
    let patterns =
        [(Pattern::SequentialRead, OpKind::READ), (Pattern::SequentialWrite, OpKind::WRITE)];
    for (pattern, kind) in patterns {
        // Eight blocks, one in each file; and three blocks, where each file still has one.
        for blocks in [8, 3] {
            let job = PatternJob { size: Bytes(blocks * 4 * KIB), ..job(pattern) };
            for worker in 0..3 {
                let gone_over = turns(&job, kind, 3, worker, 16);
                assert_eq!(gone_over.len(), 16);
                assert!(gone_over.iter().all(|(_, offsets)| offsets == &[0]));
            }
        }
    }
}

/// What a worker did not write to need not be flushed by it.
#[test]
fn each_file_that_was_written_to_is_flushed_once() {
    let laid_out = |file| LaidOut { file: FileId(file), generation: 0 };
    let files = Files { read: Vec::new(), write: (0..8).map(laid_out).collect() };
    let flushed = |stability, count| {
        let job = PatternJob { stability, ..job(Pattern::SequentialWrite) };
        let mut work = PatternSource::new(&job, workers(2), 0, files.clone(), 7).unwrap();
        (0..count).for_each(|_| assert!(matches!(work.next(Nanos(0)), Step::Issue(_))));
        work.to_flush()
    };
    assert_eq!(flushed(Stability::Unstable, 0), []);
    assert_eq!(flushed(Stability::Unstable, 16), [FileId(0)]);
    assert_eq!(flushed(Stability::Unstable, 17), [FileId(0), FileId(1)]);
    assert_eq!(flushed(Stability::Unstable, 200), (0..8).map(FileId).collect::<Vec<_>>());
    assert_eq!(flushed(Stability::FileSync, 200), []);
}

#[test]
fn the_seed_repeats_and_workers_differ() {
    let team = (PatternJob { layout: Layout::Shared, ..job(Pattern::RandomRead) }, 2);
    assert_eq!(operations(&team, 0, 3, 100), operations(&team, 0, 3, 100));
    assert_ne!(operations(&team, 0, 3, 100), operations(&team, 0, 4, 100));
    assert_ne!(operations(&team, 0, 3, 100), operations(&team, 1, 3, 100));
}

#[test]
fn a_file_too_small_for_its_workers_is_refused() {
    let team = (PatternJob { size: Bytes(8 * KIB), ..job(Pattern::RandomRead) }, 3);
    let refused = (0..3).filter_map(|w| source(&team, w, 0).err());
    assert!(refused.into_iter().all(|e| e.contains("3 workers")));
    assert!((0..3).any(|w| source(&team, w, 0).is_err()));
}
