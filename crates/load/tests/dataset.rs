//! Files that are generated: totals to the byte, a tree like a kernel's, bytes that compress as they
//! should and can be checked one by one.

use plimsoll_load::{Content, FileId, FileSet, Manifest, Span};
use plimsoll_model::{DataClass, DataSource, Dataset, GeneratedData};
use proptest::prelude::*;
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

fn data(class: DataClass, scale: f64, seed: u64) -> GeneratedData {
    let (count, mean_bytes) = class.files_and_mean_bytes();
    GeneratedData { class, count, mean_bytes, scale, seed }
}

fn manifest(data: GeneratedData) -> Manifest {
    Manifest::new(&data.dataset(), &data).unwrap()
}

fn sizes(files: &Manifest) -> Vec<u64> {
    (0..files.files()).map(|file| files.size(file)).collect()
}

/// The value that a share of them does not exceed.
fn quantile(sorted: &[u64], share: f64) -> u64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// As a kernel's tree: what the distribution was made from (Linux 6.1: median 3.8 kB, a tenth beyond 28 kB,
/// the largest 1.7 MB, files up to ten levels deep).
#[test]
fn a_source_tree_is_like_a_kernels() {
    let files = manifest(data(DataClass::Source, 1.0, 42));
    let mut sizes = sizes(&files);
    assert_eq!((sizes.len(), sizes.iter().sum::<u64>()), (56_206, 650_160_657));
    sizes.sort_unstable();
    assert!((3400..4000).contains(&quantile(&sizes, 0.5)), "{}", quantile(&sizes, 0.5));
    assert!((24_000..29_000).contains(&quantile(&sizes, 0.9)));
    assert!((1_300_000..1_750_000).contains(&quantile(&sizes, 1.0)));
    // Heavy-tailed: a file in a hundred has a seventh of the bytes at least.
    let tail: u64 = sizes[sizes.len() / 100 * 99..].iter().sum();
    assert!(tail * 7 > 650_160_657, "{tail}");
    assert_eq!(files.directories(), 3650);
    let depths: Vec<usize> = (0..files.directories()).map(|d| files.depth(d)).collect();
    assert_eq!(depths.iter().max(), Some(&9));
    let mut of_files: Vec<u64> =
        (0..files.files()).map(|file| 1 + depths[files.directory_of(file)] as u64).collect();
    of_files.sort_unstable();
    assert!((4..=5).contains(&quantile(&of_files, 0.5)));
    let mut below = vec![0_u64; files.directories()];
    let mut within = below.clone();
    (1..files.directories()).for_each(|d| below[files.parent(d).unwrap()] += 1);
    (0..files.files()).for_each(|file| within[files.directory_of(file)] += 1);
    let leaves = below.iter().filter(|below| **below == 0).count() * 100 / below.len();
    assert!((70..85).contains(&leaves), "{leaves}% have no directory below");
    assert!((80..250).contains(below.iter().max().unwrap()), "{:?}", below.iter().max());
    within.sort_unstable();
    assert!((5..=8).contains(&quantile(&within, 0.5)) && quantile(&within, 1.0) > 300);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let made = |files, directories, bytes| {
        let data = data(DataClass::Source, 1.0, 1);
        let source = DataSource::Generated(data);
        let bytes = plimsoll_model::units::Bytes(bytes);
        Manifest::new(&Dataset { source, files, directories, bytes }, &data).map(drop)
    };
    assert_eq!(made(3, 2, 5), Ok(()));
    for (files, directories, bytes) in [
        (0, 1, 5),
        (3, 0, 5),
        (3, 4, 5),
        (1 << 40, 1, 5),
        (u64::MAX, u64::MAX, 1),
        (1, 1, u64::MAX),
    ] {
        let failure = made(files, directories, bytes).unwrap_err();
        assert_eq!(failure.cause, plimsoll_model::Cause::Usage);
        assert!(failure.next.contains("--count"), "{failure}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn totals_are_exact_and_the_same_seed_gives_the_same_files(
        class in prop::sample::select(DataClass::ALL.to_vec()),
        count in 1_u64..3000,
        mean_bytes in 64.0..1e7_f64,
        scale in 1e-4..3.0_f64,
        seed: u64,
    ) {
        let data = GeneratedData { class, count, mean_bytes, scale, seed };
        let (dataset, files) = (data.dataset(), manifest(data));
        prop_assert_eq!(files.files() as u64, dataset.files);
        prop_assert_eq!(files.directories() as u64, dataset.directories);
        prop_assert_eq!(sizes(&files).iter().sum::<u64>(), dataset.bytes.0);
        prop_assert_eq!(files.bytes(), dataset.bytes);
        prop_assert_eq!(&files, &manifest(data));
        // Every directory comes after the one that it is in, and none is deeper than a kernel's.
        for directory in 0..files.directories() {
            let above = files.parent(directory);
            prop_assert!(above.is_none_or(|above| above < directory) && files.depth(directory) <= 9);
            prop_assert_eq!(above.is_none(), directory == 0);
        }
        let directories: Vec<usize> = (0..files.files()).map(|f| files.directory_of(f)).collect();
        prop_assert!(directories.is_sorted() && directories.iter().all(|d| *d < files.directories()));
        if dataset.files > 20 {
            let other = manifest(GeneratedData { seed: seed.wrapping_add(1), ..data });
            prop_assert!(files != other, "another seed, other files");
            prop_assert!(sizes(&files).iter().collect::<HashSet<_>>().len() > 10);
        }
    }

    /// A byte depends on seed, file and offset alone, however it is asked for; every other one is found.
    #[test]
    fn any_span_can_be_made_and_checked_alone(
        text: bool,
        seed: u64,
        file in 0_u32..60_000,
        offset in 0_u64..3 << 20,
        length in 1_u32..20_000,
        wrong in any::<(prop::sample::Index, u8)>(),
    ) {
        let content = Content::of_generated(seed, text);
        let made = |content: &Content, opened, offset, length| {
            let span = Span { file: FileId(opened), offset, length, generation: file };
            content.writer(length).fill(&span).to_vec()
        };
        let mut bytes = made(&content, 7, offset, length);
        let again = Content::of_generated(seed, text);
        prop_assert_eq!(&made(&again, 9, offset + 1, length)[..length as usize - 1], &bytes[1..]);
        prop_assert_eq!(content.check(FileId(3), file, offset, &bytes), Ok(()));
        let (place, change) = (wrong.0.index(bytes.len()), wrong.1.max(1));
        bytes[place] ^= change;
        prop_assert!(content.check(FileId(3), file, offset, &bytes).is_err());
    }
}

fn gzipped(bytes: &[u8]) -> usize {
    let mut gzip = Command::new("gzip")
        .arg("--stdout")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip is there");
    let mut into = gzip.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || into.write_all(bytes).unwrap());
        gzip.wait_with_output().unwrap().stdout.len()
    })
}

