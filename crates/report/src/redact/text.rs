//! What in a text looks like an address, a path, a name or a serial number.

use super::pseudonyms::{Kind, Pseudonyms};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The text without what is known and without what looks like it.
pub(super) fn redacted(text: &str, pseudonyms: &mut Pseudonyms) -> String {
    let text = pseudonyms.replace(text);
    let mut out = String::with_capacity(text.len());
    let (mut word, mut key) = (String::new(), String::new());
    for c in text.chars().chain(['\n']) {
        if !c.is_whitespace() && !"'\"`,;()[]{}<>=&?|".contains(c) {
            word.push(c);
            continue;
        }
        out.push_str(&match named(&key) {
            Some(kind) if !word.is_empty() => pseudonyms.pseudonym(kind, &word),
            _ => redacted_word(&word, pseudonyms),
        });
        key = if c == '=' { std::mem::take(&mut word) } else { String::new() };
        word.clear();
        out.push(c);
    }
    out.pop();
    numbers_of_users(&out)
}

/// What an option such as `username=jane` names (mount.cifs(8), mount.nfs(8)).
fn named(key: &str) -> Option<Kind> {
    match key {
        "user" | "username" => Some(Kind::User),
        "dom" | "domain" | "workgroup" => Some(Kind::Domain),
        "netbiosname" | "servern" => Some(Kind::Host),
        _ => None,
    }
}

/// A stretch without spaces, quotes and brackets.
fn redacted_word(word: &str, pseudonyms: &mut Pseudonyms) -> String {
    let bare = word.trim_end_matches(['.', ':', '!']);
    let tail = &word[bare.len()..];
    // What ends in "::" is an address or nothing.
    let (bare, tail) = if tail.starts_with("::") { (word, "") } else { (bare, tail) };
    format!("{}{tail}", piece(bare, pseudonyms))
}

fn piece(text: &str, pseudonyms: &mut Pseudonyms) -> String {
    if text.is_empty() {
        return String::new();
    }
    if text.starts_with("lab://") {
        return text.to_owned();
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let (authority, path) = rest.find('/').map_or((rest, ""), |i| rest.split_at(i));
        return format!(
            "{scheme}://{}{}",
            authority_of(authority, pseudonyms),
            pseudonyms.path(path)
        );
    }
    if ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start)) {
        return match text.starts_with("/proc/") || text.starts_with("/sys/") {
            true => text.to_owned(),
            false => pseudonyms.path(text),
        };
    }
    if text.starts_with("\\\\") {
        return pseudonyms.path(&text.replace('\\', "/")).replace('/', "\\");
    }
    if text.contains('@') {
        return authority_of(text, pseudonyms);
    }
    if text.contains(':') {
        // An address of an interface: "2001:db8::7/64".
        if let Some((address, length)) = text.split_once('/')
            && address.parse::<Ipv6Addr>().is_ok()
        {
            return format!(
                "{}/{}",
                pseudonyms.pseudonym(Kind::Address, address),
                piece(length, pseudonyms)
            );
        }
        // One with the interface that leads to it: "fe80::1%eth0".
        if let Some((address, zone)) = text.split_once('%')
            && address.parse::<Ipv6Addr>().is_ok()
        {
            let address = pseudonyms.pseudonym(Kind::Address, address);
            return format!("{address}%{}", piece(zone, pseudonyms));
        }
        if is_mac(text) || text.parse::<Ipv6Addr>().is_ok() {
            return pseudonyms.pseudonym(Kind::Address, text);
        }
        return joined(text, ':', pseudonyms);
    }
    if text.contains('/') {
        return joined(text, '/', pseudonyms);
    }
    if text.parse::<Ipv4Addr>().is_ok() {
        return pseudonyms.pseudonym(Kind::Address, text);
    }
    if is_serial(text) {
        return pseudonyms.pseudonym(Kind::Serial, text);
    }
    if is_dotted_name(text) {
        return pseudonyms.pseudonym(Kind::Host, text);
    }
    text.to_owned()
}

