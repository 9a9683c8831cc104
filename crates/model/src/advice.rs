//! Advice for the command at hand: it names no option that this command does not have.

/// The commands that measure, and those among them that measure storage.
const ALL: &[&str] = &["check", "copy", "ops", "device", "net", "play"];
const STORAGE: &[&str] = &["check", "copy", "ops", "play"];

/// Options that advice names, and the commands that have them. A test holds it against the commands.
const OPTIONS: [(&str, &[&str]); 35] = [
    ("--block", &["check", "copy", "ops"]),
    ("--cache", &["check", "play"]),
    ("--coremark", &["device"]),
    ("--count", &["copy"]),
    ("--data", &["copy"]),
    ("--dataset", &["copy"]),
    ("--depth", &["check", "copy"]),
    ("--design", &["check", "net"]),
    ("--disk", &["device"]),
    ("--drop-caches", STORAGE),
    ("--engine", &["check", "ops"]),
    ("--explain", &["check", "copy"]),
    ("--file", &["check"]),
    ("--host", STORAGE),
    ("--max-time", ALL),
    ("--mean", &["copy"]),
    ("--on", STORAGE),
    ("--only", &["copy", "ops", "device"]),
    ("--pattern", &["check"]),
    ("--probe-dir", &["device", "net"]),
    ("--quick", ALL),
    ("--rate", &["check", "net", "play"]),
    ("--repeats", ALL),
    ("--scale", &["copy"]),
    ("--server-memory", &["check", "play"]),
    ("--set", &["check", "copy", "ops", "net", "play"]),
    ("--size", &["check", "ops", "play"]),
    ("--soak", &["play"]),
    ("--stability", &["check", "ops"]),
    ("--time", &["check", "copy", "ops", "net", "play"]),
    ("--timeout", STORAGE),
    ("--up-to", &["net"]),
    ("--verify", &["check", "copy"]),
    ("--via", &["copy", "net"]),
    ("--workers", &["check", "copy"]),
];

/// Verbs that stand before what is to be given.
const VERBS: [&str; 9] =
    ["give", "use", "name", "set", "raise", "lower", "lengthen", "compare", "leave"];
/// First words of an alternative without its own verb.
const NO_VERB: [&str; 9] =
    ["a ", "an ", "another ", "fewer ", "less ", "more ", "no ", "the ", "--"];

/// Options that advice names, each with the commands that have it.
pub fn advised_options() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    OPTIONS.into_iter()
}

/// Advice for `command` ("copy"): without alternatives and sentences that need an option which the
/// command does not have. May be empty. Commands that do not measure get the whole advice.
pub fn for_command(advice: &str, command: &str) -> String {
    if !ALL.contains(&command) || !is_foreign(advice, command) {
        return advice.to_owned();
    }
    let mut kept: Vec<String> = Vec::new();
    for sentence in sentences(advice) {
        if !is_foreign(sentence, command) {
            kept.push(sentence.to_owned());
            continue;
        }
        kept.extend(alternatives(sentence, command));
    }
    let mut whole = String::new();
    for sentence in kept {
        match whole.ends_with("; ") {
            true => whole.push_str(&sentence),
            false => whole.push_str(&capital(&sentence)),
        }
    }
    let whole = whole.trim_end().trim_end_matches([';', ':']);
    match whole.is_empty() || whole.ends_with('.') {
        true => whole.to_owned(),
        false => format!("{whole}."),
    }
}

/// Whether a text names an option that the command does not have. An option after the name of a
/// plimsoll command belongs to that command.
fn is_foreign(text: &str, command: &str) -> bool {
    let mut own = true;
    for word in text.split_whitespace() {
        let bare = word.trim_start_matches(['(', '\'']);
        own &= bare != "plimsoll";
        let end = bare.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(bare.len());
        let option = OPTIONS.iter().find(|(option, _)| *option == &bare[..end]);
        if own && option.is_some_and(|(_, commands)| !commands.contains(&command)) {
            return true;
        }
        own |= word.ends_with(['.', ';', ',', ')']);
    }
    false
}

