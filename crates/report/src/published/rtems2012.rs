//! What the RTEMS list's tables show: a file read by several readers, and one written from two systems.

use super::common::{end, per_second, percent, seconds};
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, BYTES};
use crate::text::listed;
use plimsoll_published::rtems2012::{Reads, contradictions, reads, written};
use plimsoll_references::Table;

/// Larger blocks that are predicted, times the largest read.
const LARGER: [f64; 3] = [2.0, 4.0, 8.0];

pub(super) fn sections(tables: &[Table]) -> Vec<Section> {
    let mut answer = Section::new("answer", "");
    match reads(tables) {
        Some(reads) => {
            answer.table(readers(&reads).table(), Layout::Figures);
            answer.list(sentences(&reads));
        }
        None => answer.text(
            "The times of one reader do not determine the costs of an operation and of a byte.",
        ),
    }
    if let [(a, first), (b, second), ..] = &written(tables)[..] {
        let rates = [first, second].map(|rate| BANDWIDTH.value(*rate));
        answer.text(format!(
            "Writing: {a} {}, {b} {}. The comparison is confounded, because system and network both \
             differ. One time for each gives no costs.",
            rates[0], rates[1]
        ));
    }
    vec![answer, end("rtems2012", &contradictions(tables), false)]
}

/// Several readers, as measured and as predicted from one.
fn readers(reads: &Reads) -> Columns {
    let mut table = Columns::with_headings(["measured", "batches", "error", "pipeline", "error"]);
    for readers in &reads.readers {
        let off = |rate: f64| format!("{:+.1}%", 100.0 * (rate / readers.measured - 1.0));
        let rate = |rate: f64| BANDWIDTH.value(rate);
        table.row(
            format!("{} readers", readers.count),
            [
                rate(readers.measured),
                rate(readers.rounds),
                off(readers.rounds),
                rate(readers.open),
                off(readers.open),
            ],
        );
    }
    table
}

fn sentences(reads: &Reads) -> Vec<String> {
    let mut sentences = vec![format!(
        "The two times of one reader give a cost of {} per operation and a bandwidth of {}. The times of \
         several readers test these costs.",
        seconds(reads.operation),
        per_second(reads.byte),
    )];
    if !reads.readers.is_empty() {
        sentences.push(
            "Batches: all readers send a request at the same time, and the next ones when all replies have \
             arrived, as in this source. The path is idle for part of each batch. Pipeline (mean value \
             analysis): each reader sends its next request as soon as a reply has arrived."
                .to_owned(),
        );
    }
    let between = |r: &plimsoll_published::rtems2012::Readers| {
        (r.rounds.min(r.open)..=r.rounds.max(r.open)).contains(&r.measured)
    };
    if !reads.readers.is_empty() && reads.readers.iter().all(between) {
        sentences.push("The measurements lie between the two models.".to_owned());
    }
    sentences.extend(reads.ahead().map(|(blocks, rate)| {
        format!(
            "Read-ahead, by the model: {blocks} requests in flight give at most {} instead of {}. More \
             requests in flight give no more.",
            BANDWIDTH.value(rate),
            BANDWIDTH.value(reads.in_blocks(reads.block)),
        )
    }));
    let larger: Vec<String> = LARGER
        .map(|by| by * reads.block)
        .map(|block| format!("{} {}", BYTES.value(block), BANDWIDTH.value(reads.in_blocks(block))))
        .into();
    let largest = reads.largest.map(|bytes| {
        format!(
            " NFS version 2 reads at most {} at a time; a larger block size needs version 3.",
            BYTES.value(bytes)
        )
    });
    sentences.push(format!(
        "Larger block sizes, by the model: {}.{}",
        listed(&larger),
        largest.unwrap_or_default()
    ));
    sentences.extend(reads.link.map(|share| {
        format!(
            "The link takes {} of the cost of a byte. The rest is unexplained, because neither CPU nor \
             disk was measured.",
            percent(share)
        )
    }));
    sentences
}
