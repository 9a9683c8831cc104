//! What a lab file asks of hosts in namespaces that goes beyond the lab: those share files and
//! users with this machine, and what serves there runs as root. Virtual machines may do anything.

use super::places::OWN_PLACES;
use super::read::lab_file;
use super::{Host, HostKind, Plan};
use plimsoll_model::{Cause, Failure};

/// Options of smb.conf that change how shares are served and neither run a command, name a file of
/// this machine, nor lead out of a share; without spaces and in small letters, as Samba compares them.
const SAMBA_OPTIONS: &[&str] = &[
    "aioreadsize",
    "aiowritesize",
    "allocationroundupsize",
    "blocksize",
    "browseable",
    "casesensitive",
    "createmask",
    "deadtime",
    "directorymask",
    "durablehandles",
    "easupport",
    "getwdcache",
    "guestok",
    "keepalive",
    "kerneloplocks",
    "kernelsharemodes",
    "level2oplocks",
    "maparchive",
    "maphidden",
    "mapreadonly",
    "mapsystem",
    "maptoguest",
    "maxopenfiles",
    "maxprotocol",
    "minprotocol",
    "minreceivefilesize",
    "ntlmauth",
    "oplocks",
    "posixlocking",
    "readonly",
    "restrictanonymous",
    "servermaxprotocol",
    "serverminprotocol",
    "servermultichannelsupport",
    "serversigning",
    "serversmb3encryptionalgorithms",
    "serversmb3signingalgorithms",
    "serversmbencrypt",
    "smb2disablelocksequencechecking",
    "smb2leases",
    "smb2maxcredits",
    "smb2maxread",
    "smb2maxtrans",
    "smb2maxwrite",
    "smbencrypt",
    "socketoptions",
    "statcache",
    "storedosattributes",
    "strictallocate",
    "strictlocking",
    "strictsync",
    "syncalways",
    "usesendfile",
    "writable",
    "writeable",
];

/// Something that somebody has to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// Where: keys from the top, an item of a list as its number.
    at: Vec<String>,
    /// The part of the file, and why it is one.
    what: String,
}

impl Risk {
    /// The part of the file, and why somebody has to agree to it.
    pub fn what(&self) -> String {
        self.what.clone()
    }

    /// With the line of the lab file `source`, whose text this is.
    pub fn shown(&self, text: &str, source: &str) -> String {
        let line = lab_file(text, source).line(&self.at).unwrap_or(1);
        format!("{source}:{line}: {}", self.what)
    }
}

impl Plan {
    /// What the lab's author would do to this machine beside the lab, as root. Only a lab file whose
    /// author is trusted may be brought up then.
    pub fn risks(&self) -> Vec<Risk> {
        let namespaces = self.hosts.iter().filter(|(_, host)| host.kind == HostKind::Netns);
        namespaces.flat_map(|(name, host)| of_host(name, host)).collect()
    }

    /// The places of their own that hosts in namespaces keep files in, or serve them from.
    pub(crate) fn own_places(&self) -> impl Iterator<Item = &'static str> {
        let hosts = self.hosts.values().filter(|host| host.kind == HostKind::Netns);
        let paths = hosts.flat_map(|host| {
            let exports = host.ganesha.iter().flat_map(|ganesha| &ganesha.exports).map(|e| &e.path);
            let shares = host.samba.iter().flat_map(|samba| &samba.shares).map(|share| &share.path);
            host.disks.values().map(|disk| &disk.at).chain(exports).chain(shares)
        });
        paths.filter_map(|path| OWN_PLACES.into_iter().find(|own| path.starts_with(own)))
    }

    /// Refuses a lab that [has such parts](Plan::risks).
    ///
    /// # Errors
    /// [`Cause::Usage`], with each of them as it is `shown`.
    pub fn refuse_risks(&self, shown: impl Fn(&Risk) -> String) -> Result<(), Failure> {
        let risks: Vec<String> = self.risks().iter().map(shown).collect();
        if risks.is_empty() {
            return Ok(());
        }
        let happened =
            format!("parts of the lab file can act on this machine as root: {}", risks.join("; "));
        let next = "Read these lines. If you trust their author, give --trust. Or set \
                    kind = \"vm\" for these hosts.";
        Err(Failure::new(Cause::Usage, "bring the lab up")
            .on("the lab file")
            .happened(happened)
            .next(next))
    }
}

