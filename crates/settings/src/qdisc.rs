//! The queueing discipline at the root of a network interface (tc-qdisc(8)). What was there must be one that tc can set
//! exactly as it was: the kernel's default one, or one without classes and filters. A wrong one may cut the link, so a
//! timer on the host puts back what was there.

use super::{Found, Knob, LONGEST, Original, Scope, command, interface};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "qdisc";

/// The level that the kernel gives an interface by itself.
const DEFAULT: &str = "default";

/// Keys of an [`Original`]: the words for tc that set it again, empty for the default one; and what tc shows of it.
const WORDS: &str = "words";
const SHOWN: &str = "shown";

/// Disciplines without classes. tc shows all settings of them.
const CLASSLESS: [&str; 15] = [
    "bfifo", "cake", "choke", "codel", "fq", "fq_codel", "fq_pie", "hhf", "netem", "pfifo", "pie",
    "red", "sfb", "sfq", "tbf",
];

/// Disciplines for received packets.
const INGRESS: [&str; 2] = ["ingress", "clsact"];

/// Interface on which words for tc are tried before anything is changed.
const TRIAL: &str = "plimsoll-trial";

#[derive(Debug)]
struct Qdisc {
    interface: String,
    /// What tc showed right after a level was applied.
    shown: Mutex<BTreeMap<String, String>>,
}

pub(super) fn make(interface: &str) -> Result<Box<dyn Knob>, String> {
    interface::check(interface)?;
    Ok(Box::new(Qdisc { interface: interface.to_owned(), shown: Mutex::default() }))
}

/// Whether these can be words of tc.
fn is_words(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || " _-.:%/".contains(c);
    text.len() <= LONGEST
        && text.chars().all(letter)
        && !text.split(' ').any(|word| word.starts_with('-'))
}

/// The parts of a line of `tc qdisc show`.
struct Line<'a> {
    kind: &'a str,
    handle: &'a str,
    /// "root", or "parent" with a class.
    place: &'a str,
    options: Vec<&'a str>,
}

fn line(text: &str) -> Option<Line<'_>> {
    let mut words = text.split_whitespace();
    let ("qdisc", kind, handle, place) =
        (words.next()?, words.next()?, words.next()?, words.next()?)
    else {
        return None;
    };
    let place = if place == "parent" { words.next()? } else { place };
    let mut options: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        match word {
            // What it counts, and where it is done.
            "refcnt" => {
                words.next();
            }
            "offloaded" => {}
            word => options.push(word),
        }
    }
    Some(Line { kind, handle, place, options })
}

/// What tc shows, without what it counts.
fn plain(text: &str) -> String {
    let plain = |text: &str| {
        let Line { kind, handle, place, options } = line(text)?;
        Some(format!("{kind} {handle} {place} {}\n", options.join(" ")))
    };
    text.lines().filter_map(plain).collect()
}

/// Whether the kernel made it: those of a user have a handle.
fn is_default(line: &Line<'_>) -> bool {
    line.handle == "0:"
}

/// Whether it is for received packets, which the discipline at the root does not touch.
fn is_ingress(line: &Line<'_>) -> bool {
    INGRESS.contains(&line.kind)
}

/// Numbers with the unit of a queue, which tc shows and some disciplines do not take: "10240p", "1514b".
fn bare(word: &str, units: &[char]) -> String {
    match word.strip_suffix(units) {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            number.to_owned()
        }
        _ => word.to_owned(),
    }
}

impl Qdisc {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("change the queueing discipline of {}", self.interface);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    fn show(&self, host: &dyn Reach, interface: &str) -> Result<String, Failure> {
        let text = format!("tc qdisc show dev {}", quote(interface));
        command(host, &format!("list the queueing disciplines of {interface}"), &text, b"")
    }

