//! What documents of published tables say: each sentence has its figure, and goes with it.

use plimsoll_references::{SOURCES, Source, Table, source, tables};
use plimsoll_report::{Document, Style};
use std::path::Path;

const WIDE: Style = Style { width: 160, colour: false };

fn explained(key: &str, tables: &[Table]) -> String {
    Document::of_source(source(key).unwrap(), tables).text(&WIDE)
}

fn without(name: &str) -> Vec<Table> {
    let rest: Vec<Table> = tables().iter().filter(|table| table.name != name).cloned().collect();
    assert_eq!(rest.len(), tables().len() - 1, "{name}");
    rest
}

/// All tables, with other text in one place of one of them.
fn altered(name: &str, from: &str, to: &str) -> Vec<Table> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../references/{name}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from} in {name}");
    let mut rest = without(name);
    rest.push(Table::parse(name, "", &text.replace(from, to)).unwrap());
    rest
}

/// Wherever its lines end.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_says(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(flat(text).contains(&flat(sentence)), "{sentence}\n{text}");
    }
}

fn assert_silent(text: &str, words: &[&str]) {
    for word in words {
        assert!(!text.contains(word), "{word}\n{text}");
    }
}

const CPU: &str = "the router's CPU is the limit: 87% busy (59 system, 28 softirq), the rest is waiting for \
                   disk or bus.";

#[test]
fn puskas2017_is_explained_with_its_figures() {
    let text = explained("puskas2017", tables());
    assert_says(
        &text,
        &[
            "7 costs describe 32 times within 5.6%; Pictures and Music, predicted from the other times, within 7.8%.",
            "async: a file up costs 12.9 ms instead of 27.7 ms (0.466 times). No effect on bytes shows: 9.97 MB/s",
            "Blocks of 32.0 KiB instead of 16.0 KiB: Movies, upload, sync 122 s instead of 154 s (28341 operations \
             fewer, 30.7 s by the model)",
            CPU,
            "Large files to NFS, sync: nothing is full. The CPU is 71% busy (43 system, 28 softirq)",
            "6.2% of the link and 13% of the bus of the disk: neither is full.",
            // A published time beside the model's.
            "16384 linux-4.9 upload sync        1718 s  1680 s         -2.2%",
        ],
    );
    // Every published time has a row.
    let rows = text.lines().filter(|line| line.ends_with('%') && line.contains("load ")).count();
    assert_eq!(rows, 32, "{text}");
    assert_silent(&text, &["contradict", "does not fit"]);
}

#[test]
fn puskas2017_claims_nothing_without_its_figure() {
    let text = explained("puskas2017", &without("puskas2017_cpu_load"));
    assert_silent(&text, &["CPU", "busy", "limit", "disk was"]);
    assert_says(&text, &["7 costs describe 32 times", "6.2% of the link"]);
    let text = explained("puskas2017", &without("puskas2017_setup"));
    assert_silent(&text, &["of the link", "bus of the disk"]);
    assert_says(&text, &[CPU]);
    let text = explained("puskas2017", &without("puskas2017_transfer"));
    assert_silent(&text, &["costs", "async:", "Blocks of", "of the link"]);
    assert_says(&text, &[CPU]);
    // A busy processor is what its classes say, and waiting is none of them.
    let row = "large files to client,sync,0,59,0,0,11,0,28";
    let waits = altered("puskas2017_cpu_load", row, "large files to client,sync,0,31,0,0,41,0,28");
    let text = explained("puskas2017", &waits);
    assert_silent(&text, &["Large files to client, sync: the router's CPU is the limit"]);
    assert_says(&text, &["Large files to client, async: the router's CPU is the limit: 88% busy"]);
}

#[test]
fn a_table_that_does_not_fit_is_reported_not_to_fit() {
    let row = "32768,Music,11,39644094.91,upload,sync,7585962,57";
    let off = altered("puskas2017_transfer", row, &row.replace(",57", ",571"));
    let text = explained("puskas2017", &off);
    assert_says(
        &text,
        &[
            "Transfers: the cost model does not fit, it is off by up to",
            "Music, upload, sync, 32768: the time is 572 s, by the rate 57.5 s. The figures contradict each other.",
        ],
    );
    assert_silent(&text, &["async:", "a file, sync", "costs describe"]);
    let text = explained("kofler2011", tables());
    assert_says(
        &text,
        &[
            "TLWR over TCP in blocks of 128 KiB, 8.00 KiB and 1.00 KiB: the cost model does not fit, it is off by \
             up to 13% of a time. It names no cost.",
            "RSPRO over TCP in blocks of 128 KiB and 8.00 KiB: two times give two costs, and nothing tests them",
            "Platforms are confounded: WRT54 and TLWR (10 of 10)",
            "TLWR and RSPRO (7 of 10)",
            "Gains that the text has exactly are 28 to 40%; its conclusion says around 50%, which none of them is.",
        ],
    );
    assert_silent(&text, &["α", " ms", "µs"]);
    assert_silent(&explained("kofler2011", &without("kofler2011_platforms")), &["confounded"]);
    assert_silent(&explained("kofler2011", &without("kofler2011_network")), &["TLWR over TCP"]);
}

