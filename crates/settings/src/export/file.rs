//! Lines of exports(5), read and changed without touching anything else in them: a path, then
//! clients with their options in brackets. `etab` of exportfs and the kernel's list have the same
//! form.

use std::ops::Range;

/// What an export's options say of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    Sync,
    Async,
    /// Nothing: the default.
    Absent,
}

impl Writes {
    pub const SYNC: &'static str = "sync";
    pub const ASYNC: &'static str = "async";
    pub const LEVELS: [Writes; 2] = [Writes::Sync, Writes::Async];

    pub fn from_word(word: &str) -> Option<Writes> {
        match word {
            Writes::SYNC => Some(Writes::Sync),
            Writes::ASYNC => Some(Writes::Async),
            _ => None,
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Writes::Sync => Some(Writes::SYNC),
            Writes::Async => Some(Writes::ASYNC),
            Writes::Absent => None,
        }
    }
}

/// A client of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// A host, a network or a pattern, as it stands there.
    pub name: String,
    /// What stands in its brackets.
    pub options: String,
    /// Where its word stands in the text, with the brackets.
    place: Range<usize>,
}

impl Client {
    /// What its own options say; the last word counts.
    pub fn writes(&self) -> Writes {
        self.options
            .split(',')
            .rev()
            .find_map(|word| Writes::from_word(word.trim()))
            .unwrap_or(Writes::Absent)
    }
}

/// The clients of a path, over all lines.
pub(crate) fn clients(text: &str, path: &str) -> Vec<Client> {
    let mut clients = Vec::new();
    for line in lines(text) {
        let mut words = words(text, line);
        if words.next().is_none_or(|word| plain(&text[word]) != path) {
            continue;
        }
        for place in words {
            let word = &text[place.clone()];
            // '-' begins defaults for the clients that follow.
            if word.starts_with('-') {
                continue;
            }
            let (name, rest) = word.split_once('(').unwrap_or((word, ""));
            let options = rest.strip_suffix(')').unwrap_or(rest);
            let (name, options) = (name.to_owned(), options.to_owned());
            clients.push(Client { name, options, place });
        }
    }
    clients
}

/// The path that a line of exports(5) exports.
pub fn path_of(line: &str) -> Option<String> {
    let first = lines(line).into_iter().next()?;
    Some(plain(&line[words(line, first).next()?]))
}

/// The text with this level at every client of the path.
pub(crate) fn with_sync(text: &str, path: &str, level: Writes) -> String {
    changed(text, path, |_| Some(level))
}

/// The text with that level at each client of the path which the client has in another text.
pub(crate) fn with_sync_of(text: &str, path: &str, other: &str) -> String {
    let others = clients(other, path);
    let writes =
        |client: &Client| Some(others.iter().find(|other| other.name == client.name)?.writes());
    changed(text, path, writes)
}

fn changed(text: &str, path: &str, level: impl Fn(&Client) -> Option<Writes>) -> String {
    let (mut changed, mut from) = (String::with_capacity(text.len() + 16), 0);
    for client in clients(text, path) {
        let Some(level) = level(&client) else { continue };
        changed.push_str(&text[from..client.place.start]);
        changed.push_str(&of_client(&client, level, &text[client.place.clone()]));
        from = client.place.end;
    }
    changed + &text[from..]
}

/// A client's word with this level. What stands there already stays as it is.
fn of_client(client: &Client, level: Writes, word: &str) -> String {
    if client.writes() == level {
        return word.to_owned();
    }
    let keeps = |option: &&str| Writes::from_word(option.trim()).is_none();
    let mut options: Vec<&str> = client.options.split(',').filter(keeps).collect();
    // The word takes the place of that which was there, else the end.
    let at =
        client.options.split(',').position(|option| Writes::from_word(option.trim()).is_some());
    if let Some(word) = level.word() {
        options.insert(at.unwrap_or(options.len()), word);
    }
    let options = options.join(",");
    let options = options.trim_start_matches(',');
    match options.is_empty() && !client.name.is_empty() {
        true => client.name.clone(),
        false => format!("{}({options})", client.name),
    }
}

/// The lines that say something, without their ends; a backslash at the end goes on in the next.
fn lines(text: &str) -> Vec<Range<usize>> {
    let (mut lines, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let mut end = from;
        loop {
            end += text[end..].find('\n').unwrap_or(text.len() - end);
            let comment = text[from..end].trim_start().starts_with('#');
            if comment || !text[..end].ends_with('\\') || end >= text.len() {
                break;
            }
            end += 1;
        }
        if !text[from..end].trim_start().starts_with('#') {
            lines.push(from..end);
        }
        from = end + 1;
    }
    lines
}

