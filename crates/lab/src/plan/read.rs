//! Reading a lab file: what is wrong in it is reported with file, line and the nearest good word.

use super::{Plan, Rate};
use plimsoll_config::File;
use plimsoll_model::Failure;

/// A lab file by this name.
pub(super) fn lab_file<'a>(text: &'a str, source: &'a str) -> File<'a> {
    File { text, source, what: "lab file", page: "docs/lab.md" }
}

impl Plan {
    /// Reads a lab file and checks that it makes sense; `source` is its name for the reader.
    ///
    /// # Errors
    /// [`plimsoll_model::Cause::Usage`], on `source:line`.
    pub fn read(text: &str, source: &str) -> Result<Plan, Failure> {
        let file = lab_file(text, source);
        let plan: Plan = file.read()?;
        plan.check().map_err(|problem| file.failure(&problem))?;
        Ok(plan)
    }
}

/// What in a lab file is easily taken for something else: rates of links that are bytes.
pub fn remarks(text: &str) -> Vec<String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let links = table.get("link").and_then(|links| links.as_table()).into_iter().flatten();
    let rates = links.filter_map(|(_, link)| link.get("rate"));
    let each = rates.flat_map(|rate| match rate {
        toml::Value::Table(hosts) => hosts.values().collect(),
        rate => vec![rate],
    });
    each.filter_map(|rate| remark(rate.as_str()?)).collect()
}

/// The same of a rate.
pub fn remark(rate: &str) -> Option<String> {
    let bits = Rate::in_bytes(rate)?;
    Some(format!(
        "{rate} means {bits}: as in tc, bps is bytes per second; for bits write Gbit or \
    Gbit/s"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_config::LONGEST_FILE;
    use plimsoll_model::Cause;
    use proptest::prelude::*;

    const GOOD: &str = r#"
[host.server]
kind = "netns"
[host.client]
kind = "netns"
gateway = "server"

[link.lan]
between = ["server", "client"]
rate = "100Mbit/s"
"#;

    fn refused(from: &str, to: &str) -> Failure {
        assert!(GOOD.contains(from), "{from}");
        Plan::read(&GOOD.replacen(from, to, 1), "bad.toml").unwrap_err()
    }

    #[test]
    fn slips_are_reported_with_line_and_nearest_word() {
        let good = GOOD.replace("[host.server]", "[host.server]\nforward = true");
        Plan::read(&good, "good.toml").unwrap();
        for (from, to, line, happened, next) in [
            ("rate", "rat", 10, "unknown key `rat`", "`rate`"),
            ("[host.server]\nkind", "[host.server]\nknid", 3, "unknown key `knid`", "`kind`"),
            ("kind = \"netns\"", "kind = \"netsn\"", 3, "unknown word `netsn`", "`netns`"),
            ("100Mbit/s", "100Mb", 10, "`100Mb` is not a rate", ""),
            ("[\"server\", ", "[\"sever\", ", 9, "no host `sever`", "`server`"),
            ("gateway = \"server\"", "gateway = \"serve\"", 6, "no host `serve`", "`server`"),
            (
                "gateway = \"server\"",
                "gateway = \"server\"",
                6,
                "does not forward",
                "forward = true",
            ),
            ("[link.lan]", "[link.Lan]", 8, "`Lan`", ""),
            ("[link.lan]", "[link.lan", 8, "", ""),
            ("[link.lan]", "[lnk.lan]", 8, "unknown key `lnk`", "`link`"),
        ] {
            let failure = refused(from, to);
            assert_eq!(failure.cause, Cause::Usage);
            assert_eq!(failure.on, format!("bad.toml:{line}"), "{failure}");
            assert!(failure.happened.contains(happened), "{happened} in {failure}");
            assert!(failure.next.contains(next), "{next} in {failure}");
        }
    }

    #[test]
    fn a_machine_shares_a_link_with_one_host_of_either_kind() {
        let read = |link: &str| {
            let host = |name: &str, kind: &str| format!("[host.{name}]\nkind = \"{kind}\"\n");
            let hosts = [host("a", "netns"), host("b", "netns"), host("r", "vm"), host("s", "vm")];
            let link = format!("[link.lan]\nbetween = [{link}\n");
            Plan::read(&[hosts.concat(), link].concat(), "lab.toml")
        };
        for good in [
            "\"a\", \"r\"]\nrate = { r = \"1Mbit\" }\nmtu = 65521\ndelay = \"1ms\"",
            "\"r\", \"s\"]\nmtu = 65535",
            "\"a\", \"b\"]\nmtu = 65535",
        ] {
            read(good).unwrap_or_else(|failure| panic!("{good}: {failure}"));
        }
        let two = "a link with a virtual machine connects exactly two hosts";
        for (bad, line, happened, next) in [
            ("\"a\", \"r\", \"b\"]", 10, two, "a host with forward = true"),
            ("\"a\", \"r\", \"s\"]", 10, two, "a host with forward = true"),
            ("\"r\", \"a\"]\nmtu = 65522", 11, "out of range", "576 to 65521"),
            ("\"r\", \"s\"]\nmtu = 65536", 11, "out of range", "576 to 65535"),
        ] {
            let failure = read(bad).unwrap_err();
            assert_eq!(failure.on, format!("lab.toml:{line}"), "{failure}");
            assert!(failure.happened.contains(happened), "{failure}");
            assert!(failure.next.contains(next), "{failure}");
        }
    }

    #[test]
    fn rates_in_bytes_are_remarked_on() {
        assert!(remarks(GOOD).is_empty());
        let bytes = GOOD.replace("100Mbit/s", "1Gbps");
        assert!(Plan::read(&bytes, "bytes.toml").unwrap_err().happened.contains("forward"));
        assert!(remarks(&bytes)[0].starts_with("1Gbps means 8Gbit/s: as in tc"), "{bytes}");
        let by_host = GOOD.replace("\"100Mbit/s\"", "{ client = \"5MBps\", server = \"5Mbit\" }");
        assert_eq!(remarks(&by_host).len(), 1);
    }

    #[test]
    fn what_lacks_altogether_is_reported_too() {
        assert!(Plan::read("", "empty.toml").unwrap_err().happened.contains("missing key `host`"));
        let long = "#".repeat(LONGEST_FILE + 1);
        assert!(Plan::read(&long, "long.toml").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(at in 0..GOOD.len(), byte in "\\PC") {
            let mut text = GOOD.to_owned();
            text.insert_str(at, &byte);
            let _ = Plan::read(&text, "any.toml");
        }
    }
}