/// Media cannot be compressed; a source tree can as one file in a row, and as file systems do that compress
/// blocks.
#[test]
fn content_compresses_as_films_and_sources_do() {
    let all = |class: DataClass, most: usize| {
        let data = match class {
            DataClass::Source => data(class, 0.005, 5),
            _ => GeneratedData { count: 2, mean_bytes: 2e6, ..data(class, 1.0, 5) },
        };
        let files = manifest(data);
        let content = Content::of_generated(data.seed, class.is_text());
        let mut bytes = Vec::new();
        for file in 0..files.files() {
            let length = files.size(file) as u32;
            let span = Span { file: FileId(0), offset: 0, length, generation: file as u32 };
            bytes.extend_from_slice(content.writer(length).fill(&span));
        }
        bytes.truncate(most);
        bytes
    };
    let ratio = |bytes: &[u8]| bytes.len() as f64 / gzipped(bytes) as f64;
    for class in [DataClass::Movies, DataClass::Music, DataClass::Pictures] {
        let ratio = ratio(&all(class, usize::MAX));
        assert!((0.98..1.02).contains(&ratio), "{class:?}: {ratio}");
    }
    let whole = ratio(&all(DataClass::Source, usize::MAX));
    let block = ratio(&all(DataClass::Source, 128 << 10));
    let small = ratio(&all(DataClass::Source, 12 << 10));
    println!("source: {whole:.2} as a whole, {block:.2} in 128 KiB, {small:.2} in 12 KiB");
    for ratio in [whole, block, small] {
        assert!((3.0..4.5).contains(&ratio), "{whole} {block} {small}");
    }
}
