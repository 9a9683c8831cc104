//! Films: exactly on a scripted share and clock.

mod support;

use plimsoll_load::{MockShare, Op, PartDone, Reply, VirtualClock};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Clock, Film, Length, Measure, Nanos, OpKind, Pace, PlaybackJob, Player, SlidesJob, Workload,
};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;
use support::jobs::{Run, done, part};

const REQUEST: u64 = 100_000;

fn job(rate: f64, pace: Pace) -> PlaybackJob {
    let player = Player { request: Bytes(REQUEST), start_seconds: 1.0, ..Player::kodi() };
    let (film, size) = (Film::constant("x", rate), Bytes(160 * REQUEST));
    PlaybackJob { film, player, pace, size, seek_every_seconds: None }
}

/// What streams do for so many seconds on a server that takes so long for a read, by its begin.
fn played(
    job: PlaybackJob,
    streams: u16,
    seconds: f64,
    takes: impl Fn(Duration) -> Duration + Send + Sync + 'static,
) -> PartDone {
    let clock = Arc::new(VirtualClock::new());
    let begun = Arc::new(std::sync::Mutex::new(None::<Nanos>));
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op: &Op, now| match op {
        Op::Read(_) => {
            let begun = *begun.lock().unwrap().get_or_insert(now);
            Reply::After(takes(now.since(begun)))
        }
        _ => Reply::After(Duration::ZERO),
    });
    let mut run = Run::new(Arc::new(share), clock.clone() as Arc<dyn Clock>);
    let length = Length::For { seconds, warm_up_seconds: 0.5 };
    let workload = Workload::new(part(job.into(), streams, 1), length);
    run.prepare(&workload).unwrap();
    let part = run.good(&workload).remove(0);
    run.close();
    part
}

fn figure(part: &PartDone, measure: Measure) -> f64 {
    let found = part.figures.iter().find(|(known, _)| *known == measure);
    found.unwrap_or_else(|| panic!("{measure:?} in {:?}", part.figures)).1
}

#[track_caller]
fn assert_near(is: f64, should: f64) {
    assert!((is - should).abs() < 1e-4, "{is} is not {should}");
}

fn steady(_: Duration) -> Duration {
    Duration::from_millis(100)
}

#[test]
fn an_uncapped_stream_has_the_supply_of_the_share() {
    let part = played(job(5e5, Pace::Uncapped), 1, 5.5, steady);
    assert_near(figure(&part, PlaybackJob::SUPPLY), 1e6);
    assert_near(figure(&part, PlaybackJob::HEADROOM), 2.0);
    assert_near(figure(&part, PlaybackJob::LONGEST_PAUSE), 0.1);
    // A second of film is five requests.
    assert_near(figure(&part, PlaybackJob::FIRST_FRAME), 0.5);
}

#[test]
fn a_buffer_that_is_full_begins_the_film_also_without_a_pace() {
    let job = job(5e5, Pace::Uncapped);
    let player = Player { buffer: Bytes(2 * REQUEST), ..job.player.clone() };
    let part = played(PlaybackJob { player, ..job }, 1, 5.5, steady);
    // The buffer holds two requests, which are less than the second that the player waits for.
    assert_near(figure(&part, PlaybackJob::FIRST_FRAME), 0.2);
}

/// 128 KiB are two frames of 12.5 Mbit/s, and mpv needs the third by the end of the first: 42 ms later.
#[test]
fn mpv_stalls_after_its_first_frame_on_a_slow_link_and_not_on_a_fast_one() {
    let stalls = |milliseconds| {
        let job = PlaybackJob { player: Player::mpv(), ..job(12.5e6 / 8.0, Pace::Played) };
        let takes = move |_: Duration| Duration::from_millis(milliseconds);
        let part = played(job, 1, 10.0, takes);
        (figure(&part, PlaybackJob::STALLS), figure(&part, PlaybackJob::LONGEST_STALL))
    };
    assert_eq!(stalls(20), (0.0, 0.0));
    // 8% faster than the film. A second and a frame is there with the 13th request.
    let (count, longest) = stalls(78);
    assert_eq!(count, 1.0);
    assert_near(longest, 13.0 * 0.078 - (0.078 + 1.0 / 24.0));
}

