//! How things are distinguished: by colour, by lightness, by dashes and by markers, so that a chart can
//! be read in colour, with any kind of colour blindness, and in a grey print.

use super::svg::{Svg, n};

/// Series that can be told apart; further ones begin again.
pub(super) const SERIES: usize = 8;

/// The style sheet of all charts. Colours are custom properties, so that a page and a reader's
/// setting change them together. The hues are those of Okabe and Ito (2008), darkened or lightened
/// until each stands out from the paper by 3:1.
pub const STYLE: &str = include_str!("chart.css");

/// Dashes of the series' lines, as `stroke-dasharray`.
const DASHES: [&str; SERIES] = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 2", "6 2 1 2 1 2"];

/// The class of a series.
pub(super) fn class(part: &str, series: usize) -> String {
    format!("{part} s{}", series % SERIES)
}

/// The attribute that dashes a line, with a space before it.
pub(super) fn dashes(series: usize) -> String {
    match DASHES[series % SERIES] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// Draws the marker of a series around a point.
pub(super) fn marker(svg: &mut Svg, series: usize, (x, y): (f64, f64)) {
    let r = 3.6;
    let circle = |r: f64| {
        let (r, d) = (n(r), n(2.0 * r));
        format!("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", n(x - r.0), n(y))
    };
    let polygon = |points: &[(f64, f64)]| {
        super::svg::through(points.iter().map(|(dx, dy)| (x + r * dx, y + r * dy))) + "z"
    };
    let d = match series % SERIES {
        0 => circle(r),
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        3 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
        5 => polygon(&[(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)]),
        6 => polygon(&[(-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)]),
        _ => circle(0.6 * r),
    };
    svg.path(&class("dot", series), "", &d);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2) of "#rrggbb".
    fn luminance(colour: &str) -> f64 {
        let channel = |i: usize| {
            let c = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The value of a custom property in the n-th palette of the style sheet.
    fn property(palette: usize, name: &str) -> &'static str {
        let value = STYLE.split(&format!("--{name}:")).nth(palette + 1).unwrap();
        value.split([';', '}']).next().unwrap().trim()
    }

    #[test]
    fn every_series_stands_out_from_the_paper_in_both_palettes() {
        for palette in [0, 1] {
            let paper = property(palette, "paper");
            for series in 0..SERIES {
                let colour = property(palette, &format!("s{series}"));
                assert!(contrast(colour, paper) >= 3.0, "{colour} on {paper}");
            }
            assert!(contrast(property(palette, "ink"), paper) >= 7.0);
            assert!(contrast(property(palette, "soft"), paper) >= 4.5);
        }
    }

    #[test]
    fn neighbours_in_a_stack_differ_in_lightness() {
        for palette in [0, 1] {
            for layer in 0..6 {
                let colour = |i: usize| property(palette, &format!("a{i}"));
                assert!(contrast(colour(layer), colour(layer + 1)) >= 1.5, "{layer}");
            }
        }
    }
}
