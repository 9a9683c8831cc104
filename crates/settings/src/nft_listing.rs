//! A listing of nft(8): the parts of a packet's path that it has, and rulesets that keep some of them only. It is read by
//! lines and braces: a rule is a line of a chain, and a chain is a block of a table.

/// Connection tracking alone: the kernel tracks connections if a rule looks at them.
pub(super) const TRACKING: &str = "table inet plimsoll_tracking {
    chain forwarded {
        type filter hook forward priority filter; policy accept;
        ct state invalid
    }
}
";

/// Parts of a packet's path that a ruleset has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesetParts {
    /// Chains of rules that every packet passes, address translation apart.
    pub rules: bool,
    /// Address translation.
    pub nat: bool,
    /// Connection tracking.
    pub conntrack: bool,
    /// Rules that add flows to a flowtable.
    pub flowtable: bool,
}

/// The parts that a listing has.
pub fn ruleset_parts(listing: &str) -> RulesetParts {
    let mut parts = RulesetParts::default();
    for piece in pieces(listing) {
        let Piece::Block(lines) = piece else { continue };
        match hook(&lines) {
            Some("nat") => parts.nat = true,
            Some(_) => parts.rules = true,
            None => {}
        }
        parts.flowtable |= lines.iter().any(|line| *line != without_flows(line));
        let looks = |line: &&str| words(line).any(|word| ["ct", "masquerade"].contains(&word));
        parts.conntrack |= lines.iter().any(looks);
    }
    parts.conntrack |= parts.nat || parts.flowtable;
    parts
}

/// The ruleset without flowtables and the statements that add flows to them.
pub(super) fn without_flowtables(listing: &str) -> String {
    kept(listing, |lines| !is_flowtable(lines))
}

/// The ruleset with its address translation alone. Chains without a hook stay: no packet comes to them, unless from
/// address translation.
pub(super) fn only_nat(listing: &str) -> String {
    kept(listing, |lines| !is_flowtable(lines) && hook(lines).is_none_or(|kind| kind == "nat"))
}

