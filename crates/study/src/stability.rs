//! Whether the targets make writes equally safe.

use plimsoll_model::{Flag, Stability, SubjectFacts, TargetFacts, Workload};

/// A flag that says on which targets a completed write is stable and on which it is not yet, where
/// a workload leaves that to the target. Labels are those of the study.
pub(crate) fn difference(subjects: &[SubjectFacts], workloads: &[Workload]) -> Option<Flag> {
    let targets: Vec<&TargetFacts> = subjects.iter().filter_map(SubjectFacts::storage).collect();
    let open =
        |w: &Workload| w.parts.iter().any(|part| part.job.stability() == Some(Stability::Unstable));
    let labels = |commits: bool| {
        let those = targets.iter().filter(|t| t.commits_each_write == commits);
        those.map(|t| t.label.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (at_once, at_the_end) = (labels(true), labels(false));
    let differ = workloads.iter().any(open) && !at_once.is_empty() && !at_the_end.is_empty();
    differ.then(|| Flag::StabilityDiffers {
        detail: format!(
            "on {at_once} each write is stable when it completes (O_DIRECT on an NFS mount), on \
             {at_the_end} only after the final flush"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Length, Part, PatternJob, units::Bytes};
    use std::num::NonZeroU16;

    fn facts(label: &str, commits_each_write: bool) -> SubjectFacts {
        SubjectFacts::Storage(TargetFacts {
            label: label.into(),
            given: label.into(),
            protocol: "directory".into(),
            engine: "psync".into(),
            client_cache: "O_DIRECT".into(),
            stability: "pwrite, then fdatasync".into(),
            commits_each_write,
            ..TargetFacts::default()
        })
    }

    fn workload(pattern: &str, stability: Stability) -> Workload {
        let job = PatternJob::named(pattern, Bytes(1 << 20)).unwrap();
        let job = PatternJob { stability, ..job }.into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
    }

    #[test]
    fn the_warning_names_which_target_is_how_safe() {
        let targets =
            [facts("/mnt/nfs", true), facts("/srv/data", false), facts("/mnt/other", true)];
        let writes = [workload("random-write", Stability::Unstable)];
        let said = difference(&targets, &writes).unwrap().message();
        assert!(said.contains("on /mnt/nfs, /mnt/other each write is stable"), "{said}");
        assert!(said.contains("on /srv/data only after the final flush"), "{said}");
        assert_eq!(difference(&targets[..1], &writes), None);
        assert_eq!(difference(&targets[1..2], &writes), None);
        // As the warning advises: then both are asked for the same.
        let stable = [workload("random-write", Stability::FileSync)];
        assert_eq!(difference(&targets, &stable), None);
        let reads = [workload("random-read", Stability::Unstable)];
        assert_eq!(difference(&targets, &reads), None);
    }
}
