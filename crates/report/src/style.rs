//! How the output should look.

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

    /// The text in the colour of its role (ECMA-48, select graphic rendition).
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            Role::Heading => 1,
            Role::Warning => 33,
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
