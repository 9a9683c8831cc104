//! The rules of the host's packet filter (nft(8)), all of them: a file of this machine's, some parts of the rules that are
//! found, or none.
//!
//! A ruleset takes effect whole or not at all. It may cut the link, so a timer on the host puts back what
//! was there.

use super::{Found, Knob, Original, Scope, alone, command, nft_listing};
use plimsoll_model::{Cause, Failure, factor};
use plimsoll_reach::Reach;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// What stands for it.
pub(super) const KIND: &str = factor::RULESET;

/// The level without any rule.
const NONE: &str = "none";

/// The levels that keep some parts of the rules that are found.
pub(super) const WITHOUT_FLOWTABLE: &str = "without-flowtable";
pub(super) const ONLY_NAT: &str = "only-nat";
pub(super) const ONLY_TRACKING: &str = "only-tracking";
const PARTS: [&str; 3] = [WITHOUT_FLOWTABLE, ONLY_NAT, ONLY_TRACKING];

/// Longest ruleset in bytes: an entry of a journal holds it, with its escapes.
const LONGEST: usize = 1 << 20;

/// Key of an [`Original`]: the ruleset, with the state of its counters.
const KEY: &str = "ruleset";

/// What iptables(8) has made of rules that nft cannot write back.
const NOT_OURS: [&str; 4] = ["managed by iptables", "xt match", "xt target", "# xt_"];

/// Makes a list of rules, on standard input, the whole of what there is.
///
/// The first line stays the first, so that errors name the lines of a file.
const LOAD: &str = "{ printf 'flush ruleset; '; cat; } | nft -f -";

#[derive(Debug, Default)]
struct Ruleset {
    /// What the kernel listed right after a level was applied, without what packets change.
    listed: Mutex<BTreeMap<String, String>>,
}

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Ruleset::default())
}

/// The rules of a level where these rules were found.
fn rules(level: &str, found: &str) -> Result<String, String> {
    match level {
        NONE => Ok(String::new()),
        WITHOUT_FLOWTABLE => Ok(nft_listing::without_flowtables(found)),
        ONLY_NAT => Ok(nft_listing::only_nat(found)),
        ONLY_TRACKING => Ok(nft_listing::TRACKING.to_owned()),
        file => of_file(file),
    }
}

/// What a level's file holds.
fn of_file(level: &str) -> Result<String, String> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        let file = File::open(level)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        file.take(LONGEST as u64 + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| format!("it is neither 'none' nor a file: {error}"))?;
    check_rules(&text)?;
    let has_rules = statements(&text).next().is_some();
    match has_rules {
        true => Ok(text),
        false => Err("the file has no rules; give 'none' for an empty ruleset".into()),
    }
}

fn check_rules(text: &str) -> Result<(), String> {
    match text.len() <= LONGEST && !text.contains('\0') {
        true => Ok(()),
        false => Err(format!("a ruleset is longer than {LONGEST} bytes, or has a NUL")),
    }
}

/// Lines that say something.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// A text as one word for printf's `%b`, in quotes of the shell.
fn escaped(text: &str) -> String {
    plimsoll_reach::quote(&text.replace('\\', r"\\").replace('\n', r"\n"))
}

impl Ruleset {
    fn rules(&self, original: &Original, level: &str) -> Result<String, Failure> {
        let found = original.0.get(KEY).map_or("", String::as_str);
        let usage =
            |why: String| Failure::new(Cause::Usage, "read a ruleset").on(level).happened(why);
        rules(level, found).map_err(usage)
    }

    /// `-s`: without what counts packets by itself.
    fn list(&self, host: &dyn Reach, options: &str) -> Result<String, Failure> {
        command(host, "list the packet filter's rules", &format!("nft {options} list ruleset"), b"")
    }

    /// Makes these rules all that there are; what the kernel lists of them in the same moment, without
    /// what they count. Later it might be what the timer has put back.
    fn load(&self, host: &dyn Reach, rules: &str) -> Result<String, Failure> {
        let text = format!("{LOAD} && nft -s list ruleset");
        command(host, "load the packet filter's rules", &text, rules.as_bytes())
    }

    fn differs(&self, host: &dyn Reach, happened: &str) -> Failure {
        let next = "Check nft list ruleset on the host: another program may set rules.";
        Failure::new(Cause::Trial, format!("set {KIND}"))
            .on(host.name())
            .happened(happened)
            .next(next)
    }
}

/// The rules that an [`Original`] of this setting holds.
pub fn found_ruleset(original: &Original) -> Option<&str> {
    original.0.get(KEY).map(String::as_str)
}