#[test]
fn of_several_streams_the_worst_counts() {
    let part = played(job(5e5, Pace::Uncapped), 2, 10.5, steady);
    let headroom = figure(&part, PlaybackJob::HEADROOM);
    assert!((0.97..=1.0).contains(&headroom), "{headroom}");
}

#[test]
fn a_player_requests_no_more_than_it_plays_and_its_buffer_holds() {
    let part = played(job(5e5, Pace::Played), 1, 60.0, steady);
    assert_near(figure(&part, PlaybackJob::FIRST_FRAME), 0.5);
    assert_eq!(figure(&part, PlaybackJob::STALLS), 0.0);
    assert_near(figure(&part, PlaybackJob::PLAYED), 59.5);
    // What was played, and the buffer of 15 MiB.
    let most = 59.5 * 5e5 + (15 << 20) as f64;
    let bytes = done(&part, OpKind::READ) as f64 * REQUEST as f64;
    assert!((most - 2.0 * REQUEST as f64..=most).contains(&bytes), "{bytes} of {most}");
}

#[test]
fn a_seek_takes_the_time_that_the_start_took() {
    let job = PlaybackJob { seek_every_seconds: Some(5.0), ..job(5e5, Pace::Played) };
    let part = played(job, 1, 22.0, steady);
    // At 5, 10, 15 and 20 s: five requests each, the first of which may wait for one that is dropped.
    assert_eq!(figure(&part, PlaybackJob::SEEKS), 4.0);
    for measure in [PlaybackJob::SEEK_TIME, PlaybackJob::LONGEST_SEEK] {
        let seconds = figure(&part, measure);
        assert!((0.5..=0.6 + 1e-9).contains(&seconds), "{seconds}");
    }
    assert_eq!(figure(&part, PlaybackJob::STALLS), 0.0);
    assert_near(figure(&part, PlaybackJob::FIRST_FRAME), 0.5);
}

#[test]
fn a_film_that_needs_more_than_the_share_carries_stalls() {
    let part = played(job(2e6, Pace::Played), 1, 10.0, steady);
    // A second of it is there after 2 s. What is there is played at 3.95 s, and a second more is there at 5.9 s.
    assert_near(figure(&part, PlaybackJob::FIRST_FRAME), 2.0);
    assert_eq!(figure(&part, PlaybackJob::STALLS), 2.0);
    assert_near(figure(&part, PlaybackJob::LONGEST_STALL), 1.95);
    assert_near(figure(&part, PlaybackJob::PLAYED), 4.1);
    assert_near(figure(&part, PlaybackJob::STALLED), 3.9 / 8.0);
}

#[test]
fn a_server_that_freezes_longer_than_the_buffer_lasts_stalls_the_film_once() {
    let freezes = |at: Duration| match at.as_millis() {
        8000 => Duration::from_secs(15),
        _ => Duration::from_millis(100),
    };
    let part = played(job(5e5, Pace::Played), 1, 40.0, freezes);
    assert_near(figure(&part, PlaybackJob::LONGEST_PAUSE), 15.0);
    assert_eq!(figure(&part, PlaybackJob::STALLS), 1.0);
    // 16 s of film are there, from 0.5 s on; another second of it at 23.4 s.
    assert_near(figure(&part, PlaybackJob::LONGEST_STALL), 23.4 - 16.5);
}

