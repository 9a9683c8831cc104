//! The options of an NFS mount (nfs(5)), as the kernel lists them and as mount(8) takes them.

/// An option that is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Varied {
    Version,
    Protocol,
    /// `rsize` or `wsize`, in bytes: powers of two, else the kernel rounds.
    Size(&'static str),
    /// `sync` or `async`.
    Writes,
    /// Connections to the server.
    Connections,
    /// Seconds for which all attributes are believed.
    Attributes,
}

/// What is not given to mount again: it is agreed on anew, or follows from the rest.
const AGREED: [&str; 8] = [
    "addr",
    "clientaddr",
    "mountaddr",
    "mountport",
    "mountproto",
    "mountvers",
    "namlen",
    "fscache",
];

/// The four times that `actimeo` sets, with the kernel's defaults, which it does not list.
const TIMES: [(&str, &str); 4] =
    [("acregmin", "3"), ("acregmax", "60"), ("acdirmin", "30"), ("acdirmax", "60")];

/// What says the version, apart from the words for its locks.
const VERSIONS: [&str; 3] = ["vers", "nfsvers", "minorversion"];

const MOST_CONNECTIONS: u32 = 16;

impl Varied {
    pub fn from_name(name: &str) -> Option<Varied> {
        Some(match name {
            "vers" => Varied::Version,
            "proto" => Varied::Protocol,
            "rsize" => Varied::Size("rsize"),
            "wsize" => Varied::Size("wsize"),
            "sync" => Varied::Writes,
            "nconnect" => Varied::Connections,
            "actimeo" => Varied::Attributes,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Varied::Version => "vers",
            Varied::Protocol => "proto",
            Varied::Size(name) => name,
            Varied::Writes => "sync",
            Varied::Connections => "nconnect",
            Varied::Attributes => "actimeo",
        }
    }

    pub fn check(self, level: &str) -> Result<(), String> {
        let number = level.parse::<u32>().ok().filter(|number| number.to_string() == level);
        let (sound, what) = match self {
            Varied::Version => {
                (["3", "4.0", "4.1", "4.2"].contains(&level), "version 3, 4.0, 4.1 or 4.2")
            }
            Varied::Protocol => (["tcp", "udp", "tcp6", "udp6"].contains(&level), "tcp or udp"),
            Varied::Size(_) => {
                let size = number.filter(|n| n.is_power_of_two() && (1024..=1 << 22).contains(n));
                (size.is_some(), "power of two from 1024 to 4194304, in bytes")
            }
            Varied::Writes => (["sync", "async"].contains(&level), "sync or async"),
            Varied::Connections => {
                let sound = number.is_some_and(|n| (1..=MOST_CONNECTIONS).contains(&n));
                (sound, "number of connections from 1 to 16")
            }
            Varied::Attributes => (number.is_some_and(|n| n <= 86_400), "number of seconds"),
        };
        if sound { Ok(()) } else { Err(format!("expected: {what}")) }
    }

    /// What these options have of it, as a level; "mixed" where no level has that.
    pub fn level(self, options: &str) -> String {
        let or = |name: &str, default: &str| value(options, name).unwrap_or(default).to_owned();
        match self {
            // Older kernels list 4.0 as 4.
            Varied::Version => match or("vers", "") {
                four if four == "4" => format!("4.{}", or("minorversion", "0")),
                other => other,
            },
            Varied::Writes if words(options).any(|word| word == "sync") => "sync".to_owned(),
            Varied::Writes => "async".to_owned(),
            Varied::Connections => or("nconnect", "1"),
            Varied::Attributes if words(options).any(|word| word == "noac") => "noac".to_owned(),
            Varied::Attributes => {
                let times = TIMES.map(|(name, default)| or(name, default));
                let same = times.iter().all(|time| *time == times[0]);
                let all = value(options, "actimeo").or(same.then_some(&*times[0]));
                all.unwrap_or("mixed").to_owned()
            }
            Varied::Protocol | Varied::Size(_) => or(self.name(), ""),
        }
    }

    /// The options with this level in place of what they have.
    pub fn with(self, options: &str, level: &str) -> String {
        let mut kept = match self {
            Varied::Version if level == "3" => without(options, &VERSIONS),
            _ => without(options, self.own()),
        };
        let own = match self {
            Varied::Writes => level.to_owned(),
            _ => format!("{}={level}", self.name()),
        };
        kept.push(&own);
        kept.join(",")
    }

    /// The options with what others have of it: what it puts back.
    pub fn with_of(self, options: &str, other: &str) -> String {
        let mut kept = without(options, self.own());
        kept.extend(words(other).filter(|word| self.own().contains(&name_of(word))));
        kept.join(",")
    }

    /// The options that it comes to.
    fn own(self) -> &'static [&'static str] {
        match self {
            // Locks of version 3 are a protocol of their own, and the words for them are unknown to
            // later ones.
            Varied::Version => &["vers", "nfsvers", "minorversion", "nolock", "lock", "local_lock"],
            Varied::Protocol => &["proto"],
            Varied::Size("rsize") => &["rsize"],
            Varied::Size(_) => &["wsize"],
            Varied::Writes => &["sync", "async"],
            Varied::Connections => &["nconnect"],
            Varied::Attributes => {
                &["actimeo", "acregmin", "acregmax", "acdirmin", "acdirmax", "ac", "noac"]
            }
        }
    }
}

/// What mount(8) is given so that the mount has these options again.
pub(super) fn to_mount(options: &str) -> String {
    without(options, &AGREED).join(",")
}

