//! Films: how many play at once, alone and during other work, and why not more.

use super::names::Brief;
use crate::chart::{Axis, Line, Lines, Point, SECONDS, Table};
use crate::document::{Figure, Layout, Section};
use crate::figure::{BITRATE, COUNT, TIME};
use crate::study::bottleneck::{self, Notes, Room};
use crate::study::{Shown, limits, stored};
use crate::text::{capital, counted, listed, printable};
use crate::verdict::{largest, percent};
use plimsoll_explain::{During, Films, Pauses, Playback, Played, Ratio, Seeks, Uncapped};
use plimsoll_model::Cell;
use plimsoll_model::units::{Bytes, chosen_time};
use plimsoll_stats::interval::Interval;
use plimsoll_stats::playback::Verdict;
use plimsoll_stats::verdict;

/// Streams without a stall in T seconds have fewer than so many stalls in that time, with 95% confidence.
const RULE_OF_THREE: f64 = 3.0;
/// Less than that says little of a film.
const SHORT_SECONDS: f64 = 3600.0;
const MORE: &str = "Give --soak 2h to play for as long as a film lasts.";

/// Whether the study is about films.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    !shown.playback.is_empty() && !shown.findings.imported
}

/// "Up to 5 films of 12.5 Mbit/s play at once; during a backup, up to 3 play, and the backup takes 40% [30–52%] longer with
/// 3 films. Bottleneck: disk.", a sentence for each subject and setting.
pub(super) fn sentence(shown: &Shown<'_>, brief: &Brief) -> String {
    let several = shown.playback.len() > 1;
    let said_of = |one: &Playback| {
        let said = answer(shown, one);
        match several {
            true => format!("{}: {said}", brief.setup(shown, cell(one))),
            false => said,
        }
    };
    shown.playback.iter().map(said_of).collect::<Vec<_>>().join(" ")
}

fn cell(of: &Playback) -> Cell {
    Cell { subject: of.subject, workload: 0, setting: of.setting }
}

fn answer(shown: &Shown<'_>, of: &Playback) -> String {
    let rate = of.film.rate();
    let mut parts = vec![match of.alone.most() {
        None => format!("Whether films of {rate} play is unknown: one block gives no verdict"),
        Some(0) => match fewest(&of.alone) {
            (1, true) => format!("A film of {rate} stalls"),
            (1, false) => format!("A film of {rate} may stall: it gets about as much as it needs"),
            (many, true) => format!("{many} films of {rate} stall"),
            (many, false) => {
                format!("{many} films of {rate} may stall: they get about as much as they need")
            }
        },
        Some(most) => {
            let (number, last) = number(&of.alone, most);
            let films = if last == 1 { "film" } else { "films" };
            let (number, but) = (capital(&number), but_stalled(&of.alone, most));
            format!("{number} {films} of {rate} {} at once{but}", play(last))
        }
    }];
    let margin = shown.study.plan.design.margin;
    parts.extend(of.during.as_ref().map(|during| beside(during, margin)));
    let said = parts.join("; ");
    match bottleneck_of(shown, of) {
        Some(name) => format!("{said}. Bottleneck: {name}."),
        None => format!("{said}."),
    }
}

/// "during a backup, up to 3 play, and the backup takes 40% [30–52%] longer with 3 films".
fn beside(during: &During, margin: f64) -> String {
    let most = match during.films.most() {
        None => "how many play is unknown".to_owned(),
        Some(0) => match fewest(&during.films) {
            (1, true) => "none plays".to_owned(),
            (1, false) => "even one may stall".to_owned(),
            (many, true) => format!("{many} stall"),
            (many, false) => format!("{many} may stall"),
        },
        Some(most) => {
            let (number, last) = number(&during.films, most);
            format!("{number} {}", play(last))
        }
    };
    let work = during.work_loss.as_ref().map_or_else(String::new, |(streams, ratio)| {
        format!(", and {}", work_with_films(&the_work(&during.work), ratio, *streams, margin))
    });
    format!("during {}, {most}{work}", during.work)
}

/// "the backup" of "a backup from another host"; other work has no such name.
fn the_work(work: &str) -> String {
    let name = work.split(" from ").next().and_then(|own| own.strip_prefix("a "));
    name.map_or_else(|| "that work".to_owned(), |name| format!("the {name}"))
}

