//! The answer, on one screen: what was measured, a table with the verdicts, the sentences that matter,
//! warnings, and what to type next.

mod causes;
mod compact;
mod connections;
mod copies;
mod database;
mod figures;
mod fit;
mod flowtable;
mod forwarding;
mod forwarding_legend;
mod helps;
mod names;
mod operations;
pub(super) mod parts;
mod paths;
mod playback;
mod routed;
mod routers;
mod rows;
mod sentences;
mod settings;
mod shape;
mod slides;
mod speeds;
mod summary;
mod table;

use super::{clients, gains};
use crate::chart::Table;
use crate::document::{Item, Layout, Section};
use crate::names::LONGEST;
use crate::study::bottleneck::Notes;
use crate::study::copies::Copies;
use crate::study::{Shown, disturbances, head, hosts, limits, mounts, stalls, stored, warnings};
use crate::text::{capital, counted, duration, listed, printable, width};
pub(super) use fit::{fits_a_screen, is_narrow};
pub use forwarding::rates_compared;
use names::Brief;
pub(super) use operations::{binds, calls_of_several};
use plimsoll_model::{Cause, Cell, Ended, Flag, HostFacts, Rule};
pub(super) use routers::{at_each_rate, explain as explain_routers};
use rows::Explained;

/// What there is to say of a study without a complete trial.
pub(super) const NOTHING: &str = "No trial ran to its end, so there are no figures.";
/// Subjects up to which each has a line of its own.
const INTRODUCED: usize = 3;

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let brief = Brief::new(shown);
    let mut section = Section::new("answer", "");
    section.warnings(head::ending(shown.study));
    let complete: usize =
        shown.findings.workloads.iter().flat_map(|w| &w.cells).map(|c| c.complete).sum();
    let mut is_told = false;
    if complete > 0 {
        section.texts(stalls::leading(shown));
        section.texts(parts::sentences(shown));
        let said = match (playback::are_shown(shown), slides::are_shown(shown)) {
            _ if parts::are_shown(shown) => None,
            (true, _) => Some(playback::sentence(shown, &brief)),
            (_, true) => Some(slides::sentence(shown)),
            (false, false) if forwarding::are_shown(shown) => {
                forwarding::sentence(shown, &brief).or_else(|| summary::sentence(shown, &brief))
            }
            (false, false) => match routed::only(shown) {
                Some(routed) => Some(routed::sentence(routed)),
                None => summary::sentence(shown, &brief),
            },
        };
        is_told = said.as_ref().is_some_and(|said| said.contains(summary::STOP));
        let disturbed = disturbances::heavy(shown).filter(|_| !is_told);
        let is_disturbed = disturbed.is_some();
        section.texts(disturbed.map(|(clause, _)| {
            capital(&format!("{clause}, so figures may be too low. {}", summary::STOP))
        }));
        match shown.names.setups() {
            // It is the answer, whole.
            _ if playback::are_shown(shown) => section.texts(said),
            // The command below says what to do as well.
            _ if is_told => said.into_iter().for_each(|said| {
                let shorter = said.replace(&format!(" {}", summary::STOP), "");
                section.text_or_shorter(said, shorter);
            }),
            1 | 2 => section.clauses(said, is_disturbed),
            _ => section.texts(said),
        }
    }
    introduce(&mut section, shown, &brief);
    let mut marked = false;
    match complete {
        0 => section.text(NOTHING),
        _ if playback::are_shown(shown) => playback::add(&mut section, shown, &brief),
        _ if slides::are_shown(shown) => slides::add(&mut section, shown, &brief),
        _ if operations::are_shown(shown) => marked = operations::add(&mut section, shown, &brief),
        _ => {
            let explained;
            (explained, marked) = figures(&mut section, shown, &brief);
            if let Some([whole, shorter]) = gains::sentences(shown) {
                section.text_or_shorter(whole, shorter);
            }
            for text in sentences::sentences(shown, &brief, explained) {
                let shorter = stored::shorter(&text);
                section.text_or_shorter(text, shorter);
            }
            section.texts(database::sentences(shown, &brief));
            section.asides(sentences::costs_of_files(shown, &brief));
            section.asides(summary::reference(shown));
            section.figures(speeds::figure(shown));
        }
    }
    if complete > 0 {
        // A limit that the user set is known.
        let is_quick = shown.study.flags.iter().any(|flag| matches!(flag, Flag::Quick { .. }));
        let preliminary = sentences::preliminary(shown);
        match is_quick {
            // Nothing was decided, not even preliminarily.
            true if is_told => section.nearly_always(preliminary),
            true => section.texts(preliminary),
            false => section.asides(preliminary),
        }
        if let Some([whole, shorter]) = sentences::left_out(shown) {
            section.text_or_shorter(whole, shorter);
        }
    }
    section.texts(paths::equally_fast(shown, &|cell| brief.setup(shown, cell)));
    section.texts(clients::sentences(shown));
    section.texts(mounts::slots(shown, &|cell| brief.setup(shown, cell)));
    section.texts(hosts::slower_interfaces(shown));
    section.warnings(warnings::all(shown, marked));
    section.nearly_always(helps::sentence(shown));
    next(&mut section, shown);
    section
}

