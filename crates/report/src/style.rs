//! How the output should look.

use plimsoll_model::printable;

/// How the output should look. The caller knows the terminal; nothing here looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns to stay within.
    pub width: usize,
    /// Whether the terminal takes colours.
    pub colour: bool,
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Heading,
    Warning,
}

impl Style {
    /// Columns really used: a terminal narrower than 40 wraps by itself, and lines above 160 are
    /// hard to read.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(40, 160)
    }

    /// A line of text in the colour of its role.
    pub(crate) fn paint(self, role: Role, line: &str) -> String {
        if self.colour { format!("{}{line}{PLAIN}", role.begin()) } else { line.to_owned() }
    }
}

/// Ends what a role began (ECMA-48, select graphic rendition).
const PLAIN: &str = "\u{1b}[0m";

impl Role {
    pub(crate) const ALL: [Role; 2] = [Role::Heading, Role::Warning];

    fn begin(self) -> &'static str {
        match self {
            Role::Heading => "\u{1b}[1m",
            Role::Warning => "\u{1b}[33m",
        }
    }

    /// The role of a line that was painted, and its text.
    pub(crate) fn painted(line: &str) -> Option<(Role, &str)> {
        let text = |role: &Role| line.strip_prefix(role.begin())?.strip_suffix(PLAIN);
        Role::ALL.iter().find_map(|role| Some((*role, text(role)?)))
    }
}

/// Text as it goes to the terminal: nothing in it steers that but the colours of whole lines, and
/// these only where the style has them.
pub fn for_terminal(text: &str, colour: bool) -> String {
    let line = |line: &str| match Role::painted(line).filter(|_| colour) {
        Some((role, text)) => Style { width: 0, colour }.paint(role, &printable(text)),
        None => printable(line),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_whole_lines_pass_and_nothing_else() {
        let painted = "\u{1b}[1mHead\u{1b}[0m\n\u{1b}[33m! odd\u{1b}[0m\n";
        assert_eq!(for_terminal(painted, true), painted);
        assert!(!for_terminal(painted, false).contains('\u{1b}'));
        let hostile = "a\u{1b}[1mb\u{1b}[0m\n\u{1b}[1m\u{1b}[2J\u{1b}[0m\u{1b}[33m\r\u{202e}";
        let safe = for_terminal(hostile, true);
        assert_eq!(safe.matches('\u{1b}').count(), 0, "{safe:?}");
        assert!(!safe.contains(['\r', '\u{202e}']), "{safe:?}");
    }
}
