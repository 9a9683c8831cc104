//! Writing SVG: text escaped, numbers short and finite. Nothing else in this module writes markup.

use plimsoll_model::printable_lines;
use std::fmt::{self, Write};

/// An SVG picture that is drawn from the back to the front.
pub(super) struct Svg {
    text: String,
    /// Places that tell values; they lie above everything else.
    marks: String,
    /// What the values of each place are of.
    labels: Vec<String>,
}

/// A coordinate or length in user units. Whatever it was, what is written is finite.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A tenth of a unit is finer than any screen; `+ 0.0` turns -0 into 0.
        let tenths = (self.finite() * 10.0).round() / 10.0 + 0.0;
        write!(f, "{tenths}")
    }
}

impl Number {
    fn finite(self) -> f64 {
        if self.0.is_finite() { self.0.clamp(-1e5, 1e5) } else { 0.0 }
    }
}

/// Text as it may stand in XML 1.0 and in HTML: markup is escaped, and so are characters that they
/// forbid or that reorder or hide letters ([`plimsoll_model::printable_lines`]).
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable_lines(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn class(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " e",
        }
    }
}

impl Svg {
    /// A picture of this size with a name and a description for those who do not see it.
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Svg {
        let (text, marks) = (String::with_capacity(8192), String::new());
        let mut svg = Svg { text, marks, labels: Vec::new() };
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" \
             viewBox=\"0 0 {} {}\"><title>{}</title><desc>{}</desc>",
            Number(width),
            Number(height),
            Escaped(title),
            Escaped(description)
        ));
        svg
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(text);
    }

    /// A text; where it is held is part of its class.
    pub(super) fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        self.put(format_args!(
            "<text class=\"{class}{}\" x=\"{}\" y=\"{}\">{}</text>",
            anchor.class(),
            Number(x),
            Number(y),
            Escaped(text)
        ));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, "", &through([from, to]));
    }

    /// A path; `more` is further attributes, written by this module and not by anybody else.
    pub(super) fn path(&mut self, class: &str, more: &str, d: &str) {
        self.put(format_args!("<path class=\"{class}\"{more} d=\"{d}\"/>"));
    }

    pub(super) fn rect(&mut self, class: &str, more: &str, area: Area) {
        self.put(format_args!("<rect class=\"{class}\"{more}{}/>", area));
    }

    /// A place that tells `values` when it is pointed at: what it is, and a line for each label. They
    /// are a title, which browsers show by themselves; a page's script shows it at once, and with
    /// the labels, which are not repeated at every place.
    pub(super) fn values(&mut self, area: Area, values: &str) {
        let (d, title) = (area.path(), Escaped(values));
        let _ = write!(self.marks, "<path d=\"{d}\"><title>{title}</title></path>");
    }

    /// What the lines of the values are of, after the first.
    pub(super) fn labels(&mut self, labels: impl IntoIterator<Item = String>) {
        self.labels.extend(labels);
    }

    pub(super) fn finish(mut self) -> String {
        if !self.marks.is_empty() {
            let labels: Vec<String> = self
                .labels
                .iter()
                .map(|label| Escaped(&label.replace('\n', " ")).to_string())
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!(" data-labels=\"{}\"", labels.join("&#10;")),
            };
            let marks = std::mem::take(&mut self.marks);
            self.put(format_args!("<g class=\"v\"{labels}>{marks}</g>"));
        }
        self.text.push_str("</svg>");
        self.text
    }
}

/// A rectangle by its corner and size.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    /// The path around it.
    pub(super) fn path(&self) -> String {
        let (right, bottom) = (self.x + self.width.max(0.0), self.y + self.height.max(0.0));
        let corners = [(self.x, self.y), (right, self.y), (right, bottom), (self.x, bottom)];
        through(corners) + "z"
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = (self.width.max(0.0), self.height.max(0.0));
        write!(
            f,
            " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            n(self.x),
            n(self.y),
            n(width),
            n(height)
        )
    }
}

/// A coordinate as it is written.
pub(super) fn n(value: f64) -> Number {
    Number(value)
}

/// A path through the points, from one to the next by the shortest words there are: most of a page
/// is paths.
pub(super) fn through(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in points {
        // Steps between rounded places, so that rounding errors do not add up.
        let place = (tenths(x), tenths(y));
        let Some(from) = last.replace(place) else {
            let _ = write!(d, "M{} {}", n(x), n(y));
            continue;
        };
        match (place.0 - from.0, place.1 - from.1) {
            (0, 0) => {}
            (across, 0) => step(&mut d, 'h', &[across]),
            (0, down) => step(&mut d, 'v', &[down]),
            (across, down) => step(&mut d, 'l', &[across, down]),
        }
    }
    d
}

fn tenths(value: f64) -> i64 {
    (Number(value).finite() * 10.0).round() as i64
}

/// A command with its numbers, given in tenths: "l7.9-11.4", "h.5".
fn step(d: &mut String, command: char, numbers: &[i64]) {
    d.push(command);
    for (i, tenths) in numbers.iter().enumerate() {
        if i > 0 && *tenths >= 0 {
            d.push(' ');
        }
        if *tenths < 0 {
            d.push('-');
        }
        let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        let _ = match (whole, tenth) {
            (whole, 0) => write!(d, "{whole}"),
            (0, tenth) => write!(d, ".{tenth}"),
            (whole, tenth) => write!(d, "{whole}.{tenth}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let shown = |v| Number(v).to_string();
        assert_eq!([shown(1.0), shown(1.26), shown(-0.01)], ["1", "1.3", "0"]);
        assert_eq!([shown(f64::NAN), shown(1e300), shown(-1e300)], ["0", "100000", "-100000"]);
    }

    #[test]
    fn paths_take_short_steps_and_end_where_they_should() {
        let places = [(1.0, 2.0), (1.5, 2.0), (1.5, 0.96), (11.5, 2.0), (11.5, 2.0)];
        assert_eq!(through(places), "M1 2h.5v-1l10 1");
        assert_eq!(through([]), "");
        assert_eq!(through([(0.0, 0.0), (-0.3, 12.34)]), "M0 0l-.3 12.3");
    }

    #[test]
    fn markup_and_forbidden_characters_are_not_passed_on() {
        assert_eq!(
            Escaped("<a b='\"'>&\u{1}\u{ffff}ü").to_string(),
            "&lt;a b=&#39;&quot;&#39;&gt;&amp;\\u{1}\\u{ffff}ü"
        );
    }
}
