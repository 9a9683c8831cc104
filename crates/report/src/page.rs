//! A page of text that is filled from top to bottom.

use crate::style::{Role, Style};
use crate::text::wrapped;

/// The text so far, and how it should look.
pub(crate) struct Page {
    pub(crate) style: Style,
    text: String,
}

impl Page {
    pub(crate) fn new(style: &Style) -> Page {
        Page { style: *style, text: String::new() }
    }

    /// An empty line and a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.painted(Role::Heading, "", text);
    }

    /// A paragraph, wrapped.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.item("", text);
    }

    /// A paragraph that begins with `first` and is indented as far.
    pub(crate) fn item(&mut self, first: &str, text: &str) {
        self.text.push_str(&wrapped(first, text, self.style.columns()));
    }

    /// A paragraph in the colour of warnings.
    pub(crate) fn warning(&mut self, first: &str, text: &str) {
        self.painted(Role::Warning, first, text);
    }

    /// Each line by itself, so that a pager that begins in the middle has the colour.
    fn painted(&mut self, role: Role, first: &str, text: &str) {
        for line in wrapped(first, text, self.style.columns()).lines() {
            self.text.push_str(&self.style.paint(role, line));
            self.text.push('\n');
        }
    }

    /// Lines as they are.
    pub(crate) fn lines(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