fn of_host(name: &str, host: &Host) -> Vec<Risk> {
    let mut risks = Vec::new();
    let mut add = |at: &[&str], what: String| {
        let at = ["host", name].iter().chain(at).map(|key| (*key).to_owned()).collect();
        risks.push(Risk { at, what });
    };
    if host.rules.as_deref().is_some_and(includes) {
        add(&["rules"], "`include` in rules reads a file of this machine".to_owned());
    }
    for (i, export) in host.ganesha.iter().flat_map(|ganesha| &ganesha.exports).enumerate() {
        if !is_own(&export.path) {
            add(&["ganesha", "export", &i.to_string(), "path"], shares(&export.path));
        }
    }
    let Some(samba) = &host.samba else { return risks };
    for (i, line) in samba.lines.iter().enumerate().filter(|(_, line)| !is_plain(line)) {
        add(&["samba", "lines", &i.to_string()], unknown(line));
    }
    for (i, share) in samba.shares.iter().enumerate() {
        let i = i.to_string();
        if !is_own(&share.path) {
            add(&["samba", "share", &i, "path"], shares(&share.path));
        }
        for (k, line) in share.lines.iter().enumerate().filter(|(_, line)| !is_plain(line)) {
            add(&["samba", "share", &i, "lines", &k.to_string()], unknown(line));
        }
    }
    risks
}

fn shares(path: &str) -> String {
    format!(
        "`{path}` is a directory of this machine; a namespace has private ones only below \
    /srv, /mnt and /media"
    )
}

fn unknown(line: &str) -> String {
    format!("`{line}` is not among the options of Samba that plimsoll knows to be harmless")
}

fn is_own(path: &str) -> bool {
    OWN_PLACES.iter().any(|own| path.starts_with(own))
}

/// Whether the word stands anywhere, in a comment too: nft takes it in the middle of a line.
fn includes(rules: &str) -> bool {
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|word| word == "include")
}