/// Whether two lists come to the same but for the option itself and what was agreed on anew.
pub(super) fn are_others_same(varied: Varied, one: &str, other: &str) -> bool {
    let plain = |options: &str| {
        let mut words: Vec<String> =
            to_mount(&varied.with(options, "")).split(',').map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    plain(one) == plain(other)
}

/// Whether this can be a list of options: nothing that a shell or mount(8) takes for something else.
pub(super) fn check(options: &str) -> Result<(), String> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"=,._:-/%[]".contains(&b);
    let word = |word: &str| !word.is_empty() && !word.starts_with('-');
    match options.len() <= 2048 && options.bytes().all(letter) && words(options).all(word) {
        true => Ok(()),
        false => Err("its options are not a list of words".into()),
    }
}

fn words(options: &str) -> impl Iterator<Item = &str> {
    options.split(',')
}

fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

fn value<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    words(options)
        .filter_map(|word| word.split_once('='))
        .find(|(own, _)| *own == name)
        .map(|w| w.1)
}

fn without<'a>(options: &'a str, names: &[&str]) -> Vec<&'a str> {
    words(options).filter(|word| !names.contains(&name_of(word))).collect()
}

/// What a kernel may list, for fuzzing: a level that is read can be set, and is then there.
pub(crate) fn fuzz(text: &str) {
    for name in ["vers", "proto", "rsize", "wsize", "sync", "nconnect", "actimeo"] {
        let Some(varied) = Varied::from_name(name) else { continue };
        let level = varied.level(text);
        if varied.check(&level).is_ok() {
            assert_eq!(varied.level(&varied.with(text, &level)), level, "{name} of {text:?}");
        }
        let put_back = varied.with_of(text, text);
        assert_eq!(varied.level(&put_back), level, "{name} of {text:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREE: &str = "rw,relatime,vers=3,rsize=262144,wsize=131072,namlen=255,hard,nolock,proto=tcp,\
        timeo=600,retrans=2,sec=sys,mountaddr=10.0.0.1,mountvers=3,mountport=35555,mountproto=udp,\
        local_lock=all,addr=10.0.0.1";

    #[test]
    fn levels_are_read_and_set() {
        let varied = |name: &str| Varied::from_name(name).unwrap();
        for (name, found, set) in [
            ("vers", "3", "4.2"),
            ("proto", "tcp", "udp"),
            ("rsize", "262144", "4096"),
            ("wsize", "131072", "4096"),
            ("sync", "async", "sync"),
            ("nconnect", "1", "8"),
            ("actimeo", "mixed", "0"),
        ] {
            assert_eq!(varied(name).name(), name);
            assert_eq!(varied(name).level(THREE), found, "{name}");
            varied(name).check(set).unwrap();
            let changed = varied(name).with(THREE, set);
            assert_eq!(varied(name).level(&changed), set, "{changed}");
            let back = varied(name).with_of(&changed, THREE);
            assert_eq!(varied(name).level(&back), found, "{back}");
            assert!(are_others_same(varied(name), &back, THREE), "{back}");
        }
        let four = varied("vers").with(THREE, "4.1");
        assert!(!four.contains("lock"), "{four}");
        assert!(varied("vers").with_of(&four, THREE).contains("nolock"));
        assert!(varied("vers").with(THREE, "3").contains("nolock"));
        assert_eq!(varied("actimeo").level("rw,noac,acregmin=0"), "noac");
        assert_eq!(varied("vers").level("vers=4,minorversion=1"), "4.1");
        assert!(
            to_mount(THREE).ends_with("retrans=2,sec=sys,local_lock=all"),
            "{}",
            to_mount(THREE)
        );
    }

    #[test]
    fn what_is_agreed_on_anew_makes_no_difference() {
        let same = |name: &str, from: &str, to: &str| {
            are_others_same(Varied::from_name(name).unwrap(), THREE, &THREE.replace(from, to))
        };
        assert!(same("vers", "mountport=35555", "mountport=2"));
        assert!(!same("vers", "rsize=262144", "rsize=4096"));
        assert!(same("rsize", "rsize=262144", "rsize=4096"));
        assert!(!same("rsize", "hard", "soft"));
    }

    #[test]
    fn what_is_no_level_or_no_list() {
        for (name, levels) in [
            ("vers", &["", "2", "4", "3,soft"][..]),
            ("proto", &["rdma", "tcp,exec"]),
            ("rsize", &["0", "1000", "-1", "3000", "8388608", "4096,exec"]),
            ("sync", &["yes", ""]),
            ("nconnect", &["0", "17", "01"]),
            ("actimeo", &["-1", "x", "3,exec"]),
        ] {
            for level in levels {
                assert!(Varied::from_name(name).unwrap().check(level).is_err(), "{name}={level}");
            }
        }
        assert_eq!(Varied::from_name("exec"), None);
        for options in ["", "rw,,x", "rw,a b", "rw;id", "rw,-x", "rw,$(id)", "rw\n", "rw,'"] {
            assert!(check(options).is_err(), "{options:?}");
        }
        check(THREE).unwrap();
    }

    proptest! {
        #[test]
        fn any_options(text in "((rw|vers=[34](\\.[0-2])?|minorversion=[0-9]|rsize=[0-9]{4}|sync|async|nolock|noac|ac(reg|dir)m(in|ax)=[0-9]|actimeo=[0-9]|\\PC|,),?){0,8}") {
            fuzz(&text);
        }
    }
}