/// The fewest films with a verdict, where none play, and whether they stall.
fn fewest(films: &Films) -> (u16, bool) {
    let row = films.uncapped.iter().find(|row| row.verdict.is_some());
    row.map_or((1, false), |row| (row.streams, row.verdict == Some(Verdict::Stalls)))
}

/// "up to 5", "at least 3 and at most 4" or "at least 8", by the next number that was measured; and the last of these.
fn number(films: &Films, most: u16) -> (String, u16) {
    match films.fewest_more() {
        None => (format!("at least {most}"), most),
        Some(more) if more <= most.saturating_add(1) => (format!("up to {most}"), most),
        Some(more) => (format!("at least {most} and at most {}", more - 1), more - 1),
    }
}

fn play(streams: u16) -> &'static str {
    if streams == 1 { "plays" } else { "play" }
}

/// ", but stalled 5 times in 30 s at their rate", where the largest number that should play did not do so.
fn but_stalled(films: &Films, most: u16) -> String {
    let row = films.played.iter().find(|row| row.streams == most && row.stalls > 0);
    let whose = if most == 1 { "its" } else { "their" };
    row.map_or_else(String::new, |row| {
        let times = counted(row.stalls, "time");
        format!(", but stalled {times} in {} at {whose} rate", lasting(row.seconds))
    })
}

/// "30 s", "2 h": of trials, to a millisecond.
fn lasting(seconds: f64) -> String {
    chosen_time((1e3 * seconds).round() / 1e3)
}

/// "the backup takes 40% [30–52%] longer with 3 films", of a ratio of speeds.
fn work_with_films(work: &str, ratio: &Ratio, streams: u16, margin: f64) -> String {
    let films = films(streams);
    let Some(ends) = ratio.interval.filter(|ends| !ends.contains(1.0)) else {
        return match within(ratio, margin) {
            Some(at_most) => {
                format!("{work} takes as long with {films} (at most {at_most} apart)")
            }
            None => format!(
                "whether {work} takes longer with {films} is inconclusive: use more blocks (--repeats)"
            ),
        };
    };
    let longer = |ratio: f64| percent((1.0 / ratio - 1.0).abs());
    let [near, far] = match ratio.estimate < 1.0 {
        true => [ends.high, ends.low],
        false => [ends.low, ends.high],
    };
    let more = if ratio.estimate < 1.0 { "longer" } else { "less time" };
    let ends = format!("[{}–{}]", longer(near).trim_end_matches('%'), longer(far));
    format!("{work} takes {} {ends} {more} with {films}", longer(ratio.estimate))
}

/// "3%", how far apart two sides are at most; `None` where that may be more than is practically equal.
fn within(ratio: &Ratio, margin: f64) -> Option<String> {
    match verdict::Verdict::on(ratio.interval?, margin)? {
        verdict::Verdict::NoPracticalDifference(lead) => Some(percent(largest(&lead))),
        _ => None,
    }
}

fn films(streams: u16) -> String {
    counted(u64::from(streams), "film")
}

/// The bottleneck of the fewest streams that do not play; of the most streams, where all play.
fn bottleneck_of(shown: &Shown<'_>, of: &Playback) -> Option<String> {
    let most = of.alone.most()?;
    let more = of.alone.uncapped.iter().find(|row| row.streams > most);
    let row = more.or(of.alone.uncapped.last())?;
    bottleneck::name(shown, limits::of_cell(shown, row.cell)?)
}

