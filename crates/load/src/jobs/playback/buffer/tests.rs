use super::*;
use plimsoll_model::units::Bytes;

/// A film of 1000 B/s; requests of 500 B, a buffer of 3000 B, a start after 1 s of film.
fn playing() -> Playing {
    let player =
        Player { request: Bytes(500), buffer: Bytes(3000), start_seconds: 1.0, ..Player::kodi() };
    let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
    playing.begin(at(0));
    playing
}

fn at(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

fn ms(of: Duration) -> u128 {
    of.as_nanos().div_ceil(1000) / 1000
}

#[test]
fn it_starts_when_its_threshold_is_there_and_stalls_when_the_buffer_is_dry() {
    let mut playing = playing();
    playing.received(500, at(100));
    assert_eq!(playing.first_frame(), None);
    playing.received(500, at(200));
    assert_eq!(playing.first_frame(), Some(Duration::from_millis(200)));
    // 1000 B from 200 ms on: dry at 1200 ms; 1 s of film is there again at 2000 ms.
    playing.received(500, at(1500));
    assert_eq!(playing.stalls(), Stalls::default());
    playing.received(500, at(2000));
    let stalls = playing.stalls();
    assert_eq!((stalls.count, ms(stalls.longest), ms(stalls.all)), (1, 800, 800));
    // Dry again at 3000 ms, to the end.
    playing.end(at(3500));
    let stalls = playing.stalls();
    assert_eq!((stalls.count, ms(stalls.longest), ms(stalls.all)), (2, 800, 1300));
    assert!((playing.played() - 2.0).abs() < 1e-6);
}

#[test]
fn one_that_starts_at_once_goes_on_after_a_stall_with_more() {
    let player = Player {
        request: Bytes(500),
        buffer: Bytes(3000),
        start_seconds: 0.0,
        resume_seconds: Some(1.0),
        ..Player::kodi()
    };
    let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
    playing.begin(at(0));
    (0..3).for_each(|_| playing.requested());
    assert!(!playing.plays());
    playing.received(500, at(100));
    assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
    // Dry at 600 ms; half a second of film is not enough to go on.
    playing.received(500, at(700));
    assert!(!playing.plays());
    playing.received(500, at(900));
    let stalls = playing.stalls();
    assert_eq!((stalls.count, ms(stalls.longest)), (1, 300));
    // After a jump it starts at once.
    playing.seek(at(1000));
    playing.requested();
    playing.received(500, at(1200));
    assert_eq!(playing.seeks(), [Duration::from_millis(200)]);
}

/// Of a film of four frames a second.
#[test]
fn one_that_shows_whole_frames_needs_the_next_one_by_the_end_of_each() {
    let player = Player {
        request: Bytes(500),
        buffer: Bytes(1500),
        start_seconds: 0.0,
        resume_seconds: Some(1.0),
        frame_seconds: Some(0.25),
        ..Player::kodi()
    };
    let every = Duration::from_millis(100);
    let playing = Playing::new(&Film::constant("x", 1000.0), &player);
    let mut playing = playing.sampled(every, Duration::from_secs(3));
    playing.begin(at(0));
    (0..4).for_each(|_| playing.requested());
    assert!(!playing.has_room(), "1.5 s in the buffer, and two frames out of it");
    // It has two frames, and time for the third until the first was shown.
    playing.received(500, at(100));
    assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
    playing.received(500, at(340));
    assert_eq!(playing.stalls(), Stalls::default());
    // Of four frames the third is over at 850 ms; four more to be shown are a second.
    playing.received(500, at(900));
    assert!(!playing.plays());
    playing.received(500, at(1000));
    let stalls = playing.stalls();
    assert_eq!((stalls.count, ms(stalls.longest)), (1, 150));
    let (_, seconds) = playing.samples().unwrap();
    assert_eq!(seconds[8], 0.0, "the film stalls where the buffer is empty");
    // Of eight frames the seventh is over at 2000 ms.
    playing.advance(at(1999));
    assert!(playing.plays());
    playing.advance(at(2001));
    assert!(!playing.plays());
    assert!((playing.played() - 1.75).abs() < 1e-6, "{}", playing.played());
    // After a jump, frames begin there.
    playing.received(10_000, at(2100));
    assert!(playing.plays());
    playing.seek(at(2200));
    playing.received(250, at(2300));
    assert_eq!(playing.seeks(), []);
    playing.received(250, at(2400));
    assert_eq!(playing.seeks(), [Duration::from_millis(200)]);
}

/// It had room for nothing, and the film never went on.
#[test]
fn where_a_film_needs_little_the_buffer_still_has_room_for_two_requests() {
    let film = Film { second_bytes: vec![10; 200], ..Film::constant("x", 1000.0) };
    let player = Player {
        request: Bytes(500),
        buffer_seconds: Some(1.0),
        start_seconds: 1.0,
        ..Player::kodi()
    };
    let mut playing = Playing::new(&film, &player);
    playing.begin(at(0));
    for _ in 0..2 {
        assert!(playing.has_room(), "a request lasts for 50 s");
        playing.requested();
    }
    assert!(!playing.has_room());
    playing.received(500, at(100));
    assert!(playing.plays());
}

#[test]
fn samples_of_the_buffer_are_as_it_is_at_their_times() {
    let ms = Duration::from_millis;
    let mut playing = playing().sampled(ms(100), ms(1000));
    playing.begin(at(0));
    // 0.5 s of film at 150 ms, a second at 250 ms, of which 250 ms are played by 500 ms.
    playing.received(500, at(150));
    playing.received(500, at(250));
    playing.advance(at(500));
    let (every, seconds) = playing.samples().unwrap();
    assert_eq!(every, ms(100));
    let rounded: Vec<f64> = seconds.iter().map(|s| (1e6 * s).round() / 1e6).collect();
    assert_eq!(rounded, [0.0, 0.5, 0.95, 0.85, 0.75]);
    // Dry at 1250 ms, and nothing comes.
    playing.advance(at(1500));
    let (_, seconds) = playing.samples().unwrap();
    assert_eq!((seconds.len(), seconds[14]), (15, 0.0));
}

#[test]
fn it_requests_what_its_buffer_has_room_for() {
    let mut playing = playing();
    for _ in 0..6 {
        assert!(playing.has_room());
        playing.requested();
    }
    assert!(!playing.has_room());
    assert_eq!(playing.room_at(), Nanos(u64::MAX), "it does not play yet");
    playing.received(3000, at(100));
    assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
    // 500 B are played by 600 ms.
    assert_eq!(playing.room_at(), at(600));
    playing.advance(at(599));
    assert!(!playing.has_room());
    playing.advance(at(600));
    assert!(playing.has_room());
}

#[test]
fn a_full_buffer_starts_however_high_the_threshold_is() {
    let player =
        Player { request: Bytes(500), buffer: Bytes(1000), start_seconds: 60.0, ..Player::kodi() };
    // Of a stream that reads as fast as it can, nobody says what was requested.
    for requests in [2, 0] {
        let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
        playing.begin(at(0));
        (0..requests).for_each(|_| playing.requested());
        playing.received(500, at(10));
        assert_eq!(playing.first_frame(), None);
        playing.received(500, at(20));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(20)));
    }
}

