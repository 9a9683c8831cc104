//! Kinds of work on a path by their names, as plan files have them, with the options of each.

/// A kind of work on a path.
pub struct PathKind {
    /// Value of `--job`; of work through a router, which has no such value, a name of its own.
    pub name: &'static str,
    /// Options that it has, without `--`.
    pub options: &'static [&'static str],
    /// Whether it needs a router on the path; the others need a path without one.
    pub is_through_router: bool,
}

const TCP: &[&str] = &["blocks", "streams", "socket-buffer", "nagle", "congestion"];
const UDP: &[&str] = &["payloads", "streams", "rate", "loss", "call", "socket-buffer"];
const FRAMES: &[&str] = &["frames", "direction", "flows", "loss", "final", "latency"];

/// Frames through a router.
pub const FORWARDING: &str = "forwarding";
/// New TCP connections through a router: the name of the kind, and of its option.
pub const CONNECTIONS: &str = "connections";

/// Every kind.
pub const KINDS: &[PathKind] = &[
    end_to_end("tcp-out", TCP),
    end_to_end("tcp-in", TCP),
    end_to_end("tcp-both", TCP),
    end_to_end("udp-out", UDP),
    end_to_end("udp-in", UDP),
    end_to_end("request", &[]),
    end_to_end("loaded", TCP),
    end_to_end("connect", &[]),
    end_to_end("up", TCP),
    end_to_end("down", TCP),
    end_to_end("rrul", TCP),
    through_router(FORWARDING, FRAMES),
    through_router(CONNECTIONS, &[CONNECTIONS]),
];

const fn end_to_end(name: &'static str, options: &'static [&'static str]) -> PathKind {
    PathKind { name, options, is_through_router: false }
}

const fn through_router(name: &'static str, options: &'static [&'static str]) -> PathKind {
    PathKind { name, options, is_through_router: true }
}

impl PathKind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static PathKind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Whether it sends datagrams at a rate that can be chosen.
    pub fn has_rate(&self) -> bool {
        self.options.contains(&"rate")
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::JobChoice;
    use super::super::tests::planned;
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_value_of_the_option_is_a_kind() {
        let values = JobChoice::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let values: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        let kinds = KINDS.iter().filter(|kind| !kind.is_through_router).map(|kind| kind.name);
        assert_eq!(kinds.collect::<Vec<_>>(), values);
    }

    #[test]
    fn every_kind_uses_its_options() {
        let values = [
            ("blocks", "1KiB"),
            ("streams", "2"),
            ("socket-buffer", "1MiB"),
            ("nagle", "off"),
            ("congestion", "cubic"),
            ("payloads", "18"),
            ("rate", "500"),
            ("loss", "1"),
            ("call", "gso"),
            ("frames", "512"),
            ("direction", "in"),
            ("flows", "2"),
            ("final", "20s"),
            ("latency", "5ms"),
            ("connections", "4"),
        ];
        for kind in KINDS {
            let job = match kind.is_through_router {
                true => "--via=ssh://router".to_owned(),
                false => format!("--job={}", kind.name),
            };
            for option in kind.options {
                let (_, value) = values.iter().find(|(name, _)| name == option).unwrap();
                let option = format!("--{option}={value}");
                let made = planned(&["ssh://nas", &job, &option]);
                made.unwrap_or_else(|failure| panic!("{option} of {}: {failure}", kind.name));
            }
        }
    }
}
