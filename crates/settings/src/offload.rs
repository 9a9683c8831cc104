//! Offloads of a network interface (ethtool -k): on or off. The kernel keeps those off that depend on one that is off,
//! and turns them on again with it, as they were asked for.

use super::{Found, Knob, Original, Scope, command, interface, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// What stands before the colon of a name.
pub(super) const KIND: &str = "offload";

/// Short names, what `ethtool -K` calls each, and the headings under which `ethtool -k` lists them.
const SHORT: [(&str, &[&str], &[&str]); 9] = [
    ("tso", &["tso"], &["tcp-segmentation-offload"]),
    ("gso", &["gso"], &["generic-segmentation-offload"]),
    ("gro", &["gro"], &["generic-receive-offload"]),
    ("lro", &["lro"], &["large-receive-offload"]),
    ("sg", &["sg"], &["scatter-gather"]),
    ("checksum", &["rx", "tx"], &["rx-checksumming", "tx-checksumming"]),
    ("rx-checksum", &["rx"], &["rx-checksumming"]),
    ("tx-checksum", &["tx"], &["tx-checksumming"]),
    ("rxhash", &["rxhash"], &["receive-hashing"]),
];

/// Headings that `ethtool -K` knows by another name alone.
const NAMES: [(&str, &str); 12] = [
    ("rx-checksumming", "rx"),
    ("tx-checksumming", "tx"),
    ("scatter-gather", "sg"),
    ("tcp-segmentation-offload", "tso"),
    ("udp-fragmentation-offload", "ufo"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
    ("large-receive-offload", "lro"),
    ("rx-vlan-offload", "rxvlan"),
    ("tx-vlan-offload", "txvlan"),
    ("ntuple-filters", "ntuple"),
    ("receive-hashing", "rxhash"),
];

const LEVELS: [&str; 2] = ["on", "off"];

#[derive(Debug)]
struct Offload {
    interface: String,
    /// Short name, or a name of `ethtool -k`.
    name: String,
}

/// A line of `ethtool -k`.
#[derive(Debug, PartialEq, Eq)]
struct Feature {
    name: String,
    /// "on", "off", "off [requested on]".
    state: String,
    /// Whether the driver lets nobody change it.
    fixed: bool,
    /// Whether the lines that follow are its parts.
    has_parts: bool,
    /// The heading that it is a part of.
    heading: Option<String>,
}

/// From `IF:NAME`.
pub(super) fn make(text: &str) -> Result<Box<dyn Knob>, String> {
    let (interface, name) =
        text.split_once(':').ok_or("the offload is missing; an example is eth0:tso")?;
    interface::check(interface)?;
    if !is_name(name) {
        return Err(format!("'{name}' is no offload, such as {}", short_names()));
    }
    Ok(Box::new(Offload { interface: interface.to_owned(), name: name.to_owned() }))
}

fn short_names() -> String {
    SHORT.map(|(name, _, _)| name).join(", ")
}

fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    (1..=40).contains(&text.len()) && !text.starts_with('-') && text.chars().all(letter)
}

fn is_state(text: &str) -> bool {
    let (now, rest) = text.split_once(' ').unwrap_or((text, ""));
    LEVELS.contains(&now)
        && ["", "[requested on]", "[not requested]", "[requested off]"].contains(&rest)
}

/// What was asked of a feature, which the kernel remembers while another one keeps it off.
fn requested_state(state: &str) -> &'static str {
    let on = state.contains("[requested on]")
        || (state.starts_with("on")
            && !state.contains("[requested off]")
            && !state.contains("[not requested]"));
    if on { "on" } else { "off" }
}

/// The name that `ethtool -K` takes.
fn own_name(name: &str) -> &str {
    NAMES.iter().find(|(heading, _)| *heading == name).map_or(name, |(_, own)| own)
}

fn features(text: &str) -> Vec<Feature> {
    let mut features: Vec<Feature> = Vec::new();
    let mut heading: Option<usize> = None;
    for line in text.lines() {
        let Some((name, state)) = line.split_once(':') else { continue };
        let is_part = name.starts_with([' ', '\t']);
        let (name, state) = (name.trim(), state.trim());
        let fixed = state.contains("[fixed]");
        let state = state.replace("[fixed]", "").trim().to_owned();
        if !is_name(name) || !is_state(&state) {
            continue;
        }
        if is_part {
            if let Some(heading) = heading {
                features[heading].has_parts = true;
            }
        } else {
            heading = Some(features.len());
        }
        let heading = heading.filter(|_| is_part).map(|heading| features[heading].name.clone());
        features.push(Feature { name: name.to_owned(), state, fixed, has_parts: false, heading });
    }
    features
}

