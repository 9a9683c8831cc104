//! The results of iperf3 in a text: whole documents (--json), an array of them, or a stream of events (--json-stream).
//! Other lines around them are skipped.

use crate::import::malformed::{Malformed, Parsed};
use crate::import::numbers;
use crate::import::paths::{MOST_INTERVALS, MOST_RUNS};
use serde_json::{Map, Value};
use std::collections::HashSet;

const NEXT: &str = "Give the whole output of iperf3 --json.";

/// A run as iperf3 wrote it, and its first line.
pub(super) struct Run {
    pub(super) line: usize,
    pub(super) result: Value,
}

/// Runs so far.
#[derive(Default)]
struct Found {
    runs: Vec<Parsed<Run>>,
    /// A stream of events is one run, up to its end.
    events: Option<(usize, Map<String, Value>)>,
    /// Cookies of the tests. Some versions write a document twice, or once as a stream and once as a whole.
    cookies: HashSet<String>,
}

/// The runs of a text; a document that cannot be read does not keep the others out.
pub(super) fn documents(text: &str) -> Parsed<Vec<Parsed<Run>>> {
    let text = numbers::repaired(text);
    let mut found = Found::default();
    let mut rest = &*text;
    let mut line = 1;
    while !rest.is_empty() {
        let used = match begins_document(rest) {
            false => rest.find('\n').map_or(rest.len(), |end| end + 1),
            true => {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                match values.next() {
                    Some(Ok(value)) => {
                        found.take(value, line);
                        values.byte_offset()
                    }
                    Some(Err(error)) => {
                        found.runs.push(Err(Malformed::json(line, &error, NEXT)));
                        // Documents begin at the start of a line; what is in them is indented.
                        rest.find("\n{").map_or(rest.len(), |end| end + 1)
                    }
                    None => rest.len(),
                }
            }
        };
        if found.runs.len() > MOST_RUNS {
            let happened = format!("it has more than {MOST_RUNS} runs");
            return Err(Malformed::new(line, happened, "Import fewer at once."));
        }
        line += rest.as_bytes()[..used].iter().filter(|byte| **byte == b'\n').count();
        rest = &rest[used..];
    }
    // One that was broken off has a beginning alone.
    found.end_of_events();
    Ok(found.runs)
}

/// Whether a document begins here, or an array of documents. Lines of text begin with `[  5]` or `[ ID]`.
fn begins_document(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t']);
    text.strip_prefix('[').map_or(text, str::trim_start).starts_with('{')
}

impl Found {
    fn take(&mut self, value: Value, line: usize) {
        if let Value::Array(values) = value {
            values.into_iter().for_each(|value| self.add(value, line));
            return;
        }
        let Some(event) = value.get("event").and_then(Value::as_str) else {
            self.add(value, line);
            return;
        };
        let data = value.get("data").cloned().unwrap_or_default();
        if event == "start" {
            self.end_of_events();
        }
        let (_, whole) = self.events.get_or_insert_with(|| (line, Map::new()));
        match event {
            "interval" => {
                let all = whole.entry("intervals").or_insert_with(|| Value::Array(Vec::new()));
                let all = all.as_array_mut().filter(|all| all.len() < MOST_INTERVALS);
                all.into_iter().for_each(|all| all.push(data.clone()));
            }
            "start" | "end" | "error" => {
                whole.insert(event.to_owned(), data);
            }
            _ => {}
        }
        if event == "end" {
            self.end_of_events();
        }
    }

    fn end_of_events(&mut self) {
        if let Some((line, whole)) = self.events.take() {
            self.add(Value::Object(whole), line);
        }
    }

    fn add(&mut self, result: Value, line: usize) {
        let cookie = result.pointer("/start/cookie").and_then(Value::as_str);
        if cookie.is_none_or(|cookie| self.cookies.insert(cookie.to_owned())) {
            self.runs.push(Ok(Run { line, result }));
        }
    }
}
