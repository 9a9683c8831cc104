//! A stage whose parameters are a user's own, to be found and put back.

use super::own_place::OwnPlace;
use plimsoll_testkit::Stage;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Parameters of a network namespace with what a test finds there: none is the kernel's default.
pub const FOUND: [(&str, &str, &str); 2] =
    [("tcp_keepalive_time", "4321", "7200"), ("tcp_wmem", "5000\t17000\t5000000", "4096\t16384")];

/// Where a parameter is.
pub fn parameter(name: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv4").join(name)
}

/// What a parameter is.
pub fn value(name: &str) -> String {
    fs::read_to_string(parameter(name)).unwrap().trim_end().to_owned()
}

/// What all parameters are.
pub fn values() -> BTreeMap<&'static str, String> {
    FOUND.into_iter().map(|(name, _, _)| (name, value(name))).collect()
}

/// On a stage whose parameters are the user's own, and with them.
pub fn own_settings(stage: &Stage) -> OwnPlace {
    let place = OwnPlace::new(stage);
    for (name, found, default) in FOUND {
        assert!(value(name).starts_with(default), "{name}: {}", value(name));
        fs::write(parameter(name), found).unwrap();
        assert_eq!(value(name), found);
    }
    place
}
