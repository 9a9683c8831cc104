//! `plimsoll history`: studies of one subject over time.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{output, predictions, store};
use clap::Args;
use plimsoll_config::nearest_word;
use plimsoll_explain::{Place, Recognised, history, recognise};
use plimsoll_model::{Cause, Failure, PastStudy, Study, SubjectKey, Target, without_slash};
use plimsoll_record::StudyStore;
use plimsoll_report::{Document, history_bottlenecks};
use std::collections::BTreeMap;

/// Shown by `--help`.
pub const EXAMPLES: &str = "Examples:
  plimsoll history nfs://nas/volume1/films
  plimsoll history /mnt/films
  plimsoll history --as nas";

#[derive(Args)]
pub struct HistoryArguments {
    /// Target, host or path as in its studies, or the start of it
    #[arg(value_name = "TARGET", required_unless_present = "name")]
    pub target: Option<String>,
    /// Subject with this name, which check, copy and ops give with --as
    #[arg(long = "as", value_name = "NAME", conflicts_with = "target")]
    pub name: Option<String>,
    #[command(flatten)]
    pub output: DocumentArguments,
}

/// Latest studies with bottlenecks: as many as a screen has rows.
const BOTTLENECKS: usize = 12;
/// Seed of the permutations: the same history always says the same.
const SEED: u64 = 1;
/// Subjects that a message names.
const NAMED: usize = 8;

/// Shows the studies of a subject.
pub fn run(arguments: &HistoryArguments, kept: &StoreArguments) -> Result<u8, Failure> {
    let store = store::open(kept)?;
    let heads = store.heads()?;
    let query = SubjectQuery::new(arguments);
    let recognised = query.find(&heads, &store)?;
    let (pasts, places) = pasts(heads, &recognised, &store)?;
    let found = history(&pasts, &places, SEED);
    let mut bottlenecks = BTreeMap::new();
    for past in pasts.iter().rev().take(BOTTLENECKS) {
        // Only trials have the loads of the hosts. One whole study is in memory at a time.
        let whole = store.load(&past.study.id.0)?;
        bottlenecks.extend(history_bottlenecks(&found, &whole).map(|words| (whole.id, words)));
    }
    let predicted = predictions::checked(&found, &store)?;
    let document = Document::of_history(query.text, &found, &recognised, &predicted, &bottlenecks);
    output::document(&document, &arguments.output)
}

/// Subject that the user asks for.
struct SubjectQuery<'a> {
    text: &'a str,
    is_name: bool,
}

impl<'a> SubjectQuery<'a> {
    fn new(arguments: &'a HistoryArguments) -> SubjectQuery<'a> {
        match (&arguments.name, &arguments.target) {
            (Some(name), _) => SubjectQuery { text: name, is_name: true },
            (None, target) => {
                SubjectQuery { text: target.as_deref().unwrap_or_default(), is_name: false }
            }
        }
    }

    /// The subject: by its name, its address, or the start of its address if only one begins so.
    fn find(&self, heads: &[Study], store: &dyn StudyStore) -> Result<Recognised, Failure> {
        // An empty store is reported as such.
        store.find("latest").map_err(|failure| Failure { tried: self.tried(), ..failure })?;
        let keys: Vec<SubjectKey> = heads.iter().flat_map(SubjectKey::all).collect();
        let name = |key: &SubjectKey| key.name.as_deref() == Some(self.text);
        if self.is_name {
            let known = keys.iter().filter_map(|key| key.name.clone()).collect();
            return match keys.iter().any(name) {
                true => Ok(recognise(heads, &name)),
                false => Err(self.unknown("no study gave this name with --as", known)),
            };
        }
        let typed = without_slash(self.text);
        // As the program writes it: options and letters of a URL have one form.
        let written = self.text.parse::<Target>().map(|target| target.to_string()).ok();
        let written = written.as_deref().map(without_slash);
        let is_exact = |key: &SubjectKey| key.given == typed || Some(&*key.given) == written;
        if keys.iter().any(is_exact) {
            return Ok(recognise(heads, &is_exact));
        }
        if keys.iter().any(name) {
            return Ok(recognise(heads, &name));
        }
        let begins = |key: &&SubjectKey| !typed.is_empty() && key.given.starts_with(typed);
        let Some(first) = keys.iter().find(begins) else {
            let known = keys.iter().map(|key| key.given.clone()).collect();
            return Err(self.unknown("no study has this subject", known));
        };
        let found = recognise(heads, &|key| key == first);
        let others = keys.iter().filter(begins).filter(|key| !found.keys.contains(key));
        let mut others: Vec<String> = others.map(|key| key.given.clone()).collect();
        others.insert(0, first.given.clone());
        others.dedup();
        if others.len() == 1 {
            return Ok(found);
        }
        let happened = format!("several subjects begin with it: {}", listed(&others));
        let next = "Write more of its address.";
        Err(Failure::new(Cause::Usage, self.tried()).on(self.text).happened(happened).next(next))
    }

    fn tried(&self) -> String {
        "find the studies of a subject".to_owned()
    }

    /// A subject that no study has: the nearest one is offered.
    fn unknown(&self, happened: &str, known: Vec<String>) -> Failure {
        let mut distinct: Vec<String> = Vec::new();
        for word in known.into_iter().rev() {
            if !distinct.contains(&word) {
                distinct.push(word);
            }
        }
        let near = nearest_word(self.text, &distinct);
        let near = near.map_or_else(String::new, |word| format!("Did you mean {word}? "));
        let known = match distinct.is_empty() {
            true => "No study has a name.".to_owned(),
            false => format!("In the store: {}.", listed(&distinct)),
        };
        Failure::new(Cause::Usage, self.tried())
            .on(self.text)
            .happened(happened)
            .next(near + &known)
    }
}

fn listed(words: &[String]) -> String {
    let more = words.len().saturating_sub(NAMED);
    let named = words.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// The studies of a subject with their figures, and its places among them.
pub fn pasts(
    heads: Vec<Study>,
    recognised: &Recognised,
    store: &dyn StudyStore,
) -> Result<(Vec<PastStudy>, Vec<Place>), Failure> {
    let (mut pasts, mut places) = (Vec::new(), Vec::new());
    for (number, study) in heads.into_iter().enumerate() {
        let of_study = |place: &Place| place.study.cmp(&number);
        let Ok(place) = recognised.places.binary_search_by(of_study) else { continue };
        let subject = recognised.places[place].subject;
        places.push(Place { study: pasts.len(), subject });
        let figures = store.figures(&study.id)?;
        pasts.push(PastStudy { study, figures });
    }
    Ok((pasts, places))
}
