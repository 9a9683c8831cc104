//! Bars in groups: how fast several things are at several kinds of work, whatever the unit of each. All
//! bars of one unit share one scale, so that a longer bar is never a smaller figure.

use super::frame::WIDTH;
use super::svg::{Anchor, Area, Svg, through};
use super::text::{LABEL, fitted, width};
use super::{Chart, Kind, Table, theme};

/// A group of bars for each kind of work. Lengths compare between all groups of the same unit.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// The groups, from the top.
    pub groups: Vec<Group>,
}

/// Bars of one kind of work.
#[derive(Clone, Debug)]
pub struct Group {
    /// What all of them are of.
    pub label: String,
    /// Units of the figures.
    pub kind: Kind,
    /// What the figures are called where their unit does not say it: "IOPS"; else empty.
    pub unit: String,
    /// The bars, from the top.
    pub bars: Vec<super::Bar>,
}

impl Group {
    fn value(&self, value: f64) -> String {
        format!("{} {}", self.kind.value(value), self.unit).trim_end().to_owned()
    }

    /// Whether figures of both are of the same unit.
    fn compares_with(&self, other: &Group) -> bool {
        (self.kind, &self.unit) == (other.kind, &other.unit)
    }

    /// The largest value or end of an interval; 0 where there is none. An interval that reaches beyond twice its
    /// value does not shorten all bars: its line ends open.
    fn largest(&self) -> f64 {
        let end = |bar: &super::Bar| {
            bar.interval.map_or(bar.value, |i| i.1.min(2.0 * bar.value).max(bar.value))
        };
        self.bars.iter().map(end).filter(|end| end.is_finite()).fold(0.0, f64::max)
    }
}

impl Groups {
    /// The value of the longest bar of the scale that this group is on.
    fn scale(&self, group: &Group) -> f64 {
        let same = self.groups.iter().filter(|other| other.compares_with(group));
        same.map(Group::largest).fold(0.0, f64::max)
    }

    /// Where bars begin: behind the longest label.
    fn from(&self) -> f64 {
        let labels = self.groups.iter().flat_map(|group| &group.bars).map(|bar| &bar.label);
        let widest = labels.map(|label| width(label, LABEL)).fold(0.0, f64::max);
        (widest + 2.0 * EDGE).clamp(LEAST_FROM, MOST_FROM)
    }
}

const EDGE: f64 = 6.0;
/// Heights of the name of a group, of a bar with its words, and below a group.
const NAME: f64 = 20.0;
const BAR: f64 = 20.0;
const BELOW: f64 = 8.0;
/// Between which places bars begin, and where the longest ends: names stand before, figures behind.
const LEAST_FROM: f64 = 112.0;
const MOST_FROM: f64 = 200.0;
const TO: f64 = 340.0;
/// Width of the least bar that can be seen.
const VISIBLE: f64 = 1.0;

impl Chart for Groups {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let height = |group: &Group| NAME + group.bars.len() as f64 * BAR + BELOW;
        let whole = 2.0 * EDGE + self.groups.iter().map(height).sum::<f64>();
        let mut svg = Svg::new(WIDTH, whole, &self.title, &self.description);
        let mut y = EDGE;
        let from = self.from();
        for group in &self.groups {
            let name = fitted(&group.label, LABEL, WIDTH - 2.0 * EDGE);
            svg.text("unit", Anchor::Start, (EDGE, y + 14.0), &name);
            let longest = self.scale(group);
            let at = |value: f64| from + (TO - from) * (value / longest).clamp(0.0, 1.0);
            for (i, bar) in group.bars.iter().enumerate() {
                let top = y + NAME + i as f64 * BAR;
                let middle = top + BAR / 2.0;
                let label = fitted(&bar.label, LABEL, from - 2.0 * EDGE);
                svg.text("label", Anchor::Start, (EDGE, middle + 4.0), &label);
                if longest <= 0.0 || !bar.value.is_finite() {
                    svg.text("label", Anchor::Start, (from, middle + 4.0), "no figure");
                    continue;
                }
                let width = (at(bar.value) - from).max(if bar.value > 0.0 { VISIBLE } else { 0.0 });
                let area = Area { x: from, y: top + 3.0, width, height: BAR - 6.0 };
                svg.rect(&theme::class("bar", bar.series), "", area);
                let mut end = at(bar.value);
                if let Some((low, high)) = bar.interval {
                    let open = high > longest;
                    let (low, high) = (at(low), at(high));
                    let tick = |x: f64| through([(x, middle - 4.0), (x, middle + 4.0)]);
                    let mut line = through([(low, middle), (high, middle)]) + &tick(low);
                    if !open {
                        line.push_str(&tick(high));
                    }
                    svg.path("whisker", "", &line);
                    end = end.max(high);
                }
                let value = group.value(bar.value);
                svg.text("label", Anchor::Start, (end + 6.0, middle + 4.0), &value);
                let row = Area { x: 0.0, y: top, width: WIDTH, height: BAR };
                svg.values(row, &format!("{}, {}\n{value}", group.label, bar.label));
            }
            y += height(group);
        }
        svg.finish()
    }

    fn table(&self) -> Table {
        let header = ["", "of", "unit", "figure", "low", "high"];
        let mut table = Table::new(header.map(str::to_owned).into());
        for group in &self.groups {
            let largest = group.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
            let (size, unit) = group.kind.unit(largest);
            let unit = format!("{unit} {}", group.unit);
            for bar in &group.bars {
                let (low, high) = bar.interval.unwrap_or((f64::NAN, f64::NAN));
                let numbers = [bar.value, low, high].map(|v| Table::number(v / size));
                let words = [group.label.clone(), bar.label.clone(), unit.trim().to_owned()];
                table.rows.push(words.into_iter().chain(numbers).collect());
            }
        }
        table
    }
}