/// Else a server that stands still would have the supply of the time before.
#[test]
fn a_freeze_that_outlasts_a_trial_counts_to_its_end() {
    let freezes = |at: Duration| match at.as_millis() {
        3000 => Duration::from_secs(15),
        _ => Duration::from_millis(100),
    };
    let part = played(job(5e5, Pace::Uncapped), 1, 5.5, freezes);
    assert_near(figure(&part, PlaybackJob::LONGEST_PAUSE), 15.0);
    // 25 requests from 0.5 s on, and one that is there at 18 s.
    let supply = 26.0 * REQUEST as f64 / 17.5;
    assert_near(figure(&part, PlaybackJob::HEADROOM), supply / 5e5);
}

#[test]
fn a_variable_film_stalls_in_the_second_that_needs_more() {
    let film = |peak: u64| {
        let mut second_bytes = vec![500_000; 30];
        second_bytes[10] = peak;
        Film { second_bytes, ..Film::constant("x", 5e5) }
    };
    let small = Bytes(2 * REQUEST);
    let stalls = |peak| {
        let job = job(5e5, Pace::Played);
        let player = Player { buffer: small, start_seconds: 0.2, ..job.player.clone() };
        let part = played(PlaybackJob { film: film(peak), player, ..job }, 1, 20.0, steady);
        figure(&part, PlaybackJob::STALLS)
    };
    assert_eq!(stalls(700_000), 0.0);
    assert!(stalls(1_500_000) > 0.0);
}

/// What a slide show of two photos of five requests each shows, one a second on the screen, if a read takes so long.
fn slides(takes: Duration, ahead: bool, seconds: f64) -> PartDone {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op: &Op, _| match op {
        Op::Read(_) => Reply::After(takes),
        _ => Reply::After(Duration::ZERO),
    });
    let mut run = Run::new(Arc::new(share), clock);
    let job = SlidesJob {
        photo: Bytes(5 * REQUEST),
        shown_seconds: 1.0,
        ahead,
        block: Bytes(REQUEST),
        size: Bytes(80 * REQUEST),
    };
    let length = Length::For { seconds, warm_up_seconds: 0.1 };
    let workload = Workload::new(part(job.into(), 1, 1), length);
    run.prepare(&workload).unwrap();
    let part = run.good(&workload).remove(0);
    run.close();
    part
}

#[test]
fn each_photo_is_late_by_its_reads_unless_it_was_fetched_ahead() {
    // 0.2 s for a photo, one every 1.2 s: at 0, 1.2, 2.4, 3.6, 4.8.
    let part = slides(Duration::from_millis(40), false, 5.5);
    assert_near(figure(&part, SlidesJob::PHOTO_TIME), 0.2);
    assert_eq!((figure(&part, SlidesJob::PHOTOS), figure(&part, SlidesJob::LATE)), (5.0, 0.0));
    // Only the first is waited for: then one a second, at 0, 1.2, 2.2, 3.2, 4.2 and 5.2.
    let part = slides(Duration::from_millis(40), true, 5.5);
    assert_near(figure(&part, SlidesJob::PHOTO_LONGEST), 0.2);
    assert_near(figure(&part, SlidesJob::PHOTO_TIME), 0.2 / 6.0);
    assert_eq!(figure(&part, SlidesJob::PHOTOS), 6.0);
}

#[test]
fn photos_that_take_longer_than_half_a_second_are_late() {
    // 1 s for a photo: one every 2 s, at 0, 2 and 4. The last is not there when the trial ends: whether it is late is
    // known after half a second.
    for (seconds, photos) in [(4.5, 2.0), (4.8, 3.0)] {
        let part = slides(Duration::from_millis(200), false, seconds);
        assert_eq!(
            (figure(&part, SlidesJob::PHOTOS), figure(&part, SlidesJob::LATE)),
            (photos, 1.0)
        );
    }
    // Fetched ahead it is there in time but for the first.
    let part = slides(Duration::from_millis(200), true, 4.5);
    assert_near(figure(&part, SlidesJob::LATE), 1.0 / 4.0);
}
