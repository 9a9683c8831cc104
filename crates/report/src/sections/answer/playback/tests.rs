use super::*;
use plimsoll_explain::{Level, Scale};
use plimsoll_model::{Film, Player};
use std::collections::BTreeMap;

/// The smallest difference that matters, by default.
const MARGIN: f64 = 0.05;

/// Of so many streams, known within 2%.
fn uncapped(streams: u16, estimate: f64) -> Uncapped {
    let ends = Interval { low: 0.98 * estimate, estimate, high: 1.02 * estimate };
    let headroom = Level {
        trials: 6,
        estimate,
        interval: Some(ends),
        scale: Scale::Log,
        arithmetic_mean: estimate,
        largest: estimate,
    };
    let verdict = Some(Verdict::on(ends));
    Uncapped { streams, cell: Cell::default(), headroom, verdict, together: None }
}

fn played(streams: u16, stalls: u64) -> Played {
    Played {
        streams,
        cell: Cell::default(),
        seconds: 30.0,
        stalls,
        longest_seconds: 0.5,
        stalled: 0.1,
        first_frame_seconds: None,
        without_picture: 0,
        seeks: None,
    }
}

fn playback(film: Film, rows: &[(u16, f64)]) -> Playback {
    let uncapped = rows.iter().map(|(streams, headroom)| uncapped(*streams, *headroom)).collect();
    Playback {
        subject: 0,
        setting: 0,
        film,
        player: Player::kodi(),
        alone: Films { uncapped, ..Films::default() },
        during: None,
        pauses: None,
        rotates: false,
        requests: BTreeMap::new(),
    }
}

fn ratio(estimate: f64, ends: (f64, f64)) -> Ratio {
    let interval = Some(Interval { low: ends.0, estimate, high: ends.1 });
    Ratio { blocks: 6, estimate, interval, zero: (false, false), seen: None }
}

#[test]
fn the_required_rate_stands_beside_what_one_player_gets() {
    let film = || Film::constant("1080p", 12.5e6 / 8.0);
    assert_eq!(
        needs_and_gets(&playback(film(), &[(1, 4.0), (2, 2.0)])).unwrap(),
        "A film needs 12.5 Mbit/s; one player gets 50.0 Mbit/s [49.0–51.0]."
    );
    let several = needs_and_gets(&playback(film(), &[(2, 2.0)])).unwrap();
    assert!(several.contains("the slowest of 2 players gets 25.0 Mbit/s"), "{several}");
    assert_eq!(needs_and_gets(&playback(film(), &[])), None);
}

#[test]
fn the_largest_number_that_stalls_at_its_rate_is_not_called_good() {
    let films = |row| Films { played: vec![row], ..Films::default() };
    assert_eq!(but_stalled(&films(played(5, 0)), 5), "");
    // One more than plays is expected to stall.
    assert_eq!(but_stalled(&films(played(6, 9)), 5), "");
    assert_eq!(but_stalled(&films(played(5, 3)), 5), ", but stalled 3 times in 30 s at their rate");
    assert_eq!(but_stalled(&films(played(1, 1)), 1), ", but stalled 1 time in 30 s at its rate");
}

/// It was "7 films without a stall", without a verb.
#[test]
fn films_at_their_rate_are_described_in_whole_sentences() {
    let said = |rows: &[(u16, u64)]| {
        let mut of = playback(Film::constant("1080p", 1e6), &[]);
        of.alone.played = rows.iter().map(|(streams, stalls)| played(*streams, *stalls)).collect();
        at_their_rate(&of)
    };
    let half = TIME.value(0.5);
    assert_eq!(
        said(&[(5, 0), (6, 3)]).unwrap(),
        format!(
            "In 30 s at their rate, 5 films played without a stall; 6 films had 3 stalls, the longest of {half}."
        )
    );
    assert_eq!(
        said(&[(1, 1)]).unwrap(),
        format!("In 30 s at their rate, 1 film had a stall of {half}.")
    );
    assert_eq!(said(&[]), None);
    // Those beside other work have trials of another length.
    let row = |seconds, stalls, without_picture| Played {
        seconds,
        without_picture,
        first_frame_seconds: Some(0.5),
        ..played(3, stalls)
    };
    let films = |row| Films { played: vec![row], ..Films::default() };
    let mut of = playback(Film::constant("1080p", 1e6), &[]);
    of.alone = films(row(7200.0, 0, 0));
    let (film_loss, work_loss) = (BTreeMap::new(), None);
    let work = "a backup".to_owned();
    of.during = Some(During { work, films: films(row(36.0, 0, 0)), film_loss, work_loss });
    assert_eq!(
        at_their_rate(&of).unwrap(),
        format!(
            "In 2 h at their rate, 3 films played without a stall. The first frame came after {half}. In 36 s at their \
             rate during a backup, 3 films played without a stall."
        )
    );
    // A film that never begins has no stall, and does not play.
    let dark = |stalls| words_of(&films(row(30.0, stalls, 1)), "").unwrap();
    assert_eq!(dark(0), "In 30 s at their rate, not all of 3 films showed a picture.");
    assert!(dark(1).ends_with(&format!("a stall of {half}, and did not always show a picture.")));
}

