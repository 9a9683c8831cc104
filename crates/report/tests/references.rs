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

const CPU: &str = "the router's CPU is the bottleneck, 87% busy (59 system, 28 softirq), the rest of the time waiting \
     for disk or bus.";

#[test]
fn puskas2017_is_explained_with_its_figures() {
    let text = explained("puskas2017", tables());
    assert_says(
        &text,
        &[
            "A model with 7 costs fits the 32 published times within 5.6%. From the other datasets, it \
             predicts Pictures and Music within 7.8%.",
            "async: the cost per uploaded file is 12.9 ms instead of 27.7 ms (0.466 times). The bandwidth \
             does not change measurably: 9.97 MB/s",
            "Block size 32.0 KiB instead of 16.0 KiB: Movies, upload, sync takes 122 s instead of 154 s \
             (28341 fewer operations, which the model values at 30.7 s)",
            CPU,
            "Large files to NFS, sync: no resource is saturated. The CPU is 71% busy (43 system, 28 \
             softirq)",
            "6.2% of the link and 13% of the bus of the disk, so neither is saturated.",
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
    assert_silent(&text, &["CPU", "busy", "bottleneck", "utilisation of the disk"]);
    assert_says(&text, &["A model with 7 costs fits the 32 published times", "6.2% of the link"]);
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
    assert_silent(&text, &["Large files to client, sync: the router's CPU is the bottleneck"]);
    assert_says(
        &text,
        &["Large files to client, async: the router's CPU is the bottleneck, 88% busy"],
    );
}

#[test]
fn a_table_that_does_not_fit_is_reported_not_to_fit() {
    let row = "32768,Music,11,39644094.91,upload,sync,7585962,57";
    let off = altered("puskas2017_transfer", row, &row.replace(",57", ",571"));
    let text = explained("puskas2017", &off);
    assert_says(
        &text,
        &[
            "Transfers: no costs are given, because the cost model does not fit (largest error",
            "Music, upload, sync, 32768: the time is 572 s, but the rate gives 57.5 s. The figures \
             contradict each other.",
        ],
    );
    assert_silent(&text, &["async:", "per file, sync", "costs fits"]);
    let text = explained("kofler2011", tables());
    assert_says(
        &text,
        &[
            "TLWR over TCP with block sizes 128 KiB, 8.00 KiB and 1.00 KiB: no costs are given, because the \
             cost model does not fit (largest error 13%).",
            "RSPRO over TCP with block sizes 128 KiB and 8.00 KiB: no costs are given, because two times \
             determine both costs of the model and leave no time to test it.",
            "Comparisons of platforms are confounded, because several properties differ at once: WRT54 and \
             TLWR (10 of 10 properties)",
            "TLWR and RSPRO (7 of 10 properties)",
            "The exact gains in the text are 28 to 40%. Its conclusion says around 50%, which is outside \
             this range.",
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
            "a cost of 252 µs per operation and a bandwidth of 9.97 MB/s. The times of several readers \
             test these costs.",
            "Batches: all readers send a request at the same time, and the next ones when all replies have \
             arrived",
            "The measurements lie between the two models.",
            "2 requests in flight give at most 9.97 MB/s instead of 7.63 MB/s",
            "64.0 KiB 9.60 MB/s. NFS version 2 reads at most 8.00 KiB at a time",
            "The link takes 80% of the cost of a byte.",
            "The comparison is confounded, because system and network both differ.",
        ],
    );
    let outside = altered("rtems2012_nfsread", "2,8192,1.12,8.9", "2,8192,1.02,9.8");
    assert_silent(&explained("rtems2012", &outside), &["lie between"]);
    let text = explained("rtems2012", &without("rtems2012_nfsread"));
    assert_says(
        &text,
        &["The times of one reader do not determine the costs of an operation and of a byte."],
    );
    assert_silent(&text, &["Batches", "in flight", "of the cost of a byte"]);
}

#[test]
fn jonfk2024_names_memory_link_and_what_was_not_measured() {
    let text = explained("jonfk2024", tables());
    assert_says(
        &text,
        &[
            "The link is the bottleneck of the sequential patterns. Payload takes 91–94% of its rate, \
             payload and headers 96–100%",
            "Random read, NFS, 7334 op/s: the data came from the server's memory, not from its disks.",
            "waits 4.17 ms for half a rotation. It reads at most 240 times per second without seeks, and \
             122–194 times with seeks of 1.00 ms to 4.00 ms. 2 such disks would have to be 15 times as \
             fast",
            "Random write, SMB, 7691 op/s: the server acknowledges writes from memory.",
            "Little's law (N = X·R) gives 3.96–3.99 operations in flight for 4 jobs, so no job was idle. A \
             closed loop always gives this result, and it does not identify the bottleneck.",
            "Not measured: the disks and the server's CPU.",
        ],
    );
    let text = explained("jonfk2024", &without("jonfk2024_setup"));
    assert_silent(
        &text,
        &[
            "of the sequential patterns",
            "memory",
            "rotation",
            "N = X·R",
            "of one core",
            "contradict",
        ],
    );
    let over = altered("jonfk2024_fio", "NFS,110,111.00,36091", "NFS,130,131.00,30769");
    let text = explained("jonfk2024", &over);
    assert_says(
        &text,
        &[
            "! Sequential read, NFS: 1099 Mbit/s exceed the 941 Mbit/s that the link can carry. The \
             figures contradict each other.",
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
