//! Scripts of `make test`: `scripts/tests.py`, with a `cargo` that fails on command, and `scripts/circles.py`.

use plimsoll_testkit::{Need, available};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Answers `cargo metadata` with two targets, and fails their tests as the files beside it say: a file
/// `fails-TARGET` holds how many more runs of the target fail.
const CARGO: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*; require $PLIMSOLL_REQUIRE; seed $PROPTEST_RNG_SEED" >>"$here/calls"
case "$*" in
metadata*)
    printf '{"packages":[{"targets":[%s,%s]}]}' \
        "{\"kind\":[\"test\"],\"name\":\"pure\",\"src_path\":\"$here/pure.rs\"}" \
        "{\"kind\":[\"test\"],\"name\":\"served\",\"src_path\":\"$here/served.rs\"}"
    exit ;;
*--no-run*) exit ;;
*"--test pure"*) target=pure ;;
*"--test served"*) target=served ;;
*) exit ;;
esac
left=$(cat "$here/fails-$target" 2>/dev/null || echo 0)
if [ "$left" -eq 0 ]; then
    echo "test result: ok. $(cat "$here/selects" 2>/dev/null || echo 1) passed; 0 failed; 0 ignored"
    exit
fi
echo $((left - 1)) >"$here/fails-$target"
cat "$here/says"
exit 101
"#;

const ONE_FAILURE: &str = "running 2 tests
.F
failures:

---- serves::twice stdout ----

thread 'serves::twice' (7) panicked at tests/served.rs:7:5:
no reply within 15 s
note: run with `RUST_BACKTRACE=1`

failures:
    serves::twice

test result: FAILED. 1 passed; 1 failed; 0 ignored
";

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        let cargo = bench.0.path().join("cargo");
        bench.write("cargo", CARGO);
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).unwrap();
        bench.write("pure.rs", "#[test] fn adds() { proptest!(1 + 1) }");
        bench.write("served.rs", "use plimsoll_testkit::Ganesha;");
        bench.write("says", ONE_FAILURE);
        bench
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Whether the script passed, and the text that it printed.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        self.run_with(None, arguments)
    }

    /// The same where the environment names what is required.
    fn run_with(&self, required: Option<&str>, arguments: &[&str]) -> (bool, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tests.py");
        let output = Command::new(script)
            .args(arguments)
            .env("PATH", path)
            .env_remove("PROPTEST_RNG_SEED")
            .env_remove("PLIMSOLL_REQUIRE")
            .envs(required.map(|names| ("PLIMSOLL_REQUIRE", names)))
            .output()
            .expect("it starts");
        let printed = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), printed)
    }

    /// The calls of `cargo` that ran a target.
    fn runs_of(&self, target: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.0.path().join("calls")).unwrap();
        calls.lines().filter(|call| call.contains(target)).map(str::to_owned).collect()
    }
}

#[test]
fn a_test_with_a_server_that_fails_once_is_listed_as_flaky_with_its_first_failure() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    bench.write("fails-served", "1");
    let (passed, printed) = bench.run(&[]);
    assert!(passed, "{printed}");
    let last = printed.lines().last().unwrap();
    assert!(last.starts_with("FLAKY") && last.contains("--test served serves::twice"), "{last}");
    assert!(last.contains("no reply within 15 s"), "{last}");
    let runs = bench.runs_of("--test served");
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[1].contains("--exact serves::twice"), "alone: {}", runs[1]);
}

#[test]
fn a_test_that_fails_twice_fails_the_run() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    bench.write("fails-served", "2");
    let (passed, printed) = bench.run(&[]);
    assert!(
        !passed && printed.contains("FAILED: --test served serves::twice (twice)"),
        "{printed}"
    );
    assert!(!printed.contains("FLAKY"), "{printed}");
}

#[test]
fn a_pure_test_is_never_run_twice() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    bench.write("fails-pure", "1");
    let (passed, printed) = bench.run(&[]);
    assert!(!passed && printed.contains("FAILED: --test pure serves::twice"), "{printed}");
    assert_eq!(bench.runs_of("--test pure").len(), 1);
}