    /// Sets words of tc; empty: the default discipline.
    fn setting(&self, words: &str) -> String {
        let interface = quote(&self.interface);
        let words = match words {
            "" => String::new(),
            words => {
                let words: Vec<String> = words.split_whitespace().map(quote).collect();
                format!("; tc qdisc add dev {interface} root {}", words.join(" "))
            }
        };
        // tc fails to delete the default one.
        format!("tc qdisc del dev {interface} root 2>/dev/null || true{words}")
    }

    fn put(&self, host: &dyn Reach, words: &str) -> Result<(), Failure> {
        let tried = format!("set the queueing discipline of {} to '{words}'", self.interface);
        command(host, &tried, &self.setting(words), b"").map(drop)
    }

    /// The words that set again what tc shows.
    fn words(&self, host: &dyn Reach, shown: &str) -> Result<String, Failure> {
        let lines: Vec<Line<'_>> =
            shown.lines().filter_map(line).filter(|line| !is_ingress(line)).collect();
        let next = "Use another interface, or remove the discipline before the study: tc qdisc del dev IF root.";
        let Some(root) = lines.iter().find(|line| line.place == "root") else {
            return match lines.is_empty() {
                true => Ok(String::new()),
                false => Err(self.failed(host, "tc shows no discipline at its root", next)),
            };
        };
        if lines.iter().all(is_default) {
            // Where the kernel's default has changed since, another one would come back.
            let default = "cat /proc/sys/net/core/default_qdisc 2>/dev/null || true";
            let default = command(host, "read the default queueing discipline", default, b"")?;
            let default = default.trim();
            let would_return = |line: &Line<'_>| [default, "noqueue", "mq"].contains(&line.kind);
            if !default.is_empty() && !lines.iter().all(would_return) {
                let happened = format!(
                    "it has the default discipline {}, and would get {default} back (net.core.default_qdisc)",
                    root.kind
                );
                return Err(self.failed(host, &happened, next));
            }
            return Ok(String::new());
        }
        let filters = format!("tc filter show dev {}", quote(&self.interface));
        let filters = command(host, "list the filters", &filters, b"")?;
        if lines.len() > 1 || !CLASSLESS.contains(&root.kind) || !filters.trim().is_empty() {
            let happened = format!(
                "its discipline {} has classes, filters or parts that tc cannot restore",
                root.kind
            );
            return Err(self.failed(host, &happened, next));
        }
        let head = format!("handle {} {}", root.handle, root.kind);
        let wanted = plain(shown);
        let wanted: String = wanted.lines().filter(|line| line.contains(" root ")).collect();
        let units: [&[char]; 3] = [&[], &['p'], &['p', 'b']];
        for units in units {
            let options = root.options.iter().map(|word| match *word {
                // tbf shows its latency by another word than it takes.
                "lat" => "latency".to_owned(),
                word => bare(word, units),
            });
            let options: Vec<String> = options.collect();
            let words = format!("{head} {}", options.join(" "));
            let words = words.trim().to_owned();
            if is_words(&words) && self.tried(host, &words)?.trim() == wanted.trim() {
                return Ok(words);
            }
        }
        let happened = format!(
            "tc does not take the settings of {} as it shows them: '{}'",
            root.kind,
            wanted.trim()
        );
        Err(self.failed(host, &happened, next))
    }

    /// What tc shows of these words on an interface of their own; empty where it does not take them.
    fn tried(&self, host: &dyn Reach, words: &str) -> Result<String, Failure> {
        let words: Vec<String> = words.split_whitespace().map(quote).collect();
        let text = format!(
            "trap 'ip link del {TRIAL} 2>/dev/null' EXIT
            ip link del {TRIAL} 2>/dev/null
            ip link add {TRIAL} type dummy 2>/dev/null || ip link add {TRIAL} type ifb || exit 1
            tc qdisc add dev {TRIAL} root {} 2>/dev/null || exit 0
            tc qdisc show dev {TRIAL}",
            words.join(" ")
        );
        command(host, "try the queueing discipline on an interface of its own", &text, b"")
            .map(|text| plain(&text))
    }
}