#[test]
fn a_film_without_an_index_is_known_by_its_mean_only() {
    let film = Film { file: Some("holiday.mkv".to_owned()), ..Film::constant("film", 1e6) };
    let said = of_player(&playback(film.clone(), &[])).unwrap();
    assert!(said.contains("holiday.mkv has no index of its rate (mean only)"), "{said}");
    assert!(said.ends_with("scenes may need more than 8 Mbit/s."), "{said}");
    let known = Film { second_bytes: vec![1_000_000; 60], ..film };
    let said = of_player(&playback(known, &[])).unwrap();
    assert!(said.contains("holiday.mkv has a variable rate, and needs 8 Mbit/s"), "{said}");
    let made = Film { second_bytes: vec![1_000_000; 60], ..Film::constant("film", 1e6) };
    let said = of_player(&playback(made, &[])).unwrap();
    assert!(said.contains(". The film has a variable rate, and needs 8 Mbit/s"), "{said}");
    let said = of_player(&playback(Film::constant("1080p", 1e6), &[])).unwrap();
    assert!(said.ends_with("a buffer of 15.7 s."), "{said}");
}

#[test]
fn what_films_and_other_work_lose_is_told_from_noise() {
    let during = |film_loss: &[(u16, Ratio)]| During {
        work: "random writes".to_owned(),
        films: Films::default(),
        film_loss: film_loss.iter().copied().collect(),
        work_loss: None,
    };
    let half = ratio(0.5, (0.4, 0.6));
    let noise = ratio(0.9, (0.7, 1.2));
    let equal = ratio(1.0, (0.98, 1.03));
    assert_eq!(
        lost(&during(&[(1, half), (2, noise)]), MARGIN).unwrap(),
        "During random writes, the slowest stream gets 50% less with 1 film."
    );
    assert_eq!(
        lost(&during(&[(1, equal), (2, noise)]), MARGIN).unwrap(),
        "Whether films get less during random writes is inconclusive: use more blocks (--repeats)."
    );
    assert_eq!(
        lost(&during(&[(1, equal), (2, equal)]), MARGIN).unwrap(),
        "During random writes, films get as much as alone (at most 5% apart)."
    );
    assert_eq!(lost(&during(&[]), MARGIN), None);
    let backup = |ratio: &Ratio, streams| work_with_films("the backup", ratio, streams, MARGIN);
    assert_eq!(backup(&half, 1), "the backup takes 100% [67–150%] longer with 1 film");
    let faster = backup(&ratio(1.25, (1.1, 1.5)), 2);
    assert_eq!(faster, "the backup takes 20% [9.1–33%] less time with 2 films");
    let unknown =
        "whether the backup takes longer with 3 films is inconclusive: use more blocks (--repeats)";
    assert_eq!(backup(&noise, 3), unknown);
    assert_eq!(backup(&equal, 2), "the backup takes as long with 2 films (at most 3% apart)");
    // One block has no interval.
    assert_eq!(backup(&Ratio { interval: None, ..noise }, 3), unknown);
}