/// The table, and what to know of it.
pub(super) fn add(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let mut notes = Notes::default();
    let confidence = percent(shown.study.plan.design.confidence);
    let header =
        ["films", &format!("slowest stream / needed [{confidence}]"), "verdict", "bottleneck"];
    let mut table = Table::new(header.map(str::to_owned).to_vec());
    let (mut few, mut fewest) = (table.clone(), table.clone());
    let setup_of = |of: &Playback| match shown.playback.len() {
        1 => String::new(),
        _ => format!("{}: ", brief.setup(shown, cell(of))),
    };
    for of in &shown.playback {
        section.nearly_always(needs_and_gets(of).map(|said| setup_of(of) + &said));
        let setup = setup_of(of);
        let during =
            of.during.iter().map(|during| (&during.films, format!(" during\n{}", during.work)));
        for (films, during) in std::iter::once((&of.alone, String::new())).chain(during) {
            for row in &films.uncapped {
                let name = format!("{setup}{}{during}", row.streams);
                // Of two kinds of work at once there is no single bottleneck.
                let notes = during.is_empty().then_some(&mut notes);
                let cells = cells(shown, row, name, notes);
                if weight(films, row) > 0 {
                    few.rows.push(cells.clone());
                }
                if weight(films, row) > 1 {
                    fewest.rows.push(cells.clone());
                }
                table.rows.push(cells);
            }
            let none = || "–".to_owned();
            table.rows.extend(films.failed.iter().map(|streams| {
                let name = format!("{setup}{streams}{during}");
                vec![name, none(), "failed".to_owned(), none()]
            }));
        }
    }
    let is_long = table.rows.len() > MOST_ROWS;
    let compact = if is_long { vec![few, fewest] } else { Vec::new() };
    section.table_or_compact(table, compact, Layout::Words);
    section.figures(headroom(shown));
    section.figures(buffer(shown));
    for of in &shown.playback {
        section.texts(of_player(of));
        section.texts(at_their_rate(of));
        section.texts(seeks(of));
        section.texts(requests(of));
        section.texts(
            of.during.as_ref().and_then(|during| lost(during, shown.study.plan.design.margin)),
        );
        section.texts(of.pauses.map(|pauses| waits(&pauses, &printable(&of.player.name))));
    }
    let name = |cell: Cell| brief.setup(shown, cell);
    if let Some(text) = stored::sentence(shown, &name) {
        let shorter = stored::shorter(&text);
        section.text_or_shorter(text, shorter);
    }
    notes.add_to(section);
}

/// Rows that a screen has room for in any case.
const MOST_ROWS: usize = 4;

/// How much a row tells of where films begin to stall: the largest number that plays and the next one most, then one
/// film and the largest number.
fn weight(films: &Films, row: &Uncapped) -> u8 {
    let most = films.most().unwrap_or(0);
    let next = films.uncapped.iter().map(|row| row.streams).find(|streams| *streams > most);
    let ends = [films.uncapped.first(), films.uncapped.last()];
    match row.streams {
        streams if streams == most || Some(streams) == next => 2,
        streams if ends.into_iter().flatten().any(|end| end.streams == streams) => 1,
        _ => 0,
    }
}

/// Headroom over the number of streams, alone and during other work.
fn headroom(shown: &Shown<'_>) -> Option<Figure> {
    let mut lines = Vec::new();
    let mut add = |label: String, films: &Films| {
        let points: Vec<Point> = films.uncapped.iter().map(point).collect();
        if points.len() > 1 {
            lines.push(Line { label, series: lines.len(), points });
        }
    };
    for of in &shown.playback {
        let setup = shown.names.setup(cell(of));
        add(setup.clone(), &of.alone);
        if let Some(during) = &of.during {
            add(format!("{setup}, during {}", during.work), &during.films);
        }
    }
    let caption = "Supply of the slowest stream divided by the rate that its film needs, with its interval. Films play above \
                   1.03, and stall below 1."
        .to_owned();
    let chart = Lines {
        title: "Headroom over the number of films".to_owned(),
        description: caption.clone(),
        x: Axis::new("films", COUNT),
        y: Axis::new("slowest stream / needed rate", COUNT),
        lines,
        phases: Vec::new(),
        names: Vec::new(),
    };
    (!chart.lines.is_empty()).then(|| Figure::new("headroom".to_owned(), Box::new(chart), caption))
}

/// Buffer of the films that played at their rate, over time.
fn buffer(shown: &Shown<'_>) -> Option<Figure> {
    let mut lines = Vec::new();
    for of in &shown.playback {
        let setup = shown.names.setup(cell(of));
        let during =
            of.during.iter().map(|during| (&during.films, format!(", during {}", during.work)));
        for (films, during) in std::iter::once((&of.alone, String::new())).chain(during) {
            for row in &films.played {
                let label = format!("{setup}, {}{during}", self::films(row.streams));
                let points = buffered(shown, row);
                if points.len() > 1 {
                    lines.push(Line { label, series: lines.len(), points });
                }
            }
        }
    }
    let caption = "Film in the buffer of the stream that has the least, in one trial. The film stalls where the line \
                   reaches zero."
        .to_owned();
    let chart = Lines {
        title: "Buffer over time".to_owned(),
        description: caption.clone(),
        x: Axis::new("time in the trial", SECONDS),
        y: Axis::new("film in the buffer", SECONDS),
        lines,
        phases: Vec::new(),
        names: Vec::new(),
    };
    (!chart.lines.is_empty()).then(|| Figure::new("buffer".to_owned(), Box::new(chart), caption))
}

