//! One UDP send in the kernel next to that of Kofler et al., whose figure 5 has the building blocks of its time.

use crate::chart::{Axis, COUNT, Stack, Stacks, TIME, Table};
use crate::columns::Columns;
use crate::document::{Figure, Layout, Section};
use crate::verdict::percent;
use plimsoll_model::units::three_digits;
use plimsoll_published::kofler2011::{KernelPath, building_block, kernel_path};

/// One UDP send under one setting.
#[derive(Clone, Debug, Default)]
pub(super) struct UdpSend {
    /// Short name: "400 B", "1450 B, rules.nft".
    pub(super) label: String,
    pub(super) payload_bytes: u64,
    /// Kernel functions that it runs.
    pub(super) functions: f64,
    pub(super) blocks: Vec<UdpSendBlock>,
}

/// A block's part of a send.
#[derive(Clone, Debug, Default)]
pub(super) struct UdpSendBlock {
    /// As the table of blocks has it.
    pub(super) name: String,
    pub(super) functions: f64,
    /// Time in its functions without the cost of tracing; `None` if that is unknown.
    pub(super) seconds: Option<f64>,
}

const NETFILTER: &str = "netfilter";
const NOTHING: &str = "–";
/// Payloads of the figure.
const PAYLOADS: [u64; 2] = [400, 1450];

impl UdpSend {
    /// The blocks that `is` accepts as one.
    fn sum(&self, is: impl Fn(&str) -> bool) -> UdpSendBlock {
        let own = || self.blocks.iter().filter(|block| is(&block.name));
        UdpSendBlock {
            functions: own().map(|block| block.functions).sum(),
            seconds: own().map(|block| block.seconds).sum(),
            ..UdpSendBlock::default()
        }
    }

    /// The blocks that are this building block of the figure.
    fn building_block(&self, name: &str) -> UdpSendBlock {
        self.sum(|block| building_block(block) == Some(name))
    }

    /// Whether the time of each block is known.
    fn is_timed(&self) -> bool {
        !self.blocks.is_empty() && self.blocks.iter().all(|block| block.seconds.is_some())
    }
}

/// Empty without a send.
pub(super) fn section(sends: &[UdpSend], published: &[plimsoll_references::Table]) -> Section {
    let mut section = Section::details("published", "Compared with a published send");
    let sends: Vec<&UdpSend> = sends.iter().filter(|send| send.functions > 0.0).collect();
    let Some(found) = kernel_path(published).filter(|_| !sends.is_empty()) else {
        return section;
    };
    section.table(table(&sends, &found), Layout::Figures);
    section.text(
        "Published: I. Kofler et al., 2011, RouterStation Pro with Linux 2.6.33. Figure 5 of the source is a drawing \
         without numbers, so the first column has the findings of its text. The source traced a kernel with \
         netfilter for the first two rows, and one without netfilter for the times.",
    );
    section.text(
        "In that figure, buffer handling includes memory and user copies, and IP includes routing and neighbour.",
    );
    section.figures(Some(figure(&sends, &found)));
    section
}

fn table(sends: &[&UdpSend], found: &KernelPath) -> Table {
    let pair = pair(sends);
    let mut columns = Columns::with_headings(["published"]);
    columns.columns.extend(sends.iter().map(|send| (send.label.clone(), Vec::new())));
    if pair.is_some() {
        let heading = format!("{} B /\n{} B", PAYLOADS[1], PAYLOADS[0]);
        columns.columns.push((heading, Vec::new()));
    }
    let mut row =
        |name: &str, published: &str, cell: &dyn Fn(&UdpSend) -> String, ratio: String| {
            let own = sends.iter().map(|send| cell(send));
            columns.row(name, std::iter::once(published.to_owned()).chain(own).chain([ratio]));
        };
    row("kernel functions", &found.functions, &|send| count(send.functions), String::new());
    let netfilter =
        |send: &UdpSend| percent(send.sum(|block| block == NETFILTER).functions / send.functions);
    row("in netfilter", &found.netfilter, &netfilter, String::new());
    let largest = found.largest.split(" (").next().unwrap_or_default();
    row("most time", largest, &|send| most_time(send, found), String::new());
    for (name, grows) in &found.blocks {
        let published = if *grows { "grows" } else { "constant" };
        let ratio = pair.and_then(|pair| {
            let [short, long] = pair.map(|send| send.building_block(name).seconds);
            let short = short.filter(|seconds| *seconds > 0.0)?;
            Some(format!("× {}", three_digits(long? / short)))
        });
        let ratio = ratio.unwrap_or(NOTHING.to_owned());
        row(name, published, &|send| amount(&send.building_block(name)), ratio);
    }
    columns.table()
}

/// A number of functions, which is whole unless it is a mean.
fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

/// "31, 4.10 µs".
fn amount(block: &UdpSendBlock) -> String {
    let functions = count(block.functions);
    match block.seconds {
        _ if block.functions == 0.0 => NOTHING.to_owned(),
        Some(seconds) => format!("{functions}, {}", TIME.value(seconds)),
        None => functions,
    }
}

/// The building block of the figure that takes the most time.
fn most_time(send: &UdpSend, found: &KernelPath) -> String {
    let timed = found.blocks.iter().filter_map(|(name, _)| {
        let seconds = send.building_block(name).seconds.filter(|seconds| *seconds > 0.0)?;
        Some((name, seconds))
    });
    let largest = timed.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| send.is_timed());
    largest.map_or(NOTHING.to_owned(), |(name, _)| name.clone())
}

