//! Lines with bands: something over time, or over studies.

use super::axis::{Axis, Span};
use super::frame::{self, Frame, Parts, Sample};
use super::scale::extent;
use super::svg::through;
use super::thin::thinned;
use super::{Chart, Table, theme};

/// Lines over a common axis, each perhaps with a band around it.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What is along.
    pub x: Axis,
    /// What is up; it begins at zero.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// Places worth a vertical line, with what they are.
    pub phases: Vec<(f64, String)>,
    /// Names of the places 0, 1, 2 … along, where they are things and not numbers.
    pub names: Vec<String>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is, for the legend.
    pub label: String,
    /// Which of the distinguishable styles it has.
    pub series: usize,
    /// Its points, ascending along; a point that is not finite is a gap.
    pub points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The band at this place.
    pub band: Option<(f64, f64)>,
}

/// Points that a chart of this width can show.
const MOST_POINTS: usize = 120;
/// Points up to which each gets a marker.
const MARKED: usize = 12;

impl Lines {
    /// Lines as they are drawn: no longer than can be seen.
    fn drawn(&self) -> Vec<Line> {
        let thin =
            |line: &Line| Line { points: thinned(&line.points, MOST_POINTS), ..line.clone() };
        self.lines.iter().map(thin).collect()
    }

    fn along(&self, lines: &[Line]) -> Span {
        let last = self.names.len().saturating_sub(1) as f64;
        if self.names.is_empty() {
            let points = lines.iter().flat_map(|l| &l.points).map(|p| p.x);
            let (low, high) = extent(points).unwrap_or((0.0, 1.0));
            return frame::under(&self.x, low.min(0.0), high);
        }
        let every = |step: usize| {
            let mut span = Span::linear(&self.x, -0.3, last + 0.3, 2);
            let named = self.names.iter().enumerate().step_by(step.max(1));
            span.ticks = named.map(|(i, name)| (i as f64, name.clone())).collect();
            span.caption.clone_from(&self.x.title);
            span
        };
        let steps = 1..=self.names.len();
        frame::fitting(steps.map(every), || every(self.names.len()))
    }

    /// What a tooltip says of the place `x`.
    fn text(&self, lines: &[Line], x: f64) -> String {
        let place = match self.names.get(x.round().max(0.0) as usize) {
            Some(name) => name.clone(),
            None => self.x.kind.value(x),
        };
        let mut text = place;
        for line in lines {
            let Some(point) = line.points.iter().find(|p| p.x == x && p.y.is_finite()) else {
                text.push_str("\n–");
                continue;
            };
            text.push('\n');
            text.push_str(&self.y.kind.value(point.y));
            if let Some((low, high)) = point.band {
                text.push(' ');
                text.push_str(&self.y.kind.between(point.y, low, high));
            }
        }
        text
    }
}

impl Chart for Lines {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let lines = self.drawn();
        let points = || lines.iter().flat_map(|line| &line.points);
        let bands = points().filter_map(|p| p.band).flat_map(|(low, high)| [low, high]);
        let up = extent(points().map(|p| p.y).chain(bands));
        let mut legend: Vec<(Sample, String)> =
            lines.iter().map(|line| (Sample::Line(line.series), line.label.clone())).collect();
        legend.extend(self.phases.iter().map(|(_, what)| (Sample::Phase, what.clone())));
        let mut frame = Frame::new(&Parts {
            title: &self.title,
            description: &self.description,
            legend: &legend,
            x: &self.along(&lines),
            y: &Span::from_zero(&self.y, up, 6),
        });
        for line in &lines {
            draw_band(&mut frame, line);
        }
        for (place, _) in &self.phases {
            frame.phase(*place);
        }
        for line in &lines {
            draw_line(&mut frame, line);
        }
        let places = thin_places(places(&lines));
        let drawn: Vec<f64> = places.iter().map(|x| frame.x.at(*x)).collect();
        frame.columns(&drawn, |i| self.text(&lines, places[i]));
        frame.svg.labels(lines.iter().map(|line| line.label.clone()));
        frame.svg.finish()
    }

    /// A row a place, and columns for each line: its value, and its band if any line has one.
    fn table(&self) -> Table {
        let lines = self.drawn();
        let points = || lines.iter().flat_map(|line| &line.points);
        let (along, _) = self.x.kind.unit(1.0);
        let largest = extent(points().map(|p| p.y.abs())).map_or(1.0, |r| r.1);
        let (size, unit) = self.y.kind.unit(largest);
        let banded = points().any(|p| p.band.is_some());
        let mut header = vec![self.x.caption(1.0)];
        for line in &lines {
            header.push(format!("{}, {unit}", line.label).trim_end_matches(", ").to_owned());
            if banded {
                header.extend(["low".to_owned(), "high".to_owned()]);
            }
        }
        let mut table = Table::new(header);
        for x in places(&lines) {
            let mut row = vec![match self.names.get(x.round().max(0.0) as usize) {
                Some(name) => name.clone(),
                None => Table::number(x / along),
            }];
            for line in &lines {
                let point = line.points.iter().find(|p| p.x == x);
                let (low, high) = point.and_then(|p| p.band).unwrap_or((f64::NAN, f64::NAN));
                row.push(Table::number(point.map_or(f64::NAN, |p| p.y) / size));
                if banded {
                    row.extend([Table::number(low / size), Table::number(high / size)]);
                }
            }
            table.rows.push(row);
        }
        table
    }
}