impl Knob for Ruleset {
    fn name(&self) -> String {
        KIND.to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level == NONE || PARTS.contains(&level) {
            true => Ok(()),
            false => of_file(level).map(drop),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let ruleset = original.0.get(KEY).filter(|_| original.0.len() == 1);
        check_rules(ruleset.ok_or("it does not contain a ruleset")?)
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let ruleset = self.list(host, "")?;
        let refused = |happened: String| {
            let next = "Use another setting, or change it manually.";
            Failure::new(Cause::NotPermitted, "keep the packet filter's rules")
                .on(host.name())
                .happened(happened)
                .next(next)
        };
        check_rules(&ruleset).map_err(refused)?;
        if NOT_OURS.iter().any(|mark| ruleset.contains(mark)) {
            return Err(refused(
                "iptables created some of the rules, which nft cannot restore".into(),
            ));
        }
        let level = if ruleset.trim().is_empty() { NONE } else { "rules of its own" };
        let original = Original([(KEY.to_owned(), ruleset)].into());
        Ok(Found { level: level.to_owned(), original })
    }

    /// nft checks rules without loading them.
    fn check_on(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let rules = self.rules(original, level)?;
        let text = LOAD.replace("nft -f", "nft -c -f");
        let refused = |failure: Failure| match failure.cause {
            Cause::NotPermitted => Failure {
                cause: Cause::Usage,
                on: format!("{level} on {}", host.name()),
                next: "Correct the rules, or give others.".to_owned(),
                ..failure
            },
            _ => failure,
        };
        command(host, "check the packet filter's rules", &text, rules.as_bytes())
            .map(drop)
            .map_err(refused)
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let rules = self.rules(original, level)?;
        let listed = without_state(&self.load(host, &rules)?);
        let mut known = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(level.to_owned(), listed);
        Ok(())
    }

    /// There are no rules only for the level without rules, and nobody has changed anything since a level was applied.
    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let now = self.list(host, "-s")?;
        // Some parts of the rules that are found may be none of them.
        if !PARTS.contains(&level) && (level == NONE) != now.trim().is_empty() {
            return Err(self.differs(host, "the kernel does not list the loaded rules"));
        }
        let known = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(level) {
            Some(listed) if *listed != without_state(&now) => {
                Err(self.differs(host, "another program has changed the rules during the study"))
            }
            _ => Ok(()),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let found = original.0.get(KEY).map_or("", String::as_str);
        self.load(host, found)?;
        // Counters go on counting, and sets go on filling: without them.
        match without_state(&self.list(host, "")?) == without_state(found) {
            true => Ok(()),
            false => Err(self.differs(host, "the kernel lists other rules than before the study")),
        }
    }

    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let found = original.0.get(KEY)?;
        Some(format!("printf '%b' {} | {LOAD}", escaped(found)))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let plain = |of: &Original| of.0.get(KEY).map(|text| without_state(text));
        plain(original) == plain(now)
    }
}

/// A listing without what packets have changed in it: what they counted, and the elements that they added to sets.
fn without_state(text: &str) -> String {
    without_counters(&nft_listing::without_elements_of_packets(text))
}

