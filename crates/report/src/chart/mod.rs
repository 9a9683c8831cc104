//! Charts: plain data in, an SVG string out. They know no study, no page and no file, so that pages,
//! a live view and files draw with the same code. One file a kind.
//!
//! A picture is drawn to a width of 440 units, so that it can be read at phone width and two stand
//! beside each other on a desk. Colours are custom properties ([`STYLE`]): what shows a chart brings
//! the style sheet along once, or takes the picture by itself ([`alone`]). Every picture has a name
//! and a description, every mark tells its values as a title, and every chart has its data as a
//! [`Table`].

mod areas;
mod axis;
mod bars;
mod flame;
mod frame;
mod groups;
mod heat;
mod lines;
mod quantiles;
mod ratios;
mod rows;
mod scale;
mod stacks;
mod staircase;
mod svg;
mod table;
mod text;
mod theme;
mod thin;
mod ticks;

pub use crate::figure::{BANDWIDTH, BYTES, COUNT, Kind, RATE, SECONDS, SHARE, TIME};
pub use areas::{Areas, Layer};
pub use axis::Axis;
pub use bars::{Bar, Bars};
pub use flame::{Flame, Frame};
pub use groups::{Group, Groups};
pub use heat::{Heat, HeatRow};
pub use lines::{Line, Lines, Point};
pub use quantiles::{Curve, Quantiles};
pub use ratios::{Dot, Ratios};
pub use stacks::{Stack, Stacks};
pub use staircase::{Stair, Staircase};
pub use svg::Escaped;
pub use table::Table;
pub use theme::STYLE;

/// What every kind of chart can do.
pub trait Chart {
    /// Its name.
    fn title(&self) -> &str;
    /// The picture, an `svg` element without colours of its own.
    fn svg(&self) -> String;
    /// The data that the picture shows.
    fn table(&self) -> Table;
}

/// A picture as a file of its own: with its colours, light or dark as the viewer prefers, and a
/// paper under it.
pub fn alone(svg: &str) -> String {
    let paper = "svg{background:var(--paper)}";
    match svg.find('>') {
        Some(end) => {
            let (open, rest) = svg.split_at(end + 1);
            format!("{open}<style>{STYLE}{paper}</style>{rest}\n")
        }
        None => svg.to_owned(),
    }
}