impl Offload {
    fn failed(&self, host: &dyn Reach, happened: &str, next: &str) -> Failure {
        let tried = format!("change an offload of {}", self.interface);
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    fn ethtool(&self, host: &dyn Reach, words: &str) -> Result<String, Failure> {
        let text = format!(
            "command -v ethtool >/dev/null || {{ echo 'the program ethtool is not installed' >&2; exit 1; }}
            ethtool {words}"
        );
        command(host, &format!("run ethtool {words}"), &text, b"").map_err(|failure| Failure {
            next: "Install ethtool on the host. To change offloads, plimsoll needs root there."
                .into(),
            ..failure
        })
    }

    fn get(&self, host: &dyn Reach) -> Result<Vec<Feature>, Failure> {
        let text = self.ethtool(host, &format!("-k {}", quote(&self.interface)))?;
        Ok(features(&text))
    }

    /// Sets features by the names of `ethtool -K`.
    fn put(&self, host: &dyn Reach, features: &[(&str, &str)]) -> Result<(), Failure> {
        self.ethtool(host, &self.setting(features)).map(drop)
    }

    fn setting(&self, features: &[(&str, &str)]) -> String {
        let words: Vec<String> =
            features.iter().map(|(name, state)| format!("{} {state}", quote(name))).collect();
        format!("-K {} {}", quote(&self.interface), words.join(" "))
    }

    /// The headings of this offload in a listing.
    fn headings(&self) -> Vec<&str> {
        let short = SHORT.iter().find(|(name, _, _)| *name == self.name);
        short.map_or_else(|| vec![&*self.name], |(_, _, headings)| headings.to_vec())
    }

    /// The names that `ethtool -K` has for this offload.
    fn flags(&self) -> Vec<&str> {
        let short = SHORT.iter().find(|(name, _, _)| *name == self.name);
        short.map_or_else(|| vec![own_name(&self.name)], |(_, flags, _)| flags.to_vec())
    }

    /// The level of this offload in a listing.
    ///
    /// # Errors
    /// The interface has no such offload, or its driver lets nobody change it.
    fn level(&self, host: &dyn Reach, all: &[Feature]) -> Result<String, Failure> {
        let own = |feature: &&Feature| self.headings().contains(&&*feature.name);
        let own: Vec<&Feature> = all.iter().filter(own).collect();
        if own.is_empty() {
            let names = all.iter().filter(|feature| !feature.fixed && !feature.has_parts);
            let names: Vec<&str> = names.map(|feature| &*feature.name).take(64).collect();
            let next = format!(
                "Give one of {}, or a name that ethtool lists: {}.",
                short_names(),
                names.join(", ")
            );
            let happened = format!("the interface has no offload '{}'", self.name);
            return Err(Failure { cause: Cause::Usage, ..self.failed(host, &happened, &next) });
        }
        let parts = all.iter().filter(|feature| {
            let heading = feature.heading.as_deref();
            heading.is_some_and(|heading| own.iter().any(|own| own.name == heading))
        });
        let can_change =
            own.iter().copied().chain(parts).any(|feature| !feature.fixed && !feature.has_parts);
        if !can_change {
            let happened = format!("the driver does not let '{}' be changed", self.name);
            return Err(self.failed(host, &happened, "Use another setting."));
        }
        let on: Vec<bool> = own.iter().map(|feature| feature.state.starts_with("on")).collect();
        Ok(match (on.contains(&true), on.contains(&false)) {
            (true, false) => "on",
            (false, _) => "off",
            (true, true) => "mixed",
        }
        .to_owned())
    }

    /// Whether it is this offload, or a part of it.
    fn is_own(&self, feature: &Feature) -> bool {
        let headings = self.headings();
        let heading = feature.heading.as_deref().unwrap_or(&feature.name);
        headings.contains(&heading) || headings.contains(&&*feature.name)
    }

    /// Its parts that can be changed, as they are.
    fn original(&self, host: &dyn Reach, all: &[Feature]) -> Result<Original, Failure> {
        let line = interface::link(host, &self.interface)?;
        let mut original = interface::original(host, &line)?;
        let own = all.iter().filter(|feature| self.is_own(feature));
        let can_change = own.filter(|feature| !feature.fixed && !feature.has_parts);
        original.0.extend(can_change.map(|feature| (feature.name.clone(), feature.state.clone())));
        Ok(original)
    }
}

/// The features of an original with their states.
fn kept(original: &Original) -> impl Iterator<Item = (&str, &str)> {
    let own = [interface::BOOT, interface::INDEX];
    let kept = original.0.iter().filter(move |(key, _)| !own.contains(&key.as_str()));
    kept.map(|(name, state)| (name.as_str(), state.as_str()))
}

/// What was asked of each feature of an original.
fn all_asked(original: &Original) -> Vec<(&str, &'static str)> {
    kept(original).map(|(name, state)| (name, requested_state(state))).collect()
}

impl Knob for Offload {
    fn name(&self) -> String {
        format!("{KIND}:{}:{}", self.interface, self.name)
    }