#[test]
fn after_a_jump_the_buffer_is_filled_again_and_that_is_no_stall() {
    let mut playing = playing();
    for _ in 0..4 {
        playing.requested();
    }
    playing.received(1500, at(100));
    assert!(playing.plays());
    // One request is still in flight, and is dropped.
    playing.seek(at(600));
    assert!(!playing.plays() && playing.has_room());
    playing.requested();
    playing.requested();
    playing.received(500, at(800));
    assert_eq!(playing.seeks(), []);
    playing.received(500, at(1000));
    assert_eq!(playing.seeks(), [Duration::from_millis(400)]);
    playing.advance(at(1500));
    playing.seek(at(1500));
    playing.end(at(1700));
    assert_eq!(playing.seeks()[1..], [Duration::from_millis(200)]);
    assert!(
        (playing.played() - 1.0).abs() < 1e-6,
        "half a second before each: {}",
        playing.played()
    );
    assert_eq!(
        (playing.stalls(), playing.first_frame()),
        (Stalls::default(), Some(Duration::from_millis(100)))
    );
}

#[test]
fn a_buffer_of_seconds_holds_more_bytes_where_the_film_needs_more() {
    let film = Film { second_bytes: vec![1000, 1000, 4000, 4000], ..Film::constant("x", 2500.0) };
    let player = Player {
        request: Bytes(1000),
        buffer_seconds: Some(2.0),
        start_seconds: 1.0,
        ..Player::kodi()
    };
    let mut playing = Playing::new(&film, &player);
    playing.begin(at(0));
    playing.requested();
    playing.requested();
    assert!(!playing.has_room(), "two seconds are two requests");
    playing.received(2000, at(0));
    // The third request ends a quarter of a second further in the film.
    assert_eq!(playing.room_at(), at(250));
}
