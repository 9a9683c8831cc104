//! A program to deploy, with what messages call it.

use plimsoll_model::{Cause, Failure};
use std::time::Duration;

/// A program to deploy.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The name of its file.
    pub file: &'static str,
    /// What it is called in messages: "the probe".
    pub name: &'static str,
    /// The directory of its builds, a directory for each machine in it.
    pub directory: &'static str,
    /// The environment variable that names such a directory, or a build, to take instead.
    pub variable: &'static str,
    /// How builds are made: "run `make`".
    pub make: &'static str,
    /// Longest build that is taken, in bytes.
    pub most_bytes: u64,
    /// Why a build will do on no host.
    pub refuse: fn(&[u8]) -> Option<&'static str>,
    /// What to do where no directory of the host will do.
    pub elsewhere: &'static str,
    /// What to do without it.
    pub without: &'static str,
    /// Time to send it over a slow link.
    pub time_limit: Duration,
}

impl Bundle {
    /// The failure that no directory will do, with what each lacks.
    pub(crate) fn nowhere(&self, host: &str, passed: &[String]) -> Failure {
        let full = |why: &String| why.to_lowercase().contains("no space left");
        let cause = if passed.iter().any(full) { Cause::NoSpace } else { Cause::NotPermitted };
        let tried = format!("put {} on the host", self.name);
        Failure::new(cause, tried).on(host).happened(passed.join("; ")).next(self.elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use crate::probe;
    use plimsoll_model::Cause;

    #[test]
    fn space_is_what_lacks_where_it_lacks_anywhere() {
        let passed = ["a: Permission denied".into(), "b: No space left on device".into()];
        let failure = probe::BUNDLE.nowhere("h", &passed);
        assert_eq!(failure.cause, Cause::NoSpace);
        assert!(failure.happened.contains("a: Perm") && failure.next.contains("--probe-dir"));
        assert_eq!(probe::BUNDLE.nowhere("h", &passed[..1]).cause, Cause::NotPermitted);
    }
}
