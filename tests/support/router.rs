//! A router of a lab between two hosts, for `plimsoll net`.

use super::beds::Beds;
use super::lab_file::LabFile;
use super::{Plimsoll, probes};
use plimsoll_testkit::Need;

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

/// The same hosts as machines, up as the lab of this name; `None` where this machine has none. The router and `lan`
/// have this image, or the default one.
pub fn machines(name: &str, image: Option<&str>) -> Option<Beds> {
    if !plimsoll_testkit::available(Need::Machines) {
        return None;
    }
    let probes = probes().to_str().expect("letters");
    let beds = Beds::with_program(Plimsoll::new().with("PLIMSOLL_PROBES", probes));
    let of_image = |file: LabFile, host: &str| match image {
        Some(image) => file.machine(host, "256MiB").set("image", image),
        None => file.machine(host, "192MiB"),
    };
    let file = LabFile::new().machine("wan", "192MiB").set("gateway", "router");
    let file = of_image(file, "router").line(format_args!("forward = true"));
    let file = of_image(file, "lan").set("gateway", "router");
    beds.up(name, &file.link("outer", ["wan", "router"]).link("inner", ["router", "lan"]));
    Some(beds)
}
