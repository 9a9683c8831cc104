//! File sizes for small and for slow targets: there must be room for the files, and laying them out
//! must leave time for measuring.

use crate::scale;
use crate::volume::{BYTES_PER_SECOND, moved};
use plimsoll_model::units::{Bytes, MIB, amount};
use plimsoll_model::{
    Cause, Failure, Flag, Footprint, InPlace, Job, Length, Part, Plan, Scaled, SubjectFacts,
    TargetFacts, Workload,
};
use std::collections::BTreeMap;

/// Share of the time cap that laying out files may take.
const SHARE: f64 = 0.1;
/// No working set is made smaller than this: a block of 1 MiB for each of four workers in each file.
const SMALLEST: u64 = 32 * MIB;

/// Bytes that are laid out to find the rate: the first that take long enough to tell, or the last.
const SAMPLES: [u64; 3] = [2 * MIB, 8 * MIB, 32 * MIB];
const LONG_ENOUGH_SECONDS: f64 = 0.3;

/// The rate at which files of at most `largest` bytes are laid out, in bytes per second, by one that
/// lays out so many bytes; `None` where nothing is laid out.
pub fn rate<E>(
    largest: u64,
    mut lay_out: impl FnMut(u64) -> Result<Option<f64>, E>,
) -> Result<Option<f64>, E> {
    let mut found = None;
    for bytes in SAMPLES.map(|bytes| bytes.min(largest)).into_iter().filter(|bytes| *bytes > 0) {
        found = lay_out(bytes)?;
        let long_enough = |rate| bytes as f64 / rate >= LONG_ENOUGH_SECONDS;
        if bytes == largest || found.is_none_or(long_enough) {
            break;
        }
    }
    Ok(found)
}

/// The largest file of any job of the plan, in bytes.
pub fn largest(plan: &Plan) -> u64 {
    let parts = plan.workloads.iter().flat_map(|workload| &workload.parts);
    parts.map(|part| largest_of(part.job.footprint())).max().unwrap_or(0)
}

fn largest_of(footprint: Footprint) -> u64 {
    footprint.read.max(footprint.written).max(footprint.transient)
}

/// Lowers the sizes of the plan's jobs to what a target that is laid out at `bytes_per_second` can
/// have in a share of the time cap: what is read and what is written, of each target once. Sizes stay
/// powers of two times 32 MiB.
pub fn adapt(plan: &mut Plan, bytes_per_second: f64) -> Option<Flag> {
    let wanted = largest(plan);
    let parts = || plan.workloads.iter().flat_map(|workload| &workload.parts);
    let kinds: [fn(Footprint) -> u64; 2] = [|f| f.read, |f| f.written];
    let laid_out = kinds.iter().filter(|of| parts().any(|part| of(part.job.footprint()) > 0));
    let layouts = (plan.subjects.len() * laid_out.count()) as f64;
    let affordable = bytes_per_second * plan.design.cap_seconds * SHARE / layouts;
    let mut used = wanted;
    while used > SMALLEST && used as f64 > affordable {
        used = (used / 2).max(SMALLEST);
    }
    if used == wanted {
        return None;
    }
    for part in plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        part.job.fit(part.workers.get(), used);
    }
    Some(Flag::SizeLowered { wanted: Bytes(wanted), used: Bytes(used), bytes_per_second })
}

/// Share of the free space that is left alone: for the leases and what it needs for itself.
const LEFT_ALONE: f64 = 0.1;
const SPARE: u64 = MIB;