/// The tables, with the reasons and marks in them explained. What they have of each row, and whether they have marks of
/// bursts.
fn figures(section: &mut Section, shown: &Shown<'_>, brief: &Brief) -> (Explained, bool) {
    if parts::are_shown(shown) {
        section.table(parts::table(shown), Layout::Words);
        section.texts(parts::legend(shown));
        return (Explained { limited: true, stored: true }, false);
    }
    if forwarding::are_shown(shown) {
        if forwarding::has_searches(shown) {
            section.table(forwarding::table(shown, brief), Layout::Words);
        }
        if let Some(table) = connections::table(shown, brief) {
            section.table(table, Layout::Words);
        }
        section.texts(causes::sentences(shown, brief));
        section.texts(forwarding_legend::legend(shown));
        return (Explained { limited: true, stored: true }, false);
    }
    if let Some(routed) = routed::only(shown) {
        section.table(routed::table(routed), Layout::Figures);
        section.texts(routed::legend(shown, routed));
        return (Explained { limited: true, stored: true }, false);
    }
    if paths::are_shown(shown) {
        let mut notes = Notes::default();
        section.table(paths::table(shown, &mut notes), Layout::Words);
        section.texts(notes.texts());
        section.texts(paths::legend(shown));
        return (Explained { limited: true, stored: true }, false);
    }
    let columns = shape::has_columns(shown);
    let copies = Copies::new(shown).filter(|_| !columns);
    let copied = copies.as_ref().and_then(|copies| copies::table(shown, brief, copies));
    let mut notes = Notes::default();
    let mut explained = Explained::default();
    let marked;
    if let (Some(copies), Some(mut rows)) = (copies, copied) {
        let legend = copies::legend(shown, brief, &copies, &rows.table);
        let name = |cell: Cell| copies.name(shown, cell, &|cell| brief.setup(shown, cell));
        explained = rows.explain(shown, &name, &mut notes);
        marked = has_mark(&rows.table);
        let has_words = explained.limited && rows.below.is_empty() || explained.stored;
        let layout = if legend.is_some() && !has_words { Layout::Figures } else { Layout::Words };
        section.table_or_compact(rows.table, rows.compact, layout);
        section.texts(legend);
        if !rows.below.is_empty() {
            section.text_or_shorter(rows.below.join(" "), limits::counts(shown));
        }
    } else {
        let layout = if columns { Layout::Figures } else { Layout::Words };
        let mut tables = table::rows(shown, brief);
        let name = |cell| brief.setup(shown, cell);
        // Of several tables one note holds for all.
        if let [rows] = tables.as_mut_slice() {
            explained = rows.explain(shown, &name, &mut notes);
        }
        marked = tables.iter().any(|rows| has_mark(&rows.table));
        tables
            .into_iter()
            .for_each(|rows| section.table_or_compact(rows.table, rows.compact, layout));
        if let Some((text, table)) = settings::bought(shown) {
            section.text(text);
            section.table(table, Layout::Figures);
        }
    }
    notes.add_to(section);
    if section.items.iter().any(is_of_one_block) {
        section.text("?: the ratio of one block, which gives no verdict.");
    }
    if let Some([whole, shorter]) = warnings::burst(shown).filter(|_| marked) {
        section.text_or_shorter(whole, shorter);
    }
    (explained, marked)
}

/// Whether a table has a ratio of one block alone.
fn is_of_one_block(item: &Item) -> bool {
    matches!(item.fullest(), Item::Table(table, _) if table.rows.iter().flatten().any(|cell| cell.ends_with("x?")))
}

/// Whether a figure is marked as a burst.
fn has_mark(table: &Table) -> bool {
    table.rows.iter().flatten().any(|cell| cell.contains('*'))
}

