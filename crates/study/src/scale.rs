//! How much of a dataset is copied, where that is left open: as much as there is space for, and time.

use plimsoll_model::{Part, Plan, Workload};

/// The smallest scale that is tried.
pub(crate) const SMALLEST: f64 = 1e-4;

/// The largest scale of any job that has one.
pub(crate) fn largest_planned(workloads: &[Workload]) -> Option<f64> {
    let parts = workloads.iter().flat_map(|workload| &workload.parts);
    parts.filter_map(|part| part.job.scale()).max_by(f64::total_cmp)
}

/// The same workloads with so much of everything that has a scale.
pub(crate) fn times(workloads: &[Workload], factor: f64) -> Vec<Workload> {
    let mut scaled = workloads.to_vec();
    let parts = scaled.iter_mut().flat_map(|workload| &mut workload.parts);
    parts.for_each(|part| scale_by(part, factor));
    scaled
}

/// Changes the scale of a part, if it has one.
pub(crate) fn scale_by(part: &mut Part, factor: f64) {
    if let Some(scale) = part.job.scale() {
        // 0.01 of a half is 0.005, and not 0.005000000000000001.
        part.job.set_scale((scale * factor * 1e9).round() / 1e9);
    }
}

/// The largest scale of two digits up to this one that is good; `None` where none is.
pub(crate) fn largest_below(whole: f64, is_good: impl Fn(f64) -> bool) -> Option<f64> {
    std::iter::once(whole).chain(candidates(whole)).find(|scale| is_good(*scale))
}

/// The largest scale of two digits below the plan's whose workloads are good, with these workloads.
pub(crate) fn largest(
    plan: &Plan,
    is_good: impl Fn(f64, &[Workload]) -> bool,
) -> Option<(f64, Vec<Workload>)> {
    let whole = largest_planned(&plan.workloads)?;
    let scaled = candidates(whole).map(|scale| (scale, times(&plan.workloads, scale / whole)));
    scaled.into_iter().find(|(scale, workloads)| is_good(*scale, workloads))
}

/// The scales of two digits below this one, the largest first: 0.99, 0.98, ... 0.00010.
fn candidates(whole: f64) -> impl Iterator<Item = f64> {
    let of_power =
        |power| (10..100).rev().map(move |digits| f64::from(digits) / 10_f64.powi(power));
    let all = (0..=5).flat_map(of_power);
    all.filter(move |scale| *scale < whole && *scale >= SMALLEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::{Bytes, MIB};
    use plimsoll_model::{
        CopyJob, DataClass, DataSource, Dataset, Design, GeneratedData, Job, Length, PatternJob,
        Transfer,
    };
    use std::num::NonZeroU16;

    fn plan(jobs: Vec<Job>) -> Plan {
        let one = NonZeroU16::MIN;
        let length = Length::UntilDone { at_most_seconds: 1.0 };
        let workload = |job| Workload::new(Part::closed(job, one, one), length);
        Plan::new(Vec::new(), jobs.into_iter().map(workload).collect(), Design::default())
    }

    fn copy(dataset: Dataset) -> Job {
        Job::Copy(CopyJob {
            dataset,
            transfer: Transfer::Up,
            method: plimsoll_model::Method::default(),
            block: Bytes(MIB),
            verify: false,
        })
    }

    fn generated(class: DataClass, scale: f64) -> Job {
        let (count, mean_bytes) = class.files_and_mean_bytes();
        copy(GeneratedData { class, count, mean_bytes, scale, seed: 1 }.dataset())
    }

    #[test]
    fn scales_have_two_digits() {
        let below = |whole| candidates(whole).take(3).collect::<Vec<_>>();
        assert_eq!(below(1.0), [0.99, 0.98, 0.97]);
        assert_eq!(below(0.0205), [0.02, 0.019, 0.018]);
        assert_eq!(below(30.0), [29.0, 28.0, 27.0]);
        assert_eq!(candidates(1.0).last(), Some(1e-4));
    }

    #[test]
    fn the_largest_that_is_good_is_found_and_proportions_stay() {
        let plan = plan(vec![generated(DataClass::Music, 1.0), generated(DataClass::Source, 0.5)]);
        let bytes = |workloads: &[Workload]| -> u64 {
            workloads.iter().map(|w| w.parts[0].job.footprint().transient).sum()
        };
        let whole = bytes(&plan.workloads);
        let (scale, scaled) = largest(&plan, |_, w| bytes(w) * 10 <= whole).unwrap();
        assert!((0.09..=0.12).contains(&scale), "counts are rounded: {scale}");
        assert!(bytes(&scaled) * 10 <= whole && bytes(&scaled) * 12 > whole);
        let scales = [0, 1].map(|i: usize| scaled[i].parts[0].job.scale().unwrap());
        assert_eq!(scales, [scale, scale / 2.0]);
        assert!(largest(&plan, |_, _| false).is_none());
    }

    #[test]
    fn what_has_no_scale_stays_as_it_is() {
        let source = DataSource::Directory { data: "/films".into() };
        let own = Dataset { source, files: 1, directories: 1, bytes: Bytes(5) };
        let pattern = PatternJob::named("random-read", Bytes(MIB)).unwrap().into();
        let plan = plan(vec![copy(own), pattern]);
        assert_eq!((largest_planned(&plan.workloads), largest(&plan, |_, _| true)), (None, None));
        assert_eq!(times(&plan.workloads, 0.1), plan.workloads);
    }
}
