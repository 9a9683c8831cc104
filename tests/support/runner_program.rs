//! The runner's program for tests, and programs that are there in its place.

use super::Plimsoll;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The static runner, built as `make runner` does; optimised only where the test is, as what is measured is.
pub fn runner() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory");
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let made = Command::new("make")
            .args(["-s", "-C"])
            .arg(root)
            .arg("runner")
            .arg(format!("RUNNER_PROFILE={profile}"))
            .env("CARGO_TARGET_DIR", target)
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "make runner");
        target.join("runner/native/plimsoll-runner")
    })
}

impl Plimsoll {
    /// The same, where `--on` deploys the runner that was built for tests.
    pub fn with_runner(self) -> Plimsoll {
        self.with("PLIMSOLL_RUNNER", runner().to_str().expect("letters"))
    }
}

/// A static program that says so when it is asked for its version, and else does `body`.
pub fn impostor(place: &Path, body: &str) -> PathBuf {
    let (source, program) = (place.join("impostor.c"), place.join("impostor"));
    let text = format!(
        "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n\
         static char line[1 << 16];\n\
         static void hello(void) {{ puts(\"{{\\\"reply\\\":\\\"hello\\\",\\\"protocol\\\":{protocol},\
         \\\"version\\\":\\\"{version}\\\"}}\"); fflush(stdout); }}\n\
         int main(int n, char **v) {{\n\
         if (n > 1) {{ puts(\"plimsoll-runner 0\"); return 0; }}\n(void)line; (void)hello;\n{body}\nreturn 0; }}\n",
        version = env!("CARGO_PKG_VERSION"),
        protocol = plimsoll_remote::protocol::PROTOCOL,
    );
    std::fs::write(&source, text).expect("room for a few lines");
    let made = Command::new("cc").args(["-static", "-o"]).args([&program, &source]).status();
    assert!(made.is_ok_and(|status| status.success()), "cc -static");
    program
}
