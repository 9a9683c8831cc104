//! Films: how many play at once, alone and during other work, and what either loses (method, section 9).

use crate::findings::{CellFindings, Findings, findings};
use crate::gather::Gathered;
use crate::{Level, Limits, Ratio, Resource, limits};
use plimsoll_model::{
    Cell, Film, Job, Measurand, Measure, Metric, Outcome, Pace, Part, Pattern, PlaybackJob, Player,
    Study, Transfer, Workload,
};
use plimsoll_stats::interval::{Interval, t_interval};
use plimsoll_stats::playback::{PLAYS_ABOVE, Verdict};
use std::collections::BTreeMap;

/// Films on a subject under a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// Subject.
    pub subject: u16,
    /// Setting.
    pub setting: u16,
    /// Film that is played.
    pub film: Film,
    /// Player that plays it.
    pub player: Player,
    /// Films alone.
    pub alone: Films,
    /// Films during other work, where that was measured.
    pub during: Option<During>,
    /// Pauses of the streams that play.
    pub pauses: Option<Pauses>,
    /// Whether a rotating disk was the bottleneck of films alone.
    pub rotates: bool,
    /// Uncapped streams with other requests than those of the player, by their size in bytes.
    pub requests: BTreeMap<u64, Uncapped>,
}

/// Films by the number of streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Films {
    /// Uncapped streams, by their number.
    pub uncapped: Vec<Uncapped>,
    /// Streams that played, by their number.
    pub played: Vec<Played>,
    /// Numbers of uncapped streams of which every trial failed: more than the server takes.
    pub failed: Vec<u16>,
}

/// Supply of so many uncapped streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncapped {
    /// Streams.
    pub streams: u16,
    /// Cell.
    pub cell: Cell,
    /// Supply of the worst stream over the required rate.
    pub headroom: Level,
    /// Verdict; `None` without an interval.
    pub verdict: Option<Verdict>,
    /// Bytes per second of all streams together.
    pub together: Option<f64>,
}

/// What so many streams showed that played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Played {
    /// Streams.
    pub streams: u16,
    /// Cell.
    pub cell: Cell,
    /// Seconds of all trials.
    pub seconds: f64,
    /// Stalls of all streams in all trials.
    pub stalls: u64,
    /// Longest stall, in seconds.
    pub longest_seconds: f64,
    /// Share of the time that the worst stream stalled.
    pub stalled: f64,
    /// Time to the first frame of the last stream, in seconds; `None` where one showed none in every trial.
    pub first_frame_seconds: Option<f64>,
    /// Trials in which a stream showed no picture, and so had no stall either.
    pub without_picture: usize,
    /// Seeks of all streams in all trials, if there were any.
    pub seeks: Option<Seeks>,
}

/// Seeks of streams that play.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seeks {
    /// How many.
    pub count: u64,
    /// Mean time from a seek to the picture, in seconds.
    pub mean_seconds: f64,
    /// Longest, in seconds.
    pub longest_seconds: f64,
}

/// Films during other work.
#[derive(Clone, Debug, PartialEq)]
pub struct During {
    /// Name of the other work.
    pub work: String,
    /// Films during it.
    pub films: Films,
    /// Headroom during it over that alone, by the number of streams.
    pub film_loss: BTreeMap<u16, Ratio>,
    /// Speed of the other work while so many films play, over that alone.
    pub work_loss: Option<(u16, Ratio)>,
}

/// Longest time that a stream waited for a request, against its buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Longest, in seconds.
    pub longest_seconds: f64,
    /// Seconds of film that the buffer holds.
    pub buffer_seconds: f64,
    /// Seconds that were measured.
    pub measured_seconds: f64,
}

impl Films {
    /// Largest number of streams that plays; 0 if one stream does not. `None` without a verdict.
    pub fn most(&self) -> Option<u16> {
        let verdicts = self.uncapped.iter().filter(|row| row.verdict.is_some());
        let plays = |row: &Uncapped| match row.verdict {
            Some(Verdict::Plays) => row.streams,
            _ => 0,
        };
        verdicts.map(plays).max()
    }