/// Lowers the sizes of the plan's workloads to the room that its targets have, or to the files of
/// theirs that are read in place. Targets with as much space in all are taken for one file system,
/// which must hold the files of both; every client has files of its own.
///
/// # Errors
/// [`Cause::Usage`] where a file that is read in place has not a block for every worker.
/// [`Cause::NoSpace`] where not even the smallest files fit, or those of the size that the user
/// named; with the size that would.
pub fn fit(plan: &mut Plan, subjects: &[SubjectFacts]) -> Result<Option<Flag>, Failure> {
    let targets: Vec<&TargetFacts> = subjects.iter().filter_map(SubjectFacts::storage).collect();
    let files = targets.iter().filter_map(|target| Some((target, target.in_place.as_ref()?)));
    if let Some((target, smallest)) = files.min_by_key(|(_, file)| file.size) {
        return fit_in_place(plan, target, smallest).map(|()| None);
    }
    let wanted = largest(plan);
    let room = |target: &TargetFacts| {
        let (total, available) = target.space_bytes;
        let sharing = targets.iter().filter(|t| t.space_bytes.0 == total).count().max(1) as u64;
        // Where the server does not say, what fits shows when it is laid out.
        if total == 0 { u64::MAX } else { available / sharing }
    };
    let Some(tightest) = targets.iter().min_by_key(|target| room(target)) else { return Ok(None) };
    let room = room(tightest);
    if most_stored(&plan.workloads, wanted)
        .is_some_and(|needed| needed.saturating_add(SPARE) <= room)
    {
        return Ok(None);
    }
    let most = (room as f64 * (1.0 - LEFT_ALONE)) as u64;
    let has_room = |workloads: &[Workload]| {
        most_stored(workloads, u64::MAX).is_some_and(|needed| needed.saturating_add(SPARE) <= most)
    };
    let scaled = scale::largest(plan, |_, workloads| has_room(workloads));
    if let (true, Some((used, workloads))) = (plan.storage.fit_size, &scaled) {
        let wanted = scale::largest_planned(&plan.workloads).unwrap_or(1.0);
        plan.workloads.clone_from(workloads);
        let available = Bytes(tightest.space_bytes.1);
        let why = Scaled::Space { target: tightest.given.clone(), available };
        return Ok(Some(Flag::Scaled { wanted, used: *used, most: None, why }));
    }
    let fits = |size: u64| {
        most_stored(&plan.workloads, size).map(|needed| needed.saturating_add(SPARE) <= most)
    };
    let mut used = 1 << wanted.max(1).ilog2();
    while used > 0 && fits(used) == Some(false) {
        used /= 2;
    }
    let available = amount(Bytes(tightest.space_bytes.1));
    if !plan.storage.fit_size || fits(used).is_none() {
        let needed = most_stored(&plan.workloads, wanted).unwrap_or(wanted);
        let repeated = most_repeated(&plan.workloads);
        let is_timed = |workload: &Workload| matches!(workload.length, Length::For { .. });
        let once_fits = needed.saturating_sub(repeated).saturating_add(SPARE) <= room;
        let is_too_long = repeated > 0 && once_fits && plan.workloads.iter().all(is_timed);
        let next = match (needs_less(plan), fits(used)) {
            _ if let Some((used, _)) = scaled => {
                format!("Free some space, or give --scale {used} or less.")
            }
            _ if is_too_long => "Free some space, or give a shorter --time.".to_owned(),
            (Some(so), _) => format!("Free some space, or {so}."),
            (None, Some(_)) => {
                format!(
                    "Free some space, or give --size {} or less.",
                    Bytes(used).to_string().replace(' ', "")
                )
            }
            (None, None) => {
                "No --size fits: free some space on the target, or use fewer --workers \
            or a smaller --block."
                    .to_owned()
            }
        };
        let happened = format!("they need {}, but {available} are free", amount(Bytes(needed)));
        let happened = match repeated {
            0 => happened,
            bytes => format!(
                "{happened}; {} of them are for copies that are repeated during a trial, at {:.0} MB/s",
                amount(Bytes(bytes)),
                BYTES_PER_SECOND / 1e6
            ),
        };
        let happened =
            match targets.iter().filter(|t| t.space_bytes.0 == tightest.space_bytes.0).count() {
                0 | 1 => happened,
                count => format!("{happened}; {count} targets appear to share one file system"),
            };
        let happened = match plan.clients().count() {
            0 | 1 => happened,
            count => format!("{happened}; each of {count} clients has its own files"),
        };
        let tried = "find space for the test files";
        return Err(Failure::new(Cause::NoSpace, tried)
            .on(&tightest.given)
            .happened(happened)
            .next(next));
    }
    for part in plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        part.job.fit(part.workers.get(), used);
    }
    let target = tightest.given.clone();
    let (wanted, used) = (Bytes(wanted), Bytes(used));
    let available = Bytes(tightest.space_bytes.1);
    Ok(Some(Flag::SizeFitted { target, wanted, used, available }))
}

