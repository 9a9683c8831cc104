//! What `tc qdisc show` prints of one interface.

/// Disciplines for received packets.
const INGRESS: [&str; 2] = ["ingress", "clsact"];

/// Discipline at the root of an interface with several queues, each of which has one of its own.
pub const OF_QUEUES: &str = "mq";

/// The parts of a line of `tc qdisc show`.
pub(super) struct Line<'a> {
    pub kind: &'a str,
    pub handle: &'a str,
    /// "root", or the class above it.
    pub place: &'a str,
    pub options: Vec<&'a str>,
}

impl Line<'_> {
    /// Whether the kernel made it: those of a user have a handle.
    pub fn is_default(&self) -> bool {
        self.handle == "0:"
    }

    pub fn is_root(&self) -> bool {
        self.place == "root"
    }

    /// Whether it is for received packets, which the discipline at the root does not touch.
    fn is_ingress(&self) -> bool {
        INGRESS.contains(&self.kind)
    }

    /// Whether it is of one of the queues of an interface with this root.
    pub fn is_of_queue_below(&self, root: &Line<'_>) -> bool {
        root.kind == OF_QUEUES && self.place.starts_with(root.handle) && is_class(self.place)
    }

    /// As [`plain`] has it, at this place.
    pub fn at(&self, place: &str) -> String {
        format!("{} {} {place} {}", self.kind, self.handle, self.options.join(" "))
    }
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

/// The disciplines at the root and below it.
pub(super) fn lines(shown: &str) -> Vec<Line<'_>> {
    shown.lines().filter_map(line).filter(|line| !line.is_ingress()).collect()
}

/// What tc shows, without what it counts.
pub(super) fn plain(text: &str) -> String {
    let plain = |text: &str| {
        let line = line(text)?;
        Some(format!("{}\n", line.at(line.place)))
    };
    text.lines().filter_map(plain).collect()
}

/// Numbers with the unit of a queue, which tc shows and some disciplines do not take: "10240p", "1514b".
pub(super) fn bare(word: &str, units: &[char]) -> String {
    match word.strip_suffix(units) {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            number.to_owned()
        }
        _ => word.to_owned(),
    }
}

/// Whether this is a class of tc, such as "1:a".
pub(super) fn is_class(text: &str) -> bool {
    let is_number = |part: &str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_once(':')
        .is_some_and(|(major, minor)| is_number(major) && is_number(minor) && !minor.is_empty())
}

/// Whether tc shows the same. The order of the queues of a device is not kept, and disciplines of received packets are
/// not at the root.
pub(super) fn same(one: &str, other: &str) -> bool {
    let lines = |text: &str| {
        let of_root = |line: &&str| !INGRESS.contains(&line.split(' ').next().unwrap_or_default());
        let mut lines: Vec<String> =
            text.lines().filter(of_root).map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    };
    lines(one) == lines(other)
}

/// Kind of the discipline at the root, of what [`plain`] returned.
pub(super) fn root_kind(plain: &str) -> Option<&str> {
    kinds(plain).find(|(_, place)| *place == "root").map(|(kind, _)| kind)
}

/// Kinds of the disciplines below the root, of what [`plain`] returned.
pub(super) fn kinds_below(plain: &str) -> Vec<&str> {
    let below = |(kind, place): &(&str, &str)| *place != "root" && !INGRESS.contains(kind);
    kinds(plain).filter(below).map(|(kind, _)| kind).collect()
}

/// Kind and place of each discipline.
fn kinds(plain: &str) -> impl Iterator<Item = (&str, &str)> {
    plain.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.nth(1)?))
    })
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
        assert!(child.place == ":2" && child.is_default());
        assert!(line("qdisc clsact ffff: parent ffff:fff1").unwrap().is_ingress());
        assert!(line("qdisc").is_none() && line("").is_none());
        assert_eq!(bare("10240p", &['p']), "10240");
        assert_eq!(bare("32Mb", &['p', 'b']), "32Mb");
        assert_eq!((&*bare("1514b", &['p', 'b']), &*bare("p", &['p'])), ("1514", "p"));
        let queues = "mq 0: root \npfifo_fast 0: :1 a\npfifo_fast 0: :2 a\n";
        let other = "mq 0: root\npfifo_fast 0: :2 a\npfifo_fast 0: :1 a\nclsact ffff: ffff:fff1\n";
        assert!(same(queues, other) && !same(queues, "mq 0: root\n"));
        assert_eq!((root_kind(other), kinds_below(other)), (Some("mq"), vec!["pfifo_fast"; 2]));
        assert_eq!((root_kind(""), kinds_below("\nx\n")), (None, vec![]));
    }

    #[test]
    fn queues_have_the_classes_of_their_root() {
        let root = line("qdisc mq 82ba: root").unwrap();
        let is_of_queue = |text: &str| line(text).unwrap().is_of_queue_below(&root);
        assert!(is_of_queue("qdisc pfifo 82bb: parent 82ba:1f limit 9p"));
        for other in [
            "qdisc pfifo 82bb: parent 82bb:1 limit 9p",
            "qdisc pfifo 82bb: parent 82ba: limit 9p",
            "qdisc pfifo 82bb: parent 82ba:1;id limit 9p",
        ] {
            assert!(!is_of_queue(other), "{other}");
        }
        let classful = line("qdisc htb 82ba: root").unwrap();
        assert!(!line("qdisc pfifo 8: parent 82ba:1").unwrap().is_of_queue_below(&classful));
    }
}