    /// The same, but at least 1: what plays at its rate where nothing plays well.
    pub fn most_or_one(&self) -> u16 {
        self.most().unwrap_or(0).max(1)
    }

    /// Whether more streams than the largest number that plays were measured, so that it is known.
    pub fn is_bounded(&self) -> bool {
        let most = self.most().unwrap_or(0);
        self.uncapped.iter().any(|row| row.streams > most && row.verdict.is_some())
    }

    /// The least number above the largest that plays of which it is known that it does not play, or that the server does
    /// not take so many connections; `None` if there is none.
    pub fn fewest_more(&self) -> Option<u16> {
        let most = self.most().unwrap_or(0);
        let known = self.uncapped.iter().filter(|row| row.verdict.is_some()).map(|row| row.streams);
        known.chain(self.failed.iter().copied()).filter(|streams| *streams > most).min()
    }

    /// Numbers of streams to measure next, at most `limit`, until the largest that plays and one more are known.
    pub fn next(&self, limit: u16) -> Vec<u16> {
        let Some(most) = self.most() else { return Vec::new() };
        let more = self.uncapped.iter().find(|row| row.streams > most && row.verdict.is_some());
        let failed = self.failed.iter().copied().find(|streams| *streams > most);
        if let Some(failed) = failed.filter(|failed| more.is_none_or(|row| row.streams > *failed)) {
            // How many streams the server takes is between both.
            let middle = most + (failed - most) / 2;
            return if middle > most { vec![middle] } else { Vec::new() };
        }
        let Some(more) = more else {
            let twice = most.saturating_mul(2).min(limit);
            return if twice > most { vec![twice] } else { Vec::new() };
        };
        if more.streams == most + 1 {
            return Vec::new();
        }
        // Streams share what there is, as far as more streams do not bring more; and the lower end of the interval
        // must be high enough.
        let low = more.headroom.interval.map_or(more.headroom.estimate, |ends| ends.low);
        let enough = f64::from(more.streams) * low / PLAYS_ABOVE;
        let guess = if enough.is_finite() { enough.floor() as u16 } else { most };
        let guess = guess.clamp(most + 1, more.streams - 1);
        [guess, guess + 1].into_iter().filter(|streams| *streams < more.streams).collect()
    }
}

/// Films of a study, for each subject and setting.
pub fn playback(study: &Study) -> Vec<Playback> {
    let is_film = |workload: &Workload| film(workload).is_some();
    if !study.plan.workloads.iter().any(is_film) {
        return Vec::new();
    }
    let (found, gathered, limits) = (findings(study), Gathered::new(study), limits(study));
    let mut setups: Vec<(u16, u16)> =
        study.trials.iter().map(|trial| (trial.cell.setting, trial.cell.subject)).collect();
    setups.sort_unstable();
    setups.dedup();
    let played = |(setting, subject)| of_setup(study, &found, &gathered, &limits, setting, subject);
    setups.into_iter().filter_map(played).collect()
}

/// Whether a rotating disk is the bottleneck of any of these.
fn rotates(study: &Study, limits: &[Limits], films: &Films) -> bool {
    let is_of_films = |of: &&Limits| films.uncapped.iter().any(|row| row.cell == of.cell);
    limits.iter().filter(is_of_films).filter_map(Limits::binding).any(|one| {
        let host = study.hosts.iter().find(|host| Some(&host.name) == one.host.as_ref());
        let Resource::Disk { name } = &one.resource else { return false };
        host.and_then(|host| host.disks.get(name)).is_some_and(|disk| disk.rotational)
    })
}

/// The films of a workload, and what goes on at the same time.
fn film(workload: &Workload) -> Option<(&Part, &PlaybackJob, Option<&Part>)> {
    let main = workload.main()?;
    match &main.job {
        Job::Playback(job) => Some((main, job, workload.parts.get(1))),
        _ => None,
    }
}

