//! What `--set` is given: `[HOST/]NAME=LEVEL,…`.

use super::{begins_kind, knob};
use plimsoll_model::{Cause, FactorLevel, Failure, HostName};
use std::str::FromStr;

/// The word for the level that is found.
const AS_FOUND: &str = "as-found";

/// Most levels of a factor.
const MOST_LEVELS: usize = 64;

/// A factor as the user asks for it: a setting, perhaps with its host, and levels to compare, as in
/// `ssh://root@nas/sysctl:vm.dirty_ratio=as-found,5,40`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactorRequest {
    /// The host; `None` where the user named none.
    pub host: Option<HostName>,
    /// The setting's canonical name, for [`knob`].
    pub knob: String,
    /// Its levels, each once.
    pub levels: Vec<FactorLevel>,
}

impl FactorRequest {
    /// A setting by its name, with its levels in the words of `--set`.
    ///
    /// # Errors
    /// [`Cause::Usage`] for what is no setting, or no level of it.
    pub fn new<'a>(
        host: Option<HostName>,
        name: &str,
        levels: impl IntoIterator<Item = &'a str>,
    ) -> Result<FactorRequest, Failure> {
        let usage = |happened: String| {
            let next = "Give valid values, each once; 'as-found' is a value, too.";
            Failure::new(Cause::Usage, "understand the values of a setting")
                .on(name)
                .happened(happened)
                .next(next)
        };
        let knob = knob(name)?;
        let mut asked = FactorRequest { host, knob: knob.name(), levels: Vec::new() };
        for level in levels {
            let level = match level {
                AS_FOUND => FactorLevel::AsFound,
                value => {
                    let refused = |why| usage(format!("\"{value}\" is not a valid value: {why}"));
                    knob.check(value).map_err(refused)?;
                    FactorLevel::Set { value: value.to_owned() }
                }
            };
            if asked.levels.contains(&level) {
                return Err(usage(format!("the value \"{level}\" is given twice")));
            }
            asked.levels.push(level);
        }
        match asked.levels.len() {
            ..=MOST_LEVELS => Ok(asked),
            _ => Err(usage(format!("more than {MOST_LEVELS} values are given"))),
        }
    }
}

impl FromStr for FactorRequest {
    type Err = Failure;

    /// # Errors
    /// [`Cause::Usage`] for what is no setting, no host, or no level of the setting.
    fn from_str(text: &str) -> Result<FactorRequest, Failure> {
        let usage = |happened: String| {
            let next = "Give [HOST/]NAME=VALUE,…, such as local/sysctl:vm.dirty_ratio=as-found,5.";
            Failure::new(Cause::Usage, "understand --set").on(text).happened(happened).next(next)
        };
        let (name, levels) =
            text.rsplit_once('=').ok_or_else(|| usage("no values are given".into()))?;
        let slashes = name.match_indices('/').map(|(at, _)| at);
        let (host, name) = match begins_kind(name) {
            true => (None, name),
            false => {
                let at = slashes.into_iter().find(|at| begins_kind(&name[at + 1..]));
                match at {
                    Some(at) => (Some(name[..at].parse()?), &name[at + 1..]),
                    None => (None, name),
                }
            }
        };
        FactorRequest::new(host, name, levels.split(','))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Result<(Option<String>, String, Vec<String>), Failure> {
        let FactorRequest { host, knob, levels } = text.parse()?;
        let levels = levels.iter().map(ToString::to_string).collect();
        Ok((host.map(|host| host.to_string()), knob, levels))
    }

    #[test]
    fn settings_with_and_without_a_host() {
        let parsed = |text: &str| parts(text).unwrap();
        let expected = |host: Option<&str>, knob: &str, levels: &[&str]| {
            let levels = levels.iter().map(|level| (*level).to_owned()).collect();
            (host.map(str::to_owned), knob.to_owned(), levels)
        };
        assert_eq!(
            parsed("sysctl:vm.dirty_ratio=as-found,5"),
            expected(None, "sysctl:vm.dirty_ratio", &["as found", "5"])
        );
        assert_eq!(
            parsed("local/sysctl:net/ipv4/tcp_rmem=4096 87380 6291456"),
            expected(Some("local"), "sysctl:net.ipv4.tcp_rmem", &["4096 87380 6291456"])
        );
        assert_eq!(
            parsed("ssh://root@nas:22/export-sync:/srv/my films=sync,async"),
            expected(Some("ssh://root@nas:22"), "export-sync:/srv/my films", &["sync", "async"])
        );
        assert_eq!(
            parsed("ssh://nas/nfsd-threads=as-found,8"),
            expected(Some("ssh://nas"), "nfsd-threads", &["as found", "8"])
        );
        assert_eq!(parsed("governor=performance"), expected(None, "governor", &["performance"]));
        assert_eq!(
            parsed("lab://cut/server/export-sync:/srv/a=b=async"),
            expected(Some("lab://cut/server"), "export-sync:/srv/a=b", &["async"])
        );
    }

    #[test]
    fn what_is_none_is_refused_with_what_can_be_given() {
        for text in [
            "",
            "sysctl:vm.dirty_ratio",
            "sysctl:vm.dirty_ratio=",
            "vm.dirty_ratio=5",
            "sysctl:vm.dirty_ratio=5,5",
            "sysctl:vm.dirty_ratio=5,",
            "nas/sysctl:vm.x=1",
            "ssh://-oProxyCommand=id/sysctl:vm.x=1",
            "export-sync:/srv=on",
            "nas/governor=performance",
            "governor:x=performance",
            "nfsd-threads=0",
            "nfsd-versions=3+3",
            "export-sync:srv=sync",
        ] {
            let failure = parts(text).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{text}");
            assert!(!failure.next.is_empty(), "{text}: {failure}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,60}|(ssh://a/|local/)?(sysctl|export-sync|read-ahead|governor|nfsd-versions):?\\PC{0,20}=\\PC{0,20}") {
            if let Ok(FactorRequest { knob: name, levels, .. }) = text.parse::<FactorRequest>() {
                let knob = knob(&name).unwrap();
                prop_assert_eq!(knob.name(), name);
                for level in levels {
                    if let FactorLevel::Set { value } = level {
                        prop_assert!(knob.check(&value).is_ok());
                    }
                }
            }
        }
    }
}
