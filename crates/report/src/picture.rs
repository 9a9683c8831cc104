//! Text for the terminal as a picture, for pages that cannot show a terminal.

use crate::chart::STYLE;
use crate::style::{Role, for_terminal};
use std::fmt::Write;

/// Size of a letter's cell in user units, and the margin around the text.
const WIDTH: f64 = 7.9;
const HEIGHT: f64 = 17.0;
const EDGE: f64 = 14.0;

const OWN_STYLE: &str = "svg{background:var(--paper)}text{font:13px ui-monospace,\"DejaVu Sans \
    Mono\",Menlo,Consolas,monospace;fill:var(--ink);white-space:pre}.b{font-weight:700}\
    .w{fill:var(--s1);font-weight:700}";

/// What a [`Style`](crate::Style) with colours made of a text, as an SVG file: a line a line,
/// headings bold, warnings in their colour, light or dark as the viewer prefers.
pub fn picture(text: &str) -> String {
    let text = for_terminal(text, true);
    let plain = |line| Role::painted(line).map_or(line, |(_, text)| text);
    let columns = text.lines().map(|line| plain(line).chars().count()).max().unwrap_or(0);
    let (width, height) =
        (columns as f64 * WIDTH + 2.0 * EDGE, text.lines().count() as f64 * HEIGHT + 2.0 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\"><title>Output of plimsoll\
         </title><style>{STYLE}{OWN_STYLE}</style>"
    );
    for (number, line) in text.lines().enumerate() {
        let class = match Role::painted(line) {
            Some((Role::Heading, _)) => " class=\"b\"",
            Some((Role::Warning, _)) => " class=\"w\"",
            None => "",
        };
        let y = EDGE + (number as f64 + 0.8) * HEIGHT;
        // Writing to a String does not fail.
        let _ = write!(svg, "<text xml:space=\"preserve\"{class} x=\"{EDGE}\" y=\"{y:.1}\">");
        for letter in plain(line).chars() {
            match letter {
                '&' => svg.push_str("&amp;"),
                '<' => svg.push_str("&lt;"),
                '>' => svg.push_str("&gt;"),
                c => svg.push(c),
            }
        }
        svg.push_str("</text>");
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::picture;

    #[test]
    fn headings_and_warnings_are_seen_and_markup_is_text() {
        let svg = picture("\u{1b}[1mHead\u{1b}[0m\n\u{1b}[33m! <b> & co\u{1b}[0m\n  plain\u{7}");
        assert!(svg.contains("class=\"b\" x=\"14\" y=\"27.6\">Head</text>"), "{svg}");
        assert!(
            svg.contains("class=\"w\"") && svg.contains("! &lt;b&gt; &amp; co</text>"),
            "{svg}"
        );
        assert!(svg.contains(">  plain\\u{7}</text>") && !svg.contains('\u{1b}'), "{svg}");
    }
}