fn joined(text: &str, by: char, pseudonyms: &mut Pseudonyms) -> String {
    let pieces: Vec<String> = text
        .splitn(2, by)
        .enumerate()
        .map(|(i, part)| match (i, by) {
            // What follows "host:" may be a path.
            (1, '/') => part.split('/').map(|p| piece(p, pseudonyms)).collect::<Vec<_>>().join("/"),
            _ => piece(part, pseudonyms),
        })
        .collect();
    pieces.join(&by.to_string())
}

/// `user@host:port`, `domain;user@host`, `host`, `10.0.0.1:2049`.
fn authority_of(text: &str, pseudonyms: &mut Pseudonyms) -> String {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, text),
    };
    let (name, port) = match host.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    let name = match name {
        "" => String::new(),
        address if address.parse::<std::net::IpAddr>().is_ok() => {
            pseudonyms.pseudonym(Kind::Address, address)
        }
        name => pseudonyms.pseudonym(Kind::Host, name),
    };
    match user {
        Some(user) => format!("{}@{name}{port}", pseudonyms.pseudonym(Kind::User, user)),
        None => format!("{name}{port}"),
    }
}

/// "00:1b:44:11:3a:b7".
fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let hex = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(hex)
}

/// "nas.example.org": labels, the last one of letters. "6.1.0-13-amd64" and "e.g" are none.
fn is_dotted_name(text: &str) -> bool {
    let Some((labels, last)) = text.rsplit_once('.') else { return false };
    let label =
        |l: &str| !l.is_empty() && l.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    last.chars().count() >= 2
        && last.chars().all(char::is_alphabetic)
        && labels.split('.').all(label)
        && labels.chars().any(char::is_alphabetic)
}

/// Serial numbers of disks and machines, world-wide names, UUIDs: capitals with many digits, or much
/// hexadecimal.
fn is_serial(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let capital = text.bytes().any(|b| b.is_ascii_uppercase());
    let hex = |t: &str| t.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let world_wide = text.strip_prefix("0x").is_some_and(|t| t.len() >= 12 && hex(t));
    let uuid = text.len() == 36 && hex(text) && text.matches('-').count() == 4;
    plain && (world_wide || uuid || (capital && digits >= 4 && text.len() >= 8))
}

/// `uid=1000` says who, too.
fn numbers_of_users(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["uid=", "gid="].iter().filter_map(|k| rest.find(k)).min() {
        let (before, after) = rest.split_at(at + 4);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        out.push_str(if digits > 0 { "0" } else { "" });
        rest = &after[digits..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        redacted(text, &mut Pseudonyms::default())
    }

    #[test]
    fn what_looks_like_a_secret_is_replaced() {
        for (text, expected) in [
            ("no answer from 192.168.1.7:2049.", "no answer from address-1:2049."),
            ("fe80::1 and 00:1b:44:11:3a:b7", "address-1 and address-2"),
            ("fe80::1%eth0 to [fe80::2%lan]:5201", "address-1%eth0 to [address-2%lan]:5201"),
            ("2001:db8::7/64, 192.0.2.9/24", "address-1/64, address-2/24"),
            ("nas.example.org:/export/films", "host-1:/path-1/path-2"),
            ("nfs://nas/a/b?uid=1000", "nfs://host-1/path-1/path-2?uid=0"),
            ("smb://me@nas/x", "smb://user-1@host-1/path-1"),
            ("('/srv/a' full)", "('/path-1/path-2' full)"),
            ("disk WD-WCC4E1234567, 0x5000c500a1b2c3d4", "disk serial-1, serial-2"),
            ("\\\\nas\\films", "\\\\path-1\\path-2"),
            (
                "rw,username=jane,domain=HOME,addr=10.0.0.7",
                "rw,username=user-1,domain=domain-1,addr=address-1",
            ),
            ("me@example.org wrote", "user-1@host-1 wrote"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_says_nothing_about_the_user_stays() {
        for text in [
            "NFSv3 over TCP, block size 1 MiB, 112 MB/s",
            "UNSTABLE, then COMMIT; O_DIRECT",
            "the operations in flight (3.80) do not match rate × response time (4.10)",
            "NFS3ERR_STALE at 10:20:30; /proc/stat could not be read.",
            "plimsoll check --seed 123456789 --block=4KiB --time 5s",
            "host-1:/path-1 was busy",
            "no answer from 127.0.0.1:2049 and [::1]:445, localhost",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
