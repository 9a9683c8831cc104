//! Plans that are wrong, and what is said of them.

use plimsoll_model::{Cause, Failure};

/// One place of a right plan: what stands there, what is written instead, what is then wrong, and a word of what is proposed.
pub(super) type Slip<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A plan is refused as wrong usage, with these words about what is wrong and what to do.
#[track_caller]
pub(super) fn refused<T>(made: Result<T, Failure>, happened: &str, next: &str) -> Failure {
    let failure = made.map(|_| happened).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage, "{failure}");
    assert!(failure.happened.contains(happened), "'{happened}' in {failure}");
    assert!(failure.next.contains(next) && !failure.next.is_empty(), "'{next}' in {failure}");
    failure
}

/// Each slip is refused at its line. Those of a whole job or table, whose words are `elsewhere`, have the line at which that
/// begins.
#[track_caller]
pub(super) fn are_refused_at_their_lines<T>(
    good: &str,
    slips: &[Slip<'_>],
    elsewhere: &[&str],
    plan: impl Fn(&str) -> Result<T, Failure>,
) {
    let ends_of_lines = |text: &str| text.matches('\n').count();
    for &(from, to, happened, next) in slips {
        let place = good.find(from).unwrap_or_else(|| panic!("{from}"));
        let failure = refused(plan(&good.replacen(from, to, 1)), happened, next);
        let (source, at) = failure.on.split_once(':').unwrap_or((&failure.on, "0"));
        let at: usize = at.split(',').next().unwrap().parse().unwrap();
        let begins = 1 + ends_of_lines(&good[..place]);
        let ends = begins + ends_of_lines(from).max(ends_of_lines(to));
        assert_eq!(source, "plan.toml");
        let is_elsewhere = elsewhere.iter().any(|words| happened.contains(words));
        assert!((begins..=ends).contains(&at) || is_elsewhere, "{to}: line {at}: {failure}");
    }
}
