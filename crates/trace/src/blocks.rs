//! Building blocks of the kernel: which function belongs to which.

use std::collections::HashMap;

/// The table of this program: prefix of the function's name, block, and how the entry is known.
const BUILT_IN: &str = include_str!("../data/blocks.tsv");
/// Most lines of a user's table.
const LINES: usize = 10_000;
/// Longest prefix and longest name of a block, in bytes.
const LONGEST: usize = 64;

/// Building blocks by the beginnings of functions' names.
#[derive(Clone, Debug)]
pub struct Blocks {
    by_prefix: HashMap<String, String>,
}

/// Line of a table that is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the table of blocks: {reason}")]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// The rule that it breaks.
    pub reason: &'static str,
}

impl Blocks {
    /// The table of this program.
    pub fn built_in() -> Blocks {
        let mut blocks = Blocks { by_prefix: HashMap::new() };
        for line in BUILT_IN.lines().filter(|line| !line.starts_with('#')) {
            let mut cells = line.split('\t');
            if let (Some(prefix), Some(block)) = (cells.next(), cells.next()) {
                blocks.by_prefix.insert(prefix.to_owned(), block.to_owned());
            }
        }
        blocks
    }

    /// The table of this program with a user's lines, which win over an entry of the same prefix: a prefix, then the
    /// name of the block. Empty lines and lines that begin with # are comments.
    pub fn with_lines(text: &str) -> Result<Blocks, BadLine> {
        let mut blocks = Blocks::built_in();
        for (number, line) in text.lines().enumerate() {
            let bad = |reason| BadLine { line: number + 1, reason };
            if number >= LINES {
                return Err(bad("the table is too long; leave out entries that plimsoll has"));
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (prefix, block) = line
                .split_once(char::is_whitespace)
                .ok_or(bad("write the prefix, a space or tab, and the name of the block"))?;
            let block = block.trim();
            if prefix.len() > LONGEST || block.len() > LONGEST {
                return Err(bad("a prefix or name has more than 64 bytes; shorten it"));
            }
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
            if !prefix.bytes().all(is_name) {
                return Err(bad("the prefix has a character that names of functions do not have"));
            }
            if block.chars().any(|letter| letter.is_control() || letter == ';') {
                return Err(bad("the name of the block has a control character or a semicolon"));
            }
            if block.eq_ignore_ascii_case("other") {
                return Err(bad("\"other\" is no block: leave the functions unclassified"));
            }
            blocks.by_prefix.insert(prefix.to_owned(), block.to_owned());
        }
        Ok(blocks)
    }

    /// The block of a function: that of the longest prefix. Without one, the name counts without the underscores at its
    /// beginning.
    pub fn block(&self, function: &str) -> Option<&str> {
        let plain = function.trim_start_matches('_');
        self.longest(function).or_else(|| self.longest(plain))
    }

    /// Names of the blocks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: std::collections::BTreeSet<&str> =
            self.by_prefix.values().map(String::as_str).collect();
        names.into_iter()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    fn longest(&self, function: &str) -> Option<&str> {
        let ends = (1..=function.len().min(LONGEST)).rev();
        let prefixes = ends.filter_map(|end| function.get(..end));
        prefixes.into_iter().find_map(|prefix| self.by_prefix.get(prefix)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_prefix_wins() {
        let blocks = Blocks::built_in();
        for (function, wanted) in [
            ("kfree", Some("memory")),
            ("kfree_skb", Some("buffers")),
            ("ip_output", Some("IP")),
            ("ip_route_output_flow", Some("routing")),
            ("ip_generic_getfrag", Some("user copies")),
            ("__ip_local_out", Some("IP")),
            ("raw_sendmsg", Some("socket API")),
            ("_raw_spin_lock", Some("locks and RCU")),
            ("udp_packet", Some("netfilter")),
            ("udp_sendmsg", Some("UDP")),
            ("blk_mq_submit_bio", Some("block layer")),
            ("selinux_ip_output", Some("security")),
            ("virtqueue_kick_prepare", Some("driver")),
            ("nfsd_read", Some("NFS server")),
            ("nfsd4_proc_compound", Some("NFS server")),
            ("nfs3svc_decode_readargs", Some("NFS server")),
            ("generic_fh_to_dentry", Some("NFS server")),
            ("generic_file_splice_read", Some("page cache")),
            ("svc_process", Some("RPC")),
            ("svc_tcp_sendto", Some("RPC")),
            ("kernel_sendpage", Some("socket API")),
            ("__list_add_valid", Some("memory")),
            ("rhashtable_jhash2", Some("locks and RCU")),
            ("net_rx_action", Some("device core")),
            ("virtnet_poll", Some("driver")),
            ("receive_mergeable", Some("driver")),
            ("ip_list_rcv", Some("IP")),
            ("ip_forward_finish", Some("IP")),
            ("ip_route_input_noref", Some("routing")),
            ("nf_flow_offload_ip_hook", Some("netfilter")),
            ("irqtime_account_irq", Some("interrupts")),
            ("qqq", None),
            ("", None),
            ("___", None),
        ] {
            assert_eq!(blocks.block(function), wanted, "{function}");
        }
    }

    /// Every line of the table is used: none is there twice, and none says how it is known in a word of its own.
    #[test]
    fn the_table_is_sound() {
        let lines = || BUILT_IN.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines().count(), Blocks::built_in().len(), "a prefix is there twice");
        let mut blocks = std::collections::BTreeSet::new();
        for line in lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let [prefix, block, known] = cells[..] else { panic!("{line}") };
            assert!(!prefix.is_empty() && prefix.len() <= LONGEST, "{line}");
            assert!(["6.1", "5.10", "source", "3.x"].contains(&known), "{line}");
            assert_ne!(block.to_lowercase(), "other");
            blocks.insert(block);
        }
        assert!(blocks.len() < 35, "{blocks:?}");
    }

    #[test]
    fn users_add_lines() {
        let lines = "# mine\n\nqqq_\tmy driver\r\nip_output  my IP\n";
        let blocks = Blocks::with_lines(lines).unwrap();
        assert_eq!(blocks.block("qqq_xmit"), Some("my driver"));
        assert_eq!(blocks.block("ip_output"), Some("my IP"));
        assert_eq!(blocks.block("ip_send_check"), Some("IP"));
        assert_eq!(blocks.len(), Blocks::built_in().len() + 2);
    }

    #[test]
    fn bad_lines_are_named() {
        let long = format!("{} x", "a".repeat(LONGEST + 1));
        let many = "a b\n".repeat(LINES + 1);
        for (text, line, word) in [
            ("a\tb\nalone", 2, "prefix"),
            ("a;b c", 1, "character"),
            ("a b;c", 1, "semicolon"),
            ("# a\n\nvfs_ Other", 3, "unclassified"),
            (long.as_str(), 1, "64"),
            (many.as_str(), LINES + 1, "too long"),
        ] {
            let bad = Blocks::with_lines(text).unwrap_err();
            assert!(bad.line == line && bad.reason.contains(word), "{bad}");
            assert!(bad.to_string().starts_with(&format!("line {line} of")));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_names_a_line(text in "(\\PC{0,5}[ \t]?\\PC{0,5}\n){0,5}", name in "\\PC{0,80}") {
            match Blocks::with_lines(&text) {
                Ok(blocks) => { blocks.block(&name); }
                Err(bad) => prop_assert!((1..=text.lines().count()).contains(&bad.line)),
            }
        }

        /// A longer name never loses its block.
        #[test]
        fn a_block_holds_for_longer_names(prefix in "_{0,2}[a-z_]{1,20}", end in "[a-z_.0-9]{0,20}") {
            let blocks = Blocks::built_in();
            let longer = format!("{prefix}{end}");
            prop_assert!(blocks.block(&prefix).is_none() || blocks.block(&longer).is_some());
        }
    }
}