/// The buffer in the first trial that has one.
fn buffered(shown: &Shown<'_>, row: &Played) -> Vec<Point> {
    let trials = shown.study.trials.iter().filter(|trial| trial.cell == row.cell);
    let mut buffers = trials.filter_map(|trial| trial.result.parts.first()?.buffer.as_ref());
    let Some(buffer) = buffers.next() else { return Vec::new() };
    let at = |(number, seconds): (usize, &f64)| Point {
        x: (number + 1) as f64 * buffer.every_seconds,
        y: *seconds,
        band: None,
    };
    buffer.seconds.iter().enumerate().map(at).collect()
}

fn point(row: &Uncapped) -> Point {
    let band = row.headroom.interval.map(|interval| (interval.low, interval.high));
    Point { x: f64::from(row.streams), y: row.headroom.estimate, band }
}

fn cells(
    shown: &Shown<'_>,
    row: &Uncapped,
    name: String,
    notes: Option<&mut Notes>,
) -> Vec<String> {
    let verdict = match row.verdict {
        Some(Verdict::Plays) => "plays",
        Some(Verdict::Marginal) => "marginal",
        Some(Verdict::Stalls) => "stalls",
        None => "no verdict",
    };
    let label = |_: Cell| String::new();
    let bottleneck =
        notes.and_then(|notes| bottleneck::words(shown, &[row.cell], &label, Room::Order, notes));
    vec![
        name,
        COUNT.with_ends(row.headroom.estimate, row.headroom.interval),
        verdict.to_owned(),
        bottleneck.unwrap_or_else(|| "–".to_owned()),
    ]
}

/// "A film needs 12.5 Mbit/s; one player gets 53.6 Mbit/s [47.9–60.1].", of the fewest that were measured.
fn needs_and_gets(of: &Playback) -> Option<String> {
    let row = of.alone.uncapped.first()?;
    let needed = of.film.required_rate;
    // Headroom is what a stream gets over what it needs.
    let gets = row.headroom.interval.map(|ends| Interval {
        low: needed * ends.low,
        estimate: needed * ends.estimate,
        high: needed * ends.high,
    });
    let gets = BITRATE.with_ends(needed * row.headroom.estimate, gets);
    let who = match row.streams {
        1 => "one player".to_owned(),
        many => format!("the slowest of {many} players"),
    };
    Some(format!("A film needs {}; {who} gets {gets}.", of.film.rate()))
}

/// "Player kodi sends requests of 128 KiB, with 1 in flight and a buffer of 10.1 s."
fn of_player(of: &Playback) -> Option<String> {
    let player = &of.player;
    let seconds = player.holds_seconds(of.film.mean_rate.max(1.0));
    let rate = of.film.rate();
    let of_file = match (of.film.second_bytes.is_empty(), &of.film.file) {
        (false, Some(file)) => {
            format!(" {} has a variable rate, and needs {rate} with this buffer.", printable(file))
        }
        (false, None) => {
            format!(" The film has a variable rate, and needs {rate} with this buffer.")
        }
        (true, Some(file)) => format!(
            " {} has no index of its rate (mean only): scenes may need more than {rate}.",
            printable(file)
        ),
        (true, None) => String::new(),
    };
    Some(format!(
        "Player {} sends requests of {}, with {} in flight and a buffer of {}.{of_file}",
        printable(&player.name),
        player.request,
        player.in_flight,
        TIME.value(seconds)
    ))
}