fn of_setup(
    study: &Study,
    found: &Findings,
    gathered: &Gathered<'_>,
    limits: &[Limits],
    setting: u16,
    subject: u16,
) -> Option<Playback> {
    let (mut alone, mut other) = (Films::default(), Films::default());
    let mut requests = BTreeMap::new();
    let mut work: Option<&Part> = None;
    let mut job: Option<&PlaybackJob> = None;
    for of_workload in &found.workloads {
        let Some((main, film, during)) = film(&of_workload.workload) else { continue };
        let own =
            |cell: &&CellFindings| (cell.cell.setting, cell.cell.subject) == (setting, subject);
        let Some(cell) = of_workload.cells.iter().find(own) else { continue };
        let first = *job.get_or_insert(film);
        if film.player.request != first.player.request {
            let row = uncapped(main.workers.get(), cell);
            requests.extend(row.map(|row| (film.player.request.0, row)));
            continue;
        }
        work = work.or(during);
        let films = if during.is_some() { &mut other } else { &mut alone };
        let streams = main.workers.get();
        if film.pace == Pace::Uncapped && cell.complete == 0 && cell.failed > 0 {
            films.failed.push(streams);
        }
        match film.pace {
            Pace::Uncapped => films.uncapped.extend(uncapped(streams, cell)),
            Pace::Played => films.played.extend(played(study, streams, cell)),
        }
    }
    for films in [&mut alone, &mut other] {
        films.uncapped.sort_by_key(|row| row.streams);
        films.played.sort_by_key(|row| row.streams);
        films.failed.sort_unstable();
    }
    let job = job?;
    let during = work.map(|work| {
        let film_loss = film_loss(gathered, study, &alone, &other);
        let work_loss = work_loss(gathered, study, work, &other, setting, subject);
        During { work: name_of(work), films: other, film_loss, work_loss }
    });
    let pauses = pauses(study, job, &alone);
    let rotates = rotates(study, limits, &alone);
    let (film, player) = (job.film.clone(), job.player.clone());
    Some(Playback { subject, setting, film, player, alone, during, pauses, rotates, requests })
}

/// Name of other work: what it is for.
fn name_of(work: &Part) -> String {
    let name = match &work.job {
        Job::Copy(copy) if copy.transfer == Transfer::Update => "a backup".to_owned(),
        Job::Copy(copy) if copy.transfer == Transfer::Up => "a full backup".to_owned(),
        Job::Scan(_) => "a scan".to_owned(),
        Job::Database(_) => "commits of a database".to_owned(),
        Job::Log(_) => "records of a log".to_owned(),
        Job::Pattern(job) => name_of_pattern(job.pattern),
        other => other.title(),
    };
    match work.client {
        0 => name,
        _ => format!("{name} from another host"),
    }
}

/// "random reads", "sequential reads and writes".
fn name_of_pattern(pattern: Pattern) -> String {
    let order = if pattern.is_sequential() { "sequential" } else { "random" };
    let operations = match (pattern.reads(), pattern.writes()) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        (false, _) => "writes",
    };
    format!("{order} {operations}")
}

fn uncapped(streams: u16, cell: &CellFindings) -> Option<Uncapped> {
    let level = |measure| cell.levels.get(&Metric::all(measure)).copied();
    let headroom = level(PlaybackJob::HEADROOM)?;
    let verdict = headroom.interval.map(Verdict::on);
    let together = level(Measure::THROUGHPUT).map(|level| level.estimate);
    Some(Uncapped { streams, cell: cell.cell, headroom, verdict, together })
}

