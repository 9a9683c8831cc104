//! What follows from the first numbers of streams: more numbers, and then films at their rate.

use super::options::{MOST_STREAMS, PlayArguments, length};
use crate::arguments::StoreArguments;
use crate::check::FollowFn;
use crate::plan;
use clap::{Args, FromArgMatches};
use plimsoll_explain::{Films, Playback, playback};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Cell, Job, Length, Outcome, Pace, Part, PlaybackJob, Player, Study, Workload,
};
use plimsoll_study::FollowUp;
use std::collections::BTreeSet;
use std::num::NonZeroU16;

/// Small and large requests, between which a rotating disk decides.
const REQUESTS: [Bytes; 2] = [Bytes(64 * KIB), Bytes(4 * MIB)];
/// Requests that a file must have at least.
const FEWEST_REQUESTS: u64 = 4;

/// What is wanted of a study of films.
pub(super) struct Wanted {
    /// Blocks of each number of streams.
    pub blocks: u32,
    /// Length of their trials.
    pub length: Length,
    /// Whether other numbers of streams are measured, until the largest that plays is known.
    pub refines: bool,
    /// Seconds that films play at their rate; 0 if they do not.
    pub played_seconds: f64,
}

/// What follows in a study that is continued, by its command; `None` if it is not one of films.
pub(crate) fn continued(study: &Study) -> Option<Box<FollowFn>> {
    let command = plan::unquoted(&study.plan.command);
    let words = command.iter().skip_while(|word| *word != "play");
    let known = PlayArguments::augment_args(clap::Command::new("play"));
    let matches = StoreArguments::augment_args(known).try_get_matches_from(words).ok()?;
    let play = PlayArguments::from_arg_matches(&matches).ok().filter(|play| !play.slides)?;
    let length = study.plan.workloads.first()?.length;
    let wanted = Wanted::of(&play, study.plan.first_blocks(), length);
    Some(Box::new(move |study: &Study| wanted.follow(study)))
}

impl Wanted {
    pub(super) fn of(play: &PlayArguments, blocks: u32, length: Length) -> Wanted {
        Wanted {
            blocks,
            length,
            refines: play.streams.is_empty() && !play.how.quick,
            played_seconds: play.played_seconds(),
        }
    }

    /// The next stage of a study; nothing ends it. What the plan has already is measured again only where it lacks blocks,
    /// as in a study that is continued.
    pub(super) fn follow(&self, study: &Study) -> Vec<FollowUp> {
        // As the plan has them: their sizes may have been lowered.
        let workloads = || study.plan.workloads.iter();
        let Some(job) = workloads().find_map(job) else { return Vec::new() };
        let other = workloads().find_map(|workload| workload.parts.get(1));
        let stage = Stage { wanted: self, job, other };
        let found = playback(study);
        let new = |stages: Vec<FollowUp>| -> Vec<FollowUp> {
            let mut all: Vec<FollowUp> = Vec::new();
            for one in stages {
                let blocks = one.blocks.saturating_sub(measured_blocks(study, &one.workload));
                let one = FollowUp { blocks, ..one };
                if blocks > 0 && !all.contains(&one) {
                    all.push(one);
                }
            }
            all
        };
        let planned = workloads().map(|workload| FollowUp {
            workload: workload.clone(),
            blocks: self.blocks_of(workload),
        });
        let mut more = new(planned.collect());
        if !more.is_empty() {
            return more;
        }
        if self.refines {
            more = new(found.iter().flat_map(|of| stage.numbers(of)).collect());
            if more.is_empty() {
                more = new(found.iter().flat_map(|of| stage.requests(of)).collect());
            }
        }
        match more.is_empty() && self.played_seconds > 0.0 {
            true => new(found.iter().flat_map(|of| stage.played(of)).collect()),
            false => more,
        }
    }

    /// Blocks that a workload is to have: films alone at their rate have one.
    fn blocks_of(&self, workload: &Workload) -> u32 {
        let is_played = job(workload).is_some_and(|job| job.pace == Pace::Played);
        if is_played && workload.parts.len() == 1 { 1 } else { self.blocks }
    }
}

