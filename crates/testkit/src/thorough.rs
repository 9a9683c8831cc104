//! How much is done of a test that takes long.
//!
//! `make test` does all of it. Plain `cargo test`, which is to end within minutes, does a part of it, spread over the
//! whole, and says on standard error what it leaves out, as of a test that lacks something. The environment
//! variable `PLIMSOLL_REQUIRE` asks for all of it if it names `time`, or `all` ([`crate::require`]).

use crate::require;

/// Whether all of it is asked for.
///
/// # Panics
/// If `PLIMSOLL_REQUIRE` names something unknown.
#[track_caller]
pub fn is_asked_for() -> bool {
    require::is_named(require::TIME)
}

/// A number of like steps: all, or a part of them, and then it says so.
///
/// # Panics
/// As [`is_asked_for`].
#[track_caller]
pub fn some_of(part: usize, all: usize, what: &str) -> usize {
    said(part_of(is_asked_for(), part, all, what))
}

/// The step from one moment to the next for a test that goes through all of them: 1, or `step`, and then it
/// says so.
///
/// # Panics
/// As [`is_asked_for`].
#[track_caller]
pub fn one_in(step: usize, what: &str) -> usize {
    said(step_of(is_asked_for(), step, what))
}

/// The usual option of a run, or one that makes it shorter, and then it says so.
///
/// # Panics
/// As [`is_asked_for`].
#[track_caller]
pub fn shorter(short: &'static str, usual: &'static str) -> &'static str {
    said(shorter_of(is_asked_for(), short, usual))
}

/// Whether a test runs that has no shorter form: where it does not, says so.
///
/// # Panics
/// As [`is_asked_for`].
#[track_caller]
pub fn has_time(seconds: u32) -> bool {
    said(has_time_of(is_asked_for(), seconds))
}

/// Prints what is left out, if anything is, and returns what is done.
fn said<T>((done, left_out): (T, Option<String>)) -> T {
    if let Some(left_out) = left_out {
        require::say_skipped(&format!("{left_out} (make test does all of it)"));
    }
    done
}

fn part_of(thorough: bool, part: usize, all: usize, what: &str) -> (usize, Option<String>) {
    match thorough || part >= all {
        true => (all, None),
        false => (part, Some(format!("leaves out {} of {all} {what}", all - part))),
    }
}

fn step_of(thorough: bool, step: usize, what: &str) -> (usize, Option<String>) {
    match thorough || step <= 1 {
        true => (1, None),
        false => (step, Some(format!("leaves out {} of {step} {what}", step - 1))),
    }
}

fn shorter_of(
    thorough: bool,
    short: &'static str,
    usual: &'static str,
) -> (&'static str, Option<String>) {
    match thorough {
        true => (usual, None),
        false => (short, Some(format!("has {short} instead of {usual}"))),
    }
}

fn has_time_of(thorough: bool, seconds: u32) -> (bool, Option<String>) {
    match thorough {
        true => (true, None),
        false => (false, Some(format!("takes about {seconds} s"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(left_out: &str) -> Option<String> {
        Some(left_out.to_owned())
    }

    #[test]
    fn all_is_done_without_a_word_where_tests_are_thorough() {
        assert_eq!(part_of(true, 8, 50, "kills"), (50, None));
        assert_eq!(step_of(true, 10, "calls"), (1, None));
        assert_eq!(shorter_of(true, "--time=1s", "--time=8s"), ("--time=8s", None));
        assert_eq!(has_time_of(true, 40), (true, None));
    }

    #[test]
    fn elsewhere_a_part_is_done_and_the_rest_is_named() {
        let some = part_of(false, 8, 50, "kills");
        assert_eq!(some, (8, text("leaves out 42 of 50 kills")));
        let moments = step_of(false, 10, "calls of clean");
        assert_eq!(moments, (10, text("leaves out 9 of 10 calls of clean")));
        let option = shorter_of(false, "--time=1s", "--time=8s");
        assert_eq!(option, ("--time=1s", text("has --time=1s instead of --time=8s")));
        let none = has_time_of(false, 40);
        assert_eq!(none, (false, text("takes about 40 s")));
    }

    #[test]
    fn where_the_part_is_all_nothing_is_left_out() {
        assert_eq!(part_of(false, 50, 50, "kills"), (50, None));
        assert_eq!(part_of(false, 60, 50, "kills"), (50, None));
        assert_eq!(step_of(false, 1, "calls"), (1, None));
    }
}
