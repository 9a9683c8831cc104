//! The queueing discipline at the root of a network interface (tc-qdisc(8)). What was there must be one that tc can set
//! exactly as it was: the kernel's default one, one without classes and filters, or one of those at each queue of the
//! interface. A wrong one may cut the link, so a timer on the host puts back what was there.

use super::qdisc_listing::{
    Line, OF_QUEUES, bare, is_class, kinds_below, lines, plain, root_kind, same,
};
use super::{Found, Knob, LONGEST, Original, Scope, command, interface};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "qdisc";

/// The level that the kernel gives an interface by itself.
const DEFAULT: &str = "default";

/// Keys of an [`Original`]: the words for tc that set it again, empty for the default one; and what tc shows of it.
const WORDS: &str = "words";
const SHOWN: &str = "shown";
/// Key that an [`Original`] has as well where queues have disciplines of a user: a line for each of them, with its class
/// and its words for tc.
const QUEUES: &str = "queues";

/// Handle of the root at a level that sets the disciplines of queues, such as "mq pfifo".
const HANDLE: &str = "1:";

const NEXT: &str =
    "Use another interface, or remove the discipline before the study: tc qdisc del dev IF root.";

/// Disciplines without classes. tc shows all settings of them.
const CLASSLESS: [&str; 15] = [
    "bfifo", "cake", "choke", "codel", "fq", "fq_codel", "fq_pie", "hhf", "netem", "pfifo", "pie",
    "red", "sfb", "sfq", "tbf",
];

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

/// The discipline of each queue at a level such as "mq pfifo".
fn of_queues(level: &str) -> Option<&str> {
    let words = level.strip_prefix(OF_QUEUES)?.strip_prefix(' ')?.trim();
    (!words.is_empty()).then_some(words)
}

/// The kind of a discipline by its words.
fn first_word(words: &str) -> &str {
    words.split(' ').next().unwrap_or_default()
}