#[test]
fn rtems2012_has_both_models_where_they_differ() {
    let text = explained("rtems2012", tables());
    assert_says(
        &text,
        &[
            "2 readers  8.90 MB/s  8.65 MB/s   -2.8%      9.63 MB/s   +8.2%",
            "3 readers  9.60 MB/s  9.05 MB/s   -5.7%      9.94 MB/s   +3.5%",
            "an operation costs 252 µs, bytes go at 9.97 MB/s. Two times give two costs and cannot test them",
            "Rounds apply: its readers' blocks are asked for together, and the next when all have come",
            "What was measured lies between the two.",
            "2 blocks in flight bring 9.97 MB/s at most instead of 7.63 MB/s",
            "64.0 KiB 9.60 MB/s. NFS version 2 reads 8.00 KiB at most",
            "The link takes 80% of the cost of a byte.",
            "System and network differ at once: which of them makes the difference is confounded",
        ],
    );
    let outside = altered("rtems2012_nfsread", "2,8192,1.12,8.9", "2,8192,1.02,9.8");
    assert_silent(&explained("rtems2012", &outside), &["lies between"]);
    let text = explained("rtems2012", &without("rtems2012_nfsread"));
    assert_says(&text, &["The times of one reader do not give what an operation and a byte cost."]);
    assert_silent(&text, &["Rounds", "in flight", "of the cost of a byte"]);
}

#[test]
fn jonfk2024_names_memory_link_and_what_was_not_measured() {
    let text = explained("jonfk2024", tables());
    assert_says(
        &text,
        &[
            "Sequential patterns are bound by the link: 91–94% of it is payload, 96–100% with headers",
            "Random read, NFS, 7334 op/s: from the server's memory, not its disks.",
            "a disk waits 4.17 ms for half a rotation: it reads 240 times a second at most without seeks, 122–194 \
             with seeks of 1.00 ms to 4.00 ms. 2 such disks would have to be 15 times as fast",
            "Random write, SMB, 7691 op/s: acknowledged from memory.",
            "N = X·R gives 3.96–3.99 in flight for 4 jobs: none idled. It must, in a closed loop, and says nothing \
             about the limit",
            "Not measured: the disks and the server's CPU.",
        ],
    );
    let text = explained("jonfk2024", &without("jonfk2024_setup"));
    assert_silent(&text, &["bound by", "memory", "rotation", "N = X·R", "of a core", "contradict"]);
    let over = altered("jonfk2024_fio", "NFS,110,111.00,36091", "NFS,130,131.00,30769");
    let text = explained("jonfk2024", &over);
    assert_says(
        &text,
        &[
            "! Sequential read, NFS: 1099 Mbit/s are more than the 941 Mbit/s that the link can carry. The figures \
             contradict each other.",
        ],
    );
}

/// Whatever is missing, there is a document in every form, and nothing that is no number in it.
#[test]
fn every_source_is_explained_whatever_is_missing() {
    for Source { key, citation } in SOURCES {
        let mut cases: Vec<Vec<Table>> = vec![tables().to_vec(), Vec::new()];
        cases.extend(tables().iter().map(|table| without(&table.name)));
        for table in tables() {
            // No row, and one row.
            let rest = without(&table.name);
            let first = table.rows()[0].cells()[0].clone();
            for value in ["no such value", &first] {
                let fewer = table.clone().with(&table.columns()[0], value);
                cases.push(rest.iter().cloned().chain([fewer]).collect());
            }
        }
        for tables in cases {
            let document = Document::of_source(source(key).unwrap(), &tables);
            let texts = [
                document.text(&WIDE),
                document.screen(&Style { width: 80, colour: false }),
                document.html(),
                document.markdown(None),
                document.csv(),
            ];
            for text in &texts {
                assert_silent(text, &["NaN", "inf "]);
            }
            assert_says(&texts[0], &[&format!("{citation}."), "plimsoll references show"]);
        }
    }
}