/// The sentences of a text, and what semicolons divide, each with what divides it from the next.
fn sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = [". ", "; "].iter().filter_map(|end| rest.find(end)).min() {
        let (sentence, more) = rest.split_at(at + 2);
        all.push(sentence);
        rest = more;
    }
    all.push(rest);
    all
}

/// Remainder of "do this, or that" for the command; `None` if nothing remains.
fn alternatives(sentence: &str, command: &str) -> Option<String> {
    let body = sentence.trim_end().trim_end_matches(['.', ';']);
    if !body.contains(" or ") {
        return None;
    }
    let listed = body.replace(", or ", "\u{1}").replace(" or ", "\u{1}").replace(", ", "\u{1}");
    let mut kept: Vec<String> = Vec::new();
    // Up to the verb that the next alternatives share, and whether it is said already.
    let mut verb = None;
    let mut is_said = false;
    for one in listed.split('\u{1}') {
        let has_own = !NO_VERB.iter().any(|begin| one.starts_with(begin));
        if has_own {
            (verb, is_said) = (through_verb(one), false);
        }
        if is_foreign(one, command) {
            continue;
        }
        match (has_own || is_said, verb) {
            (true, _) => kept.push(one.to_owned()),
            (false, Some(verb)) if kept.is_empty() => kept.push(format!("{verb} {one}")),
            (false, Some(verb)) => {
                kept.push(format!("{} {one}", verb.rsplit(' ').next().unwrap_or(verb)));
            }
            (false, None) => continue,
        }
        is_said = true;
    }
    let (last, before) = kept.split_last()?;
    let mut whole = before.join(", ");
    if !before.is_empty() {
        whole.push_str(" or ");
    }
    whole.push_str(last);
    let end = if sentence.ends_with("; ") { "; " } else { ". " };
    Some(whole + end)
}

/// A text up to its last verb: "it has no effect: give".
fn through_verb(text: &str) -> Option<&str> {
    let lower = text.to_lowercase();
    let word = |verb: &&str| {
        let at = lower.match_indices(*verb).filter(|(at, _)| {
            let before = lower[..*at].chars().next_back();
            let after = lower[*at + verb.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && after == Some(' ')
        });
        at.last().map(|(at, verb)| at + verb.len())
    };
    VERBS.iter().filter_map(word).max().and_then(|end| text.get(..end))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::for_command;

    #[test]
    fn what_a_command_does_not_have_is_not_advised() {
        let cases = [
            (
                "Compare with --stability filesync, or read the write verdicts with this in mind.",
                "Read the write verdicts with this in mind.",
            ),
            (
                "Give a larger --size, a smaller --block or fewer --workers.",
                "Give a smaller --block or fewer --workers.",
            ),
            (
                "Small files are more easily cached; give --size 1GiB --max-time 1h for files of full size.",
                "Small files are more easily cached.",
            ),
            (
                "O_DIRECT has no effect on this file system: give --size of twice the client's memory, or a \
                 directory on another one.",
                "O_DIRECT has no effect on this file system: give a directory on another one.",
            ),
            (
                "No file fits: free some space, or use a smaller --rate or a smaller --block.",
                "No file fits: free some space or use a smaller --block.",
            ),
            (
                "Free some space, give a smaller --size or a smaller --scale.",
                "Free some space or give a smaller --scale.",
            ),
            ("Lower --rate.", ""),
            ("Lower --rate, or check why the target is slow.", "Check why the target is slow."),
            (
                "Attach its file by losetup --direct-io=on, or give --size of twice the client's memory.",
                "Attach its file by losetup --direct-io=on.",
            ),
            (
                "Remove them with: plimsoll check --time 5s",
                "Remove them with: plimsoll check --time 5s",
            ),
            (
                "Give --scale 0.1 --max-time 3min for all of it.",
                "Give --scale 0.1 --max-time 3min for all of it.",
            ),
        ];
        for (advice, copy) in cases {
            assert_eq!(for_command(advice, "copy"), copy);
            // Each is an option of check, but the scale.
            if !advice.contains("--scale") {
                assert_eq!(for_command(advice, "check"), advice);
            }
            assert_eq!(for_command(advice, "show"), advice);
        }
    }
}