/// What makes the job with the largest file need less, where it has no size to choose.
fn needs_less(plan: &Plan) -> Option<&'static str> {
    let parts = plan.workloads.iter().flat_map(|workload| &workload.parts);
    parts.max_by_key(|part| largest_of(part.job.footprint()))?.job.needs_less()
}

/// What a target holds at most while the workloads run, with files of at most `size` bytes: of each
/// client the largest that is read and the largest that is written, what jobs have for themselves, and repetitions
/// of copies. `None`: too small for the workers.
pub(crate) fn most_stored(workloads: &[Workload], size: u64) -> Option<u64> {
    let repeated = most_repeated(workloads);
    let mut clients: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    let fitted_parts = |workload: &Workload| -> Option<Vec<Part>> {
        workload.parts.iter().map(|part| fitted(part, size)).collect()
    };
    let workloads: Vec<Vec<Part>> = workloads.iter().map(fitted_parts).collect::<Option<_>>()?;
    for part in workloads.iter().flatten() {
        let footprint = part.job.footprint();
        let (read, written) = clients.entry(part.client).or_default();
        if !footprint.shared {
            continue;
        }
        *read = footprint.read.max(*read);
        *written = footprint.written.max(*written);
    }
    let own = |client: u16| {
        let jobs = || workloads.iter().flat_map(move |parts| jobs_of(parts, client));
        let (own, largest) = (Footprint::own(jobs()), jobs().map(transient).max());
        // The temporary files of all parts of a workload exist at the same time.
        let at_once = workloads
            .iter()
            .map(|parts| jobs_of(parts, client).map(transient).fold(0, u64::saturating_add));
        let others = at_once.max().unwrap_or(0) - largest.unwrap_or(0);
        own.read.saturating_add(own.written).saturating_add(others)
    };
    let each = clients.iter().flat_map(|(client, (read, written))| [*read, *written, own(*client)]);
    Some(each.fold(repeated, u64::saturating_add))
}

/// Bytes that repetitions of copies hold at most in a trial of any of these workloads.
fn most_repeated(workloads: &[Workload]) -> u64 {
    workloads.iter().map(repeated).max().unwrap_or(0)
}

/// Bytes that copies to new files hold beyond one copy of each, at the assumed rate: each repetition has a tree of its
/// own, and all are removed after the trial. What ends a trial when it is done is not repeated.
fn repeated(workload: &Workload) -> u64 {
    let Some(main) = workload.main() else { return 0 };
    let (most, once) = match workload.length {
        Length::For { seconds, .. } => ((seconds * BYTES_PER_SECOND) as u64, 0),
        Length::UntilDone { .. } if workload.together().is_some() => return 0,
        Length::UntilDone { .. } => (moved(main.job.footprint()), 1),
    };
    let is_new = |part: &&Part| part.job.file_work().is_some() && part.job.dataset().is_none();
    let beyond = |part: &Part| most.saturating_sub(transient(&part.job));
    workload.parts.iter().skip(once).filter(is_new).map(beyond).fold(0, u64::saturating_add)
}

/// The jobs that a client does of a workload.
fn jobs_of(parts: &[Part], client: u16) -> impl Iterator<Item = &Job> {
    parts.iter().filter(move |part| part.client == client).map(|part| &part.job)
}

fn transient(job: &Job) -> u64 {
    job.footprint().transient
}

/// The part with files of at most `size` bytes.
fn fitted(part: &Part, size: u64) -> Option<Part> {
    let mut fitted = part.clone();
    fitted.job.fit(part.workers.get(), size).then_some(fitted)
}

