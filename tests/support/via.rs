//! A router of a lab between two hosts, in namespaces, for `plimsoll net A B --via R`.

use super::Ran;
use super::beds::Beds;
use super::pair::lab_named;
use super::router::ROUTED;

/// A host on another link of the router.
const ASIDE: &str =
    "[host.aside]\nkind = \"netns\"\n[link.third]\nbetween = [\"router\", \"aside\"]\n";

pub const ENDS: [&str; 2] = ["lab://via/lan", "lab://via/wan"];
pub const ROUTER: &str = "--via=lab://via/router";

/// A link between the hosts beside the router.
pub const BESIDE: &str = "[link.beside]\nbetween = [\"wan\", \"lan\"]\n";

/// The lab, up; `None` where this machine has no namespaces.
pub fn lab() -> Option<Beds> {
    lab_with("")
}

/// The lab with a further part.
pub fn lab_with(part: &str) -> Option<Beds> {
    lab_named("via", &[ROUTED, ASIDE, part].concat())
}

/// `plimsoll net` between the two hosts.
pub fn net(beds: &Beds, words: &[&str]) -> Ran {
    beds.program.run(&[&["net"], &ENDS[..], words].concat())
}

/// The address of a host on a link.
#[track_caller]
pub fn address(beds: &Beds, host: &str, link: &str) -> String {
    let shown = beds.on(&format!("via/{host}"), &format!("ip -o -4 addr show dev {link}"));
    let mut words = shown.split_whitespace().skip_while(|word| *word != "inet");
    words.nth(1).and_then(|net| net.split('/').next()).expect("an address").to_owned()
}

/// Rules of a home: each frame passes forty of them, has its connection tracked, and its address translated.
pub fn rules() -> String {
    let own: String = (0..40).map(|n| format!("udp dport {} drop\n", n + 1)).collect();
    format!(
        "table inet home {{ chain forward {{ type filter hook forward priority filter; policy accept;\n{own}\
         ct state established,related accept\n}}\n\
         chain translate {{ type nat hook postrouting priority srcnat; policy accept;\n\
         oifname \"outer\" masquerade\n}}\n}}"
    )
}
