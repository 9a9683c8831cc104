//! What a shell on the host writes: the texts of files, each under a line with its name, as `head`
//! puts it above each of several files.

use std::borrow::Cow;

/// Most bytes of one answer that are believed.
pub const MOST_SAMPLE: usize = 4 << 20;
/// Most files of one answer that are believed.
const MOST_FILES: usize = 256;

const BEGIN: &str = "==> ";
const END: &str = " <==\n";

/// The texts in one answer.
#[derive(Debug)]
pub struct Sections<'a> {
    text: Cow<'a, str>,
}

impl<'a> Sections<'a> {
    /// Takes any bytes; what is no text is replaced.
    pub fn new(bytes: &'a [u8]) -> Self {
        Sections { text: String::from_utf8_lossy(bytes) }
    }

    /// Name and text of each file, in their order. What comes before the first, as from a login
    /// shell, is left out.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let at_once = self.text.starts_with(BEGIN);
        let pieces = self.text.split("\n==> ").enumerate().filter_map(move |(i, piece)| match i {
            0 if at_once => piece.strip_prefix(BEGIN),
            0 => None,
            _ => Some(piece),
        });
        pieces.filter_map(|piece| piece.split_once(END)).take(MOST_FILES)
    }

    /// The text under a name, without what surrounds it; empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.iter().find(|(n, _)| *n == name).map_or("", |(_, text)| text.trim())
    }
}

/// The line that ends an answer.
pub(super) fn end_of(answer: &str) -> String {
    format!("\n{BEGIN}end {answer}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_under_their_names() {
        let text = b"Welcome!\n==> a <==\n1\n2\n\n==> /b/c <==\n\n==> odd\n==> end 7 <==\n";
        let sections = Sections::new(text);
        let all: Vec<_> = sections.iter().collect();
        assert_eq!(all, [("a", "1\n2\n"), ("/b/c", ""), ("end 7", "")]);
        assert_eq!((sections.get("a"), sections.get("none")), ("1\n2", ""));
        assert!(text.ends_with(end_of("7").as_bytes()));
        assert_eq!(Sections::new(b"==> a <==\nx").iter().next(), Some(("a", "x")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in "(==> |[a-c]| <==|\n|\u{fffd}){0,40}") {
            let sections = Sections::new(bytes.as_bytes());
            let names: usize = sections.iter().map(|(name, text)| name.len() + text.len()).sum();
            prop_assert!(names <= bytes.len());
        }
    }
}
