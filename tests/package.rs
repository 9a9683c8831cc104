//! What archives and Debian packages hold: `make dist` packs them by the same script. Here it packs
//! no programs worth having; `make check-dist` tries those that are, on bare systems.

mod support;

use plimsoll_testkit::{Need, available};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Plimsoll;

const MACHINE: &str = std::env::consts::ARCH;
/// In the place of each program.
const PROGRAM: &str = "/bin/true";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Packs programs, as small ones as there are; the archive, and the package.
fn pack(place: &Path, out: &str) -> (PathBuf, PathBuf) {
    let (runners, probes, out) = (place.join("runners"), place.join("probes"), place.join(out));
    let builds = [
        (&runners, MACHINE, "plimsoll-runner"),
        (&runners, "mips", "plimsoll-runner"),
        (&probes, MACHINE, "plimsoll-probe"),
        (&probes, "mips", "plimsoll-probe"),
        (&probes, "sanitized", "plimsoll-probe"),
    ];
    for (directory, machine, name) in builds {
        fs::create_dir_all(directory.join(machine)).unwrap();
        fs::copy(PROGRAM, directory.join(machine).join(name)).unwrap();
    }
    run(Command::new(root().join("scripts/package.sh"))
        .args([MACHINE, PROGRAM])
        .arg(&out)
        .env("NATIVE", env!("CARGO_BIN_EXE_plimsoll"))
        .env("RUNNERS", &runners)
        .env("PROBES", &probes));
    let with = |end: &str| {
        let files = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.to_str().unwrap().ends_with(end)).collect::<Vec<_>>()
    };
    let (archives, packages) = (with(".tar.gz"), with(".deb"));
    assert_eq!((archives.len(), packages.len()), (1, 1));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "nothing else is left");
    (archives[0].clone(), packages[0].clone())
}

/// The files below a directory, by their paths in it.
fn files(directory: &Path) -> BTreeSet<String> {
    let listed = run(Command::new("find").arg(directory).args(["-type", "f", "-printf", "%P\\n"]));
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn archive_and_package_hold_all_that_belongs_to_the_program() {
    if !available(Need::Dpkg) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (archive, package) = pack(place.path(), "one");
    let tree = place.path().join("tree");
    fs::create_dir(&tree).unwrap();
    run(Command::new("tar")
        .args(["--strip-components=1", "-xf"])
        .arg(&archive)
        .arg("-C")
        .arg(&tree));
    let found = files(&tree);

    let mut expected = BTreeSet::from(["bin/plimsoll".to_owned()]);
    for machine in [MACHINE, "mips"] {
        expected.insert(format!("lib/plimsoll/runner/{machine}/plimsoll-runner"));
        expected.insert(format!("lib/plimsoll/probes/{machine}/plimsoll-probe"));
    }
    let help = Plimsoll::new().run(&["--help"]).expect(0).out;
    let commands = help.lines().skip_while(|line| !line.ends_with("ommands:")).skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        // Others go on from the line before.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"check") && commands.contains(&"demo"), "{help}");
    expected.extend(commands.iter().map(|name| format!("share/man/man1/plimsoll-{name}.1.gz")));
    let shells = [
        "bash-completion/completions/plimsoll",
        "zsh/site-functions/_plimsoll",
        "fish/vendor_completions.d/plimsoll.fish",
    ];
    expected.extend(shells.map(|file| format!("share/{file}")));
    let docs = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/glossary.md"];
    expected.extend(docs.map(|file| format!("share/doc/plimsoll/{file}")));
    expected.insert("share/doc/plimsoll/LICENSES-OF-LIBRARIES".to_owned());
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(!found.iter().any(|file| file.contains("sanitized")), "{found:?}");

    for shell in ["bash", "fish"] {
        let file = shells.iter().find(|file| file.starts_with(shell)).unwrap();
        if plimsoll_process::child::find(shell).is_some() {
            run(Command::new(shell).arg("-n").arg(tree.join("share").join(file)));
        }
    }
    let check =
        run(Command::new("gzip").arg("-dc").arg(tree.join("share/man/man1/plimsoll-check.1.gz")));
    assert!(check.contains(".TH") && check.contains("max\\-time"), "{check}");
    let licences =
        fs::read_to_string(tree.join("share/doc/plimsoll/LICENSES-OF-LIBRARIES")).unwrap();
    for library in ["aws-lc-sys", "rusqlite", "clap", "SQLite", "GNU C Library", "musl"] {
        assert!(licences.contains(library), "{library}");
    }
    assert!(!licences.contains("proptest"), "what only tests use is in no program");
    assert_eq!(mode(&tree.join("bin/plimsoll")), 0o755);
    run(Command::new("cmp").arg(tree.join("bin/plimsoll")).arg(PROGRAM));

    // The package has the same files below /usr, and sums that are theirs.
    let unpacked = place.path().join("unpacked");
    run(Command::new("dpkg-deb").arg("-R").args([&package, &unpacked]));
    let usr = unpacked.join("usr");
    let in_archive = |file: &String| file.replace("zsh/vendor-completions", "zsh/site-functions");
    let of_package = files(&usr);
    let copyright = "share/doc/plimsoll/copyright".to_owned();
    let same: BTreeSet<String> = of_package.iter().map(in_archive).collect();
    let found: BTreeSet<String> = found.into_iter().chain([copyright.clone()]).collect();
    assert_eq!(same, found);
    for file in of_package.iter().filter(|file| **file != copyright) {
        run(Command::new("cmp").args([tree.join(in_archive(file)), usr.join(file)]));
    }
    let sums = unpacked.join("DEBIAN/md5sums");
    run(Command::new("md5sum").args(["--check", "--quiet"]).arg(&sums).current_dir(&unpacked));
    assert_eq!(fs::read_to_string(&sums).unwrap().lines().count(), found.len());
    let field = |name: &str| run(Command::new("dpkg-deb").arg("-f").arg(&package).arg(name));
    assert_eq!(field("Package").trim(), "plimsoll");
    assert_eq!(field("Version").trim(), env!("CARGO_PKG_VERSION"));
    assert_eq!(field("Depends").trim(), "", "a static program needs no other package");
    for (list, of) in [("-tvf", &archive), ("-c", &package)] {
        let program = if list == "-c" { "dpkg-deb" } else { "tar" };
        let listed = run(Command::new(program).arg(list).arg(of));
        assert!(
            listed.lines().all(|l| l.contains(" root/root ") || l.contains(" 0/0 ")),
            "{listed}"
        );
    }
}

#[test]
fn the_same_files_make_the_same_archive() {
    if !available(Need::Dpkg) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (archive, package) = pack(place.path(), "one");
    let (again, package_again) = pack(place.path(), "two");
    for (one, two) in [(archive, again), (package, package_again)] {
        run(Command::new("cmp").args([one, two]));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