fn played(study: &Study, streams: u16, cell: &CellFindings) -> Option<Played> {
    let level = |measure| cell.levels.get(&Metric::all(measure));
    let stalls = level(PlaybackJob::STALLS)?;
    let seconds = study.plan.workload(cell.cell).map_or(0.0, Workload::seconds);
    let first = level(PlaybackJob::FIRST_FRAME);
    Some(Played {
        streams,
        cell: cell.cell,
        seconds: seconds * stalls.trials as f64,
        stalls: (stalls.arithmetic_mean * stalls.trials as f64).round() as u64,
        longest_seconds: level(PlaybackJob::LONGEST_STALL)?.largest,
        stalled: level(PlaybackJob::STALLED)?.arithmetic_mean,
        first_frame_seconds: first.map(|level| level.estimate),
        without_picture: stalls.trials - first.map_or(0, |level| level.trials.min(stalls.trials)),
        seeks: level(PlaybackJob::SEEKS).and_then(|seeks| {
            Some(Seeks {
                count: (seeks.arithmetic_mean * seeks.trials as f64).round() as u64,
                mean_seconds: level(PlaybackJob::SEEK_TIME)?.arithmetic_mean,
                longest_seconds: level(PlaybackJob::LONGEST_SEEK)?.largest,
            })
        }),
    })
}

/// A metric of one cell over that of another, block by block.
fn ratio(
    gathered: &Gathered<'_>,
    study: &Study,
    of: Measurand,
    against: Measurand,
) -> Option<Ratio> {
    let logs = gathered.pairs(of, against).log_ratios(of.metric);
    let interval = t_interval(&logs, study.plan.design.confidence).and_then(Interval::exp);
    Ratio::new(&logs, interval)
}

/// Headroom during other work over that alone, by the number of streams.
fn film_loss(
    gathered: &Gathered<'_>,
    study: &Study,
    alone: &Films,
    during: &Films,
) -> BTreeMap<u16, Ratio> {
    let headroom = |row: &Uncapped| Measurand {
        cell: row.cell,
        part: 0,
        metric: Metric::all(PlaybackJob::HEADROOM),
    };
    let both = during.uncapped.iter().filter_map(|row| {
        let alone = alone.uncapped.iter().find(|alone| alone.streams == row.streams)?;
        Some((row.streams, ratio(gathered, study, headroom(row), headroom(alone))?))
    });
    both.collect()
}

/// Speed of other work during the most films that play, or one film if none plays, over that alone.
fn work_loss(
    gathered: &Gathered<'_>,
    study: &Study,
    work: &Part,
    during: &Films,
    setting: u16,
    subject: u16,
) -> Option<(u16, Ratio)> {
    let metric = work.job.headline();
    let is_alone = |workload: &Workload| workload.parts.as_slice() == [work.clone()];
    let alone = study.plan.workloads.iter().position(is_alone)?;
    let alone = Cell { subject, setting, workload: u16::try_from(alone).ok()? };
    let most = during.most_or_one();
    let played = during.played.iter().filter(|row| row.streams <= most);
    let row = played.max_by_key(|row| row.streams)?;
    let of = Measurand { cell: row.cell, part: 1, metric };
    let against = Measurand { cell: alone, part: 0, metric };
    Some((row.streams, ratio(gathered, study, of, against)?))
}