/// Whether a line of smb.conf is one of [`SAMBA_OPTIONS`] with a plain value: nothing that Samba
/// replaces (`%`), and no line that goes on in the next (`\`).
fn is_plain(line: &str) -> bool {
    let Some((key, value)) = line.split_once('=') else { return false };
    let key: String = key.chars().filter(|c| *c != ' ').collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-.,:+=".contains(c);
    SAMBA_OPTIONS.contains(&key.to_ascii_lowercase().as_str()) && value.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SHIPPED;

    /// Of a lab with one host, whose file has these lines from the third on.
    fn risks(kind: &str, lines: &str) -> Vec<String> {
        let text = format!("[host.a]\nkind = \"{kind}\"\n{lines}");
        let plan = Plan::read(&text, "lab.toml").unwrap_or_else(|failure| panic!("{failure}"));
        plan.risks().iter().map(|risk| risk.shown(&text, "lab.toml")).collect()
    }

    fn samba(global: &str, share: &str) -> String {
        format!(
            "[host.a.samba]\nlines = ['''{global}''']\n[[host.a.samba.share]]\nname = \"data\"\n\
             path = \"/srv/data\"\nlines = ['''{share}''']\n"
        )
    }

    #[test]
    fn a_line_that_runs_a_command_is_a_risk_however_it_is_written() {
        let good = "server signing = mandatory";
        assert!(risks("netns", &samba(good, "smb encrypt = desired")).is_empty());
        assert!(risks("netns", &samba("Server  Min Protocol=SMB3_11", good)).is_empty());
        for bad in [
            "root preexec = touch /tmp/x",
            "rootpreexec=touch /tmp/x",
            "ROOT  PreExec = touch /tmp/x",
            "preexec close = yes",
            "panic action = /bin/sh",
            "include = /etc/passwd",
            "config file = /tmp/x",
            "add user script = /bin/sh",
            "vfs objects = /tmp/x.so",
            "path = /etc",
            "wide links = yes",
            "log file = /etc/passwd",
            "server signing = auto \\",
            "socket options = %U",
            "server signing",
            "# a comment \\",
            "",
        ] {
            let global = risks("netns", &samba(bad, good));
            assert!(
                global.len() == 1 && global[0].starts_with("lab.toml:4: `"),
                "{bad}: {global:?}"
            );
            assert!(global[0].contains(bad), "{global:?}");
            let share = risks("netns", &samba(good, bad));
            assert!(share.len() == 1 && share[0].starts_with("lab.toml:8: `"), "{bad}: {share:?}");
            assert!(risks("vm", &samba(bad, bad)).is_empty(), "a machine may: {bad}");
        }
    }

    #[test]
    fn files_of_this_machine_are_a_risk() {
        let export = |path: &str| format!("[[host.a.ganesha.export]]\npath = \"{path}\"\n");
        let share =
            |path: &str| format!("[[host.a.samba.share]]\nname = \"data\"\npath = \"{path}\"\n");
        for good in ["/srv/data", "/mnt/a/b", "/media/usb"] {
            assert!(risks("netns", &format!("{}{}", export(good), share(good))).is_empty());
        }
        for bad in ["/etc", "/srv", "/srvdata", "/root/.ssh", "/home/ann/srv/data", "/var/lib/nfs"]
        {
            let found = risks("netns", &format!("{}{}", export(bad), share(bad)));
            assert_eq!(found.len(), 2, "{bad}: {found:?}");
            assert!(found[0].starts_with("lab.toml:4: ") && found[1].starts_with("lab.toml:7: "));
        }
        let rules = |text: &str| format!("rules = '''{text}'''\n");
        assert!(risks("netns", &rules("table inet includes { }")).is_empty());
        for bad in
            ["include \"/etc/shadow\"", "table inet t { }; include \"/x\"", "{include\"/x\"}"]
        {
            assert_eq!(risks("netns", &rules(bad)).len(), 1, "{bad}");
            assert!(risks("vm", &rules(bad)).is_empty());
        }
    }

    /// They stand in scripts and configuration files as they are.
    #[test]
    fn nothing_breaks_out_of_a_name_a_path_or_an_option() {
        const VM: &str = "[host.a]\nkind = \"vm\"\n";
        const NETNS: &str = "[host.a]\nkind = \"netns\"\n";
        let fields = [
            (String::new(), "[host]\n@ = { kind = \"netns\" }\n"),
            (NETNS.to_owned(), "[host.a.disk.@]\nsize = \"1MiB\"\nat = \"/srv/x\"\n"),
            (NETNS.to_owned(), "[host.a.disk.d]\nsize = \"1MiB\"\nat = @\n"),
            (NETNS.to_owned(), "[[host.a.ganesha.export]]\npath = @\n"),
            (NETNS.to_owned(), "[host.a.samba]\nuser = @\n"),
            (NETNS.to_owned(), "[[host.a.samba.share]]\nname = @\npath = \"/srv/x\"\n"),
            (NETNS.to_owned(), "[[host.a.samba.share]]\nname = \"x\"\npath = @\n"),
            (VM.to_owned(), "[[host.a.nfsd.export]]\npath = @\n"),
            (VM.to_owned(), "[[host.a.nfsd.export]]\npath = \"/srv\"\noptions = @\n"),
            (
                format!("{NETNS}[host.b]\nkind = \"netns\"\n"),
                "[link.@]\nbetween = [\"a\", \"b\"]\n",
            ),
            (NETNS.to_owned(), "gateway = @\n"),
            (NETNS.to_owned(), "route = { @ = \"a\" }\n"),
        ];
        const REFUSED: [&str; 7] = [
            "is not a valid name",
            "is not a valid name for a network interface",
            "is not a plain absolute path",
            "is not a list of options",
            "it is not a valid user name",
            "the lab has no host",
            "is neither a link nor a network",
        ];
        let words = ["x\ny", "x\"y", "x'y", "x;y", "x y", "$(x)", "`x`", "x]", "x\u{1}"];
        let paths = ["../x", "/srv/../x", "/srv//x"];
        for (before, field) in &fields {
            // Options have paths in them, and act on a machine alone.
            let paths = paths.iter().filter(|_| !field.contains("options"));
            for bad in words.iter().chain(paths) {
                let text =
                    format!("{before}{}", field.replace('@', &serde_json::to_string(bad).unwrap()));
                let failure = Plan::read(&text, "lab.toml").expect_err(&text);
                let seen = REFUSED.iter().any(|words| failure.happened.contains(words));
                assert!(seen, "{text}{failure}");
            }
        }
        for special in ["global", "homes", "printers"] {
            let text =
                format!("{NETNS}[[host.a.samba.share]]\nname = \"{special}\"\npath = \"/srv/x\"\n");
            assert!(Plan::read(&text, "lab.toml").is_err(), "{special}");
        }
        let password = format!("{NETNS}[host.a.samba]\npassword = \"a\\nb\"\n");
        assert!(Plan::read(&password, "lab.toml").is_err());
        let line = format!("{NETNS}[host.a.samba]\nlines = [\"read only = no\\n[x]\"]\n");
        assert!(Plan::read(&line, "lab.toml").is_err());
    }

    #[test]
    fn shipped_labs_need_no_trust() {
        for (name, text) in SHIPPED {
            assert!(Plan::read(text, name).unwrap().risks().is_empty(), "{name}");
        }
    }
}
