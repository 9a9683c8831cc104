//! Rates, delays and losses: each host shapes what it sends into a link.

use super::script;
use crate::plan::{Link, Rate};
use plimsoll_model::Failure;
use plimsoll_reach::Reach;

/// What a token bucket lets through at once: a millisecond's worth, so that the rate is right on
/// kernels whose timers are coarse, and at least a few packets.
fn burst_bytes(rate: Rate, mtu: u32) -> u64 {
    (rate.0 / 8 / 1000).max(16 << 10).max(2 * u64::from(mtu))
}

/// Of Ethernet.
const MTU: u32 = 1500;

/// The queue of a port: what it sends in so many milliseconds. The bucket drops what is more.
const QUEUE_MS: u64 = 50;

/// The longest segment that a host hands on whole: what a bucket cannot let through at once it cuts into
/// packets, and a slow link would then cost a receiver many times the processor time of a fast one.
fn whole_bytes(burst: u64) -> u64 {
    // The bucket counts the headers of each packet of a segment, too.
    (burst * 9 / 10).min(LONGEST)
}

/// The kernel's own limit of a segment.
const LONGEST: u64 = 65_536;

/// Shapes what a host sends into a link, and sets how long a packet may be. `rate` is that of this
/// host, and what is set where it is scaled.
pub(crate) fn shape(
    name: &str,
    link: &Link,
    rate: Option<Rate>,
    reach: &dyn Reach,
) -> Result<(), Failure> {
    let commands = commands(name, link, rate);
    script(reach, "shape a link", &commands, b"").map(drop).map_err(|failure| {
        let lacks = failure.happened.contains("qdisc kind is unknown")
            || failure.happened.contains("No such file or directory");
        if !lacks {
            return failure;
        }
        let netem = link.delay.is_some() || link.loss.is_some();
        let next = if netem {
            "This kernel has no netem: omit delay and loss, or set kind = \"vm\"."
        } else {
            "This kernel has no tbf: omit the rate, or set kind = \"vm\"."
        };
        Failure { cause: plimsoll_model::Cause::Usage, next: next.to_owned(), ..failure }
    })
}

/// Delay and loss come first, as on a line; the rate behind them.
fn commands(name: &str, link: &Link, rate: Option<Rate>) -> String {
    let mtu = link.mtu.unwrap_or(MTU);
    let mut text = format!(
        "ip link set dev {name} mtu {mtu}\ntc qdisc del dev {name} root 2>/dev/null || :\n"
    );
    let netem = link.delay.is_some() || link.loss.is_some();
    if netem {
        text.push_str(&format!("tc qdisc add dev {name} root handle 1: netem limit 100000"));
        if let Some(delay) = link.delay {
            text.push_str(&format!(" delay {}us", delay.0));
        }
        if let Some(loss) = link.loss {
            text.push_str(&format!(" loss {loss}"));
        }
        text.push('\n');
    }
    let whole = rate.map_or(LONGEST, |rate| whole_bytes(burst_bytes(rate, mtu)));
    text.push_str(&format!("ip link set dev {name} gso_max_size {whole} 2>/dev/null || :\n"));
    if let Some(rate) = rate {
        let parent = if netem { "parent 1: handle 2:" } else { "root handle 2:" };
        let (bits, burst) = (rate.0, burst_bytes(rate, mtu));
        text.push_str(&format!(
            "tc qdisc add dev {name} {parent} tbf rate {bits}bit burst {burst} latency {QUEUE_MS}ms\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_tc() {
        let mut link = Link { between: vec![], rate: None, mtu: None, delay: None, loss: None };
        let free = commands("lan", &link, None);
        assert!(!free.contains("add") && free.contains("gso_max_size 65536"), "{free}");
        let rate = Some(Rate(1_000_000_000));
        assert!(commands("lan", &link, rate).contains(
            "add dev lan root handle 2: tbf rate 1000000000bit burst 125000 latency 50ms"
        ));
        let slow = commands("lan", &link, Some(Rate(400_000_000)));
        assert!(slow.contains("gso_max_size 45000 ") && slow.contains("burst 50000 "), "{slow}");
        link.mtu = Some(9000);
        let long = commands("lan", &link, Some(Rate(8_000)));
        assert!(long.starts_with("ip link set dev lan mtu 9000\n"), "{long}");
        assert!(long.contains(" burst 18000 "), "a packet fits: {long}");
        link.delay = "1.5ms".parse().ok();
        link.loss = "0.1%".parse().ok();
        let both = commands("lan", &link, rate);
        assert!(
            both.contains("root handle 1: netem limit 100000 delay 1500us loss 0.1%\n"),
            "{both}"
        );
        assert!(both.contains("parent 1: handle 2: tbf"), "{both}");
    }
}
