//! The targets of a plan file, and those that the command line gives for them.

use super::file::{Source, TargetEntry};
use crate::arguments;
use plimsoll_config::nearest;
use plimsoll_model::{Cause, Failure, Target};

/// What the plan names on the command line.
const NOUN: &str = "targets";

/// The targets and their names: those of the file, for which the command line stands in where it has none;
/// or the command line's alone.
pub fn targets(
    source: &Source<'_>,
    given: &[String],
) -> Result<(Vec<Target>, Vec<String>), Failure> {
    let entries = &source.plan.targets;
    if entries.is_empty() {
        return match given.is_empty() {
            true => Err(usage(
                "plan the targets",
                "no target is given",
                "Give one or more after the plan.",
            )),
            false => Ok((arguments::targets(given)?, Vec::new())),
        };
    }
    let mut typed = given.iter();
    let mut found: Vec<(&TargetEntry, String)> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let number = number.to_string();
        let at = ["target", number.as_str()];
        let url = match (&entry.url, &entry.same_as) {
            (Some(_), Some(_)) => {
                let at = ["target", &number, "same-as"];
                let happened = "a target has either `url` or `same-as`";
                return Err(source.problem(&at, happened, "Remove one of them."));
            }
            (Some(url), None) => source.fill_all(&["target", &number, "url"], url)?,
            (None, Some(name)) => {
                let same = found.iter().find(|(other, _)| other.name == *name);
                let Some((_, url)) = same else {
                    let known: Vec<&str> = found.iter().map(|(e, _)| e.name.as_str()).collect();
                    let happened = format!("no target above has the name `{name}`");
                    let at = ["target", &number, "same-as"];
                    return Err(source.problem(&at, &happened, &nearest(name, &known)));
                };
                url.clone()
            }
            (None, None) => match typed.next() {
                Some(url) => url.clone(),
                None => return Err(missing(source, &at, NOUN, &open(source))),
            },
        };
        found.push((entry, url));
    }
    if let Some(more) = typed.next() {
        return Err(too_many(NOUN, more, &open(source)));
    }
    let mut targets = Vec::new();
    for (number, (entry, url)) in found.iter().enumerate() {
        let at = ["target", &number.to_string(), "options"];
        let target = match &entry.options {
            None => url.parse(),
            Some(_) if !url.contains("://") => {
                let next = "Remove them, or give an nfs:// or smb:// URL.";
                return Err(source.problem(&at, "a directory has no options", next));
            }
            Some(options) => {
                let options = source.fill_all(&at, options)?;
                let and = if url.contains('?') { '&' } else { '?' };
                format!("{url}{and}{options}").parse()
            }
        };
        let at = &at[..2];
        targets.push(target.map_err(|failure: Failure| source.placed(at, failure))?);
    }
    Ok((targets, entries.iter().map(|entry| entry.name.clone()).collect()))
}

/// A subject that the command line has to give.
pub struct Open<'a> {
    pub name: &'a str,
    pub about: Option<&'a str>,
}

/// The targets that the command line has to give, in their order.
fn open<'a>(source: &'a Source<'_>) -> Vec<Open<'a>> {
    let open = |entry: &&TargetEntry| entry.url.is_none() && entry.same_as.is_none();
    let entries = source.plan.targets.iter().filter(open);
    entries.map(|entry| Open { name: &entry.name, about: entry.about.as_deref() }).collect()
}

/// Fewer subjects on the command line than the plan leaves open; `noun` is what they are.
pub fn missing(source: &Source<'_>, at: &[&str], noun: &str, open: &[Open<'_>]) -> Failure {
    let about = open.iter().map(|entry| match entry.about {
        Some(about) => format!("{} ({about})", entry.name),
        None => entry.name.to_owned(),
    });
    let about: Vec<String> = about.collect();
    let happened = format!("these {noun} are missing: {}", about.join(", "));
    source.problem(at, &happened, "Give them after the plan, in that order.")
}

/// More subjects on the command line than the plan leaves open.
pub fn too_many(noun: &str, more: &str, open: &[Open<'_>]) -> Failure {
    let names: Vec<&str> = open.iter().map(|entry| entry.name).collect();
    let happened = format!("the plan has {} open {noun}: {}", names.len(), names.join(", "));
    Failure::new(Cause::Usage, format!("plan the {noun}"))
        .on(more)
        .happened(happened)
        .next("Omit it.")
}

fn usage(tried: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, tried).on("the command line").happened(happened).next(next)
}