/// A listing without what packets have counted, and without the times since a rule was used.
fn without_counters(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_of_time = |c: char| c.is_ascii_alphanumeric();
    let mut kept = String::with_capacity(text.len());
    let mut before = "";
    // A piece is a word with the character behind it: named counters begin a line with "packets".
    for piece in text.split_inclusive(char::is_whitespace) {
        kept.push_str(match before {
            "packets " | "bytes " => piece.trim_start_matches(is_digit),
            "used " => piece.trim_start_matches(is_of_time),
            _ => piece,
        });
        before = piece;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_files_with_rules_or_none() {
        let knob = make("").unwrap();
        PARTS.into_iter().for_each(|level| knob.check(level).unwrap());
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        knob.check("none").unwrap();
        knob.check(&file("good", b"table inet x {\n}\n")).unwrap();
        for bad in [
            file("empty", b"# nothing\n\n"),
            file("binary", b"\xff"),
            file("nul", b"table inet x { }\0"),
            file("long", &vec![b'x'; LONGEST + 1]),
            place.path().to_str().unwrap().to_owned(),
            "/dev/zero".to_owned(),
            "/no/such/file".to_owned(),
            String::new(),
        ] {
            assert!(knob.check(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_long_ruleset_fits_into_an_entry_and_into_the_timer_of_a_host() {
        use super::super::{Entry, Origin, entry, guard::Guard};
        use std::time::{Duration, Instant};
        let place = tempfile::tempdir().unwrap();
        let line = "\t\tip saddr 192.0.2.1 counter comment \"one of many\"\n";
        let mut text =
            format!("table ip x {{\n\tchain c {{\n{}", line.repeat(LONGEST / line.len() - 2));
        text.push_str("\t}\n}\n");
        assert!(text.len() > LONGEST - 200 && text.len() <= LONGEST);
        let knob = make("").unwrap();
        let original = Original([(KEY.to_owned(), text.clone())].into());
        knob.check_original(&original).unwrap();
        let (host, origin) = ("ssh://nas".parse().unwrap(), Origin::default());
        let kept = Entry::new(host, origin, KIND.into(), original.clone(), "0123abcd");
        let kept = kept.to_bytes().unwrap();
        assert!(kept.len() <= entry::MOST_BYTES && Entry::from_bytes(&kept).is_ok());
        // The timer, with what stands for nft.
        let [kept, written] = ["entry", "written"].map(|name| place.path().join(name));
        std::fs::write(&kept, "").unwrap();
        let undo = knob.undo_by_shell(&original).unwrap();
        let undo = undo.replace("nft -f -", &format!("cat >{}", written.display()));
        let host = std::sync::Arc::new(plimsoll_reach::Local);
        let patience = Duration::from_secs(2);
        drop(Guard::start(host, kept.to_str().unwrap(), undo, patience).unwrap());
        let (begun, whole) = (Instant::now(), format!("flush ruleset; {text}"));
        while std::fs::read_to_string(&written).unwrap_or_default() != whole {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is not undone");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[test]
    fn counters_do_not_count() {
        let one = "\tcounter packets 12 bytes 3400 accept\n\tquota over 5 mbytes used 7 bytes }\n";
        let other = "\tcounter packets 1 bytes 34 accept\n\tquota over 5 mbytes used 9 bytes }\n";
        assert_eq!(without_counters(one), without_counters(other));
        assert_ne!(without_counters(one), without_counters(&one.replace("accept", "drop")));
        assert_ne!(without_counters(one), without_counters(&one.replace("over 5", "over 6")));
        let words = "\t\tlimit rate 10/second burst 5 packets\n\t\t2001:db8::1 accept\n";
        assert_eq!(without_counters(words), words);
    }

    /// Counters with names, rules that say when they were used, and sets that packets fill: a router that has them had
    /// "other rules than before the study" after a second.
    #[test]
    fn what_packets_change_is_no_other_ruleset() {
        let ruleset = |packets: u32, used: &str, seen: &str, allowed: &str| {
            let text = format!(
                "table inet filter {{\n\tcounter passed {{\n\t\tpackets {packets} bytes {packets}00\n\t}}\n\n\
                 \tset seen {{\n\t\ttype ipv4_addr\n\t\tflags dynamic,timeout\n\t\ttimeout 1m\n{seen}\t}}\n\n\
                 \tset allowed {{\n\t\ttype ipv4_addr\n\t\telements = {{ {allowed} }}\n\t}}\n\n\
                 \tchain forward {{\n\t\ttype filter hook forward priority filter; policy accept;\n\
                 \t\tupdate @seen {{ ip saddr }} last used {used} counter name \"passed\"\n\t}}\n}}\n"
            );
            Original([(KEY.to_owned(), text)].into())
        };
        let knob = make("").unwrap();
        let few = "\t\telements = { 10.0.0.1 expires 59s,\n\t\t\t     10.0.0.2 expires 3s }\n";
        let found = ruleset(7, "never", "", "10.0.0.9");
        for now in [
            ruleset(12, "never", "", "10.0.0.9"),
            ruleset(7, "1m4s12ms", "", "10.0.0.9"),
            ruleset(7, "never", few, "10.0.0.9"),
        ] {
            assert!(knob.is_as_found(&found, &now), "{now:?}");
        }
        assert!(!knob.is_as_found(&found, &ruleset(7, "never", few, "10.0.0.8")));
    }

    #[test]
    fn the_line_that_undoes_writes_the_ruleset_as_it_was() {
        let knob = make("").unwrap();
        let text = "table ip x {\n\tcomment \"it's \\n 100% $HOME `id` \\\\\"\n}\n";
        let original = Original([(KEY.to_owned(), text.to_owned())].into());
        knob.check_original(&original).unwrap();
        let line = knob.undo_by_shell(&original).unwrap();
        assert!(!line.contains('\n'));
        let (print, load) = line.rsplit_once(" | { ").unwrap();
        assert!(load.starts_with("printf 'flush ruleset; '; cat; } | nft"), "{load}");
        let output = std::process::Command::new("/bin/sh").args(["-c", print]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        for pairs in [vec![], vec![("ruleset", "a\0b")], vec![("ruleset", ""), ("more", "")]] {
            let own = pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
            assert!(knob.check_original(&Original(own.collect())).is_err());
        }
    }
}
