//! The pages in `docs/` tell the truth: every command has one, what they show is what the program
//! prints, and every option they name exists. `PLIMSOLL_BLESS=1` writes the outputs anew.

mod support;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::Plimsoll;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The program with these example studies in its store.
fn program(examples: &[&str]) -> Plimsoll {
    let program = Plimsoll::new();
    for example in examples {
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
    let (demo, others) = (program(&["demo.json"]), program(&["before.json", "after.json"]));
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    for command in commands(&others) {
        let program = if command == "demo" { &demo } else { &others };
        let path = docs().join(format!("{command}.md"));
        let page = std::fs::read_to_string(&path).unwrap();
        let fresh = with_outputs(program, &page);
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
        let checked = line == "```console" && before != "<!-- depends on the moment -->";
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

/// Mirrors fail for a moment, and packages half-way: then what is there is mended and tried again.
#[test]
fn the_installation_of_packages_survives_a_failure() {
    let place = tempfile::tempdir().unwrap();
    let bin = place.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = |name: &str, script: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    // What the script itself needs, and nothing else: so packages are missing.
    for name in ["bash", "cat", "chmod", "dirname", "id", "mktemp", "rm", "sed", "tail", "touch"] {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
        let found = found.into_iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    }
    let scripts = place.path().join("scripts");
    std::fs::create_dir(&scripts).unwrap();
    std::fs::copy(docs().join("../scripts/setup.sh"), scripts.join("setup.sh")).unwrap();
    program("cargo", "exit 0");
    program("sleep", "echo sleep $1 >>log");
    program("dpkg", "echo dpkg $* >>log; [ -e half ] && rm half; exit 0");
    // It fails so many times, and each time leaves a package half configured.
    program(
        "apt-get",
        "echo apt-get $* >>log; case $* in *--fix-broken*) exit 0;; *' install '*) ;; *) exit 0;; esac\n\
         [ ! -e half ] || { echo 'dpkg was interrupted'; exit 100; }\n\
         read -r left <failures\n\
         [ \"$left\" -eq 0 ] || { echo $((left - 1)) >failures; touch half; echo broke; exit 100; }\n\
         for name in cc fio smbd smbclient setpriv; do\n\
         printf '#!/bin/sh\\n' >bin/$name; chmod +x bin/$name; done",
    );
    let run = |failures: u32| {
        std::fs::write(place.path().join("failures"), format!("{failures}\n")).unwrap();
        // The machine's own programs and its policy for services are not to be seen or changed.
        let hidden = "mount -t tmpfs none /usr/sbin && PATH=$0 exec bash scripts/setup.sh bench";
        let namespace = if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" };
        let mut command = std::process::Command::new("unshare");
        command.args([namespace, "/bin/sh", "-c", hidden]).arg(&bin).current_dir(place.path());
        command.env("HOME", place.path()).output().unwrap()
    };
    let log = || std::fs::read_to_string(place.path().join("log")).unwrap();
    let hopeless = run(3);
    let said = String::from_utf8_lossy(&hopeless.stderr);
    assert_eq!(hopeless.status.code(), Some(1), "{said}");
    assert!(said.contains("apt could not install") && said.contains("broke"), "{said}");
    assert_eq!(log().matches("sleep 10").count(), 2, "{}", log());
    std::fs::remove_file(place.path().join("log")).unwrap();
    let done = run(1);
    assert!(done.status.success(), "{}\n{}", String::from_utf8_lossy(&done.stderr), log());
    assert_eq!(log().matches("sleep 10").count(), 1, "{}", log());
    assert!(log().contains("dpkg --configure -a"), "{}", log());
    assert!(bin.join("fio").exists());
}