/// Every place along at which a line has a point, ascending.
fn places(lines: &[Line]) -> Vec<f64> {
    let points = lines.iter().flat_map(|line| &line.points);
    let mut places: Vec<f64> = points.map(|p| p.x).filter(|x| x.is_finite()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Places for tooltips: not more than fingers and files can bear.
fn thin_places(places: Vec<f64>) -> Vec<f64> {
    let every = places.len().div_ceil(2 * MOST_POINTS).max(1);
    places.into_iter().step_by(every).collect()
}

/// Stretches of points without a gap.
fn stretches(points: &[Point]) -> impl Iterator<Item = &[Point]> {
    points.split(|p| !p.x.is_finite() || !p.y.is_finite()).filter(|s| !s.is_empty())
}

fn draw_band(frame: &mut Frame, line: &Line) {
    for stretch in stretches(&line.points) {
        let banded: Vec<(f64, f64, f64)> =
            stretch.iter().filter_map(|p| Some((p.x, p.band?.0, p.band?.1))).collect();
        if banded.len() == 1 || frame_is_marked(line) {
            for (x, low, high) in banded {
                whisker(frame, x, low, high);
            }
            continue;
        }
        if banded.is_empty() {
            continue;
        }
        let (x, y) = (frame.x, frame.y);
        let upper = banded.iter().map(|(at, _, high)| (x.at(*at), y.at(*high)));
        let lower = banded.iter().rev().map(|(at, low, _)| (x.at(*at), y.at(*low)));
        let d = through(upper.chain(lower)) + "z";
        frame.svg.path(&theme::class("band", line.series), "", &d);
    }
}

/// Whether the points stand for themselves: few, each with its interval.
fn frame_is_marked(line: &Line) -> bool {
    line.points.len() <= MARKED
}

fn whisker(frame: &mut Frame, x: f64, low: f64, high: f64) {
    let (place, low, high) = (frame.x.at(x), frame.y.at(low), frame.y.at(high));
    let end = |y: f64| through([(place - 3.0, y), (place + 3.0, y)]);
    let d = through([(place, low), (place, high)]) + &end(low) + &end(high);
    frame.svg.path("whisker", "", &d);
}

fn draw_line(frame: &mut Frame, line: &Line) {
    let (x, y) = (frame.x, frame.y);
    for stretch in stretches(&line.points) {
        let place = |p: &Point| (x.at(p.x), y.at(p.y));
        let dashes = theme::dashes(line.series);
        let d = through(stretch.iter().map(place));
        frame.svg.path(&theme::class("line", line.series), &dashes, &d);
        // Markers tell lines apart where there is no colour: on each of few points, on some of many.
        let every = if frame_is_marked(line) { 1 } else { (stretch.len() / 6).max(1) };
        let first = if frame_is_marked(line) { 0 } else { every / 2 + line.series % every.max(1) };
        for point in stretch.iter().skip(first.min(stretch.len() - 1)).step_by(every) {
            theme::marker(&mut frame.svg, line.series, place(point));
        }
    }
}
