//! A router of a lab between two hosts, for `plimsoll net`.

/// `wan` and `lan`, each on a link of its own.
pub const ROUTED: &str = r#"
[host.wan]
kind = "netns"
gateway = "router"
[host.router]
kind = "netns"
forward = true
[host.lan]
kind = "netns"
gateway = "router"
[link.outer]
between = ["wan", "router"]
[link.inner]
between = ["router", "lan"]
"#;
