//! The pages in `docs/` tell the truth: every command has one, what they show is what the program
//! prints, and every option they name exists. `PLIMSOLL_BLESS=1` writes the outputs anew.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::Plimsoll;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The program with the example studies in its store.
fn program() -> Plimsoll {
    let program = Plimsoll::new();
    for example in ["before.json", "after.json"] {
        let path = docs().join("examples").join(example);
        program.run(&["import", path.to_str().expect("a path in letters")]).expect(0);
    }
    program
}

/// The names of the commands, from the program's own help.
fn commands(program: &Plimsoll) -> Vec<String> {
    listed(&program.run(&["--help"]).expect(0).out)
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("options after it");
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    let names = list.lines().filter_map(name);
    names.filter(|name| !name.is_empty() && name != "help").collect()
}

/// Words like `--size` in a text.
fn options(text: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.split(|c| !word(c))
        .map(|option| option.trim_end_matches('-'))
        .filter(|option| option.len() > 2 && option.starts_with("--") && !option.starts_with("---"))
        .collect()
}

#[test]
fn every_command_has_a_page_and_the_index_names_it() {
    let index = std::fs::read_to_string(docs().join("README.md")).unwrap();
    let commands = commands(&Plimsoll::new());
    assert!(commands.len() >= 12, "{commands:?}");
    for command in commands {
        assert!(docs().join(format!("{command}.md")).exists(), "no docs/{command}.md");
        assert!(
            index.contains(&format!("| [{command}]({command}.md) |")),
            "{command} in the index"
        );
    }
}

#[test]
fn every_option_that_a_page_names_exists() {
    let program = Plimsoll::new();
    let helps: Vec<(String, String)> = commands(&program)
        .into_iter()
        .map(|command| {
            let help = program.run(&[command.as_str(), "--help"]).expect(0).out;
            (command, help)
        })
        .collect();
    // Of commands that have further ones, theirs too.
    let further: Vec<String> = helps
        .iter()
        .filter(|(_, help)| help.contains("Commands:\n"))
        .flat_map(|(command, help)| listed(help).into_iter().map(move |inner| (command, inner)))
        .map(|(command, inner)| program.run(&[command, &inner, "--help"]).expect(0).out)
        .collect();
    let all = helps.iter().map(|(_, help)| help).chain(&further);
    let known: BTreeSet<&str> = all.flat_map(|help| options(help)).collect();
    for (command, _) in &helps {
        let page = std::fs::read_to_string(docs().join(format!("{command}.md"))).unwrap();
        for option in options(&page) {
            assert!(known.contains(option), "{option} in docs/{command}.md");
        }
    }
}

#[test]
fn outputs_on_the_pages_are_what_the_program_prints() {
    let program = program();
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    for command in commands(&program) {
        let path = docs().join(format!("{command}.md"));
        let page = std::fs::read_to_string(&path).unwrap();
        let fresh = with_outputs(&program, &page);
        if bless {
            std::fs::write(&path, fresh).unwrap();
        } else {
            assert_eq!(page, fresh, "{}: make docs brings it up to date", path.display());
        }
    }
}

/// The page with every block of output as the program prints it now, unless it says that it shows
/// what depends on the moment.
fn with_outputs(program: &Plimsoll, page: &str) -> String {
    let mut fresh = String::new();
    let mut lines = page.lines().peekable();
    let mut before = "";
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let checked = line == "```console" && before != "<!-- as it ran -->";
        let instead = before.strip_prefix("<!-- output of: ").and_then(|b| b.strip_suffix(" -->"));
        before = line;
        if !checked {
            continue;
        }
        let shown = lines.next().expect("a command after ```console");
        fresh.push_str(shown);
        fresh.push('\n');
        while lines.next_if(|line| *line != "```").is_some() {}
        let run = instead.or(shown.strip_prefix("$ ")).expect("a command begins with '$ '");
        let arguments: Vec<&str> = run.split(' ').skip(1).collect();
        let out = program.run(&arguments).expect(0).out;
        // Lines of a table may end in spaces, which editors take away.
        for line in out.lines() {
            fresh.push_str(line.trim_end());
            fresh.push('\n');
        }
    }
    fresh
}
