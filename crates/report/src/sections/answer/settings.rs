//! Of many settings: how fast each is, and what each level bought.

use super::figures::figure_of;
use super::names::{Brief, work};
use super::rows::{NOTHING, Rows};
use crate::chart::Table;
use crate::compared::Compared;
use crate::figure::ends;
use crate::study::Shown;
use crate::text::{counted, printable, shortened};
use crate::verdict::{percent, times_of};
use plimsoll_explain::{Effect, effects};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Factor};
use plimsoll_stats::interval::Interval;
use std::collections::BTreeMap;

/// Columns that a level has in a heading.
const LEVEL: usize = 12;

/// A table for each subject: kinds of work down, settings across.
pub(super) fn tables(shown: &Shown<'_>, brief: &Brief) -> Vec<Rows> {
    let settings = shown.names.settings();
    let several = shown.names.subjects.len() > 1;
    let of_subject = |(subject, name): (u16, &String)| {
        let first = if several { format!("work, {name}") } else { "work".to_owned() };
        let headings = settings.iter().map(|setting| brief.setting(shown, *setting));
        let mut table = Rows::new(std::iter::once(first).chain(headings).collect());
        for found in &shown.findings.workloads {
            let figure = |setting: &u16| {
                let cell = Cell { subject, workload: found.number, setting: *setting };
                figure_of(shown, found, cell)
            };
            let figures: Vec<String> = settings.iter().map(figure).collect();
            if figures.iter().any(|figure| figure != NOTHING) {
                let row = std::iter::once(work(shown, found)).chain(figures).collect();
                table.push(row, Vec::new());
            }
        }
        table
    };
    (0..).zip(&shown.names.subjects).map(of_subject).collect()
}

/// What each level bought against the first of its factor, and how to read it; `None` where there is but
/// one factor, whose levels the table of the answer has.
pub(super) fn bought(shown: &Shown<'_>) -> Option<(String, Table)> {
    let factors = &shown.study.plan.factors;
    let found = effects(shown.study);
    let mut columns: Vec<(usize, usize)> = found.iter().map(|e| (e.factor, e.level)).collect();
    columns.dedup();
    if factors.len() < 2 || columns.is_empty() {
        return None;
    }
    let headings = columns.iter().map(|(factor, level)| heading(factors, *factor, *level));
    let mut table = Table::new(std::iter::once("effect of".to_owned()).chain(headings).collect());
    let several = shown.names.subjects.len() > 1;
    let mut rows: BTreeMap<(u16, u16), BTreeMap<(usize, usize), Effect>> = BTreeMap::new();
    for effect in found {
        let row = rows.entry((effect.workload, effect.subject)).or_default();
        row.insert((effect.factor, effect.level), effect);
    }
    for ((workload, subject), effects) in rows {
        let Some(of) = shown.findings.workloads.get(usize::from(workload)) else { continue };
        let by = of.workload.main().map(|main| shown.shape(main.headline().measure).compared);
        let work = match several {
            true => format!("{}, {}", work(shown, of), shown.names.subject(subject)),
            false => work(shown, of),
        };
        let cell = |column| effects.get(column).map_or(NOTHING.to_owned(), |e| times(e, by));
        table.rows.push(std::iter::once(work).chain(columns.iter().map(cell)).collect());
    }
    let confidence = percent(shown.study.plan.design.confidence);
    let text = format!(
        "Effect of each setting, averaged over the other settings: times as fast [{confidence} interval of \
         each alone]; without an interval the lowest and highest of all blocks."
    );
    let texts = [Some(text), shown.counts_every_block("Effects")];
    Some((texts.into_iter().flatten().collect::<Vec<_>>().join(" "), table))
}

/// "1.63x [1.41–1.89]"; of few blocks, and where the interval says nothing, the plots: "0.400–2.02x, 2 blocks".
fn times(effect: &Effect, by: Option<Compared>) -> String {
    let ratio = effect.ratio;
    // Of a time less is faster.
    let less = by == Some(Compared::Time);
    let interval = ratio.interval.filter(|interval| interval.high <= 100.0 * interval.low);
    if let Some(Interval { low, estimate, high }) = interval {
        let (low, estimate, high) = match less {
            true => (1.0 / high, 1.0 / estimate, 1.0 / low),
            false => (low, estimate, high),
        };
        return format!("{}x {}", three_digits(estimate), ends(low, high));
    }
    let blocks = counted(ratio.blocks as u64, "block");
    let seen = ratio.seen.map(|seen| if less { seen.reversed() } else { seen });
    seen.map_or(NOTHING.to_owned(), |seen| format!("{}x, {blocks}", times_of(&seen, "–")))
}

/// "async/sync"; where other factors have the same levels, with the name of its own.
fn heading(factors: &[Factor], number: usize, level: usize) -> String {
    let factor = &factors[number];
    let levels = |factor: &Factor| -> Vec<String> {
        factor.levels.iter().map(|l| shortened(&printable(&l.to_string()), LEVEL)).collect()
    };
    let own = levels(factor);
    let others = factors.iter().enumerate().filter(|(other, _)| *other != number);
    let alike = others.into_iter().any(|(_, other)| levels(other).iter().any(|l| own.contains(l)));
    let two = format!("{}/{}", own[level], own[0]);
    match alike {
        true => format!("{} {two}", shortened(&printable(factor.short_name()), LEVEL)),
        false => two,
    }
}