/// Words for a shell.
fn quoted(words: &str) -> String {
    words.split_whitespace().map(quote).collect::<Vec<String>>().join(" ")
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

    /// Sets words of tc at the root, none for the default discipline, and those of the queues below it.
    fn setting(&self, words: &str, queues: &str) -> String {
        let interface = quote(&self.interface);
        // tc fails to delete the default one.
        let mut text = format!("tc qdisc del dev {interface} root 2>/dev/null || true");
        if !words.is_empty() {
            let _ = write!(text, "; tc qdisc add dev {interface} root {}", quoted(words));
        }
        for (class, words) in queues.lines().filter_map(|line| line.split_once(' ')) {
            let (class, words) = (quote(class), quoted(words));
            let _ = write!(text, " && tc qdisc replace dev {interface} parent {class} {words}");
        }
        text
    }

    /// Sets a level.
    fn setting_of(&self, level: &str) -> String {
        let Some(words) = of_queues(level) else {
            return self.setting(if level == DEFAULT { "" } else { level }, "");
        };
        let root = self.setting(&format!("handle {HANDLE} {OF_QUEUES}"), "");
        let (interface, words) = (quote(&self.interface), quoted(words));
        // The kernel has given each queue that is in use its default discipline.
        format!(
            "{root} && for class in $(tc qdisc show dev {interface} |
                sed -n 's/.* parent \\({HANDLE}[0-9a-f]*\\) .*/\\1/p'); do
                tc qdisc replace dev {interface} parent \"$class\" {words} || exit 1
            done"
        )
    }

    fn put(&self, host: &dyn Reach, what: &str, setting: &str) -> Result<(), Failure> {
        let tried = format!("set the queueing discipline of {} to '{what}'", self.interface);
        command(host, &tried, setting, b"").map(drop)
    }

    /// What sets again what tc shows: words for the root, and lines for its queues.
    fn words(&self, host: &dyn Reach, shown: &str) -> Result<(String, String), Failure> {
        let lines = lines(shown);
        let Some(root) = lines.iter().find(|line| line.is_root()) else {
            return match lines.is_empty() {
                true => Ok((String::new(), String::new())),
                false => Err(self.failed(host, "tc shows no discipline at its root", NEXT)),
            };
        };
        if lines.iter().all(Line::is_default) {
            self.expect_to_return(host, &lines.iter().collect::<Vec<_>>())?;
            return Ok((String::new(), String::new()));
        }
        let (of_queues, others): (Vec<&Line<'_>>, Vec<&Line<'_>>) =
            lines.iter().partition(|line| line.is_of_queue_below(root));
        let (of_kernel, of_user): (Vec<&Line<'_>>, Vec<&Line<'_>>) =
            of_queues.into_iter().partition(|line| line.is_default());
        let is_known = |line: &&Line<'_>| CLASSLESS.contains(&line.kind);
        let unknown = match others.len() {
            1 if root.kind == OF_QUEUES => of_user.iter().copied().find(|line| !is_known(line)),
            1 => Some(root).filter(|root| !is_known(root)),
            _ => Some(root),
        };
        let filtered = || {
            let own = of_user.iter().map(|line| format!(" parent {}", quote(line.handle)));
            let places = std::iter::once(String::new()).chain(own);
            let interface = quote(&self.interface);
            let each = places.map(|place| format!("tc filter show dev {interface}{place}"));
            let text = each.collect::<Vec<String>>().join(" && ");
            command(host, "list the filters", &text, b"").map(|text| !text.trim().is_empty())
        };
        let unknown = match unknown {
            None if filtered()? => Some(root),
            unknown => unknown,
        };
        if let Some(Line { kind, .. }) = unknown {
            let happened = format!(
                "its discipline {kind} has classes, filters or parts that tc cannot restore"
            );
            return Err(self.failed(host, &happened, NEXT));
        }
        self.expect_to_return(host, &of_kernel)?;
        let words = match root.kind == OF_QUEUES {
            true => OF_QUEUES.to_owned(),
            false => self.restoring(host, root)?,
        };
        let words = format!("handle {} {words}", root.handle);
        let mut queues = String::new();
        // Most queues have the same.
        let mut known: BTreeMap<(&str, &[&str]), String> = BTreeMap::new();
        for line in of_user {
            let key = (line.kind, line.options.as_slice());
            let words = match known.get(&key) {
                Some(words) => words.clone(),
                None => self.restoring(host, line)?,
            };
            known.insert(key, words.clone());
            let _ = writeln!(queues, "{} handle {} {words}", line.place, line.handle);
        }
        Ok((words, queues))
    }

    /// Fails where the kernel's default has changed since it made one of these: another one would come back.
    fn expect_to_return(&self, host: &dyn Reach, lines: &[&Line<'_>]) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        let default = "cat /proc/sys/net/core/default_qdisc 2>/dev/null || true";
        let default = command(host, "read the default queueing discipline", default, b"")?;
        let default = default.trim();
        let would_return = |line: &&&Line<'_>| [default, "noqueue", OF_QUEUES].contains(&line.kind);
        match lines.iter().find(|line| !default.is_empty() && !would_return(line)) {
            None => Ok(()),
            Some(line) => {
                let happened = format!(
                    "it has the default discipline {}, and would get {default} back (net.core.default_qdisc)",
                    line.kind
                );
                Err(self.failed(host, &happened, NEXT))
            }
        }
    }

    /// The words for tc that make a discipline of a user as it is shown, without place and handle.
    fn restoring(&self, host: &dyn Reach, line: &Line<'_>) -> Result<String, Failure> {
        let wanted = line.at("root");
        let units: [&[char]; 3] = [&[], &['p'], &['p', 'b']];
        for units in units {
            let options = line.options.iter().map(|word| match *word {
                // tbf shows its latency by another word than it takes.
                "lat" => "latency".to_owned(),
                word => bare(word, units),
            });
            let words = std::iter::once(line.kind.to_owned()).chain(options);
            let words = words.collect::<Vec<String>>().join(" ");
            let whole = format!("handle {} {words}", line.handle);
            if is_words(&whole) && self.tried(host, &whole)?.trim() == wanted.trim() {
                return Ok(words);
            }
        }
        let happened = format!(
            "tc does not take the settings of {} as it shows them: '{}'",
            line.kind,
            wanted.trim()
        );
        Err(self.failed(host, &happened, NEXT))
    }

    /// What tc shows of these words on an interface of their own; empty where it does not take them.
    fn tried(&self, host: &dyn Reach, words: &str) -> Result<String, Failure> {
        let text = format!(
            "trap 'ip link del {TRIAL} 2>/dev/null' EXIT
            ip link del {TRIAL} 2>/dev/null
            ip link add {TRIAL} type dummy 2>/dev/null || ip link add {TRIAL} type ifb || exit 1
            tc qdisc add dev {TRIAL} root {} 2>/dev/null || exit 0
            tc qdisc show dev {TRIAL}",
            quoted(words)
        );
        command(host, "try the queueing discipline on an interface of its own", &text, b"")
            .map(|text| plain(&text))
    }
}