#[test]
fn a_second_run_that_runs_no_test_shows_nothing() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    bench.write("fails-served", "1");
    bench.write("selects", "0");
    let (passed, printed) = bench.run(&[]);
    assert!(!passed && !printed.contains("FLAKY"), "{printed}");
}

#[test]
fn a_target_that_dies_without_naming_a_test_runs_again_as_a_whole() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    bench.write("fails-served", "1");
    bench.write("says", "running 2 tests\n.error: test failed (signal: 6, SIGABRT)\n");
    let (passed, printed) = bench.run(&[]);
    assert!(passed, "{printed}");
    assert!(printed.lines().last().unwrap().contains("FLAKY") && printed.contains("SIGABRT"));
    assert!(!bench.runs_of("--test served")[1].contains("--exact"));
}

#[test]
fn properties_have_one_seed_in_each_run_of_all_tests_and_a_fresh_one_on_request() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    let seed = |arguments: &[&str]| {
        let (passed, printed) = bench.run(arguments);
        assert!(passed, "{printed}");
        let line = printed.lines().find(|line| line.starts_with("seed of the properties")).unwrap();
        let seed = line.rsplit('=').next().unwrap().to_owned();
        let runs = bench.runs_of("--test pure");
        assert!(runs.last().unwrap().ends_with(&format!("seed {seed}")), "{runs:?}");
        seed
    };
    assert_eq!(seed(&[]), seed(&[]));
    assert_ne!(seed(&["--properties"]), seed(&["--properties"]));
    assert_eq!(bench.runs_of("--test served").len(), 2, "it has no properties");
}

#[test]
fn all_is_asked_for_of_tests_that_take_long() {
    if !available(Need::Python) {
        return;
    }
    let bench = Bench::new();
    for (required, expected) in [
        (None, "time"),
        (Some("ganesha, fio"), "ganesha,fio,time"),
        (Some("time"), "time"),
        (Some("all"), "all"),
    ] {
        let (passed, printed) = bench.run_with(required, &[]);
        assert!(passed, "{printed}");
        let runs = bench.runs_of("--test pure");
        let asked = format!("; require {expected}; seed ");
        assert!(runs.last().unwrap().contains(&asked), "{expected}: {runs:?}");
    }
}

/// Whether `scripts/circles.py` accepts a crate of these files, and the text of its complaint.
fn are_circles_accepted(files: &[(&str, &str)]) -> (bool, String) {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("crates/some/src");
    fs::create_dir_all(&source).unwrap();
    for (name, text) in files {
        fs::write(source.join(name), text).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/circles.py");
    let output = Command::new(script).arg(root.path()).output().expect("it starts");
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn four_files_that_use_each_other_are_refused() {
    if !available(Need::Python) {
        return;
    }
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use d::D;");
    let [a, b] = [
        ("a.rs", "use crate::b;\npub fn a() { b::b() }"),
        ("b.rs", "pub fn b() { super::c::c() }"),
    ];
    let c = ("c.rs", "use crate::{D};\npub fn c(_: D) {}");
    let d = ("d.rs", "pub struct D;\nfn d() { crate::a::a() }");
    let (accepted, complaint) = are_circles_accepted(&[lib, a, b, c, d]);
    let named = "4 files use each other: a.rs b.rs c.rs d.rs";
    assert!(!accepted && complaint.contains(named), "{complaint}");

    let three = ("c.rs", "pub fn c() { crate::a::a() }");
    assert_eq!(are_circles_accepted(&[lib, a, b, three, d]), (true, String::new()));
    let of_test = ("d.rs", "pub struct D;\n#[cfg(test)]\nmod tests { fn d() { crate::a::a() } }");
    assert_eq!(are_circles_accepted(&[lib, a, b, c, of_test]), (true, String::new()));
    let in_comment = (
        "d.rs",
        "// crate::a::a()\npub struct D(&'static str); // \"\nconst D: &str = \"crate::a::a\";",
    );
    assert_eq!(are_circles_accepted(&[lib, a, b, c, in_comment]), (true, String::new()));
}
