//! `plimsoll references`: figures that others published.

use crate::arguments::FormatArguments;
use crate::output;
use clap::{Args, Subcommand};
use plimsoll_config::nearest;
use plimsoll_model::{Cause, Failure};
use plimsoll_references::{SOURCES, Source, Table, of_source, tables};
use plimsoll_report::Document;
use std::collections::BTreeSet;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReferencesArguments {
    #[command(subcommand)]
    pub command: Option<ReferencesCommand>,
    #[command(flatten)]
    pub format: FormatArguments,
}

#[derive(Subcommand)]
pub enum ReferencesCommand {
    /// Show the rows of a table, or of all tables of a source
    Show(ShowArguments),
}

#[derive(Args)]
pub struct ShowArguments {
    /// Table or source
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Only rows with this value in this column
    ///
    /// Case does not matter. An empty value finds rows for which the source gives none. May be given several times:
    /// then all conditions must hold
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub filters: Vec<String>,
    #[command(flatten)]
    pub format: FormatArguments,
}

/// Lists the tables, or shows some.
pub fn run(references: &ReferencesArguments) -> Result<u8, Failure> {
    match &references.command {
        None => output::formatted(&Document::of_references(), true, &references.format),
        Some(ReferencesCommand::Show(show)) => {
            output::formatted(&Document::of_tables(&shown(show)?), true, &show.format)
        }
    }
}

/// The source with that key.
pub fn source(key: &str) -> Result<&'static Source, Failure> {
    plimsoll_references::source(key).ok_or_else(|| {
        let known: Vec<&str> = SOURCES.iter().map(|source| source.key).collect();
        usage("find published figures", key, "no source has this name", nearest(key, &known))
    })
}

/// The rows that are asked for. Of a source's tables those alone that have the columns.
fn shown(show: &ShowArguments) -> Result<Vec<Table>, Failure> {
    let mut tables = named(&show.name)?;
    let filters = show.filters.iter().map(|text| filter(&tables, text, &show.name));
    for (column, value) in filters.collect::<Result<Vec<_>, _>>()? {
        tables.retain(|table| table.columns().contains(&column));
        tables = tables.into_iter().map(|table| table.with(&column, &value)).collect();
    }
    if tables.is_empty() {
        let happened = "no table has all of these columns";
        let next = format!("See plimsoll references show {}.", show.name);
        return Err(usage("show published figures", &show.name, happened, next));
    }
    Ok(tables)
}

/// The table of that name, or all of a source.
fn named(name: &str) -> Result<Vec<Table>, Failure> {
    let found: Vec<Table> = match plimsoll_references::table(name) {
        Some(table) => vec![table.clone()],
        None => of_source(name).cloned().collect(),
    };
    if found.is_empty() {
        let sources = SOURCES.iter().map(|source| source.key);
        let known: Vec<&str> = tables().iter().map(|t| t.name.as_str()).chain(sources).collect();
        let happened = "no table or source has this name";
        return Err(usage("show published figures", name, happened, nearest(name, &known)));
    }
    Ok(found)
}

/// Column and value, which some row of these tables has.
fn filter(tables: &[Table], text: &str, name: &str) -> Result<(String, String), Failure> {
    const TRIED: &str = "understand --where";
    let Some((column, value)) = text.split_once('=') else {
        let next = "Give the name of a column and its value, such as platform=TLWR.";
        return Err(usage(TRIED, text, "it has no '='", next));
    };
    let columns: BTreeSet<&str> =
        tables.iter().flat_map(Table::columns).map(String::as_str).collect();
    if !columns.contains(column) {
        let columns: Vec<&str> = columns.into_iter().collect();
        let happened = format!("{name} has no column '{column}'");
        return Err(usage(TRIED, text, &happened, nearest(column, &columns)));
    }
    let rows = || tables.iter().filter(|t| t.columns().iter().any(|known| known == column));
    if !rows().any(|table| table.rows().iter().any(|row| row.is(column, value))) {
        let mut values: Vec<&str> = rows().flat_map(|table| table.values(column)).collect();
        values.retain(|value| !value.is_empty());
        let happened = format!("no row of {name} has that {column}");
        return Err(usage(TRIED, text, &happened, nearest(value, &values)));
    }
    Ok((column.to_owned(), value.to_owned()))
}

fn usage(tried: &str, on: &str, happened: &str, next: impl Into<String>) -> Failure {
    Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next)
}
