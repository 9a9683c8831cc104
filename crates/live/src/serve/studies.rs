//! The list of studies.

use plimsoll_model::{Ended, Failure, printable, with_letters};
use plimsoll_record::{StudyStore, StudySummary, SubjectSummary};
use plimsoll_report::chart::Escaped;
use std::fmt::Write;

/// The list, the latest first, with a box to tick for each.
pub(super) fn list(store: &dyn StudyStore) -> Result<String, Failure> {
    let studies = store.list()?;
    if studies.is_empty() {
        return Ok("<p>No studies yet. <code>plimsoll check</code> creates one.</p>".to_owned());
    }
    let mut markup = String::from(
        "<form action=\"compare\" method=\"get\"><div class=\"wide\"><table><thead><tr>\
         <th scope=\"col\">Compare</th><th scope=\"col\">Study</th><th scope=\"col\">Started</th>\
         <th scope=\"col\">Subjects</th><th scope=\"col\">Work</th>\
         <th scope=\"col\">Trials</th><th scope=\"col\">End</th></tr></thead><tbody>",
    );
    for study in studies.iter().rev() {
        row(&mut markup, study);
    }
    markup
        .push_str("</tbody></table></div><p><button>Compare the two selected</button></p></form>");
    Ok(markup)
}

fn row(markup: &mut String, study: &StudySummary) {
    let id = printable(&study.id.0);
    let id = Escaped(&id);
    let given = |s: &SubjectSummary| printable(&with_letters(&s.given));
    let subjects: Vec<String> = study.subjects.iter().map(given).collect();
    let bad = match study.incomplete {
        0 => String::new(),
        n => format!(", {n} failed or stopped"),
    };
    // Writing to a String does not fail.
    let _ = write!(
        markup,
        "<tr><td><input type=\"checkbox\" name=\"study\" value=\"{id}\" aria-label=\"Compare {id}\">\
         </td><th scope=\"row\"><a href=\"{id}\">{id}</a></th><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}{bad}</td><td>{}</td></tr>",
        plimsoll_report::utc(study.started_unix_seconds),
        Escaped(&subjects.join(", ")),
        Escaped(&study.jobs.join(", ")),
        study.complete,
        ended(&study.ended)
    );
}

fn ended(ended: &Ended) -> &'static str {
    match ended {
        Ended::Open => "not ended",
        Ended::Done => "done",
        Ended::CapReached => "time cap reached",
        Ended::Interrupted => "interrupted",
        Ended::Failed { .. } => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages;
    use super::*;
    use plimsoll_model::Cause;
    use plimsoll_record::MemoryStore;

    #[test]
    fn an_empty_store_has_an_empty_list_and_no_page() {
        let store = MemoryStore::default();
        assert!(list(&store).unwrap().contains("No studies yet"));
        assert_eq!(pages::study(&store, "latest").unwrap_err().cause, Cause::Usage);
        assert_eq!(pages::compare(&store, "aa", "bb").unwrap_err().cause, Cause::Usage);
    }
}
