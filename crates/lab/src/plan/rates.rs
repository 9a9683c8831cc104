//! What a link carries: the same from each of its hosts, or a rate for each.

use super::Rate;
use plimsoll_config::{Problem, nearest};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What passes at most of what each host sends into a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Rates {
    /// The same from each.
    Each(Rate),
    /// By the host that sends; from others, what the machine can do.
    From(BTreeMap<String, Rate>),
}

impl Rates {
    /// What is let through of what this host sends; `None`: all.
    pub fn from(&self, host: &str) -> Option<Rate> {
        match self {
            Rates::Each(rate) => Some(*rate),
            Rates::From(rates) => rates.get(host).copied(),
        }
    }

    /// Each of them changed.
    pub(crate) fn map(&self, change: impl Fn(Rate) -> Rate) -> Rates {
        match self {
            Rates::Each(rate) => Rates::Each(change(*rate)),
            Rates::From(rates) => Rates::From(
                rates.iter().map(|(host, rate)| (host.clone(), change(*rate))).collect(),
            ),
        }
    }

    /// With another rate from one host of a link between these; `None` where nothing is limited then.
    pub(crate) fn with(
        before: Option<&Rates>,
        between: &[String],
        host: &str,
        rate: Option<Rate>,
    ) -> Option<Rates> {
        let kept = between.iter().filter(|other| *other != host);
        let kept = kept.filter_map(|other| Some((other.clone(), before?.from(other)?)));
        let rates: BTreeMap<_, _> = kept.chain(rate.map(|rate| (host.to_owned(), rate))).collect();
        (!rates.is_empty()).then_some(Rates::From(rates))
    }

    pub(super) fn check(&self, link: &str, between: &[String]) -> Result<(), Problem> {
        let rates: Vec<(Option<&String>, Rate)> = match self {
            Rates::Each(rate) => vec![(None, *rate)],
            Rates::From(rates) => rates.iter().map(|(host, rate)| (Some(host), *rate)).collect(),
        };
        for (host, rate) in rates {
            let at = ["link", link, "rate", host.map_or("", String::as_str)];
            if let Some(host) = host.filter(|host| !between.contains(host)) {
                let happened = format!("`{host}` is not on this link");
                return Err(Problem::new(&at, happened, nearest(host, between)));
            }
            if !(8_000..=100_000_000_000).contains(&rate.0) {
                let happened = "the rate is out of range";
                return Err(Problem::new(&at, happened, "Give 8kbit/s to 100Gbit/s."));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rates::Each(rate) => rate.fmt(f),
            Rates::From(rates) => {
                let each: Vec<String> =
                    rates.iter().map(|(host, rate)| format!("{rate} from {host}")).collect();
                f.write_str(&each.join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Rates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rates, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Rates;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a rate such as 1Gbit/s, or a rate for each host that sends")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Rates, E> {
                text.parse().map(Rates::Each).map_err(E::custom)
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Rates, M::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Rates::From)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn read(rate: &str) -> Result<Plan, plimsoll_model::Failure> {
        let text = format!(
            "[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n[link.lan]\n\
             between = [\"a\", \"b\"]\nrate = {rate}\n"
        );
        Plan::read(&text, "lab.toml")
    }

    #[test]
    fn each_direction_has_its_rate() {
        let directions = |rate: &str| {
            let plan = read(rate).unwrap();
            let json = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan, "{json}");
            let rates = plan.links["lan"].rate.clone().unwrap();
            (rates.from("a").map(|r| r.0), rates.from("b").map(|r| r.0), rates.to_string())
        };
        let same = (Some(1_000_000_000), Some(1_000_000_000), "1Gbit/s".to_owned());
        assert_eq!(directions("\"1Gbit\""), same);
        let both = directions("{ a = \"20Mbit/s\", b = \"100Mbit/s\" }");
        let words = "20Mbit/s from a, 100Mbit/s from b".to_owned();
        assert_eq!(both, (Some(20_000_000), Some(100_000_000), words));
        assert_eq!(directions("{ b = \"1Mbit\" }").0, None);
        for (bad, happened) in [
            ("{ c = \"1Mbit\" }", "`c` is not on this link"),
            ("{ a = \"1bit\" }", "the rate is out of range"),
            ("{ a = \"1Mb\" }", "`1Mb` is not a rate"),
            ("\"1Mb\"", "`1Mb` is not a rate"),
            ("1000", "a rate such as 1Gbit/s"),
        ] {
            let failure = read(bad).unwrap_err();
            assert_eq!(failure.on, "lab.toml:7", "{failure}");
            assert!(failure.happened.contains(happened), "{failure}");
        }
    }

    #[test]
    fn one_direction_is_changed() {
        let between = ["a".to_owned(), "b".to_owned()];
        let changed = |before: Option<&Rates>, rate| Rates::with(before, &between, "a", rate);
        let both = changed(Some(&Rates::Each(Rate(10_000))), Some(Rate(20_000))).unwrap();
        assert_eq!((both.from("a"), both.from("b")), (Some(Rate(20_000)), Some(Rate(10_000))));
        let one = changed(None, Some(Rate(20_000))).unwrap();
        assert_eq!((one.from("a"), one.from("b")), (Some(Rate(20_000)), None));
        assert_eq!(changed(Some(&one), None), None);
    }
}