/// Kind of the discipline at the root that an [`Original`] of this setting holds: "fq_codel", "mq".
pub fn root_discipline(original: &Original) -> Option<&str> {
    root_kind(original.value(SHOWN))
}

/// Kinds of the disciplines of queues, below that at the root, that an [`Original`] of this setting holds.
pub fn queue_disciplines(original: &Original) -> Vec<&str> {
    kinds_below(original.value(SHOWN))
}

/// Whether each line is one of these, and the text is not too long for a journal.
fn are_lines(text: &str, is_line: fn(&str) -> bool) -> bool {
    text.len() <= 64 * LONGEST && text.lines().all(is_line)
}

/// Whether this is a line of [`QUEUES`].
fn is_of_queue(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(class, words)| {
        is_class(class) && words.starts_with("handle ") && is_words(words)
    })
}

impl Knob for Qdisc {
    fn name(&self) -> String {
        format!("{KIND}:{}", self.interface)
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let is_kind = |kind: &&str| {
            kind.starts_with(|c: char| c.is_ascii_lowercase())
                && kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let kinds = [Some(level), of_queues(level)];
        let kinds: Vec<&str> = kinds.into_iter().flatten().map(first_word).collect();
        if !kinds.iter().all(is_kind) || !is_words(level) {
            return Err("it is not a queueing discipline, such as fq_codel or 'tbf rate 10mbit burst 32kb limit 1mb'".into());
        }
        let others = ["handle", "parent", "root", "ingress", "clsact", "dev"];
        match kinds.iter().find(|kind| others.contains(kind)) {
            Some(kind) => Err(format!("'{kind}' is not a queueing discipline of the root")),
            None => Ok(()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        interface::check_original(original)?;
        let [words, shown, queues] = [WORDS, SHOWN, QUEUES].map(|key| original.0.get(key));
        let keys = 4 + usize::from(queues.is_some());
        let (Some(words), Some(shown), true) = (words, shown, original.0.len() == keys) else {
            return Err("it does not contain a queueing discipline".into());
        };
        let is_shown = are_lines(shown, is_words)
            && queues.is_none_or(|queues| are_lines(queues, is_of_queue));
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
        let (words, queues) = self.words(host, &shown)?;
        let level = match words.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) {
            Some((_, level)) => level.to_owned(),
            None => DEFAULT.to_owned(),
        };
        let mut original = interface::original(host, &line)?;
        original.0.insert(WORDS.to_owned(), words);
        original.0.insert(SHOWN.to_owned(), plain(&shown));
        if !queues.is_empty() {
            original.0.insert(QUEUES.to_owned(), queues);
        }
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.failed(host, &why, "Use another interface.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        interface::expect(host, &self.name(), &self.interface, original)?;
        self.put(host, level, &self.setting_of(level))?;
        let shown = plain(&self.show(host, &self.interface)?);
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(level.to_owned(), shown);
        Ok(())
    }

    /// The root and the queues are of that kind, and as they were when it was applied.
    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let now = plain(&self.show(host, &self.interface)?);
        let kind = first_word(level);
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
        if let Some(words) = of_queues(level) {
            let of_queues = kinds_below(&now);
            let kind = first_word(words);
            if of_queues.is_empty() || of_queues.iter().any(|own| *own != kind) {
                let own = of_queues.join(", ");
                return failed(format!("the queues have '{own}' instead of '{kind}' each"));
            }
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
        let [words, shown, queues] = original.values([WORDS, SHOWN, QUEUES]);
        if same(&plain(&self.show(host, &self.interface)?), shown) {
            return Ok(());
        }
        self.put(host, words, &self.setting(words, queues))?;
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
        Some(self.setting(original.0.get(WORDS)?, original.value(QUEUES)))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let shown = |of: &Original| of.0.get(SHOWN).cloned().unwrap_or_default();
        same(&shown(original), &shown(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_originals() {
        let knob = make("eth0").unwrap();
        for level in
            ["", "x y;id", "$(id)", "fq_codel -s", "handle 1: fq", "ingress", "Fq", "fq\nx", " fq"]
                .into_iter()
                .chain(["mq Fq", "mq handle 1: fq", "mq fq;id"])
        {
            assert!(knob.check(level).is_err(), "{level:?}");
        }
        for level in [
            "default",
            "fq_codel",
            "tbf rate 10mbit burst 32kb limit 1mb",
            "netem loss 0.5%",
            "mq pfifo",
        ] {
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

    /// As a network card with several queues has it.
    #[test]
    fn queues_are_set_below_a_root_of_their_own_and_restored_with_their_handles() {
        let knob = Qdisc { interface: "eth0".into(), shown: Mutex::default() };
        let root = "tc qdisc del dev 'eth0' root 2>/dev/null || true; \
             tc qdisc add dev 'eth0' root 'handle' ";
        let set = knob.setting_of("mq pfifo limit 9");
        assert!(set.starts_with(&format!("{root}'1:' 'mq' && for class in ")), "{set}");
        assert!(set.contains("sed -n 's/.* parent \\(1:[0-9a-f]*\\) .*/\\1/p'"), "{set}");
        let each = "tc qdisc replace dev 'eth0' parent \"$class\" 'pfifo' 'limit' '9' || exit 1";
        assert!(set.contains(each), "{set}");
        assert_eq!(knob.setting_of("mq"), knob.setting("mq", ""), "as the kernel has it");
        let kept = interface::original_with(&[
            (WORDS, "handle 82ba: mq"),
            (SHOWN, "mq 82ba: root \nfq 82bb: 82ba:1f limit 10p\npfifo_fast 0: 82ba:2 bands 3\n"),
            (QUEUES, "82ba:1f handle 82bb: fq limit 10\n"),
        ]);
        knob.check_original(&kept).unwrap();
        assert_eq!(root_discipline(&kept), Some("mq"));
        assert_eq!(queue_disciplines(&kept), ["fq", "pfifo_fast"]);
        assert_eq!(
            knob.undo_by_shell(&kept).unwrap(),
            format!(
                "{root}'82ba:' 'mq' && \
                 tc qdisc replace dev 'eth0' parent '82ba:1f' 'handle' '82bb:' 'fq' 'limit' '10'"
            )
        );
        for queues in
            ["x", "1:1 fq", "1:1;id handle 1: fq", "1:1 handle 1: fq;id", "1:1 handle 1: -b x"]
        {
            let mut other = kept.clone();
            other.0.insert(QUEUES.to_owned(), queues.to_owned());
            assert!(knob.check_original(&other).is_err(), "{queues}");
        }
    }
}
