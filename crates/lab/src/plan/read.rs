//! Reading a lab file: what is wrong in it is reported with file, line and the nearest good word.

use super::{Plan, Rate};
use plimsoll_model::{Cause, Failure};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A lab file is a page of text; what is longer is something else.
pub const LONGEST_FILE: usize = 256 << 10;

/// Something that is written well but makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where: keys from the top, an item of a list as its number.
    pub at: Vec<String>,
    pub happened: String,
    pub next: String,
}

impl Problem {
    pub(crate) fn new(
        at: &[&str],
        happened: impl Into<String>,
        next: impl Into<String>,
    ) -> Problem {
        let at = at.iter().map(|key| (*key).to_owned()).collect();
        Problem { at, happened: happened.into(), next: next.into() }
    }
}

impl Plan {
    /// Reads a lab file and checks that it makes sense; `source` is its name for the reader.
    ///
    /// # Errors
    /// [`Cause::Usage`], on `source:line`.
    pub fn read(text: &str, source: &str) -> Result<Plan, Failure> {
        if text.len() > LONGEST_FILE {
            let happened =
                format!("it has {} bytes; a lab file has {LONGEST_FILE} at most", text.len());
            return Err(usage(source, None, &happened, "Name a lab file."));
        }
        let plan: Plan = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, &span));
            let (happened, next) = reworded(error.message());
            usage(source, line, &happened, &next)
        })?;
        plan.check().map_err(|problem| {
            let line = place(text, &problem.at).map(|span| line_of(text, &span));
            usage(source, line, &problem.happened, &problem.next)
        })?;
        Ok(plan)
    }
}

/// What in a lab file is easily taken for something else: rates of links that are bytes.
pub fn remarks(text: &str) -> Vec<String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let links = table.get("link").and_then(|links| links.as_table()).into_iter().flatten();
    let rates = links.filter_map(|(_, link)| link.get("rate"));
    let each = rates.flat_map(|rate| match rate {
        toml::Value::Table(hosts) => hosts.values().collect(),
        rate => vec![rate],
    });
    each.filter_map(|rate| remark(rate.as_str()?)).collect()
}

/// The same of a rate.
pub fn remark(rate: &str) -> Option<String> {
    let bits = Rate::in_bytes(rate)?;
    Some(format!("{rate} is {bits}: as in tc, bps are bytes per second; bits are Gbit or Gbit/s"))
}

fn usage(source: &str, line: Option<usize>, happened: &str, next: &str) -> Failure {
    let on = match line {
        Some(line) => format!("{source}:{line}"),
        None => source.to_owned(),
    };
    Failure::new(Cause::Usage, "read the lab file", on, happened, next)
}

/// The line, from 1, on which a span begins.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where in the text the value at these keys stands, or the innermost part of them that is there.
pub(super) fn place(text: &str, keys: &[String]) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let (first, rest) = keys.split_first()?;
    let (key, mut value) = table.get_key_value(first.as_str())?;
    let mut found = key.span();
    for key in rest {
        match value.get_ref() {
            DeValue::Table(table) => {
                let Some((key, inner)) = table.get_key_value(key.as_str()) else { break };
                (found, value) = (key.span(), inner);
            }
            DeValue::Array(items) => {
                let item = key.parse().ok().and_then(|number: usize| items.get(number));
                let Some(item) = item else { break };
                (found, value) = (item.span(), item);
            }
            _ => break,
        }
    }
    Some(found)
}

/// What the parser says in the words of a user, and what to do. Where it names what it expected,
/// in backquotes after what it found, the nearest of that is proposed.
fn reworded(message: &str) -> (String, String) {
    let message = message.replace("unknown field", "unknown key").replace("variant", "word");
    let message = message.replace("missing field", "missing key");
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((found, good)) = words.split_first().filter(|(_, good)| !good.is_empty()) else {
        return (message, "docs/lab.md has an annotated example.".to_owned());
    };
    let happened = message.split(", expected").next().unwrap_or(&message).to_owned();
    (happened, nearest(found, good))
}