/// Words of a line: parted by blanks outside of quotes and brackets; '#' ends it.
fn words(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = line.start;
    std::iter::from_fn(move || {
        let blank = |at: usize| {
            bytes[at].is_ascii_whitespace()
                || (bytes[at] == b'\\' && bytes.get(at + 1) == Some(&b'\n'))
        };
        while at < line.end && blank(at) {
            at += 1;
        }
        if at >= line.end || bytes[at] == b'#' {
            return None;
        }
        let (start, mut quoted, mut inside) = (at, false, false);
        while at < line.end && (quoted || inside || !blank(at)) {
            match bytes[at] {
                b'"' => quoted = !quoted,
                b'(' => inside = !quoted,
                b')' => inside = inside && quoted,
                _ => {}
            }
            at += 1;
        }
        Some(start..at)
    })
}

/// A path without quotes, and with `\040` as the blank that it stands for.
fn plain(word: &str) -> String {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let octal = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if octal.is_some() || first != b'"' {
            plain.push(octal.unwrap_or(first));
        }
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "# /srv/films *(rw)\n\n/srv/films\t10.0.0.0/8(rw,sync,no_root_squash) \\\n  \
                        tv(ro) # the living room\n\"/srv/my films\" *(rw)\n/srv/plain nas\n\
                        /srv/films *(async)";

    #[test]
    fn the_word_alone_is_changed() {
        let to = |path: &str, level: Writes| with_sync(FILE, path, level);
        let films = to("/srv/films", Writes::Async);
        let expected = FILE.replace("rw,sync,", "rw,async,").replace("tv(ro)", "tv(ro,async)");
        assert_eq!(films, expected);
        assert_eq!(with_sync_of(&films, "/srv/films", FILE), FILE);
        let sync = to("/srv/films", Writes::Sync);
        assert_eq!(sync, FILE.replace("tv(ro)", "tv(ro,sync)").replace("(async)", "(sync)"));
        assert_eq!(
            to("/srv/my films", Writes::Async),
            FILE.replace("*(rw)\n/srv/p", "*(rw,async)\n/srv/p")
        );
        let plain = to("/srv/plain", Writes::Async);
        assert_eq!(plain, FILE.replace("nas\n", "nas(async)\n"));
        assert_eq!(with_sync_of(&plain, "/srv/plain", FILE), FILE);
        assert_eq!(to("/srv", Writes::Async), FILE);
    }

    #[test]
    fn in_a_file_that_another_has_changed_the_word_alone_is_put_back() {
        let now = with_sync(FILE, "/srv/films", Writes::Async)
            .replace("# the", "new(rw,async) # the")
            + "\n/srv/new *(rw,async)\n";
        let back = with_sync_of(&now, "/srv/films", FILE);
        let expected = FILE.replace("# the", "new(rw,async) # the") + "\n/srv/new *(rw,async)\n";
        assert_eq!(back, expected);
    }

    #[test]
    fn clients_in_all_their_forms() {
        let clients_with_writes = |text: &str| -> Vec<(String, Writes)> {
            let clients = clients(text, "/a b");
            clients.into_iter().map(|client| (client.name.clone(), client.writes())).collect()
        };
        assert_eq!(
            clients_with_writes("/a\\040b -rw,sync x(async) (ro) y\n"),
            [
                ("x".to_owned(), Writes::Async),
                (String::new(), Writes::Absent),
                ("y".to_owned(), Writes::Absent)
            ]
        );
        assert_eq!(
            clients_with_writes("\"/a b\"\t*(rw,sync,wdelay)\n"),
            [("*".to_owned(), Writes::Sync)]
        );
        assert_eq!(clients_with_writes("/a b *(rw)"), []);
        assert_eq!(path_of("/srv\\040x\t*(rw)").as_deref(), Some("/srv x"));
    }

    proptest! {
        /// Whatever a file holds, what is put back is what was there, and the rest is not touched.
        #[test]
        fn any_file(text in "([ /ab\\\\\n\t#\"(),*-]|sync|async|/a |/b ){0,40}") {
            for path in ["/a", "/b"] {
                for level in Writes::LEVELS {
                    let changed = with_sync(&text, path, level);
                    prop_assert!(clients(&changed, path).iter().all(|c| c.writes() == level), "{:?}", changed);
                    prop_assert_eq!(with_sync(&changed, path, level), changed.clone());
                    prop_assert_eq!(clients(&changed, path).len(), clients(&text, path).len());
                }
            }
        }

        #[test]
        fn any_text(text in "\\PC{0,80}", path in "/\\PC{0,8}") {
            let _ = with_sync(&text, &path, Writes::Async);
            let _ = path_of(&text);
        }
    }
}
