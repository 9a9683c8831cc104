//! `plimsoll references`, `plimsoll explain` of what was published, and studies beside it.

mod support;

use plimsoll_record::{Store, StudyStore};
use plimsoll_references::{SOURCES, Table, of_source, source, table, tables};
use std::collections::BTreeSet;
use std::path::Path;
use support::{Plimsoll, frozen};

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells of the rows as CSV has them, row by row.
fn cells(csv: &str, table: &Table) -> Vec<Vec<String>> {
    let columns = table.columns().len();
    let heading = format!("{}: {},", table.name, table.holds);
    let quoted = format!("\"{}: {}\",", table.name, table.holds);
    let of_table = csv.lines().filter(|l| l.starts_with(&heading) || l.starts_with(&quoted));
    let values: Vec<String> = of_table.map(value).collect();
    values.chunks(columns).map(<[String]>::to_vec).collect()
}

/// The last field of a line of CSV, without the quotes that it may have.
fn value(line: &str) -> String {
    match line.strip_suffix('"') {
        Some(line) => {
            let (_, value) = line.rsplit_once(",\"").expect("it begins, too");
            value.replace("\"\"", "\"")
        }
        None => line.rsplit_once(',').expect("fields").1.to_owned(),
    }
}

#[test]
fn every_table_is_listed_with_its_source_and_shown_whole() {
    let program = Plimsoll::new();
    let list = program.run(&["references"]).expect(0).out;
    for source in SOURCES {
        assert!(words(&list).contains(source.citation), "{list}");
        let all = program.run(&["references", "show", source.key]).expect(0).out;
        assert!(words(&all).contains(source.citation), "{all}");
        for table in of_source(source.key) {
            assert!(words(&all).contains(&words(&table.about)), "{all}");
        }
    }
    for table in tables() {
        let row = format!("{} {} {}", table.name, table.rows().len(), table.holds);
        assert!(words(&list).contains(&row), "{row}\n{list}");
        let show = ["references", "show", &table.name];
        let csv = program.run(&[&show[..], &["--format=tables"]].concat()).expect(0).out;
        let as_published: Vec<&[String]> = table.rows().iter().map(|row| row.cells()).collect();
        assert_eq!(cells(&csv, table), as_published, "{csv}");
        let screen = words(&program.run(&show).expect(0).out);
        let markdown = program.run(&[&show[..], &["--format=markdown"]].concat()).expect(0).out;
        let html = program.run(&[&show[..], &["--format=html"]].concat()).expect(0).out;
        assert!(html.starts_with("<!DOCTYPE html>"), "{html}");
        // Numbered, as no column need be different in every row.
        let last = table.rows().len();
        assert!(markdown.contains(&format!("\n| {last} | ")), "{markdown}");
        for cell in table.rows().iter().flat_map(|row| row.cells()) {
            assert!(screen.contains(&words(cell)), "{cell:?} of {}\n{screen}", table.name);
        }
    }
}

#[test]
fn a_filter_leaves_the_rows_that_have_its_value() {
    let program = Plimsoll::new();
    let transfer = table("puskas2017_transfer").unwrap();
    let shown = |arguments: &[&str]| {
        let show = ["references", "show", "puskas2017_transfer", "--format=tables"];
        cells(&program.run(&[&show, arguments].concat()).expect(0).out, transfer)
    };
    let expected = |is: &dyn Fn(&plimsoll_references::Row) -> bool| -> Vec<Vec<String>> {
        transfer.rows().iter().filter(|row| is(row)).map(|row| row.cells().to_vec()).collect()
    };
    let movies = expected(&|row| row.text("dataset") == Some("Movies"));
    assert_eq!(movies.len(), 8);
    assert_eq!(shown(&["--where", "dataset=movies"]), movies);
    let one = expected(&|row| {
        row.text("dataset") == Some("Movies")
            && row.text("direction") == Some("upload")
            && row.number("block_size_B") == Some(32_768.0)
            && row.text("export") == Some("async")
    });
    assert_eq!(one.len(), 1);
    let filters =
        ["--where=block_size_B=32768.0", "--where=export=ASYNC", "--where=direction=upload"];
    assert_eq!(shown(&[&filters[..], &["--where=dataset=Movies"]].concat()), one);
    // Each value is there, but not together.
    let none = ["--where=dataset=Movies", "--where=elapsed_s=1717"];
    assert_eq!(shown(&none), Vec::<Vec<String>>::new());
    let show = ["references", "show", "puskas2017_transfer"];
    let said = program.run(&[&show[..], &none].concat()).expect(0).out;
    assert!(said.contains("No row has these values."), "{said}");
    // Of a source, the tables that have the column; of a column, what the source does not say.
    let all = program.run(&["references", "show", "kofler2011", "--where=platform=tlwr"]);
    let all = all.expect(0).out;
    assert!(
        all.contains("kofler2011_network:") && !all.contains("kofler2011_kernel_path"),
        "{all}"
    );
    assert!(!all.contains("RSPRO"), "{all}");
    let empty = program.run(&["references", "show", "kofler2011_platforms", "--where=soc="]);
    let empty = empty.expect(0).out;
    assert!(empty.contains("Core i7 M620") && !empty.contains("Atheros"), "{empty}");
}

