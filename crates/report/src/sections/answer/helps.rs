//! What would help most, if one resource is the bottleneck of most rows.

use crate::study::bottleneck::{resource_name, whose};
use crate::study::{Shown, disturbances};
use crate::text::capital;
use plimsoll_explain::{Limit, Limits, Resource, Use};
use plimsoll_model::Cell;

/// "A faster link helps most: the link limits most of the work." Of two setups with a bottleneck each: "For near, more
/// server CPU helps most; for far, a faster link." Where two resources cannot be told apart in any row: "More client CPU
/// or a faster link helps most."
pub(super) fn sentence(shown: &Shown<'_>) -> Option<String> {
    let is_disturbed = disturbances::heavy(shown).is_some();
    let all: Vec<&Limits> = shown.limits.iter().collect();
    let text = match binding_most(shown, &all, is_disturbed) {
        Some(Binding { faster, limits, is_every }) => {
            // The rows of a table can hold several of these.
            let extent = if is_every { "every row" } else { "most of the work" };
            format!("{} most: {limits} {extent}.", helps(&faster))
        }
        None => each(shown, is_disturbed).or_else(|| alike(shown, is_disturbed))?,
    };
    Some(capital(&if is_disturbed { format!("without other work, {text}") } else { text }))
}

/// The bottleneck of most rows.
struct Binding {
    /// What there would have to be more of: "a faster link".
    faster: String,
    /// The resource with its verb: "the link limits".
    limits: String,
    /// Whether it is the bottleneck of each row.
    is_every: bool,
}

/// The resource that is the bottleneck of most of these.
fn binding_most(shown: &Shown<'_>, all: &[&Limits], is_disturbed: bool) -> Option<Binding> {
    let bound: Vec<Bound<'_>> = all
        .iter()
        .filter_map(|limits| Some((limits.cell, limits.binding()?)))
        .filter(|(_, one)| !is_disturbed || is_own(one))
        .map(|(cell, one)| Bound { cell, whose: whose(shown, cell, one), one })
        .collect();
    let kinds = |one: &&Bound<'_>| bound.iter().filter(|other| one.is_same_kind(other)).count();
    let most = bound.iter().max_by_key(kinds)?;
    let count = kinds(&most);
    (2 * count > all.len()).then(|| Binding {
        faster: faster(&most.whose, most.one),
        limits: limits(&resource_name(shown, most.cell, most.one), &most.one.resource),
        is_every: count == all.len(),
    })
}

/// A row with its bottleneck, and whose that is.
struct Bound<'a> {
    cell: Cell,
    whose: String,
    one: &'a Use,
}

impl Bound<'_> {
    fn is_same_kind(&self, other: &Bound<'_>) -> bool {
        let kind = |bound: &Bound<'_>| std::mem::discriminant(&bound.one.resource);
        // A link has two ends.
        let is_link = matches!(self.one.resource, Resource::Link { .. });
        kind(self) == kind(other) && (is_link || self.whose == other.whose)
    }
}

/// Two setups, each with its own bottleneck of most rows.
fn each(shown: &Shown<'_>, is_disturbed: bool) -> Option<String> {
    let setups: Vec<Cell> = shown.names.every_setup().collect();
    let [first, second] = setups[..] else { return None };
    let what = |setup: Cell| {
        let is_own = |limits: &&Limits| {
            (limits.cell.setting, limits.cell.subject) == (setup.setting, setup.subject)
        };
        let own: Vec<&Limits> = shown.limits.iter().filter(is_own).collect();
        let found = binding_most(shown, &own, is_disturbed)?;
        Some((shown.names.setup(setup), found.faster))
    };
    let ((a, of_a), (b, of_b)) = (what(first)?, what(second)?);
    Some(format!("for {a}, {} most; for {b}, {of_b}.", helps(&of_a)))
}

/// The same two resources in every row.
fn alike(shown: &Shown<'_>, is_disturbed: bool) -> Option<String> {
    let two_resources = |limits: &Limits| -> Option<[String; 2]> {
        let Limit::Several { uses, waiting: false } = &limits.verdict else { return None };
        let [a, b] = uses[..] else { return None };
        let [a, b] = [limits.uses.get(a)?, limits.uses.get(b)?];
        let is_known = !is_disturbed || is_own(a) && is_own(b);
        is_known.then(|| [a, b].map(|one| faster(&whose(shown, limits.cell, one), one)))
    };
    let mut pairs = shown.limits.iter().map(|limits| {
        two_resources(limits).map(|mut pair| {
            pair.sort();
            pair
        })
    });
    let first = pairs.next()??;
    let [a, b] = &first;
    pairs.all(|pair| pair.as_ref() == Some(&first)).then(|| format!("{a} or {} most.", helps(b)))
}

/// Whether other work takes no part in it: what a link carries, or a quota has. Of what else is saturated other work may
/// be the reason.
fn is_own(one: &Use) -> bool {
    matches!(one.resource, Resource::Link { .. } | Resource::Quota { .. })
}

/// What there would have to be more of.
fn faster(whose: &str, one: &Use) -> String {
    match &one.resource {
        Resource::Link { .. } => "a faster link".to_owned(),
        Resource::Driver => "a faster client".to_owned(),
        Resource::Processor | Resource::Core { .. } | Resource::Quota { .. } => {
            format!("more {whose}CPU")
        }
        Resource::Threads { .. } => MORE_THREADS.to_owned(),
        Resource::Disk { .. } => "a faster disk".to_owned(),
        Resource::RoundTrip => "more operations in flight, or a shorter path,".to_owned(),
    }
}

const MORE_THREADS: &str = "more NFS threads";

/// "a faster link helps", "more NFS threads help".
fn helps(faster: &str) -> String {
    format!("{faster} {}", if faster == MORE_THREADS { "help" } else { "helps" })
}

/// "the link limits", "round trips limit".
fn limits(name: &str, resource: &Resource) -> String {
    match resource {
        Resource::Core { .. } => format!("one {name} limits"),
        Resource::Threads { .. } => format!("the {name} limit"),
        Resource::RoundTrip => format!("{name} limit"),
        _ => format!("the {name} limits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_agree_with_what_helps_and_with_what_limits() {
        assert_eq!(helps("a faster link"), "a faster link helps");
        assert_eq!(helps(MORE_THREADS), "more NFS threads help");
        for (name, resource, expected) in [
            ("disk", Resource::Disk { name: "sda".into() }, "the disk limits"),
            ("server CPU core", Resource::Core { number: 1 }, "one server CPU core limits"),
            ("NFS threads", Resource::Threads { count: 8 }, "the NFS threads limit"),
            ("round trips", Resource::RoundTrip, "round trips limit"),
        ] {
            assert_eq!(limits(name, &resource), expected);
        }
    }
}