/// Blocks in which a workload has been measured on every target under every setting.
fn measured_blocks(study: &Study, workload: &Workload) -> u32 {
    let place = study.plan.workloads.iter().position(|known| known == workload);
    let Some(place) = place else { return 0 };
    // A trial that was stopped, or that the end of its server ended, shows nothing.
    let counts = |outcome: &Outcome| match outcome {
        Outcome::Stopped => false,
        Outcome::Failed { failure, .. } => failure.cause == Cause::Trial,
        Outcome::Complete | Outcome::Void { .. } => true,
    };
    let blocks = |cell: Cell| -> u32 {
        let own = study.trials.iter().filter(|trial| trial.cell == cell);
        let own = own.filter(|trial| counts(&trial.result.outcome));
        own.filter_map(|trial| trial.block).collect::<BTreeSet<u32>>().len() as u32
    };
    let cells = study.plan.cells().into_iter().filter(|cell| usize::from(cell.workload) == place);
    cells.map(blocks).min().unwrap_or(u32::MAX)
}

fn job(workload: &Workload) -> Option<&PlaybackJob> {
    match &workload.main()?.job {
        Job::Playback(job) => Some(job),
        _ => None,
    }
}

struct Stage<'a> {
    wanted: &'a Wanted,
    job: &'a PlaybackJob,
    /// Work that goes on at the same time.
    other: Option<&'a Part>,
}

