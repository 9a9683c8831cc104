//! Advice names no option that the command at hand does not have: held against the commands' own definitions, over
//! every text of the program that names an option.

use crate::command_line::definition;
use plimsoll_model::advice::{advised_options, for_command};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The commands that measure.
const MEASURE: [&str; 6] = ["check", "copy", "ops", "device", "net", "play"];
/// Crates whose texts tell a user what to do.
const CRATES: [&str; 11] = [
    "model", "load", "reach", "watch", "settings", "device", "runner", "remote", "study",
    "explain", "report",
];

/// The options of a command, as they are typed.
fn options(command: &str) -> BTreeSet<String> {
    let all = definition();
    let command = all.find_subcommand(command).unwrap_or_else(|| panic!("no command {command}"));
    command.get_arguments().filter_map(|of| of.get_long()).map(|long| format!("--{long}")).collect()
}

/// Options in a text that are no others' than this program's: those behind another command are left out.
fn named(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut own = true;
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '\'', '"']);
        own &= word != "plimsoll";
        let end = word.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(word.len());
        if own && word.starts_with("--") && end > 3 {
            all.push(word[..end].to_owned());
        }
        own |= word.ends_with(['.', ';', ',', ')']);
    }
    all
}

fn sources(directory: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
}

/// The literals of a source, without its tests and comments, that are sentences: they begin with a capital letter
/// and end with a full stop.
fn sentences(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let source = lines.collect::<Vec<_>>().join("\n");
    let pieces = source.split('"').skip(1).step_by(2);
    let joined = pieces.map(|piece| {
        let lines = piece.split("\\\n").map(str::trim_start);
        lines.collect::<String>()
    });
    let is_sentence = |text: &String| {
        text.starts_with(char::is_uppercase) && text.ends_with('.') && text.contains("--")
    };
    joined.filter(is_sentence).collect()
}

#[test]
fn the_table_of_options_is_that_of_the_commands() {
    for (option, commands) in advised_options() {
        let have = MEASURE.into_iter().filter(|command| options(command).contains(option));
        assert_eq!(have.collect::<Vec<_>>(), commands, "{option}");
    }
}

#[test]
fn no_command_advises_an_option_that_it_does_not_have() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut files));
    let texts: BTreeSet<String> =
        files.iter().flat_map(|file| sentences(&fs::read_to_string(file).unwrap())).collect();
    assert!(texts.len() > 30, "the texts are found: {}", texts.len());
    assert!(texts.iter().any(|text| text.contains("--stability filesync")), "that of copies too");
    let own: BTreeSet<String> = MEASURE.iter().flat_map(|command| options(command)).collect();
    for command in MEASURE {
        let has = options(command);
        for text in &texts {
            let advice = for_command(text, command);
            let foreign: Vec<String> = named(&advice)
                .into_iter()
                .filter(|o| own.contains(o) && !has.contains(o))
                .collect();
            assert_eq!(
                foreign,
                Vec::<String>::new(),
                "plimsoll {command} advises: {advice}\n(of: {text})"
            );
            assert!(advice.is_empty() || advice.ends_with('.'), "{command}: {advice}");
            let (open, closed) = (advice.matches('(').count(), advice.matches(')').count());
            assert_eq!(open, closed, "{command}: {advice}");
        }
    }
}
