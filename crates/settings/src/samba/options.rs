//! The options that are set: those that a new connection takes over without a restart, and which change
//! what a server does, not whom it lets in or what it runs.

use plimsoll_model::units::Bytes;

/// An option of smb.conf(5).
#[derive(Debug)]
pub(super) struct SmbOption {
    pub name: &'static str,
    /// Whether a share can have its own.
    pub of_a_share: bool,
    values: Values,
}

#[derive(Debug)]
enum Values {
    YesNo,
    /// One of these.
    Words(&'static [&'static str]),
    /// A number, or an amount of data.
    Number,
    /// Words such as TCP_NODELAY and SO_RCVBUF=65536.
    SocketOptions,
}

use Values::{Number, SocketOptions, Words, YesNo};

const fn of_shares(name: &'static str, values: Values) -> SmbOption {
    SmbOption { name, of_a_share: true, values }
}

const fn of_server(name: &'static str, values: Values) -> SmbOption {
    SmbOption { name, of_a_share: false, values }
}

const OPTIONS: [SmbOption; 21] = [
    of_shares("aio read size", Number),
    of_shares("aio write size", Number),
    of_shares("case sensitive", Words(&["auto", "yes", "no"])),
    of_shares("durable handles", YesNo),
    of_shares("kernel oplocks", YesNo),
    of_shares("level2 oplocks", YesNo),
    of_server("min receivefile size", Number),
    of_shares("oplocks", YesNo),
    of_server("server multi channel support", YesNo),
    of_server("server signing", Words(&["auto", "default", "disabled", "mandatory"])),
    of_shares("smb encrypt", Words(&["default", "desired", "if_required", "off", "required"])),
    of_server("smb2 leases", YesNo),
    of_server("smb2 max credits", Number),
    of_server("smb2 max read", Number),
    of_server("smb2 max trans", Number),
    of_server("smb2 max write", Number),
    of_server("socket options", SocketOptions),
    of_shares("strict allocate", YesNo),
    of_shares("strict sync", YesNo),
    of_shares("sync always", YesNo),
    of_shares("use sendfile", YesNo),
];

pub(super) fn find(name: &str) -> Option<&'static SmbOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

pub(super) fn names() -> String {
    OPTIONS.iter().map(|option| option.name).collect::<Vec<_>>().join(", ")
}

impl SmbOption {
    /// Whether this can be a value of it.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_= ".contains(&b);
        match &self.values {
            YesNo if ["yes", "no"].contains(&value) => Ok(()),
            YesNo => Err("it is neither yes nor no".into()),
            Words(words) if words.contains(&value) => Ok(()),
            Words(words) => Err(format!("it is not one of {}", words.join(", "))),
            Number if number(value).is_some() => Ok(()),
            Number => Err("it is not a number, such as 0, 16384 or 16KiB".into()),
            SocketOptions if !value.trim().is_empty() && value.bytes().all(plain) => Ok(()),
            SocketOptions => {
                Err("it is not a list of options, such as TCP_NODELAY SO_RCVBUF=65536".into())
            }
        }
    }

    /// A value as it stands in smb.conf: not every version knows units.
    pub fn written(&self, value: &str) -> String {
        match self.values {
            Number => number(value).map_or_else(|| value.to_owned(), |number| number.to_string()),
            _ => value.to_owned(),
        }
    }

    /// Whether two values are one to Samba, which has several words for some and shows them its own way.
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        match self.values {
            YesNo | Words(_) => canonical(self.name, one) == canonical(self.name, other),
            Number => number(one).is_some() && number(one) == number(other),
            SocketOptions => one.split_whitespace().eq(other.split_whitespace()),
        }
    }
}

/// As testparm shows it.
fn canonical(option: &str, value: &str) -> String {
    match (option, &*value.to_lowercase()) {
        (_, "true" | "1") => "yes".to_owned(),
        (_, "false" | "0") => "no".to_owned(),
        ("server signing" | "smb encrypt", "mandatory") => "required".to_owned(),
        ("server signing" | "smb encrypt", "auto") => "if_required".to_owned(),
        ("server signing" | "smb encrypt", "disabled" | "off") => "no".to_owned(),
        (_, other) => other.to_owned(),
    }
}

/// A whole number, or an amount of data, as Samba takes it.
fn number(text: &str) -> Option<u64> {
    text.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        for (name, good, bad) in [
            ("use sendfile", &["yes", "no"][..], &["", "on", "yes\npath = /", "Yes "][..]),
            ("server signing", &["mandatory", "disabled"], &["off", "mandatory; x", ""]),
            ("aio read size", &["0", "1", "16KiB"], &["-1", "", "x", "1\n2", "1 2"]),
            ("socket options", &["TCP_NODELAY SO_RCVBUF=65536"], &["", " ", "a\nb", "%m", "a;b"]),
        ] {
            let option = find(name).unwrap();
            good.iter().for_each(|value| option.check(value).unwrap());
            bad.iter().for_each(|value| assert!(option.check(value).is_err(), "{name}: {value}"));
        }
        assert!(find("root preexec").is_none() && find("path").is_none());
        let mut sorted = OPTIONS.map(|option| option.name);
        sorted.sort_unstable();
        assert_eq!(sorted, OPTIONS.map(|option| option.name));
    }

    #[test]
    fn values_in_other_words() {
        let is_same = |name: &str, one: &str, other: &str| find(name).unwrap().is_same(one, other);
        assert!(is_same("use sendfile", "Yes", "yes") && !is_same("use sendfile", "Yes", "no"));
        assert!(is_same("server signing", "required", "mandatory"));
        assert_eq!(find("aio read size").unwrap().written("16KiB"), "16384");
        assert!(is_same("aio read size", "16384", "16KiB") && !is_same("aio read size", "1", "0"));
        assert!(is_same("socket options", "TCP_NODELAY  X=1", "TCP_NODELAY X=1"));
    }
}