/// The listing without the elements of sets and maps that packets add to, or that go after a time: a moment later there
/// are others.
pub(super) fn without_elements_of_packets(listing: &str) -> String {
    let mut text = String::with_capacity(listing.len());
    for piece in pieces(listing) {
        let lines = match piece {
            Piece::Line(line) => vec![line],
            Piece::Block(lines) if changes_by_itself(&lines) => without_elements(&lines),
            Piece::Block(lines) => lines,
        };
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Whether packets add to a set or map, or its elements go after a time.
fn changes_by_itself(lines: &[&str]) -> bool {
    let kind = lines.first().and_then(|first| words(first).next());
    let is_flagged = |line: &&str| {
        let mut all = words(line).flat_map(|word| word.split(','));
        all.next() == Some("flags") && all.any(|flag| ["dynamic", "timeout"].contains(&flag))
    };
    matches!(kind, Some("set" | "map")) && lines.iter().any(is_flagged)
}

/// The lines of a set without those of its elements, which may be several.
fn without_elements<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut depth = 0_usize;
    for line in lines {
        let (opened, closed) = braces(line);
        if depth > 0 || words(line).next() == Some("elements") {
            depth = (depth + opened).saturating_sub(closed);
        } else {
            kept.push(*line);
        }
    }
    kept
}

/// Part of a listing.
enum Piece<'a> {
    /// Line that is in no block of a table.
    Line(&'a str),
    /// Chain, set or other block of a table, with its first and its last line.
    Block(Vec<&'a str>),
}

fn pieces(listing: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut depth = 0_usize;
    for line in listing.lines() {
        let before = depth;
        let (opened, closed) = braces(line);
        depth = (depth + opened).saturating_sub(closed);
        match (before, depth) {
            // A table opens or closes; or something of one line.
            (0 | 1, 0 | 1) if block.is_empty() => pieces.push(Piece::Line(line)),
            (_, 0 | 1) => {
                block.push(line);
                pieces.push(Piece::Block(std::mem::take(&mut block)));
            }
            _ => block.push(line),
        }
    }
    if !block.is_empty() {
        pieces.push(Piece::Block(block));
    }
    pieces
}

/// Braces of a line that open and close, texts in quotes apart.
fn braces(line: &str) -> (usize, usize) {
    let unquoted = || line.split('"').step_by(2).flat_map(str::chars);
    (unquoted().filter(|c| *c == '{').count(), unquoted().filter(|c| *c == '}').count())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').step_by(2).flat_map(str::split_whitespace)
}

/// The kind of a chain that has a hook: "filter", "nat", "route".
fn hook<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let is_chain = lines.first().is_some_and(|first| words(first).next() == Some("chain"));
    let line = lines.iter().copied().find(|line| words(line).next() == Some("type"));
    let line = line.filter(|line| is_chain && words(line).any(|word| word == "hook"))?;
    words(line).nth(1)
}

fn is_flowtable(lines: &[&str]) -> bool {
    lines.first().is_some_and(|first| words(first).next() == Some("flowtable"))
}

/// A rule without the statement that adds a flow to a flowtable.
fn without_flows(line: &str) -> String {
    let mut rest = line;
    let mut kept = String::new();
    for statement in ["flow add @", "flow offload @"] {
        if let Some((before, after)) = rest.split_once(statement) {
            let end = after.find(char::is_whitespace).unwrap_or(after.len());
            kept.push_str(before);
            rest = &after[end..];
        }
    }
    kept + rest
}

fn kept(listing: &str, is_kept: impl Fn(&[&str]) -> bool) -> String {
    let mut text = String::new();
    for piece in pieces(listing) {
        let lines = match piece {
            Piece::Line(line) => vec![line],
            Piece::Block(lines) if is_kept(&lines) => lines,
            Piece::Block(_) => continue,
        };
        for line in lines {
            text.push_str(&without_flows(line));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTING: &str = "table inet fw4 {
\tset lan {
\t\ttype ipv4_addr
\t\telements = { 10.0.0.1, 10.0.0.2,
\t\t\t     10.0.0.3 }
\t}

\tflowtable ft {
\t\thook ingress priority filter
\t\tdevices = { eth0, eth1 }
\t}

\tchain forward {
\t\ttype filter hook forward priority filter; policy drop;
\t\tmeta l4proto { tcp, udp } flow add @ft counter
\t\tct state vmap { established : accept, related : accept } comment \"a { type nat hook\"
\t\tjump forward_lan
\t}

\tchain forward_lan {
\t\tip saddr @lan accept
\t}

\tchain srcnat {
\t\ttype nat hook postrouting priority srcnat; policy accept;
\t\toifname \"wan\" jump srcnat_wan
\t}

\tchain srcnat_wan {
\t\tmasquerade
\t}
}
table ip other {
}
";

    #[test]
    fn a_listing_says_which_parts_a_packet_passes() {
        let all = RulesetParts { rules: true, nat: true, conntrack: true, flowtable: true };
        assert_eq!(ruleset_parts(LISTING), all);
        assert_eq!(ruleset_parts(""), RulesetParts::default());
        assert_eq!(ruleset_parts("table inet x {\n}\n"), RulesetParts::default());
        let tracking = RulesetParts { rules: true, conntrack: true, ..RulesetParts::default() };
        assert_eq!(ruleset_parts(TRACKING), tracking);
        let nat = RulesetParts { nat: true, conntrack: true, ..RulesetParts::default() };
        assert_eq!(ruleset_parts(&only_nat(LISTING)), nat);
        let rules = "table ip x {\n\tchain f {\n\t\ttype filter hook forward priority 0; policy accept;\n\t}\n}\n";
        assert_eq!(ruleset_parts(rules), RulesetParts { rules: true, ..RulesetParts::default() });
    }

    #[test]
    fn parts_are_left_out_as_a_whole() {
        let without = without_flowtables(LISTING);
        assert!(!without.contains("flowtable") && !without.contains("eth1"), "{without}");
        assert!(without.contains("\t\tmeta l4proto { tcp, udp }  counter\n"), "{without}");
        assert!(without.contains("comment \"a { type nat hook\""), "{without}");
        let nat = only_nat(LISTING);
        for kept in [
            "set lan",
            "10.0.0.3 }",
            "chain forward_lan",
            "chain srcnat {",
            "masquerade",
            "table ip other",
        ] {
            assert!(nat.contains(kept), "{kept} in {nat}");
        }
        for gone in ["hook forward", "flow", "vmap"] {
            assert!(!nat.replace("forward_lan", "").contains(gone), "{gone} in {nat}");
        }
        assert_eq!(braces(&nat.replace('\n', " ")).0, braces(&nat.replace('\n', " ")).1);
        assert_eq!(without_flows("\t\tflow offload @f"), "\t\t");
    }

    #[test]
    fn elements_that_packets_add_are_left_out() {
        let set = |flags: &str, elements: &str| {
            format!(
                "table ip x {{\n\tmap m {{\n\t\ttype ipv4_addr : verdict\n{flags}{elements}\t}}\n\tset empty {{\n\t}}\n}}\n"
            )
        };
        let several =
            "\t\telements = { 10.0.0.1 expires 4s : accept,\n\t\t\t     10.0.0.2 : drop }\n";
        for flags in
            ["\t\tflags dynamic,timeout\n", "\t\tflags interval, timeout\n", "\t\tflags dynamic\n"]
        {
            assert_eq!(
                without_elements_of_packets(&set(flags, several)),
                set(flags, ""),
                "{flags}"
            );
        }
        for flags in ["", "\t\tflags interval\n"] {
            assert_eq!(
                without_elements_of_packets(&set(flags, several)),
                set(flags, several),
                "{flags}"
            );
        }
        // A chain with a word of a set keeps its rules.
        assert_eq!(without_elements_of_packets(LISTING), LISTING);
    }

    proptest! {
        /// What is left out leaves the rest as it was, and leaving it out twice changes nothing.
        #[test]
        fn any_text(text in "([a-z@\" ]{0,12}\n|table ip x \\{\n|\tchain c \\{\n|\t\ttype nat hook a\n|\t\ttype filter hook a\n|\t\\}\n|\\}\n){0,20}") {
            let nat = only_nat(&text);
            prop_assert_eq!(only_nat(&nat), nat.clone());
            prop_assert!(nat.lines().count() <= text.lines().count());
            let without = without_flowtables(&text);
            prop_assert_eq!(without_flowtables(&without), without);
            let _ = ruleset_parts(&text);
        }
    }
}
