//! Kofler, Kuschnig, Hellwagner: what three home routers and a notebook send and route, with netfilter in the
//! kernel and without.

use super::{Contradiction, Impossible, Model, named, over_the_link, rows};
use plimsoll_explain::thresholds::PUBLISHED_PAYLOAD_FULL;
use plimsoll_references::{Row, Table};
use plimsoll_stats::fit::costs::{Cell, Groups, Work};

const NETWORK: &str = "kofler2011_network";
const PLATFORMS: &str = "kofler2011_platforms";
const GAINS: &str = "kofler2011_netfilter_gain";
const PATH: &str = "kofler2011_kernel_path";
/// A gain in percent and that of the two rates differ by more than they were rounded.
const ROUNDED: f64 = 1.0;

/// What a platform sends, as figures 1 and 2 show it: the points that the text has in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The platform.
    pub platform: String,
    /// Bytes of a block or a payload, and bits per second.
    pub points: Vec<(f64, f64)>,
}

/// Every platform with points in a scenario, `tcp_out` or `udp_out`. The kernels have netfilter.
pub fn sent(tables: &[Table], scenario: &str) -> Vec<Sent> {
    let mut all: Vec<Sent> = Vec::new();
    let is_wanted = |row: &&Row| row.is("scenario", scenario) && !row.is("netfilter", "no");
    for row in rows(tables, NETWORK).iter().filter(is_wanted) {
        let (Some(bytes), Some(rate)) = (row.number("block_or_payload_B"), bits(row)) else {
            continue;
        };
        let platform = named(row, &["platform"]);
        match all.iter_mut().find(|sent| sent.platform == platform) {
            Some(sent) => sent.points.push((bytes, rate)),
            None => all.push(Sent { platform, points: vec![(bytes, rate)] }),
        }
    }
    all
}

/// The highest rate that a platform routes, as figure 3 shows it: the rates that the text has in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// The platform.
    pub platform: String,
    /// Whether its kernel has netfilter.
    pub has_netfilter: bool,
    /// Bits per second.
    pub bits_per_second: f64,
}

/// Every platform that routes, with netfilter and without.
pub fn routed(tables: &[Table]) -> Vec<Routed> {
    let routed = |row: &Row| {
        let platform = named(row, &["platform"]);
        let has_netfilter = !row.is("netfilter", "no");
        Some(Routed { platform, has_netfilter, bits_per_second: bits(row)? })
    };
    let all = rows(tables, NETWORK).iter().filter(|row| row.is("scenario", "udp_route"));
    all.filter_map(routed).collect()
}

/// Gains of UDP with one payload in kernels without netfilter, as figure 4 shows them: the range over the platforms.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadGain {
    /// The payload in the words of the text.
    pub payload: String,
    /// Its bytes; near the MTU those of figure 2.
    pub bytes: f64,
    /// Lowest and highest gain, in percent.
    pub percent: (f64, f64),
}

/// Payload of figure 2 that is nearest to the MTU, in bytes.
const NEAR_MTU_BYTES: f64 = 1450.0;

/// The gain with each payload that the text names.
pub fn payload_gains(tables: &[Table]) -> Vec<PayloadGain> {
    let mut all: Vec<PayloadGain> = Vec::new();
    for row in rows(tables, GAINS).iter().filter(|row| row.is("scenario", "udp_out")) {
        let (Some(payload), Some(gain)) =
            (row.text("block_or_payload"), row.number("gain_percent"))
        else {
            continue;
        };
        match all.iter_mut().find(|known| known.payload == payload) {
            Some(PayloadGain { percent: (low, high), .. }) => {
                (*low, *high) = (low.min(gain), high.max(gain));
            }
            None => {
                let bytes = payload.strip_suffix(" B").and_then(|bytes| bytes.parse::<f64>().ok());
                let bytes = bytes.unwrap_or(NEAR_MTU_BYTES);
                let (payload, percent) = (payload.to_owned(), (gain, gain));
                all.push(PayloadGain { payload, bytes, percent });
            }
        }
    }
    all
}

/// What a platform sends over TCP in blocks of several sizes.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The platform.
    pub platform: String,
    /// Bytes of a block, and bits per second.
    pub points: Vec<(f64, f64)>,
    /// A cost of a call and one of a byte, of its times.
    pub model: Option<Model>,
}

