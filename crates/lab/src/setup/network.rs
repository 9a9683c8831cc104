//! Addresses, names and routes.

use super::script;
use crate::plan::{PREFIX_BITS, Plan, Route};
use plimsoll_model::Failure;
use plimsoll_reach::Reach;

/// Gives a host its addresses, names and routes. Its interfaces are found by their hardware
/// addresses and called after their links.
pub(crate) fn network(plan: &Plan, name: &str, reach: &dyn Reach) -> Result<(), Failure> {
    let mut text = String::from("ip link set dev lo up\ncat >/etc/hosts\n");
    for nic in plan.nics(name) {
        let (link, address, mac) = (&nic.link, nic.address, &nic.mac);
        text.push_str(&format!(
            "for d in /sys/class/net/*; do\n\
             n=${{d##*/}}; read -r a <\"$d/address\" || continue\n\
             [ \"$a\" != {mac} ] || [ \"$n\" = {link} ] || ip link set dev \"$n\" name {link}\n\
             done\n\
             ip addr add {address}/{PREFIX_BITS} dev {link}\nip link set dev {link} up\n"
        ));
    }
    let Some(host) = plan.hosts.get(name) else { return Ok(()) };
    if host.forward {
        text.push_str("echo 1 >/proc/sys/net/ipv4/ip_forward\n");
    }
    for Route { to, via } in plan.routes(name) {
        text.push_str(&format!("ip route add {to} via {via}\n"));
    }
    let hosts = plan.hosts_file(name);
    script(reach, "give a host its addresses", &text, hosts.as_bytes()).map(drop)
}

/// Waits until the interfaces of a host pass packets, which takes both ends and, when many come up
/// at once, the kernel up to a second.
pub(crate) fn carrier(plan: &Plan, name: &str, reach: &dyn Reach) -> Result<(), Failure> {
    let mut text = String::from("i=0\n");
    for nic in plan.nics(name) {
        text.push_str(&format!(
            "while read -r s </sys/class/net/{0}/operstate; [ \"$s\" = down ]; do\n\
             i=$((i + 1)); [ $i -lt 500 ] || {{ echo \"{0} has no carrier\" >&2; exit 1; }}\n\
             sleep 0.01\ndone\n",
            nic.link
        ));
    }
    script(reach, "wait for a link", &text, b"").map(drop)
}