/// Pauses of the streams that play, alone. More streams than play wait for each other.
fn pauses(study: &Study, job: &PlaybackJob, films: &Films) -> Option<Pauses> {
    let most = films.most().filter(|most| *most > 0)?;
    let uncapped = films.uncapped.iter().filter(|row| row.streams <= most).map(|row| row.cell);
    let played = films.played.iter().filter(|row| row.streams <= most).map(|row| row.cell);
    let cells: Vec<Cell> = uncapped.chain(played).collect();
    let (mut longest_seconds, mut measured_seconds) = (0.0f64, 0.0);
    for trial in &study.trials {
        if trial.result.outcome != Outcome::Complete || !cells.contains(&trial.cell) {
            continue;
        }
        let metric = Metric::all(PlaybackJob::LONGEST_PAUSE);
        let Some(pause) = trial.result.value(0, metric) else { continue };
        longest_seconds = longest_seconds.max(pause);
        measured_seconds += study.plan.workload(trial.cell).map_or(0.0, Workload::seconds);
    }
    let buffer_seconds = job.player.holds_seconds(job.film.mean_rate.max(1.0));
    let pauses = Pauses { longest_seconds, buffer_seconds, measured_seconds };
    (measured_seconds > 0.0).then_some(pauses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Scale;

    /// Headroom by the number of streams, known within 2%.
    fn films(rows: &[(u16, f64)]) -> Films {
        let row = |(streams, estimate): &(u16, f64)| {
            let interval =
                Interval { low: 0.98 * estimate, estimate: *estimate, high: 1.02 * estimate };
            let headroom = Level {
                trials: 6,
                estimate: *estimate,
                interval: Some(interval),
                scale: Scale::Log,
                arithmetic_mean: *estimate,
                largest: *estimate,
            };
            let verdict = Some(Verdict::on(interval));
            let cell = Cell::default();
            Uncapped { streams: *streams, cell, headroom, verdict, together: None }
        };
        Films { uncapped: rows.iter().map(row).collect(), ..Films::default() }
    }

    #[test]
    fn the_largest_number_is_closed_in_on() {
        let first = films(&[(1, 5.5), (2, 2.75), (4, 1.38), (8, 0.69)]);
        assert_eq!((first.most(), first.is_bounded()), (Some(4), true));
        assert_eq!(first.fewest_more(), Some(8));
        // 8 × 0.69 is 5.5 films.
        assert_eq!(first.next(64), [5, 6]);
        let all = films(&[(1, 5.5), (2, 2.75), (4, 1.38), (5, 1.1), (6, 0.92), (8, 0.69)]);
        assert_eq!((all.most(), all.next(64)), (Some(5), vec![]));
    }

    #[test]
    fn where_all_play_more_are_measured_up_to_the_limit() {
        let all = films(&[(1, 90.0), (2, 45.0), (4, 22.0), (8, 11.0)]);
        assert_eq!((all.most(), all.is_bounded(), all.next(64)), (Some(8), false, vec![16]));
        assert_eq!(all.fewest_more(), None);
        assert_eq!(all.next(12), [12]);
        assert_eq!(all.next(8), Vec::<u16>::new());
    }

    #[test]
    fn where_one_film_stalls_none_play() {
        let none = films(&[(1, 0.8), (2, 0.4)]);
        assert_eq!((none.most(), none.next(64)), (Some(0), vec![]));
        let marginal = films(&[(1, 1.01)]);
        assert_eq!((marginal.most(), marginal.is_bounded()), (Some(0), true));
        assert_eq!(Films::default().most(), None);
    }

    /// A server that takes three connections fails from four on.
    #[test]
    fn of_numbers_that_fail_the_least_is_closed_in_on() {
        let taken =
            |rows: &[(u16, f64)], failed: &[u16]| Films { failed: failed.to_vec(), ..films(rows) };
        let first = taken(&[(1, 9.0), (2, 8.0)], &[4, 8]);
        assert_eq!((first.most(), first.is_bounded(), first.next(64)), (Some(2), false, vec![3]));
        let all = taken(&[(1, 9.0), (2, 8.0), (3, 7.0)], &[4, 8]);
        assert_eq!((all.most(), all.fewest_more(), all.next(64)), (Some(3), Some(4), vec![]));
        // Films stall before the server takes no more of them.
        assert_eq!(taken(&[(1, 1.5), (2, 0.75)], &[4, 8]).next(64), Vec::<u16>::new());
        // Nothing is known of any number.
        assert_eq!(taken(&[], &[1, 2]).next(64), Vec::<u16>::new());
    }

    #[test]
    fn a_guess_next_to_a_known_number_measures_one_alone() {
        assert_eq!(films(&[(2, 2.0), (4, 1.0)]).next(64), [3]);
        assert_eq!(films(&[(4, 1.4), (8, 0.99)]).next(64), [7]);
    }
}