/// Every platform with more than one size of block.
pub fn senders(tables: &[Table]) -> Vec<Sender> {
    let cell = |(bytes, rate): &(f64, f64)| Cell {
        work: Work { files: 1.0, operations: 0.0, bytes: *bytes },
        groups: Groups::default(),
        seconds: vec![Some(bytes * 8.0 / rate)],
    };
    let sender = |Sent { platform, points }: Sent| {
        let model = Model::fitted(&points.iter().map(cell).collect::<Vec<_>>());
        Sender { platform, points, model }
    };
    let all = sent(tables, "tcp_out").into_iter();
    all.filter(|sent| sent.points.len() > 1).map(sender).collect()
}

fn bits(row: &Row) -> Option<f64> {
    row.number("rate_Mbit_per_s").map(|rate| rate * 1e6).filter(|rate| *rate > 0.0)
}

/// Two platforms, and in what they differ: which of it makes a difference is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confounded {
    /// The platforms.
    pub platforms: [String; 2],
    /// The columns in which they differ.
    pub differ: Vec<String>,
    /// Of so many that both have.
    pub of: usize,
}

/// Every two platforms that sent something and that differ in more than one thing of what they are; what they
/// can do follows from that.
pub fn confounded(tables: &[Table]) -> Vec<Confounded> {
    const RESULTS: [&str; 4] = ["platform", "coremark", "coremark_per_MHz", "stream_copy_MB_per_s"];
    let sends = |row: &&Row| {
        let platform = named(row, &["platform"]);
        rows(tables, NETWORK).iter().any(|network| network.is("platform", &platform))
    };
    let platforms: Vec<&Row> = rows(tables, PLATFORMS).iter().filter(sends).collect();
    let Some(table) = tables.iter().find(|table| table.name == PLATFORMS) else {
        return Vec::new();
    };
    let columns = || table.columns().iter().filter(|column| !RESULTS.contains(&column.as_str()));
    let mut found = Vec::new();
    for (number, a) in platforms.iter().enumerate() {
        for b in &platforms[number + 1..] {
            let known = columns().filter(|c| a.text(c).is_some() && b.text(c).is_some());
            let known: Vec<&String> = known.collect();
            let differ = known.iter().filter(|c| a.text(c) != b.text(c)).map(|c| (*c).clone());
            let differ: Vec<String> = differ.collect();
            if differ.len() > 1 {
                let platforms = [a, b].map(|row| named(row, &["platform"]));
                found.push(Confounded { platforms, differ, of: known.len() });
            }
        }
    }
    found
}

/// One thing that was changed on one platform: netfilter taken out of its kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Scenario and platform.
    pub name: String,
    /// Bits per second with netfilter, and without.
    pub bits_per_second: [f64; 2],
    /// In percent.
    pub percent: f64,
    /// The same as the text has it.
    pub published: Option<f64>,
    /// The share of the link without netfilter where that is full: then the gain would have been larger.
    pub full_link: Option<f64>,
}

/// Every rate that is known with netfilter and without.
pub fn gains(tables: &[Table]) -> Vec<Gain> {
    let network = rows(tables, NETWORK);
    let gain = |without: &Row| {
        let same = |row: &&Row| {
            row.is("netfilter", "yes")
                && ["scenario", "platform", "block_or_payload_B"]
                    .iter()
                    .all(|column| row.text(column) == without.text(column))
        };
        let rates = [bits(network.iter().find(same)?)?, bits(without)?];
        let exact = |row: &&Row| {
            let same = ["scenario", "platform"].iter().all(|c| row.text(c) == without.text(c));
            same && row.is("exact", "yes") && row.text("block_or_payload").is_none()
        };
        let published = rows(tables, GAINS).iter().find(exact);
        let link = link(tables, &named(without, &["platform"]));
        Some(Gain {
            name: named(without, &["scenario", "platform"]),
            bits_per_second: rates,
            percent: 100.0 * (rates[1] / rates[0] - 1.0),
            published: published.and_then(|row| row.number("gain_percent")),
            full_link: link
                .map(|link| rates[1] / link)
                .filter(|share| *share >= PUBLISHED_PAYLOAD_FULL),
        })
    };
    network.iter().filter(|row| row.is("netfilter", "no")).filter_map(gain).collect()
}

/// Percent that the text has as exact: the lowest and the highest.
pub fn exact_gains(tables: &[Table]) -> Option<(f64, f64)> {
    let exact = rows(tables, GAINS).iter().filter(|row| row.is("exact", "yes"));
    let percent: Vec<f64> = exact.filter_map(|row| row.number("gain_percent")).collect();
    Some((percent.iter().copied().reduce(f64::min)?, percent.iter().copied().reduce(f64::max)?))
}