/// "NFSv3 over TCP, 14 blocks in 6 min": how much was measured, of one target with its protocol.
pub(super) fn measured(shown: &Shown<'_>) -> Option<String> {
    let study = shown.study;
    if shown.findings.imported || study.trials.is_empty() {
        return None;
    }
    let blocks: std::collections::BTreeSet<u32> =
        study.trials.iter().filter_map(|trial| trial.block).collect();
    let seconds = shown.findings.seconds_per_trial * study.trials.len() as f64;
    let extent = format!("{} in {}", counted(blocks.len() as u64, "block"), duration(seconds));
    match head::only_protocol(&study.subjects) {
        Some(protocol) => Some(format!("{protocol}, {extent}")),
        None => Some(extent),
    }
}

/// What each subject is, where there are few; and the monitored hosts. The only subject is in the title as well.
fn introduce(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let mut facts = Vec::new();
    let subjects = &shown.study.subjects;
    let is_only = subjects.len() == 1;
    match subjects.len() <= INTRODUCED || brief.has_letters {
        true => {
            facts.extend(subjects.iter().zip(0..).map(|(known, number)| {
                let name = brief.subject(shown, number);
                // The title has a long one.
                let name = match width(&name) > LONGEST {
                    true => known.kind().info().noun.trim_start_matches("a ").to_owned(),
                    false => name,
                };
                (name, head::in_brief(known, is_only))
            }))
        }
        false => facts.push((
            counted(subjects.len() as u64, "subject"),
            "described in the details".to_owned(),
        )),
    }
    let is_in_title = facts.len() == 1;
    // The title has the protocol, and a directory has no other name.
    facts.retain(|(name, text)| name != text);
    // Of parts that are priced, each is a setting.
    if !parts::are_shown(shown) {
        facts.extend(brief.settings.iter().cloned());
    }
    let is_other =
        |host: &&HostFacts| shown.study.plan.others().any(|other| other.host == host.name);
    let mut monitored = Vec::new();
    for host in shown.study.hosts.iter().filter(is_other) {
        let memory = crate::figure::BYTES.value(host.memory_bytes as f64);
        let cores = counted(host.cpus.into(), "core");
        let model = match printable(&host.cpu_model) {
            model if model.is_empty() => String::new(),
            model => format!("{model}, "),
        };
        let words = format!("monitored: {model}{cores}, {memory} of memory");
        monitored.push((hosts::name(&host.name), words));
    }
    let whole = [facts.clone(), monitored].concat();
    let shorter = if is_in_title && brief.settings.is_empty() { Vec::new() } else { facts.clone() };
    section.facts_in_forms([whole, facts, shorter]);
}

/// Whether a study stopped before its end. One whose blocks were fixed beforehand goes on after its cap, too.
fn can_go_on(shown: &Shown<'_>) -> bool {
    if shown.study.plan.continued_by().is_none() {
        return false;
    }
    let fixed = matches!(shown.study.plan.design.rule, Rule::Fixed { .. });
    match shown.study.ended {
        Ended::Interrupted | Ended::Open => true,
        Ended::CapReached => fixed,
        Ended::Done | Ended::Failed { .. } => false,
    }
}

/// Kinds of work that are open and named, if their names are short; of more their number is.
const NAMED: usize = 2;
/// Columns of their names, at most.
const NAMES: usize = 40;

/// Seconds of measuring from which monitoring the server helps more.
const LONG_SECONDS: f64 = 3600.0;