/// Kind of the discipline at the root that an [`Original`] of this setting holds: "fq_codel", "mq".
pub fn root_discipline(original: &Original) -> Option<&str> {
    let mut lines = original.0.get(SHOWN)?.lines();
    let root = lines.find(|line| line.split(' ').nth(2) == Some("root"))?;
    root.split(' ').next()
}

impl Knob for Qdisc {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.interface)
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let kind = level.split(' ').next().unwrap_or_default();
        let is_kind = kind.starts_with(|c: char| c.is_ascii_lowercase())
            && kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_kind || !is_words(level) {
            return Err("it is not a queueing discipline, such as fq_codel or 'tbf rate 10mbit burst 32kb limit 1mb'".into());
        }
        match ["handle", "parent", "root", "ingress", "clsact", "dev"].contains(&kind) {
            true => Err(format!("'{kind}' is not a queueing discipline of the root")),
            false => Ok(()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        interface::check_original(original)?;
        let [words, shown] = [WORDS, SHOWN].map(|key| original.0.get(key));
        let (Some(words), Some(shown), 4) = (words, shown, original.0.len()) else {
            return Err("it does not contain a queueing discipline".into());
        };
        let is_shown = shown.len() <= 64 * LONGEST && shown.lines().all(is_words);
        match (words.is_empty() || words.starts_with("handle ")) && is_words(words) && is_shown {
            true => Ok(()),
            false => Err("it does not contain a queueing discipline that tc can set".into()),
        }
    }

    /// tc lists none: only trying tells which the kernel has.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let line = interface::link(host, &self.interface)?;
        let shown = self.show(host, &self.interface)?;
        let words = self.words(host, &shown)?;
        let level = match words.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
            Some((_, level)) => level.to_owned(),
            None => DEFAULT.to_owned(),
        };
        let mut original = interface::original(host, &line)?;
        original.0.insert(WORDS.to_owned(), words);
        original.0.insert(SHOWN.to_owned(), plain(&shown));
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.failed(host, &why, "Use another interface.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        interface::expect(host, &self.name(), &self.interface, original)?;
        self.put(host, if level == DEFAULT { "" } else { level })?;
        let shown = plain(&self.show(host, &self.interface)?);
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(level.to_owned(), shown);
        Ok(())
    }

    /// The root is of that kind, and as it was when it was applied.
    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let now = plain(&self.show(host, &self.interface)?);
        let kind = level.split(' ').next().unwrap_or_default();
        let root =
            now.lines().find(|line| line.split(' ').nth(2) == Some("root")).unwrap_or_default();
        let is_kind = match kind {
            DEFAULT => root.split(' ').nth(1).is_none_or(|handle| handle == "0:"),
            kind => root.split(' ').next() == Some(kind),
        };
        let failed = |happened: String| {
            let next = "Check tc qdisc show on the host: another program may set disciplines.";
            Err(Failure::new(Cause::Trial, format!("set {}", self.name()))
                .on(host.name())
                .happened(happened)
                .next(next))
        };
        if !is_kind {
            return failed(format!("the kernel uses '{}' instead of '{level}'", root.trim()));
        }
        match self.shown.lock().unwrap_or_else(PoisonError::into_inner).get(level) {
            Some(shown) if !same(shown, &now) => failed(format!(
                "another program has changed it to '{}' during the study",
                root.trim()
            )),
            _ => Ok(()),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if interface::still_there(host, &self.interface, original)?.is_none() {
            return Ok(());
        }
        let [words, shown] =
            [WORDS, SHOWN].map(|key| original.0.get(key).map_or("", String::as_str));
        if same(&plain(&self.show(host, &self.interface)?), shown) {
            return Ok(());
        }
        self.put(host, words)?;
        let now = plain(&self.show(host, &self.interface)?);
        match same(&now, shown) {
            true => Ok(()),
            false => {
                let happened = format!("tc shows '{}' instead of '{}'", now.trim(), shown.trim());
                Err(self.failed(host, &happened, "Set the queueing discipline manually."))
            }
        }
    }

    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        Some(self.setting(original.0.get(WORDS)?))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let shown = |of: &Original| of.0.get(SHOWN).cloned().unwrap_or_default();
        same(&shown(original), &shown(now))
    }
}