#[test]
fn films_during_other_work_are_told_in_sentences() {
    let slower = Some((3, ratio(1.0 / 1.4, (0.66, 0.77))));
    for (rows, work_loss, expected) in [
        (&[][..], None, "during a backup, how many play is unknown"),
        (&[(1, 0.5)][..], None, "during a backup, none plays"),
        (&[(1, 1.01)][..], None, "during a backup, even one may stall"),
        (&[(3, 0.5), (5, 0.3)][..], None, "during a backup, 3 stall"),
        (&[(2, 2.0), (4, 0.5)][..], None, "during a backup, at least 2 and at most 3 play"),
        (&[(1, 2.0), (2, 0.5)][..], None, "during a backup, up to 1 plays"),
        (&[(1, 2.0), (2, 2.0)][..], None, "during a backup, at least 2 play"),
        (
            &[(3, 2.0), (4, 0.5)][..],
            slower,
            "during a backup, up to 3 play, and the backup takes 40% [30–52%] longer with 3 films",
        ),
    ] {
        let films = playback(Film::constant("1080p", 1e6), rows).alone;
        let work = "a backup".to_owned();
        let during = During { work, films, film_loss: BTreeMap::new(), work_loss };
        assert_eq!(beside(&during, MARGIN), expected);
    }
    for (work, expected) in [
        ("a full backup", "the full backup"),
        ("a backup from another host", "the backup"),
        ("random writes", "that work"),
    ] {
        assert_eq!(the_work(work), expected);
    }
}

/// Of 4 films that play and 8 that do not, "up to 4" was said; of 3 that stall, "a film stalls".
#[test]
fn the_number_of_films_is_as_known_as_it_was_measured() {
    let known = |rows: &[(u16, f64)], failed: &[u16]| {
        let films = playback(Film::constant("x", 1e6), rows).alone;
        Films { failed: failed.to_vec(), ..films }
    };
    let said = |films: &Films| number(films, films.most().unwrap());
    let of = |text: &str, last: u16| (text.to_owned(), last);
    assert_eq!(said(&known(&[(4, 1.2), (5, 0.9), (8, 0.6)], &[])), of("up to 4", 4));
    assert_eq!(said(&known(&[(4, 1.2), (8, 0.6)], &[])), of("at least 4 and at most 7", 7));
    assert_eq!(said(&known(&[(4, 1.2), (8, 1.1)], &[])), of("at least 8", 8));
    // The server takes no connections of more.
    assert_eq!(said(&known(&[(1, 9.0)], &[2, 16])), of("up to 1", 1));
    assert_eq!(said(&known(&[(1, 9.0)], &[16])), of("at least 1 and at most 15", 15));
    assert_eq!(fewest(&known(&[(3, 0.5), (5, 0.3)], &[])), (3, true));
    assert_eq!(fewest(&known(&[(1, 1.01)], &[])), (1, false));
}

#[test]
fn a_pause_is_compared_with_the_buffer() {
    let said = |longest_seconds, measured_seconds| {
        let buffer_seconds = 10.0;
        waits(&Pauses { longest_seconds, buffer_seconds, measured_seconds }, "kodi")
    };
    let short = said(0.1, 60.0);
    assert!(short.contains("in 60 s, so there are fewer than 3.0 such pauses a minute"), "{short}");
    assert!(short.ends_with(MORE), "{short}");
    // It was "fewer than 0.0 a minute".
    let long = said(0.1, 7200.0);
    assert!(long.ends_with("in 2 h, so there are fewer than 1.5 such pauses an hour."), "{long}");
    let frozen = said(20.0, 60.0);
    assert!(frozen.starts_with("A request took 20.0 s, longer than the buffer"), "{frozen}");
}

#[test]
fn on_a_rotating_disk_both_ends_of_the_request_size_are_printed() {
    let mut of = playback(Film::constant("1080p", 1e6), &[(5, 1.2)]);
    assert_eq!(requests(&of), None);
    of.requests = [(64 << 10, uncapped(5, 0.5)), (4 << 20, uncapped(5, 3.0))].into();
    let said = requests(&of).unwrap();
    for words in ["0.500 [0.490–0.510] with 64 KiB", "3.00 [2.94–3.06] with 4 MiB", "(5 films)"]
    {
        assert!(said.contains(words), "{said}");
    }
}