/// Percent that the text's conclusion has as typical.
pub fn typical_gain(tables: &[Table]) -> Option<f64> {
    rows(tables, GAINS).iter().find(|row| row.is("platform", "typical"))?.number("gain_percent")
}

/// A platform's largest rate of sending over TCP beside what else is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sends {
    /// The platform.
    pub platform: String,
    /// Bits per second.
    pub bits_per_second: f64,
    /// Share of its link; `None` where that is not known.
    pub link: Option<f64>,
    /// What copying each byte once takes of the rate of STREAM's copy; `None` where that is not known.
    pub copy: Option<f64>,
}

/// The largest rate of each platform, in the order published.
pub fn sends(tables: &[Table]) -> Vec<Sends> {
    let mut all: Vec<Sends> = Vec::new();
    for row in rows(tables, NETWORK).iter().filter(|row| row.is("scenario", "tcp_out")) {
        let Some(rate) = bits(row) else { continue };
        let platform = named(row, &["platform"]);
        let known = rows(tables, PLATFORMS).iter().find(|row| row.is("platform", &platform));
        let stream = known.and_then(|row| row.number("stream_copy_MB_per_s"));
        let sends = Sends {
            link: link(tables, &platform).map(|link| rate / link),
            copy: stream.map(|copy| rate / 8e6 / copy),
            bits_per_second: rate,
            platform,
        };
        match all.iter_mut().find(|known| known.platform == sends.platform) {
            Some(known) if known.bits_per_second >= rate => {}
            Some(known) => *known = sends,
            None => all.push(sends),
        }
    }
    all
}

/// The rate of a platform's wired link in bits per second, by the standard that it follows.
fn link(tables: &[Table], platform: &str) -> Option<f64> {
    let row = rows(tables, PLATFORMS).iter().find(|row| row.is("platform", platform))?;
    match row.text("wired")? {
        "802.3u" => Some(100e6),
        "802.3z" => Some(1e9),
        _ => None,
    }
}

/// Rows that cannot be true: more than a platform's link can carry, and gains that are not those of the rates.
pub fn contradictions(tables: &[Table]) -> Vec<Contradiction> {
    let over = |row: &Row| {
        let link = link(tables, &named(row, &["platform"]));
        let name = named(row, &["scenario", "platform", "block_or_payload_B"]);
        over_the_link(name, bits(row)?, link)
    };
    let mut found: Vec<Contradiction> = rows(tables, NETWORK).iter().filter_map(over).collect();
    found.extend(gains(tables).into_iter().filter_map(|gain| {
        let published = gain.published?;
        let apart = (published - gain.percent).abs() > ROUNDED;
        let says = Impossible::Gain { published, by_rates: gain.percent };
        apart.then_some(Contradiction { row: gain.name, says })
    }));
    found
}

/// Findings of the text on one UDP send through the kernel. Its figure 5 is a drawing: no times are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPath {
    /// Kernel functions that one send calls.
    pub functions: String,
    /// Share of them in netfilter, without rules.
    pub netfilter: String,
    /// Building block that takes the most time without netfilter.
    pub largest: String,
    /// Building blocks of figure 5, and whether their time grows with the payload from 400 to 1450 bytes.
    pub blocks: Vec<(String, bool)>,
}

/// The findings; `None` if one is missing.
pub fn kernel_path(tables: &[Table]) -> Option<KernelPath> {
    let finding = |name: &str| {
        let row = rows(tables, PATH).iter().find(|row| row.is("finding", name))?;
        row.text("value").map(str::to_owned)
    };
    let blocks = |name: &str, grows: bool| -> Option<Vec<(String, bool)>> {
        Some(finding(name)?.split("; ").map(|block| (block.to_owned(), grows)).collect())
    };
    let mut all = blocks("blocks whose time grows from 400 to 1450 B payload", true)?;
    all.extend(blocks("blocks whose time is independent of the payload", false)?);
    Some(KernelPath {
        functions: finding("kernel functions called in one sendto")?,
        netfilter: finding("share of them in netfilter")?,
        largest: finding("largest block by execution time without netfilter")?,
        blocks: all,
    })
}

/// The building block of figure 5 that has a block of kernel functions; `None` of a block that the figure does not have.
pub fn building_block(block: &str) -> Option<&'static str> {
    match block {
        "system call" | "socket API" => Some("socket API"),
        "buffers" | "memory" | "user copies" => Some("buffer handling"),
        "UDP" => Some("UDP"),
        "IP" | "routing" | "neighbour" => Some("IP"),
        "bridge" => Some("bridge"),
        "driver" => Some("driver"),
        _ => None,
    }
}
