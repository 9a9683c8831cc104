//! smb.conf as a text: a section of our own at its end, put there and taken out without a trace.

/// Longest name of a share, and longest value, in bytes.
const LONGEST: usize = 128;

/// The section that is no share.
pub(super) const GLOBAL: &str = "global";

fn begin(setting: &str) -> String {
    format!("\n\n# plimsoll begins: {setting}\n")
}

fn end(setting: &str) -> String {
    format!("# plimsoll ends: {setting}")
}

/// Where a section of ours goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Behind everything, where it holds over what is written before and included.
    End,
    /// Before the first share: each takes what holds for all when its section begins.
    BeforeShares,
}

/// The text with that line in that section, in place of what is there of the setting already. The empty
/// line before it ends one that goes on.
pub(crate) fn with(text: &str, setting: &str, place: Place, section: &str, line: &str) -> String {
    let mut text = without(text, setting);
    let at = match place {
        Place::End => text.len(),
        Place::BeforeShares => first_share(&text),
    };
    text.insert_str(at, &format!("{}[{section}]\n{line}\n{}\n", begin(setting), end(setting)));
    text
}

/// Where the first section begins that is a share's.
fn first_share(text: &str) -> usize {
    let (mut at, mut goes_on) = (0, false);
    for line in text.split_inclusive('\n') {
        let share = section_of(line).is_some_and(|name| !name.eq_ignore_ascii_case(GLOBAL));
        if share && !goes_on {
            return at;
        }
        goes_on = line.trim_end().ends_with('\\');
        at += line.len();
    }
    at
}

/// The section that begins in a line.
fn section_of(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix('[')?.split_once(']')?.0.trim())
}

/// The text without what is there of the setting.
pub(crate) fn without(text: &str, setting: &str) -> String {
    let (begin, end) = (begin(setting), end(setting));
    let (mut text, mut searched) = (text.to_owned(), 0);
    while let Some(at) = text[searched..].find(&end).map(|at| searched + at) {
        let Some(from) = text[..at].rfind(&begin) else {
            searched = at + end.len();
            continue;
        };
        // Somebody's editor may have taken the end of the last line.
        let to = match text[at + end.len()..].chars().next() {
            None => text.len(),
            Some('\n') => at + end.len() + 1,
            Some(_) => {
                searched = at + end.len();
                continue;
            }
        };
        // A line that goes on goes on into ours, not into what somebody has written behind it since.
        let before = text[..from].strip_suffix('\n').unwrap_or(&text[..from]);
        let goes_on = before.ends_with('\\');
        let keeps_apart = goes_on && !text[to..].is_empty() && !text[to..].starts_with('\n');
        text.replace_range(from..to, if keeps_apart { "\n" } else { "" });
        // What stood around it may be another one now.
        searched = text.floor_char_boundary(from.saturating_sub(end.len()));
    }
    text
}

/// Whether the text has a section of that name: blanks and large letters are all one to Samba.
pub(super) fn has(text: &str, section: &str) -> bool {
    let plain = |name: &str| -> String {
        name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    text.lines().filter_map(section_of).any(|name| plain(name) == plain(section))
}

/// The configuration file that a server was started with.
pub(super) fn file_of<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut file = None;
    while let Some(word) = words.next() {
        let own = match word {
            "-s" | "--configfile" => words.next(),
            _ => word.strip_prefix("--configfile=").or_else(|| word.strip_prefix("-s")),
        };
        file = own.or(file);
    }
    file
}

/// Whether this can be the name of a share.
pub(super) fn check_share(name: &str) -> Result<(), String> {
    let letter = |c: char| !c.is_control() && !"[]%#;\"/\\<>*?|:".contains(c);
    let sound = (1..=LONGEST).contains(&name.len()) && name.trim() == name;
    match sound && name.chars().all(letter) && !name.eq_ignore_ascii_case(GLOBAL) {
        true => Ok(()),
        false => Err("the text after '@' is not the name of a share".into()),
    }
}

/// Whether this can be an option's value: a line without what goes on in the next, or is replaced.
pub(super) fn is_value(value: &str) -> bool {
    value.len() <= LONGEST && value.trim() == value && !value.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_section_at_the_end_comes_and_goes() {
        let text = "[global]\n workgroup = x\n[My Films]\npath = /srv \\\n";
        let set = with(text, "samba:oplocks@My Films", Place::End, "My Films", "oplocks = no");
        let expected = format!(
            "{text}\n\n# plimsoll begins: samba:oplocks@My Films\n[My Films]\noplocks = no\n\
             # plimsoll ends: samba:oplocks@My Films\n"
        );
        assert_eq!(set, expected);
        let again = with(&set, "samba:oplocks@My Films", Place::End, "My Films", "oplocks = yes");
        assert_eq!(again, expected.replace("= no", "= yes"));
        // Another setting, and what somebody else appends meanwhile.
        let two = with(&again, "samba:oplocks", Place::End, "global", "oplocks = yes");
        let one = without(&two, "samba:oplocks@My Films");
        assert_eq!(without(&one, "samba:oplocks"), text);
        let one = without(&(two + "[new]\n"), "samba:oplocks@My Films");
        assert_eq!(without(&one, "samba:oplocks"), format!("{text}\n[new]\n"));
    }

    #[test]
    fn what_holds_for_all_shares_stands_before_them() {
        let text = "[Global]\nworkgroup = \\\n[no]\n# [films]\n [films]\n[global]\n";
        let set = with(text, "samba:x", Place::BeforeShares, GLOBAL, "x = 1");
        let (before, after) = text.split_at(text.find("\n [films]").unwrap() + 1);
        let own = "\n\n# plimsoll begins: samba:x\n[global]\nx = 1\n# plimsoll ends: samba:x\n";
        assert_eq!(set, format!("{before}{own}{after}"));
        assert_eq!(without(&set, "samba:x"), text);
    }

    #[test]
    fn names_of_sections_and_files() {
        let text = "; [no]\n#[no]\n [My  Films] \n[Global]\n[half";
        assert!(has(text, "my films") && has(text, "MY FILMS") && !has(text, "no"));
        assert!(!has(text, "half") && !has(text, "films"));
        let configuration = |words: &[&'static str]| file_of(words.iter().copied());
        assert_eq!(configuration(&["smbd", "-D", "-s", "/a b.conf"]), Some("/a b.conf"));
        assert_eq!(configuration(&["smbd", "--configfile=/a", "-F"]), Some("/a"));
        assert_eq!(configuration(&["smbd", "--configfile", "/a"]), Some("/a"));
        assert_eq!(configuration(&["smbd", "-s/a"]), Some("/a"));
        assert_eq!(configuration(&["/usr/sbin/smbd", "--foreground", "--no-process-group"]), None);
        assert_eq!(configuration(&["smbd", "-s"]), None);
    }

    proptest! {
        /// Whatever the file holds, it is the same afterwards, with several settings in any order.
        #[test]
        fn any_file(text in "([ \\[\\]a#;=\\\\\n]|# plimsoll |begins: |ends: |x|y){0,40}") {
            let (x, y) = ("samba:x", "samba:y@a");
            let found = without(&without(&text, x), y);
            let one = with(&found, x, Place::BeforeShares, "global", "x = 1");
            let both = with(&one, y, Place::End, "a", "y = 2");
            prop_assert_eq!(without(&without(&both, x), y), found.clone());
            prop_assert_eq!(without(&without(&both, y), x), found);
        }
    }
}