/// The first sends of the figure's two payloads.
fn pair<'a>(sends: &[&'a UdpSend]) -> Option<[&'a UdpSend; 2]> {
    let with_payload =
        |payload: u64| sends.iter().copied().find(|send| send.payload_bytes == payload);
    Some([with_payload(PAYLOADS[0])?, with_payload(PAYLOADS[1])?])
}

/// The figure again: a bar for each send, in times if all are known, else in functions.
fn figure(sends: &[&UdpSend], found: &KernelPath) -> Figure {
    let is_timed = sends.iter().all(|send| send.is_timed());
    let value = |block: UdpSendBlock| match is_timed {
        true => block.seconds.unwrap_or_default(),
        false => block.functions,
    };
    let mut parts: Vec<String> = found.blocks.iter().map(|(name, _)| name.clone()).collect();
    parts.extend([NETFILTER, "subsystems that the figure does not have"].map(str::to_owned));
    let stack = |send: &&UdpSend| {
        let blocks = found.blocks.iter().map(|(name, _)| value(send.building_block(name)));
        let mut values: Vec<f64> = blocks.collect();
        values.push(value(send.sum(|block| block == NETFILTER)));
        let is_more = |block: &str| block != NETFILTER && building_block(block).is_none();
        values.push(value(send.sum(is_more)));
        let whole: f64 = values.iter().sum();
        let whole = match is_timed {
            true => TIME.value(whole),
            false => format!("{} functions", count(whole)),
        };
        Stack { label: send.label.clone(), whole, values }
    };
    let numbered: Vec<String> =
        parts.iter().zip(1..).map(|(part, number)| format!("{number} {part}")).collect();
    let (title, quantity, kind) = match is_timed {
        true => ("Time of one send by subsystem", "time", TIME),
        false => ("Functions of one send by subsystem", "kernel functions", COUNT),
    };
    let caption =
        format!("One send by the subsystems of the published figure: {}.", numbered.join(", "));
    let stacks = sends.iter().map(stack).collect();
    let axis = Axis::new(quantity, kind);
    let description = caption.clone();
    let chart = Stacks { title: title.to_owned(), description, axis, parts, stacks };
    Figure::new("kernel-published".to_owned(), Box::new(chart), caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Item;
    use plimsoll_references::tables;

    fn send(payload_bytes: u64, blocks: &[(&str, f64, Option<f64>)]) -> UdpSend {
        let blocks = blocks.iter().map(|(name, functions, seconds)| UdpSendBlock {
            name: (*name).to_owned(),
            functions: *functions,
            seconds: *seconds,
        });
        let blocks: Vec<UdpSendBlock> = blocks.collect();
        let functions = 2.0 + blocks.iter().map(|block| block.functions).sum::<f64>();
        UdpSend { label: format!("{payload_bytes} B"), payload_bytes, functions, blocks }
    }

    fn rows(section: &Section) -> Vec<Vec<String>> {
        let table = section.items.iter().find_map(|item| match item {
            Item::Table(table, _) => Some(table),
            _ => None,
        });
        std::iter::once(&table.unwrap().header).chain(&table.unwrap().rows).cloned().collect()
    }

    #[test]
    fn times_stand_next_to_the_findings() {
        let timed = |payload, copies| {
            send(
                payload,
                &[
                    ("buffers", 20.0, Some(3e-6)),
                    ("user copies", 4.0, Some(copies)),
                    ("socket API", 6.0, Some(2e-6)),
                    ("netfilter", 2.0, Some(1e-6)),
                    ("driver", 10.0, Some(4e-6)),
                    ("security", 6.0, Some(1e-6)),
                ],
            )
        };
        let section = section(&[timed(400, 2e-6), timed(1450, 7e-6)], tables());
        assert_eq!(
            rows(&section),
            [
                vec!["", "published", "400 B", "1450 B", "1450 B /\n400 B"],
                vec!["kernel functions", "about 200", "50", "50", ""],
                vec!["in netfilter", "nearly half", "4%", "4%", ""],
                vec!["most time", "buffer handling", "buffer handling", "buffer handling", ""],
                vec!["buffer handling", "grows", "24, 5.00 µs", "24, 10.0 µs", "× 2.00"],
                vec!["driver", "grows", "10, 4.00 µs", "10, 4.00 µs", "× 1.00"],
                vec!["socket API", "constant", "6, 2.00 µs", "6, 2.00 µs", "× 1.00"],
                vec!["UDP", "constant", "–", "–", "–"],
                vec!["IP", "constant", "–", "–", "–"],
                vec!["bridge", "constant", "–", "–", "–"],
            ]
        );
        let figures = section.items.iter().filter_map(|item| match item {
            Item::Chart(figure) => Some(figure.chart.table()),
            _ => None,
        });
        let figures: Vec<Table> = figures.collect();
        assert_eq!(figures[0].header[1], "buffer handling, µs");
        assert_eq!(figures[0].rows[1], ["1450 B", "10", "4", "2", "0", "0", "0", "1", "1"]);
    }

    #[test]
    fn functions_alone_claim_no_time() {
        let untimed =
            send(400, &[("buffers", 20.0, Some(3e-6)), ("IP", 4.0, None), ("routing", 3.0, None)]);
        let found = rows(&section(&[untimed], tables()));
        assert_eq!(found[0], ["", "published", "400 B"]);
        assert_eq!(found[3], ["most time", "buffer handling", "–"]);
        assert!(found.contains(&vec!["IP".into(), "constant".into(), "7".into()]), "{found:?}");
    }

    #[test]
    fn nothing_without_a_send_or_the_table() {
        assert!(section(&[], tables()).items.is_empty());
        assert!(section(&[send(400, &[])], &[]).items.is_empty());
        assert!(section(&[UdpSend::default()], tables()).items.is_empty());
    }
}
