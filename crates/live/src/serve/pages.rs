//! The pages: what is kept and under way, one study, two studies.

use super::html::page;
use plimsoll_model::{Cause, Failure};
use plimsoll_record::StudyStore;
use plimsoll_report::Document;
use plimsoll_report::chart::Escaped;

/// The page one comes in by, with what is there now.
pub(super) fn index(runs: &str, list: &str) -> String {
    let body = format!(
        "<header><h1>plimsoll</h1></header><main><section aria-labelledby=\"under-way\">\
         <h2 id=\"under-way\">Running</h2><div id=\"runs\">{runs}</div></section>\
         <section aria-labelledby=\"kept\"><h2 id=\"kept\">Studies</h2>\
         <div id=\"studies\">{list}</div></section></main>"
    );
    page("plimsoll", true, &body)
}

/// A study as the report that `plimsoll report` writes.
pub(super) fn study(store: &dyn StudyStore, reference: &str) -> Result<String, Failure> {
    Ok(Document::of_study(&store.load(reference)?).html())
}

/// Two studies side by side.
pub(super) fn compare(store: &dyn StudyStore, a: &str, b: &str) -> Result<String, Failure> {
    let (a, b) = (store.load(a)?, store.load(b)?);
    // The earlier one is what the other is compared with, in whichever order they were ticked.
    let (a, b) = if a.started_unix_seconds <= b.started_unix_seconds { (a, b) } else { (b, a) };
    Ok(Document::of_two(&a, &b).html())
}

/// Something that cannot be shown, and why.
pub(super) fn of_failure(failure: &Failure) -> String {
    format!("<pre>{}</pre>", Escaped(&failure.to_string()))
}

/// A page that says why there is no other.
pub(super) fn refusal(title: &str, why: &str) -> String {
    text_page(title, why)
}

/// The page of a failure.
pub(super) fn failed(failure: &Failure) -> String {
    let title = if failure.cause == Cause::Usage { "Not found" } else { "Failed" };
    text_page(title, &failure.to_string())
}

fn text_page(title: &str, text: &str) -> String {
    let title = plimsoll_model::printable(title);
    let body = format!(
        "<header><h1>{}</h1><p><a href=\"./\">All studies</a></p></header>\
         <main><pre tabindex=\"0\">{}</pre></main>",
        Escaped(&title),
        Escaped(text)
    );
    page(&title, false, &body)
}
