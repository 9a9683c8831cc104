//! Tables of a plan file whose keys are options of the command line: the same options, defaults and
//! checks, said with line and nearest word.

use super::file::{Source, word};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use plimsoll_config::nearest;
use plimsoll_model::Failure;
use std::ffi::OsString;
use toml::{Table, Value};

/// The arguments that a table gives, in place of words of a command line. `more` are words of the real
/// one, which go before those of the table.
pub fn arguments<T: Args + FromArgMatches>(
    source: &Source<'_>,
    at: &[&str],
    table: &Table,
    allowed: &dyn Fn(&Arg) -> bool,
    more: &[Word],
) -> Result<T, Failure> {
    let own = words::<T>(source, at, table, allowed, more)?;
    let line = more.iter().chain(&own).map(Word::written);
    let command = T::augment_args(clap::Command::new("plan").no_binary_name(true));
    let matches = command.try_get_matches_from(line);
    let parsed = matches.and_then(|matches| T::from_arg_matches(&matches));
    parsed.map_err(|error| refused(source, at, table, &error))
}

/// The words of a command line that a table stands for. Those whose options are in `more` are left out.
pub fn words<T: Args>(
    source: &Source<'_>,
    at: &[&str],
    table: &Table,
    allowed: &dyn Fn(&Arg) -> bool,
    more: &[Word],
) -> Result<Vec<Word>, Failure> {
    let command = T::augment_args(clap::Command::new("plan"));
    let options: Vec<&Arg> =
        command.get_arguments().filter(|arg| arg.get_long().is_some() && allowed(arg)).collect();
    let mut words = Vec::new();
    for (key, value) in table {
        let at = [at, &[key]].concat();
        let Some(option) = options.iter().find(|option| option.get_long() == Some(key)) else {
            let known: Vec<&str> = options.iter().filter_map(|option| option.get_long()).collect();
            let happened = format!("unknown key `{key}`");
            return Err(source.problem(&at, &happened, &nearest(key, &known)));
        };
        if more.iter().all(|word| word.long() != Some(key.as_str())) {
            words.extend(written(source, &at, option, key, value)?);
        }
    }
    Ok(words)
}

/// Whether an option is one of these.
pub fn one_of<'a>(names: &'a [&'a str]) -> impl Fn(&Arg) -> bool + 'a {
    move |arg| arg.get_long().is_some_and(|long| names.contains(&long))
}

/// A word of a command line.
#[derive(Clone)]
pub enum Word {
    /// What is measured.
    Subject(String),
    /// An option, and its value unless it is a flag.
    Named { long: String, value: Option<OsString> },
}

impl Word {
    /// An option with a value.
    pub fn named(long: &str, value: &str) -> Word {
        Word::Named { long: long.to_owned(), value: Some(value.into()) }
    }

    /// Name of the option.
    pub fn long(&self) -> Option<&str> {
        match self {
            Word::Subject(_) => None,
            Word::Named { long, .. } => Some(long),
        }
    }

    fn written(&self) -> OsString {
        match self {
            Word::Subject(subject) => subject.into(),
            Word::Named { long, value } => {
                let mut word = OsString::from(format!("--{long}"));
                if let Some(value) = value {
                    word.push("=");
                    word.push(value);
                }
                word
            }
        }
    }
}

/// What was typed of these arguments, defaults left out.
pub fn typed<T: Args>(matches: &ArgMatches) -> Vec<Word> {
    let command = T::augment_args(clap::Command::new("typed"));
    let mut words = Vec::new();
    for option in command.get_arguments() {
        let (id, Some(long)) = (option.get_id().as_str(), option.get_long()) else { continue };
        let typed = Some(clap::parser::ValueSource::CommandLine);
        if !matches.try_contains_id(id).unwrap_or(false) || matches.value_source(id) != typed {
            continue;
        }
        let word = |value| Word::Named { long: long.to_owned(), value };
        match is_flag(option) {
            true => words.push(word(None)),
            false => {
                let values = matches.get_raw(id).into_iter().flatten();
                words.extend(values.map(|value| word(Some(value.to_owned()))));
            }
        }
    }
    words
}

fn is_flag(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}

/// A key and its value as words of a command line.
fn written(
    source: &Source<'_>,
    at: &[&str],
    option: &Arg,
    key: &str,
    value: &Value,
) -> Result<Vec<Word>, Failure> {
    if is_flag(option) {
        return match value {
            Value::Boolean(true) => Ok(vec![Word::Named { long: key.to_owned(), value: None }]),
            Value::Boolean(false) => Ok(Vec::new()),
            _ => Err(source.problem(at, &format!("`{key}` must be true or false"), "Write true.")),
        };
    }
    let several = matches!(option.get_action(), ArgAction::Append);
    let values = match value {
        Value::Array(values) if several => values.iter().collect(),
        Value::Array(_) => {
            let happened = format!("`{key}` takes one value");
            return Err(source.problem(at, &happened, "Write it without [ ]."));
        }
        value => vec![value],
    };
    let mut words = Vec::new();
    for value in values {
        let text = word(value).filter(|_| !matches!(value, Value::Boolean(_)));
        let Some(text) = text else {
            let example = option.get_value_names().and_then(|names| names.first());
            let next = format!("Write it as {key} = \"{}\".", example.map_or("…", |n| n.as_str()));
            return Err(source.problem(
                at,
                &format!("`{key}` must be a string or a number"),
                &next,
            ));
        };
        let filled = source.fill(at, &text)?;
        words.extend(filled.map(|text| Word::named(key, &text)));
    }
    Ok(words)
}

/// What was refused, and where that stands.
fn refused(source: &Source<'_>, at: &[&str], table: &Table, error: &clap::Error) -> Failure {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    // "--block <SIZE>"
    let key = |kind| {
        let option = text(kind)?;
        Some(option.strip_prefix("--")?.split([' ', '=']).next()?.to_owned())
    };
    let own = key(ContextKind::InvalidArg);
    let known = own.as_deref().filter(|key| table.contains_key(*key));
    let place: Vec<&str> = at.iter().copied().chain(known).collect();
    let (own, value) = (own.clone().unwrap_or_default(), text(ContextKind::InvalidValue));
    if let Some(prior) = key(ContextKind::PriorArg) {
        let happened = format!("`{own}` cannot be used with `{prior}`");
        return source.problem(&place, &happened, "Remove one of them.");
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let happened = format!("missing key `{own}`");
        return source.problem(&place, &happened, "Add it, or remove the keys that need it.");
    }
    let valid: Vec<String> = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) => valid.clone(),
        _ => Vec::new(),
    };
    let value = value.unwrap_or_default();
    if !valid.is_empty() {
        let happened = format!("unknown word `{value}` for `{own}`");
        return source.problem(&place, &happened, &nearest(&value, &valid));
    }
    let why = std::error::Error::source(error).map(ToString::to_string);
    let why = why.unwrap_or_else(|| error.kind().to_string());
    let happened = format!("`{value}` is not a value of `{own}`: {why}");
    source.problem(&place, &happened, "docs/run.md lists the options.")
}
