//! The page: one HTML file that needs nothing else, neither a network nor a script. The answer is
//! open, details are folded. It follows the reader's choice of light or dark, is printed in black on
//! white, and is laid out for a desk, a phone, a keyboard and a screen reader.

use crate::chart::{Escaped, STYLE, Table};
use crate::document::{Document, Figure, Item, Layout, Section};
use crate::text::bind_units;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};

const TEMPLATE: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Document {
    /// One HTML page that needs nothing else.
    ///
    /// # Panics
    /// Never: the template is a constant that every test of a page renders, and a value that it
    /// lacks is shown as nothing.
    pub fn html(&self) -> String {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        // The escaping of the charts, which spends nothing on the slashes of units and paths.
        environment.set_formatter(|out, _, value| {
            let written = match value.is_safe() {
                true => write!(out, "{value}"),
                false if value.is_none() || value.is_undefined() => Ok(()),
                false => write!(out, "{}", Escaped(&value.to_string())),
            };
            Ok(written?)
        });
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        let sections: Vec<Value> = self.sections.iter().map(section).collect();
        let context = context! {
            title => self.title.clone(),
            subtitle => self.below_title(),
            sections => sections,
            style => Value::from_safe_string(format!("{STYLE}{PAGE_STYLE}")),
            script => Value::from_safe_string(SCRIPT.to_owned()),
        };
        environment
            .render_str(TEMPLATE, context)
            .expect("the template is a constant that is tested")
    }
}

fn section(section: &Section) -> Value {
    context! {
        id => section.id.clone(),
        heading => section.heading.clone(),
        folded => section.details,
        items => section.items.iter().map(item).collect::<Vec<_>>(),
    }
}

fn item(item: &Item) -> Value {
    match item.fullest() {
        Item::Forms(_) => context! { kind => "text", text => "" },
        Item::Text(text) => context! { kind => "text", text => text.clone() },
        Item::List(sentences) => context! { kind => "list", sentences => sentences.clone() },
        Item::Facts(facts) => context! {
            kind => "facts",
            facts => facts.iter().map(|(n, v)| vec![n.clone(), v.clone()]).collect::<Vec<_>>(),
        },
        Item::Table(data, layout) => {
            let class = match layout {
                Layout::Figures => "figures",
                Layout::Words => "figures words",
                Layout::Facts => "facts",
            };
            context! { kind => "table", class => class, data => table(data) }
        }
        Item::Verdict(verdict) => context! { kind => "verdict", text => verdict.clone() },
        Item::Warning(warning) => context! {
            kind => "warning",
            text => warning.text.clone(),
            advice => warning.advice.clone(),
        },
        Item::Chart(figure) => context! { kind => "chart", chart => self::figure(figure) },
        Item::Command(command) => context! {
            kind => "command",
            what => command.what.clone(),
            line => command.line.clone(),
            note => command.note.clone(),
        },
    }
}

fn figure(figure: &Figure) -> Value {
    context! {
        id => figure.id.clone(),
        title => figure.chart.title(),
        // Written by this crate, with every text in it escaped.
        svg => Value::from_safe_string(figure.chart.svg()),
        caption => figure.caption.clone(),
        table => table(&figure.chart.table()),
    }
}

fn table(table: &Table) -> Value {
    let row = |row: &Vec<String>| row.iter().map(|text| cell(text)).collect::<Vec<_>>();
    let rows: Vec<_> = table.rows.iter().map(row).collect();
    context! { header => table.header.clone(), rows => rows }
}

/// A cell whose lines stay lines, also where the page wraps cells and where its text is taken out of it. Numbers stay
/// with their units.
fn cell(text: &str) -> Value {
    let line = |line: &str| bind_units(&Escaped(line).to_string(), "&nbsp;");
    let lines: Vec<String> = text.split('\n').map(line).collect();
    Value::from_safe_string(lines.join("<br>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_wrap_neither_lines_nor_figures() {
        let html = |text: &str| cell(text).to_string();
        assert_eq!(html("< 2.00 ms\nlink 94%"), "&lt; 2.00&nbsp;ms<br>link 94%");
        assert_eq!(html("4 workers"), "4 workers");
    }
}