/// Whether tc shows the same. The order of the queues of a device is not kept, and disciplines of received packets are
/// not at the root.
fn same(one: &str, other: &str) -> bool {
    let lines = |text: &str| {
        let of_root = |line: &&str| !INGRESS.contains(&line.split(' ').next().unwrap_or_default());
        let mut lines: Vec<String> =
            text.lines().filter(of_root).map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    };
    lines(one) == lines(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FQ_CODEL: &str = "qdisc fq_codel 8001: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms \
        interval 100ms memory_limit 32Mb ecn drop_batch 64 \n";

    #[test]
    fn lines_of_tc() {
        let Line { kind, handle, place, options } = line(FQ_CODEL).unwrap();
        assert_eq!(
            (kind, handle, place, options[..2].join(" ")),
            ("fq_codel", "8001:", "root", "limit 10240p".into())
        );
        assert!(
            plain(FQ_CODEL).starts_with("fq_codel 8001: root limit 10240p"),
            "{}",
            plain(FQ_CODEL)
        );
        let child = line("qdisc fq_codel 0: parent :2 limit 10240p").unwrap();
        assert!(child.place == ":2" && is_default(&child));
        assert!(is_ingress(&line("qdisc clsact ffff: parent ffff:fff1").unwrap()));
        assert!(line("qdisc").is_none() && line("").is_none());
        assert_eq!(bare("10240p", &['p']), "10240");
        assert_eq!(bare("32Mb", &['p', 'b']), "32Mb");
        assert_eq!((&*bare("1514b", &['p', 'b']), &*bare("p", &['p'])), ("1514", "p"));
        let queues = "mq 0: root \npfifo_fast 0: :1 a\npfifo_fast 0: :2 a\n";
        let other = "mq 0: root\npfifo_fast 0: :2 a\npfifo_fast 0: :1 a\nclsact ffff: ffff:fff1\n";
        assert!(same(queues, other) && !same(queues, "mq 0: root\n"));
    }

    #[test]
    fn levels_and_originals() {
        let knob = make("eth0").unwrap();
        for level in
            ["", "x y;id", "$(id)", "fq_codel -s", "handle 1: fq", "ingress", "Fq", "fq\nx", " fq"]
        {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        for level in
            ["default", "fq_codel", "tbf rate 10mbit burst 32kb limit 1mb", "netem loss 0.5%"]
        {
            knob.check(level).unwrap();
        }
        let original =
            |words: &str, shown: &str| interface::original_with(&[(WORDS, words), (SHOWN, shown)]);
        let kept = original("handle 8001: fq limit 10", "fq 8001: root limit 10p\n");
        knob.check_original(&kept).unwrap();
        assert_eq!(root_discipline(&kept), Some("fq"));
        knob.check_original(&original("", "noqueue 0: root \n")).unwrap();
        for (words, shown) in
            [("fq", ""), ("handle 1: fq; id", ""), ("", "$(id)"), ("handle 1: -b x", "")]
        {
            assert!(knob.check_original(&original(words, shown)).is_err(), "{words}");
        }
        assert!(knob.check_original(&interface::original_with(&[(WORDS, "")])).is_err());
        assert_eq!(
            knob.undo_by_shell(&kept).unwrap(),
            "tc qdisc del dev 'eth0' root 2>/dev/null || true; \
             tc qdisc add dev 'eth0' root 'handle' '8001:' 'fq' 'limit' '10'"
        );
    }
}