impl Stage<'_> {
    fn films(
        &self,
        pace: Pace,
        streams: u16,
        other: Option<&Part>,
        length: Length,
        blocks: u32,
    ) -> Option<FollowUp> {
        let (job, in_flight) = (self.job.with_pace(pace), self.job.player.in_flight);
        let main = Part::closed(job.into(), NonZeroU16::new(streams)?, in_flight);
        let parts = std::iter::once(main).chain(other.cloned()).collect();
        Some(FollowUp { workload: Workload { parts, steps: None, length }, blocks })
    }

    /// Numbers of streams that close in on the largest that plays.
    fn numbers(&self, of: &Playback) -> Vec<FollowUp> {
        let (length, blocks) = (self.wanted.length, self.wanted.blocks);
        let uncapped = |films: &Films, other: Option<&Part>| -> Vec<FollowUp> {
            let follow_up = |streams| self.films(Pace::Uncapped, streams, other, length, blocks);
            films.next(MOST_STREAMS).into_iter().filter_map(follow_up).collect()
        };
        let during = of.during.as_ref().zip(self.other);
        let during = during.map(|(during, other)| uncapped(&during.films, Some(other)));
        [uncapped(&of.alone, None), during.unwrap_or_default()].concat()
    }

    /// The largest number that plays, with a small and a large request, where a rotating disk is the bottleneck: the
    /// request size decides there.
    fn requests(&self, of: &Playback) -> Vec<FollowUp> {
        let streams = of.alone.most().map(|most| most.max(1)).filter(|_| of.rotates);
        let Some(streams) = streams.and_then(NonZeroU16::new) else { return Vec::new() };
        let of_size = |request: Bytes| {
            let fits = self.job.file_bytes() >= FEWEST_REQUESTS * request.0;
            if !fits || request == self.job.player.request {
                return None;
            }
            let player = Player { request, ..self.job.player.clone() };
            let job = PlaybackJob { player, ..self.job.with_pace(Pace::Uncapped) };
            let part = Part::closed(job.into(), streams, self.job.player.in_flight);
            let workload = Workload::new(part, self.wanted.length);
            Some(FollowUp { workload, blocks: self.wanted.blocks })
        };
        REQUESTS.into_iter().filter_map(of_size).collect()
    }

    /// The largest number that plays and one more at their rate, unless that many failed; during other work the largest
    /// alone, or one film if none plays, and that work without films in the same blocks.
    fn played(&self, of: &Playback) -> Vec<FollowUp> {
        let most = of.alone.most().unwrap_or(0);
        let both = [most, most.saturating_add(1)]
            .into_iter()
            .filter(|n| *n <= MOST_STREAMS && !of.alone.failed.contains(n));
        let long = length(self.wanted.played_seconds);
        let mut all: Vec<FollowUp> =
            both.filter_map(|streams| self.films(Pace::Played, streams, None, long, 1)).collect();
        if let (Some(during), Some(other)) = (&of.during, self.other) {
            let most = during.films.most_or_one();
            let (length, blocks) = (self.wanted.length, self.wanted.blocks);
            let films = self.films(Pace::Played, most, Some(other), length, blocks);
            let alone = Workload::new(other.clone(), length);
            if let Some(films) = films {
                all.extend([films, FollowUp { workload: alone, blocks }]);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Arguments, Command};
    use clap::Parser;
    use plimsoll_model::{Ended, Metric, Origin, PartResult, PointResult, StudyId, Trial};

    /// A study of this command line, without trials.
    fn study(words: &[&str]) -> Study {
        let Command::Play(given) = Arguments::parse_from(words).command else { panic!() };
        let (mut plan, _) = crate::play::planned(&given).unwrap();
        plan.command = words.join(" ");
        Study {
            schema: "test".to_owned(),
            id: StudyId("0123abcd".to_owned()),
            started_unix_seconds: 0,
            origin: Origin::Measured { version: "test".to_owned() },
            plan,
            subjects: Vec::new(),
            hosts: Vec::new(),
            flags: Vec::new(),
            measures: Vec::new(),
            trials: Vec::new(),
            ended: Ended::Interrupted,
        }
    }

    /// Adds a trial in which each stream has three times the rate of its film.
    fn add(study: &mut Study, block: u32, workload: usize, outcome: Outcome) {
        let quantities = [(Metric::all(PlaybackJob::HEADROOM), 3.0)].into();
        let part = PartResult { quantities, ..PartResult::default() };
        study.trials.push(Trial {
            number: study.trials.len() as u32,
            block: Some(block),
            cell: Cell::new(0, workload, 0),
            started_seconds: 0.0,
            result: PointResult { parts: vec![part], ..PointResult::empty(outcome) },
            points: Vec::new(),
            loads: Vec::new(),
            mount: None,
            imported: None,
        });
    }

    /// What a study that is continued lacks, by its paces, streams and blocks.
    fn missing(study: &Study) -> Vec<(Pace, u16, u32)> {
        let follow = continued(study).expect("films");
        let of = |one: &FollowUp| {
            let job = job(&one.workload).expect("films");
            (job.pace, one.workload.parts[0].workers.get(), one.blocks)
        };
        follow(study).iter().map(of).collect()
    }

    #[test]
    fn what_a_stage_lacks_is_measured_when_a_study_is_continued() {
        let words = ["plimsoll", "play", "/mnt", "--streams=1", "--repeats=2", "--soak=10s"];
        let mut study = study(&words);
        add(&mut study, 0, 0, Outcome::Complete);
        assert_eq!(missing(&study), [(Pace::Uncapped, 1, 1)]);
        add(&mut study, 1, 0, Outcome::Complete);
        assert_eq!(missing(&study), [(Pace::Played, 1, 1), (Pace::Played, 2, 1)]);
        let follow = continued(&study).unwrap();
        let workloads: Vec<Workload> = follow(&study).into_iter().map(|one| one.workload).collect();
        assert!(workloads.iter().all(|workload| workload.seconds() == 10.0), "--soak");
        study.plan.workloads.extend(workloads);
        add(&mut study, 2, 1, Outcome::Complete);
        add(&mut study, 2, 2, Outcome::Stopped);
        assert_eq!(missing(&study), [(Pace::Played, 2, 1)]);
        add(&mut study, 3, 2, Outcome::Complete);
        assert_eq!(missing(&study), []);
    }

    #[test]
    fn slides_and_other_commands_have_no_stages() {
        let mut study = study(&["plimsoll", "play", "/mnt", "--streams=1"]);
        assert!(continued(&study).is_some());
        for command in ["plimsoll play --slides /mnt", "plimsoll check /mnt", "plimsoll play", ""] {
            study.plan.command = command.to_owned();
            assert!(continued(&study).is_none(), "{command}");
        }
    }
}