/// The smallest of the files that are read in place is as much as is read of all.
fn fit_in_place(plan: &mut Plan, target: &TargetFacts, file: &InPlace) -> Result<(), Failure> {
    for part in plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        *part = fitted(part, file.size.0).ok_or_else(|| {
            let on = format!("{} of {}", file.file, target.given);
            let (size, job) = (file.size, part.job.kind());
            let happened =
                format!("it has {size}, but {job} needs at least one block for each worker");
            let next = "Name a larger file, or give a smaller --block or fewer --workers.";
            Failure::new(Cause::Usage, "read the file in place")
                .on(on)
                .happened(happened)
                .next(next)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::GIB;
    use plimsoll_model::{Design, DirectoryTarget, PatternJob, Rule, Target};
    use std::num::NonZeroU16;

    fn plan(size: u64) -> Plan {
        let workload = |pattern| {
            let job = PatternJob::named(pattern, Bytes(size)).unwrap().into();
            let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
            Workload::new(part, Length::For { seconds: 5.0, warm_up_seconds: 0.5 })
        };
        let target = Target::Directory(DirectoryTarget { path: "x".into() });
        let workloads = vec![workload("random-read"), workload("random-write")];
        let rule = Rule::Fixed { blocks: 6 };
        let mut plan =
            Plan::new(vec![target.into()], workloads, Design { rule, ..Design::default() });
        plan.storage.adapt_size = true;
        plan
    }

    fn size_of(workload: &Workload) -> u64 {
        largest_of(workload.parts[0].job.footprint())
    }

    #[test]
    fn a_fast_target_keeps_its_size() {
        let mut plan = plan(GIB);
        assert_eq!(adapt(&mut plan, 112e6), None);
        assert_eq!(size_of(&plan.workloads[0]), GIB);
    }

    #[test]
    fn a_slow_target_gets_what_a_tenth_of_the_cap_allows() {
        // 6 MB/s for 60 s make 360 MB, for what is read and what is written: 180 MB each, so 128 MiB.
        let mut both = plan(GIB);
        let flag = adapt(&mut both, 6e6).unwrap();
        assert!(both.workloads.iter().all(|w| size_of(w) == 128 * MIB));
        assert!(matches!(flag, Flag::SizeLowered { wanted: Bytes(GIB), used: Bytes(n), .. }
            if n == 128 * MIB));
        // All of it for what is read alone, and half for each of two targets.
        let mut reads = plan(GIB);
        reads.workloads.truncate(1);
        adapt(&mut reads, 6e6).unwrap();
        assert_eq!(size_of(&reads.workloads[0]), 256 * MIB);
        reads = plan(GIB);
        reads.subjects.push(reads.subjects[0].clone());
        adapt(&mut reads, 6e6).unwrap();
        assert_eq!(size_of(&reads.workloads[0]), 64 * MIB);
    }

    #[test]
    fn a_slow_target_is_sampled_for_a_moment_and_a_fast_one_by_more() {
        let samples = |rate: f64, largest| {
            let mut asked = Vec::new();
            let found = super::rate(largest, |bytes| {
                asked.push(bytes);
                Ok::<_, ()>(Some(rate))
            });
            assert_eq!(found, Ok((largest > 0).then_some(rate)));
            asked
        };
        assert_eq!(samples(6e6, GIB), [2 * MIB]);
        assert_eq!(samples(20e6, GIB), [2 * MIB, 8 * MIB]);
        assert_eq!(samples(1e9, GIB), [2 * MIB, 8 * MIB, 32 * MIB]);
        assert_eq!(samples(20e6, 3 * MIB), [2 * MIB, 3 * MIB]);
        assert!(samples(20e6, 0).is_empty());
    }

    #[test]
    fn nothing_goes_below_the_smallest_and_small_files_stay() {
        let mut slow = plan(GIB);
        adapt(&mut slow, 1.0);
        assert_eq!(size_of(&slow.workloads[0]), SMALLEST);
        let mut small = plan(8 * MIB);
        assert_eq!(adapt(&mut small, 1.0), None);
        assert_eq!(size_of(&small.workloads[0]), 8 * MIB);
    }

    fn free(total: u64, available: u64) -> SubjectFacts {
        let given = format!("/{total}");
        let space_bytes = (total, available);
        SubjectFacts::Storage(TargetFacts { given, space_bytes, ..TargetFacts::default() })
    }

    fn fitting(size: u64, targets: &[SubjectFacts]) -> (Plan, Result<Option<Flag>, Failure>) {
        let mut plan = plan(size);
        plan.storage.fit_size = true;
        let fitted = fit(&mut plan, targets);
        (plan, fitted)
    }

    /// What all targets of a plan hold.
    fn stored(plan: &Plan) -> u64 {
        super::most_stored(&plan.workloads, u64::MAX).unwrap()
    }

    #[test]
    fn files_fit_into_the_room_that_there_is() {
        for available in [300 * MIB, 70 * MIB, 17 * MIB, 2 * GIB + MIB] {
            let (plan, fitted) = fitting(GIB, &[free(9 * GIB, available), free(8 * GIB, 9 * GIB)]);
            let lowered = fitted.unwrap();
            assert!(stored(&plan) + SPARE <= available, "{available}");
            assert!(4 * stored(&plan) >= available, "no smaller than need be: {available}");
            match lowered {
                None => assert_eq!(size_of(&plan.workloads[0]), GIB),
                Some(Flag::SizeFitted { target, wanted, used, .. }) => {
                    assert_eq!((target, wanted), (format!("/{}", 9 * GIB), Bytes(GIB)));
                    assert_eq!(used.0, size_of(&plan.workloads[1]));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn two_targets_on_one_file_system_share_its_room() {
        let (alone, fitted) = fitting(64 * MIB, &[free(GIB, 200 * MIB)]);
        assert_eq!((size_of(&alone.workloads[0]), fitted), (64 * MIB, Ok(None)));
        let both = [free(GIB, 200 * MIB), free(GIB, 200 * MIB)];
        let (plan, fitted) = fitting(64 * MIB, &both);
        assert!(fitted.unwrap().is_some() && 2 * (stored(&plan) + SPARE) <= 200 * MIB);
        let mut named = self::plan(64 * MIB);
        let failure = fit(&mut named, &both).unwrap_err();
        assert_eq!(failure.cause, Cause::NoSpace);
        assert!(failure.next.contains("--size 32MiB or less"), "{failure}");
        assert!(failure.happened.contains("2 targets"), "{failure}");
        assert_eq!(size_of(&named.workloads[0]), 64 * MIB, "the user's size stays as it is");
    }

    #[test]
    fn every_client_has_files_of_its_own() {
        let mut plan = plan(64 * MIB);
        plan.storage.fit_size = true;
        plan.drive_on(["ssh://a", "ssh://b", "ssh://c"].map(|host| host.parse().unwrap()));
        for workload in &mut plan.workloads {
            let part = workload.parts[0].clone();
            workload.parts = (0..3).map(|client| Part { client, ..part.clone() }).collect();
        }
        let room = |available| [free(GIB, available)];
        assert_eq!(fit(&mut plan.clone(), &room(3 * 128 * MIB + SPARE)), Ok(None));
        let mut named = plan.clone();
        named.storage.fit_size = false;
        let failure = fit(&mut named, &room(200 * MIB)).unwrap_err();
        assert!(failure.happened.contains("they need 384 MiB"), "{failure}");
        assert!(failure.happened.contains("each of 3 clients"), "{failure}");
        fit(&mut plan, &room(200 * MIB)).unwrap().expect("files of three clients do not fit");
        assert_eq!(stored(&plan), 6 * size_of(&plan.workloads[0]));
        assert!(stored(&plan) + SPARE <= 200 * MIB);
    }

    /// A copy of 3 MiB.
    fn copy() -> plimsoll_model::CopyJob {
        plimsoll_model::CopyJob {
            dataset: plimsoll_model::Dataset {
                source: plimsoll_model::DataSource::Directory { data: "/home/me/films".into() },
                files: 1,
                directories: 1,
                bytes: Bytes(3 * MIB),
            },
            transfer: plimsoll_model::Transfer::Up,
            method: plimsoll_model::Method::default(),
            block: Bytes(MIB),
            verify: false,
        }
    }

    #[test]
    fn copies_of_one_workload_are_there_at_the_same_time() {
        let part = Part::closed(copy().into(), NonZeroU16::MIN, NonZeroU16::MIN);
        let alone = Workload::new(part.clone(), Length::UntilDone { at_most_seconds: 60.0 });
        let mut both = alone.clone();
        both.parts.push(part);
        let stored = |workloads: &[Workload]| most_stored(workloads, u64::MAX);
        assert_eq!(stored(&[alone.clone(), alone.clone()]), Some(3 * MIB), "one after the other");
        assert_eq!(stored(&[alone, both]), Some(6 * MIB));
    }

    /// A backup during films once filled the disk: each repetition makes new files.
    #[test]
    fn a_copy_that_is_repeated_during_other_work_has_room_for_each_time_or_is_refused() {
        let mut plan = plan(64 * MIB);
        plan.workloads.truncate(1);
        plan.workloads[0].parts.push(Part::closed(copy().into(), NonZeroU16::MIN, NonZeroU16::MIN));
        // Five seconds at 110 MB/s.
        let needed = 64 * MIB + 550_000_000;
        assert_eq!(stored(&plan), needed);
        assert_eq!(fit(&mut plan, &[free(9 * GIB, needed + SPARE)]), Ok(None));
        let failure = fit(&mut plan, &[free(9 * GIB, 500 * MIB)]).unwrap_err();
        assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
        for words in [format!("they need {}", amount(Bytes(needed))), "repeated during".to_owned()]
        {
            assert!(failure.happened.contains(&words), "'{words}' in {failure}");
        }
        assert_eq!(failure.next, "Free some space, or give a shorter --time.");
        // What is brought up to date takes the place of what is there.
        let update =
            plimsoll_model::CopyJob { transfer: plimsoll_model::Transfer::Update, ..copy() };
        plan.workloads[0].parts[1].job = update.into();
        assert_eq!(stored(&plan), 64 * MIB + 2 * 3 * MIB);
    }

    /// What cannot be made smaller does not fit: it once was halved for ever.
    #[test]
    fn a_copy_that_does_not_fit_is_refused() {
        let copy = copy();
        for fit_size in [false, true] {
            let mut plan = plan(GIB);
            plan.workloads.truncate(1);
            plan.workloads[0].parts[0].job = copy.clone().into();
            plan.workloads[0].length = Length::UntilDone { at_most_seconds: 60.0 };
            plan.storage.fit_size = fit_size;
            assert_eq!(fit(&mut plan, &[free(9 * MIB, 5 * MIB)]), Ok(None));
            let failure = fit(&mut plan, &[free(9 * MIB, 3 * MIB)]).unwrap_err();
            assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
            assert_eq!(failure.next, "Free some space, or copy a smaller --data directory.");
        }
    }

    #[test]
    fn every_worker_has_a_whole_block_or_it_is_refused() {
        let mut plan = plan(GIB);
        plan.storage.fit_size = true;
        for workload in &mut plan.workloads {
            let part = &mut workload.parts[0];
            part.workers = NonZeroU16::new(3).unwrap();
            let size = Bytes(part.job.footprint().read.max(part.job.footprint().written));
            let name = part.job.kind();
            part.job =
                PatternJob { block: Bytes(MIB), ..PatternJob::named(name, size).unwrap() }.into();
        }
        let mut small = plan.clone();
        assert!(fit(&mut plan, &[free(GIB, 20 * MIB)]).unwrap().is_some());
        for workload in &plan.workloads {
            let Job::Pattern(job) = &workload.parts[0].job else { panic!("a pattern") };
            assert!(job.size.0 > 0 && job.size.0.is_multiple_of(3 * MIB), "{job:?}");
            assert_eq!(size_of(workload), 8 * MIB, "a block in each file");
        }
        assert_eq!(fit(&mut small, &[free(GIB, 5 * MIB)]).unwrap_err().cause, Cause::NoSpace);
        assert_eq!(fit(&mut small, &[free(GIB, 0)]).unwrap_err().cause, Cause::NoSpace);
        assert_eq!(fit(&mut small, &[free(0, 0)]), Ok(None), "not known");
        assert!(small.workloads.iter().all(|w| size_of(w) == GIB));
    }
}
