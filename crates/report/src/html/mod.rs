//! The page: one HTML file that needs nothing else, neither a network nor a script. It follows the
//! reader's choice of light or dark, is printed in black on white, and is laid out for a desk, a
//! phone, a keyboard and a screen reader.

use crate::chart::{Escaped, STYLE, Table};
use crate::content::{Content, Figure};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};

const TEMPLATE: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of this content.
///
/// # Panics
/// Never: the template is a constant that every test of a page renders, and a value that it lacks
/// is shown as nothing.
pub(crate) fn page(content: &Content) -> String {
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
    let parts: Vec<Value> = content.parts.iter().map(part).collect();
    let style = format!("{STYLE}{PAGE_STYLE}");
    let warning = |w: &crate::content::Warning| context! { text => w.text.clone(), advice => w.advice.clone() };
    let named = content.method.tables.iter().map(|(name, data)| {
        context! { name => name, data => table(data) }
    });
    let context = context! {
        title => content.title.clone(),
        subtitle => content.subtitle.clone(),
        failure => content.failure.clone(),
        answer => content.answer.clone(),
        further => content.further.clone(),
        parts => parts,
        warnings => content.warnings.iter().map(warning).collect::<Vec<_>>(),
        method => context! {
            sentences => content.method.sentences.clone(),
            tables => named.collect::<Vec<_>>(),
            commands => content.method.commands.clone(),
        },
        style => Value::from_safe_string(style),
        script => Value::from_safe_string(SCRIPT.to_owned()),
    };
    environment.render_str(TEMPLATE, context).expect("the template is a constant that is tested")
}

fn part(part: &crate::content::Part) -> Value {
    context! {
        id => part.id.clone(),
        heading => part.heading.clone(),
        remarks => part.remarks.clone(),
        table => part.table.as_ref().map(table),
        claims => part.claims.clone(),
        figures => part.figures.iter().map(figure).collect::<Vec<_>>(),
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
    context! { header => table.header.clone(), rows => table.rows.clone() }
}