/// The one command that helps most, and where the rest is. More blocks do not help on a host that other work keeps busy.
fn next(section: &mut Section, shown: &Shown<'_>) {
    let id = printable(&shown.study.id.0);
    let command = repeated(&shown.study.plan.command);
    let workloads = || shown.findings.workloads.iter();
    let has_fixed_rate = workloads().all(|found| found.workload.has_fixed_rate())
        // Of parts that are priced, the limit is not searched.
        && !parts::are_shown(shown);
    // More blocks of a fixed rate show the same rate: of two targets they show latencies.
    let compares = !shown.study.plan.contrasts.is_empty();
    let is_decidable = has_figures(shown) && (compares || !has_fixed_rate);
    let open = sentences::open(shown).filter(|_| is_decidable);
    let soon = open.as_ref().is_some_and(|open| open.seconds.is_some_and(|s| s < LONG_SECONDS));
    // Only studies that a command continues are open or can go on.
    let go_on = format!("{} --continue {id}", shown.study.plan.continued_by().unwrap_or_default());
    let disturbed = disturbances::heavy(shown);
    // Figures of a busy host are measured anew.
    let failed = after_failure(shown).filter(|_| disturbed.is_none() || !has_figures(shown));
    if let Some(what) = failed {
        section.command(what, go_on, String::new());
        return more(section, &id);
    }
    let can_continue = open.is_none() && can_go_on(shown);
    match (open, disturbed, monitoring(shown, &command)) {
        (_, Some((_, host)), _) => {
            let what = format!("Stop other work on {host}, then run again");
            section.command(&what, command, String::new());
            or_continue(section, shown, go_on);
        }
        (_, _, Some(line)) if !soon && !can_continue => {
            section.command("Name the bottleneck", line, String::new());
            or_continue(section, shown, go_on);
        }
        // Hours of blocks would measure the known bottleneck again.
        (Some(open), ..) if soon || helps::sentence(shown).is_none() => {
            section.command(&decide(shown, &open.works), go_on, open.time);
        }
        _ if can_go_on(shown) && shown.names.setups() > 0 && !shown.findings.imported => {
            section.command("Measure the remaining blocks", go_on, String::new());
        }
        _ if has_fixed_rate && without(&command, "--rate") != command => {
            section.command("Find the limit", without(&command, "--rate"), String::new());
        }
        _ => {}
    }
    more(section, &id);
}

/// Whether any trial is complete.
fn has_figures(shown: &Shown<'_>) -> bool {
    shown.findings.workloads.iter().flat_map(|found| &found.cells).any(|cell| cell.complete > 0)
}

/// What to do with a study that failed, before it goes on; the advice of its failure stands above. `None` of other studies,
/// and of those that no command continues.
fn after_failure(shown: &Shown<'_>) -> Option<&'static str> {
    let Ended::Failed { failure } = &shown.study.ended else { return None };
    let plan = &shown.study.plan;
    let is_continued = plan.continued_by().is_some() && !shown.study.subjects.is_empty();
    if !is_continued || shown.findings.imported {
        return None;
    }
    let is_to_server = plan.target(0).is_some() && !plan.is_remote();
    Some(match failure.cause {
        Cause::Unreachable if is_to_server => "Check the server, then continue",
        Cause::Unreachable => "Check the hosts, then continue",
        _ if failure.next.is_empty() => "Continue",
        _ => "Follow the advice above, then continue",
    })
}

/// Beside another command, the one that continues a study which was interrupted or failed.
fn or_continue(section: &mut Section, shown: &Shown<'_>, go_on: String) {
    let is_early =
        matches!(shown.study.ended, Ended::Interrupted | Ended::Open | Ended::Failed { .. });
    if is_early && shown.study.plan.continued_by().is_some() && !shown.findings.imported {
        section.command("Or continue", go_on, String::new());
    }
}

/// A command to type again: without options that only its first run needs.
pub(crate) fn repeated(command: &str) -> String {
    let command = without(&printable(command), "--seed");
    let kept: Vec<&str> =
        command.split(' ').filter(|word| !["--quiet", "-q"].contains(word)).collect();
    kept.join(" ")
}

/// A command without an option and its value.
fn without(command: &str, option: &str) -> String {
    let mut words = command.split(' ');
    let mut kept: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => drop(words.next()),
            Some(value) if value.starts_with('=') => {}
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// What more blocks do.
fn decide(shown: &Shown<'_>, works: &[String]) -> String {
    let quoted: Vec<String> = works.iter().map(|work| format!("'{work}'")).collect();
    match listed(&quoted) {
        _ if shown.study.plan.contrasts.is_empty() => "Narrow the intervals".to_owned(),
        names if works.len() <= NAMED && width(&names) <= NAMES => format!("Decide {names}"),
        _ => format!("Decide {}", counted(works.len() as u64, "row")),
    }
}

/// The command of the study with the options that monitor its servers; `None` if a server is not known, or all are
/// monitored.
fn monitoring(shown: &Shown<'_>, command: &str) -> Option<String> {
    let options = limits::monitoring(shown)?;
    let measures = ["plimsoll check ", "plimsoll copy ", "plimsoll ops ", "plimsoll play "];
    let measures = measures.iter().any(|own| command.starts_with(own));
    let known = !options.contains("SERVER");
    (measures && known).then(|| format!("{command} {options}"))
}

/// Where the rest of a study is.
pub(crate) fn more(section: &mut Section, id: &str) {
    let page = format!("as a page: plimsoll report {id}");
    section.command("More", format!("plimsoll show {id} --details"), page);
}