/// Proposes the nearest of the good words, and names them all.
pub fn nearest<S: AsRef<str>>(found: &str, good: &[S]) -> String {
    let all: Vec<&str> = good.iter().map(AsRef::as_ref).collect();
    let distance = |word: &str| strsim::damerau_levenshtein(found, word);
    let near = all.iter().min_by_key(|word| distance(word));
    let near = near.filter(|word| distance(word) <= word.len().max(3) / 2);
    match near {
        Some(word) => format!("Did you mean `{word}`? Known here: {}.", all.join(", ")),
        None if all.is_empty() => "There is none.".to_owned(),
        None => format!("Known here: {}.", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"
[host.server]
kind = "netns"
[host.client]
kind = "netns"
gateway = "server"

[link.lan]
between = ["server", "client"]
rate = "100Mbit/s"
"#;

    fn refused(from: &str, to: &str) -> Failure {
        assert!(GOOD.contains(from), "{from}");
        Plan::read(&GOOD.replacen(from, to, 1), "bad.toml").unwrap_err()
    }

    #[test]
    fn slips_are_reported_with_line_and_nearest_word() {
        let good = GOOD.replace("[host.server]", "[host.server]\nforward = true");
        Plan::read(&good, "good.toml").unwrap();
        for (from, to, line, happened, next) in [
            ("rate", "rat", 10, "unknown key `rat`", "`rate`"),
            ("[host.server]\nkind", "[host.server]\nknid", 3, "unknown key `knid`", "`kind`"),
            ("kind = \"netns\"", "kind = \"netsn\"", 3, "unknown word `netsn`", "`netns`"),
            ("100Mbit/s", "100Mb", 10, "`100Mb` is no rate", ""),
            ("[\"server\", ", "[\"sever\", ", 9, "no host `sever`", "`server`"),
            ("gateway = \"server\"", "gateway = \"serve\"", 6, "no host `serve`", "`server`"),
            (
                "gateway = \"server\"",
                "gateway = \"server\"",
                6,
                "does not forward",
                "forward = true",
            ),
            ("[link.lan]", "[link.Lan]", 8, "`Lan`", ""),
            ("[link.lan]", "[link.lan", 8, "", ""),
            ("[link.lan]", "[lnk.lan]", 8, "unknown key `lnk`", "`link`"),
        ] {
            let failure = refused(from, to);
            assert_eq!(failure.cause, Cause::Usage);
            assert_eq!(failure.on, format!("bad.toml:{line}"), "{failure}");
            assert!(failure.happened.contains(happened), "{happened} in {failure}");
            assert!(failure.next.contains(next), "{next} in {failure}");
        }
    }

    #[test]
    fn rates_in_bytes_are_remarked_on() {
        assert!(remarks(GOOD).is_empty());
        let bytes = GOOD.replace("100Mbit/s", "1Gbps");
        assert!(Plan::read(&bytes, "bytes.toml").unwrap_err().happened.contains("forward"));
        assert!(remarks(&bytes)[0].starts_with("1Gbps is 8Gbit/s: as in tc"), "{bytes}");
        let by_host = GOOD.replace("\"100Mbit/s\"", "{ client = \"5MBps\", server = \"5Mbit\" }");
        assert_eq!(remarks(&by_host).len(), 1);
    }

    #[test]
    fn what_lacks_altogether_is_reported_too() {
        assert!(Plan::read("", "empty.toml").unwrap_err().happened.contains("missing key `host`"));
        let long = "#".repeat(LONGEST_FILE + 1);
        assert!(Plan::read(&long, "long.toml").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(at in 0..GOOD.len(), byte in "\\PC") {
            let mut text = GOOD.to_owned();
            text.insert_str(at, &byte);
            let _ = Plan::read(&text, "any.toml");
        }
    }
}