#[test]
fn slips_name_what_is_nearest() {
    let program = Plimsoll::new();
    let show = ["references", "show"];
    let network = ["references", "show", "kofler2011_network"];
    for (arguments, parts) in [
        (
            &[&show[..], &["puskas2017_transfers"]].concat(),
            &["Did you mean `puskas2017_transfer`?"][..],
        ),
        (&[&show[..], &["pushkas2017"]].concat(), &["Did you mean `puskas2017`?"]),
        (
            &[&network[..], &["--where=platfrom=TLWR"]].concat(),
            &["kofler2011_network has no column 'platfrom'", "Did you mean `platform`?"],
        ),
        (
            &[&network[..], &["--where=platform=TLRW"]].concat(),
            &["no row of kofler2011_network has that platform", "Did you mean `TLWR`?"],
        ),
        (&[&network[..], &["--where=platform"]].concat(), &["it has no '='", "platform=TLWR"]),
        (
            &[&show[..], &["kofler2011", "--where=soc=", "--where=relation="]].concat(),
            &["no table has all of these columns"],
        ),
        (&vec!["explain", "jonfk2042"], &["Did you mean `jonfk2024`?"]),
        (&vec!["compare", "latest", "--with", "kofler2010"], &["Did you mean `kofler2011`?"]),
        (&vec!["compare", "latest"], &["<AFTER>"]),
        (&vec!["compare", "a", "b", "--with", "kofler2011"], &["--with"]),
    ] {
        let said = program.run(arguments).expect(2);
        for part in parts {
            assert!(words(&said.err).contains(part), "{arguments:?}: {}", said.err);
        }
        assert_eq!(said.out, "", "{arguments:?}");
    }
    // Nothing of this needs a store, nor makes one.
    assert!(!program.db().exists());
}

#[test]
fn every_source_is_explained() {
    let program = Plimsoll::new();
    let mut answers = BTreeSet::new();
    for source in SOURCES {
        let answer = program.run(&["explain", source.key]).expect(0).out;
        assert!(words(&answer).contains(source.citation), "{answer}");
        assert!(answer.contains(&format!("Explanation of {}", source.key)), "{answer}");
        // A table of it stands for all of them.
        let first = of_source(source.key).next().unwrap();
        assert_eq!(program.run(&["explain", &first.name]).expect(0).out, answer);
        let details = program.run(&["explain", source.key, "--details"]).expect(0).out;
        assert!(details.len() >= answer.len(), "{details}");
        let file = program.home().join(format!("{}.html", source.key));
        let output = format!("--output={}", file.display());
        let said = program.run(&["explain", source.key, "--format=html", &output]).expect(0).out;
        assert_eq!(said, "");
        assert!(std::fs::read_to_string(&file).unwrap().contains("</html>"));
        answers.insert(answer);
    }
    assert_eq!(answers.len(), 4);
    let puskas = program.run(&["explain", "puskas2017", "--details"]).expect(0).out;
    for part in [
        "the router's CPU is the bottleneck, 87% busy (59 system, 28 softirq), the rest of the time \
         waiting for disk or bus",
        "A model with 7 costs fits the 32 published times within 5.6%.",
        "16384 linux-4.9 upload sync 1718 s 1680 s -2.2%",
    ] {
        assert!(words(&puskas).contains(part), "{part}\n{puskas}");
    }
}