    fn scope(&self) -> Scope {
        Scope::Network
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match LEVELS.contains(&level) {
            true => Ok(()),
            false => Err("it is neither 'on' nor 'off'".into()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        interface::check_original(original)?;
        match kept(original).all(|(name, state)| is_name(name) && is_state(state)) {
            true => Ok(()),
            false => Err("it does not name offloads with their states".into()),
        }
    }

    /// A driver may keep one as it is: only trying tells.
    fn listed(&self, _: &dyn Reach) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        interface::link(host, &self.interface)?;
        let all = self.get(host)?;
        let level = self.level(host, &all)?;
        let original = self.original(host, &all)?;
        match self.check_original(&original) {
            Ok(()) => Ok(Found { level, original }),
            Err(why) => Err(self.failed(host, &why, "Use another setting.")),
        }
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        interface::expect(host, &self.name(), &self.interface, original)?;
        let flags: Vec<(&str, &str)> = self.flags().into_iter().map(|flag| (flag, level)).collect();
        self.put(host, &flags)
    }

    fn verify(&self, host: &dyn Reach, wanted: &str) -> Result<(), Failure> {
        let now = self.level(host, &self.get(host)?)?;
        match now == wanted {
            true => Ok(()),
            false => Err(kernel_file::not_in_effect(host, &self.name(), &now, wanted)),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if interface::still_there(host, &self.interface, original)?.is_none() {
            return Ok(());
        }
        let back: Vec<(&str, &str)> =
            kept(original).map(|(name, state)| (own_name(name), requested_state(state))).collect();
        if !back.is_empty() {
            self.put(host, &back)?;
        }
        let now = self.original(host, &self.get(host)?)?;
        match self.is_as_found(original, &now) {
            true => Ok(()),
            false => {
                let words = |of: &Original| -> String {
                    let words: Vec<String> = all_asked(of)
                        .iter()
                        .map(|(name, state)| format!("{name} {state}"))
                        .collect();
                    words.join(", ")
                };
                Err(kernel_file::not_in_effect(host, &self.name(), &words(&now), &words(original)))
            }
        }
    }

    /// Another setting of the interface may keep one of them off for now.
    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        all_asked(original) == all_asked(now)
    }

    /// Some drivers take the link down for a moment, and some do not come back.
    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        let all: Vec<(&str, &str)> =
            kept(original).map(|(name, state)| (own_name(name), requested_state(state))).collect();
        (!all.is_empty()).then(|| format!("ethtool {}", self.setting(&all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines in the form of ethtool 6.1.
    const LISTING: &str = "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\
        \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: on\nscatter-gather: on\n\
        \ttx-scatter-gather: on\ntcp-segmentation-offload: off\n\ttx-tcp-segmentation: off [requested on]\n\
        generic-receive-offload: on\nlarge-receive-offload: off [fixed]\n";

    #[test]
    fn a_listing_says_what_can_be_changed() {
        let all = features(LISTING);
        let listed = |name: &str| all.iter().find(|feature| feature.name == name).unwrap();
        assert!(listed("rx-checksumming").fixed && !listed("rx-checksumming").has_parts);
        assert!(listed("tx-checksumming").has_parts);
        assert_eq!(
            listed("tx-tcp-segmentation").heading.as_deref(),
            Some("tcp-segmentation-offload")
        );
        assert_eq!(requested_state(&listed("tx-tcp-segmentation").state), "on");
        assert_eq!(
            (requested_state("on"), requested_state("off"), requested_state("on [not requested]")),
            ("on", "off", "off")
        );
        let host = plimsoll_reach::Local;
        let knob = |name: &str| Offload { interface: "eth0".into(), name: name.into() };
        assert_eq!(knob("tso").level(&host, &all).unwrap(), "off");
        assert_eq!(knob("checksum").level(&host, &all).unwrap(), "on");
        assert_eq!(knob("tx-checksum-ip-generic").level(&host, &all).unwrap(), "on");
        let fixed = knob("lro").level(&host, &all).unwrap_err();
        assert!(fixed.happened.contains("does not let"), "{fixed}");
        let none = knob("tx-magic").level(&host, &all).unwrap_err();
        assert_eq!(none.cause, Cause::Usage);
        assert!(none.next.contains("tso") && none.next.contains("tx-tcp-segmentation"), "{none}");
        assert_eq!(
            knob("gro").setting(&[(own_name("generic-receive-offload"), "off"), ("tx", "on")]),
            "-K 'eth0' 'gro' off 'tx' on"
        );
    }

    #[test]
    fn names_and_originals() {
        for name in ["eth0", "eth0:", "eth0:a b", "eth0:$(id)", ":tso", "eth0:-K"] {
            assert!(make(name).is_err(), "{name}");
        }
        let knob = make("eth0:tso").unwrap();
        assert!(knob.check("1").is_err() && knob.check("on").is_ok());
        let original = |name: &str, state: &str| interface::original_with(&[(name, state)]);
        knob.check_original(&original("tx-tcp-segmentation", "off [requested on]")).unwrap();
        for (name, state) in [("a;id", "on"), ("tso", "on; id"), ("tso", ""), ("tso", "on [x]")] {
            assert!(knob.check_original(&original(name, state)).is_err(), "{name} {state}");
        }
        let line = knob.undo_by_shell(&original("generic-receive-offload", "on")).unwrap();
        assert_eq!(line, "ethtool -K 'eth0' 'gro' on");
        assert_eq!(knob.undo_by_shell(&interface::original_with(&[])), None);
    }
}