/// "In 30 s at their rate, 5 films played without a stall; 6 films had 3 stalls, the longest of 1.20 s. In 36 s at their
/// rate during a backup, 3 films played without a stall."
fn at_their_rate(of: &Playback) -> Option<String> {
    let first = of.alone.played.first().and_then(|row| row.first_frame_seconds);
    let first = first.map(|first| format!("The first frame came after {}.", TIME.value(first)));
    let during = of
        .during
        .as_ref()
        .and_then(|during| words_of(&during.films, &format!(" during {}", during.work)));
    let all: Vec<String> = [words_of(&of.alone, ""), first, during].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// "The disk rotates, so the request size decides: slowest stream / needed rate is 0.42 [0.39–0.45] with 64 KiB, and
/// 3.10 [2.93–3.27] with 4 MiB (5 films)."
fn requests(of: &Playback) -> Option<String> {
    let streams = of.requests.values().next()?.streams;
    let each: Vec<String> = of
        .requests
        .iter()
        .map(|(request, row)| {
            let headroom = COUNT.with_ends(row.headroom.estimate, row.headroom.interval);
            format!("{headroom} with {}", Bytes(*request))
        })
        .collect();
    Some(format!(
        "The disk rotates, so the request size decides: slowest stream / needed rate is {} ({}).",
        listed(&each),
        films(streams)
    ))
}

/// "After a seek, 5 films show a picture in 380 ms, 1.20 s at the longest (25 seeks)."
fn seeks(of: &Playback) -> Option<String> {
    let (films, seeks) = of.alone.played.iter().find_map(|row| Some((row.streams, row.seeks?)))?;
    let Seeks { count, mean_seconds, longest_seconds } = seeks;
    let show = if films == 1 { "shows" } else { "show" };
    Some(format!(
        "After a seek, {} {show} a picture in {} on average, in {} at the longest ({}).",
        self::films(films),
        TIME.value(mean_seconds),
        TIME.value(longest_seconds),
        counted(count, "seek")
    ))
}

fn words_of(films: &Films, during: &str) -> Option<String> {
    let words = |row: &Played| {
        let (streams, longest) = (self::films(row.streams), TIME.value(row.longest_seconds));
        // A film that has not begun has no stall.
        let is_dark = row.without_picture > 0;
        match (row.stalls, row.streams) {
            (0, 1) if is_dark => "1 film showed no picture".to_owned(),
            (0, _) if is_dark => format!("not all of {streams} showed a picture"),
            (0, _) => format!("{streams} played without a stall"),
            (stalls, _) => {
                let stalls = match stalls {
                    1 => format!("a stall of {longest}"),
                    _ => format!("{}, the longest of {longest}", counted(stalls, "stall")),
                };
                let dark = if is_dark { ", and did not always show a picture" } else { "" };
                format!("{streams} had {stalls}{dark}")
            }
        }
    };
    let all: Vec<String> = films.played.iter().map(words).collect();
    let seconds = films.played.iter().map(|row| row.seconds).fold(0.0, f64::max);
    let seconds = lasting(seconds);
    (!all.is_empty()).then(|| format!("In {seconds} at their rate{during}, {}.", all.join("; ")))
}

/// "During a backup, the slowest stream gets 45% less with 1 film and 52% less with 2 films.", of what is more than noise.
fn lost(during: &During, margin: f64) -> Option<String> {
    if during.film_loss.is_empty() {
        return None;
    }
    let is_clear = |ratio: &Ratio| ratio.interval.is_some_and(|ends| ends.high < 1.0);
    let clear = during.film_loss.iter().filter(|(_, ratio)| is_clear(ratio));
    let all: Vec<String> = clear
        .map(|(streams, ratio)| {
            format!("{} less with {}", percent(1.0 - ratio.estimate), films(*streams))
        })
        .collect();
    let work = &during.work;
    Some(if !all.is_empty() {
        format!("During {work}, the slowest stream gets {}.", listed(&all))
    } else if during.film_loss.values().all(|ratio| within(ratio, margin).is_some()) {
        format!("During {work}, films get as much as alone (at most {} apart).", percent(margin))
    } else {
        format!(
            "Whether films get less during {work} is inconclusive: use more blocks (--repeats)."
        )
    })
}

/// The longest wait, against the buffer.
fn waits(pauses: &Pauses, player: &str) -> String {
    let Pauses { longest_seconds, buffer_seconds, measured_seconds } = *pauses;
    let (longest, buffer) = (TIME.value(longest_seconds), TIME.value(buffer_seconds));
    if longest_seconds >= buffer_seconds {
        return format!(
            "A request took {longest}, longer than the buffer of {player} lasts ({buffer}): such a pause stalls the film."
        );
    }
    let an_hour = 3600.0 * RULE_OF_THREE / measured_seconds;
    let fewer = match an_hour >= 60.0 {
        true => format!("{:.1} such pauses a minute", an_hour / 60.0),
        false => format!("{an_hour:.1} such pauses an hour"),
    };
    let seen = format!(
        "The longest pause was {longest}, and the buffer lasts {buffer}. No pause emptied it in {}, so there are fewer \
         than {fewer}.",
        lasting(measured_seconds)
    );
    match measured_seconds < SHORT_SECONDS {
        true => format!("{seen} {MORE}"),
        false => seen,
    }
}

#[cfg(test)]
mod tests;