/// What the sample of fio's own output gives is what was published of it, and stands beside it.
#[test]
fn patterns_stand_beside_published_ones() {
    const SAMPLE: &str = include_str!("../crates/record/src/import/samples/jonfk2024.txt");
    let program = Plimsoll::new();
    let file = program.home().join("fio_output.txt");
    std::fs::write(&file, SAMPLE).unwrap();
    program.run(&["import", file.to_str().unwrap()]).expect(0);
    let said = program.run(&["compare", "latest", "--with", "jonfk2024"]).expect(0).out;
    let rows = |pattern: &str| -> Vec<&plimsoll_references::Row> {
        let published = table("jonfk2024_fio").unwrap().rows().iter();
        published.filter(|row| row.text("pattern") == Some(pattern)).collect()
    };
    let [nfs, smb] = rows("random_read")[..] else { panic!("two protocols") };
    let (nfs, smb) = (nfs.text("iops").unwrap(), smb.text("iops").unwrap());
    // Published NFS and SMB, then the study's two targets: fio rounds to three digits above 1000.
    let random = said.lines().find(|line| line.starts_with("random read")).expect("a row");
    let figures: Vec<&str> =
        random.split_whitespace().filter(|w| w.starts_with(char::is_numeric)).collect();
    assert_eq!(figures[..2], [nfs, smb], "{said}");
    assert_eq!(figures.len(), 4, "{said}");
    for (own, published) in figures[2..].iter().zip([nfs, smb]) {
        let [own, published] = [own, published].map(|figure| figure.parse::<f64>().unwrap());
        assert!((own / published - 1.0).abs() < 0.01, "{said}");
    }
    // Where not as much is in flight nothing is beside them.
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/before.json");
    program.run(&["import", example.to_str().unwrap()]).expect(0);
    let other = program.run(&["compare", "00000001", "--with", "jonfk2024"]).expect(0).out;
    let apart = "Not comparable, because the block size or the number of operations in flight differs: sequential \
         read, sequential write, random read and random write.";
    assert!(words(&other).contains(apart) && !other.contains(nfs), "{other}");
    // Of others there is nothing, and what they have is named.
    for (key, has) in [("kofler2011", "kofler2011_platforms"), ("rtems2012", "rtems2012_nfsread")] {
        let said = program.run(&["compare", "latest", "--with", key]).expect(0).out;
        assert!(said.contains("No figure of this study can be compared"), "{said}");
        assert!(said.contains(has), "{said}");
    }
    let said = program.run(&["compare", "latest", "--with", "puskas2017"]).expect(0).out;
    assert!(said.contains("puskas2017_transfer"), "{said}");
}

#[test]
fn a_device_stands_beside_published_platforms() {
    let program = Plimsoll::new();
    let study = frozen::study("device-local");
    Store::open(program.db()).unwrap().begin(&study).unwrap();
    let id = &*study.id.0;
    let said = program.run(&["compare", id, "--with", "kofler2011"]).expect(0).out;
    for platform in table("kofler2011_platforms").unwrap().rows() {
        assert!(said.contains(platform.text("platform").unwrap()), "{said}");
        assert!(said.contains(platform.text("coremark").unwrap()), "{said}");
    }
    assert!(said.contains("this device") && said.contains("STREAM copy"), "{said}");
    assert!(words(&said).contains(&source("kofler2011").unwrap().citation[..40]), "{said}");
    // The same as its own page has.
    let page = program.run(&["show", id, "--details"]).expect(0).out;
    let own = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("STREAM copy")).expect("a row");
        words(line)
    };
    assert_eq!(own(&said), own(&page));
    let said = program.run(&["compare", id, "--with", "puskas2017"]).expect(0).out;
    assert!(said.contains("No figure of this study can be compared"), "{said}");
}

#[test]
fn copies_stand_beside_a_published_router() {
    let program = Plimsoll::new();
    let target = program.home().join("share");
    std::fs::create_dir(&target).unwrap();
    let copy =
        ["copy", target.to_str().unwrap(), "--dataset=pictures", "--scale=0.02", "--repeats=2"];
    program.run(&[&copy[..], &["--baseline=0s", "--quiet"]].concat()).expect(0);
    let said = program.run(&["compare", "latest", "--with", "puskas2017"]).expect(0).out;
    for row in ["pictures up", "pictures down"] {
        assert!(words(&said).contains(row), "{row}\n{said}");
    }
    // Up, in blocks of 32 KiB, with sync and async.
    assert!(said.contains("6.75 MB/s") && said.contains("7.06 MB/s"), "{said}");
    assert!(!said.contains("No figure of this study can be compared"), "{said}");
    let said = program.run(&["compare", "latest", "--with", "jonfk2024"]).expect(0).out;
    assert!(said.contains("No figure of this study can be compared"), "{said}");
}
