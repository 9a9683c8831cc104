use super::on_share::film_among;
use super::*;
use crate::entry::Space;
use crate::memory::Memory;
use crate::share::Namespace;
use plimsoll_model::{Cause, Failure};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn read(bytes: Vec<u8>) -> Result<FilmFile, String> {
    film_file(Cursor::new(bytes))
}

/// A box of an MP4 file.
fn boxed(kind: &[u8; 4], inner: &[u8]) -> Vec<u8> {
    let mut all = (inner.len() as u32 + 8).to_be_bytes().to_vec();
    all.extend(kind);
    all.extend(inner);
    all
}

fn words(of: &[u32]) -> Vec<u8> {
    of.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A film of samples of half a second, with these sizes, and its index after its content.
fn mp4(sizes: &[u32]) -> Vec<u8> {
    let mut lengths = vec![0, 0, sizes.len() as u32];
    lengths.extend(sizes);
    mp4_with(&boxed(b"stsz", &words(&lengths)), sizes.len() as u32)
}

fn mp4_with(sizes: &[u8], samples: u32) -> Vec<u8> {
    let times = boxed(b"stts", &words(&[0, 1, samples, 500]));
    let table = boxed(b"stbl", &[times, sizes.to_vec()].concat());
    let header = boxed(b"mdhd", &words(&[0, 0, 0, 1000, samples * 500, 0]));
    let media = boxed(b"mdia", &[header, boxed(b"minf", &table)].concat());
    let movie_header = boxed(b"mvhd", &words(&[0, 0, 0, 1000, samples * 500]));
    let movie = boxed(b"moov", &[movie_header, boxed(b"trak", &media)].concat());
    [boxed(b"ftyp", b"isom"), boxed(b"mdat", &[0; 100]), movie].concat()
}

/// An element of a Matroska file, with a length of eight bytes.
fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
    let mut all = id.to_vec();
    all.extend((content.len() as u64 | (1 << 56)).to_be_bytes());
    all.extend(content);
    all
}

/// A film of clusters, each with its begin in milliseconds and its bytes.
fn matroska(clusters: &[(u16, usize)], milliseconds: f64, seek: bool) -> Vec<u8> {
    let duration = element(&[0x44, 0x89], &milliseconds.to_be_bytes());
    let info = element(&[0x15, 0x49, 0xa9, 0x66], &duration);
    let seek_head = |position: u64| {
        let id = element(&[0x53, 0xab], &[0x1c, 0x53, 0xbb, 0x6b]);
        let position = element(&[0x53, 0xac], &position.to_be_bytes());
        let inner = element(&[0x4d, 0xbb], &[id, position].concat());
        if seek { element(&[0x11, 0x4d, 0x9b, 0x74], &inner) } else { Vec::new() }
    };
    let mut segment = [seek_head(0), info.clone()].concat();
    let mut points = Vec::new();
    for (time, bytes) in clusters {
        let place = element(&[0xf1], &(segment.len() as u64).to_be_bytes());
        let positions = element(&[0xb7], &place);
        let time = element(&[0xb3], &time.to_be_bytes());
        points.extend(element(&[0xbb], &[time, positions].concat()));
        // With its header a cluster is as long as it is said to be.
        segment.extend(element(&[0x1f, 0x43, 0xb6, 0x75], &vec![0; bytes - 12]));
    }
    let end = segment.len() as u64;
    segment.extend(element(&[0x1c, 0x53, 0xbb, 0x6b], &points));
    let head = seek_head(end);
    segment[..head.len()].copy_from_slice(&head);
    let header = element(&[0x1a, 0x45, 0xdf, 0xa3], &[]);
    [header, element(&[0x18, 0x53, 0x80, 0x67], &segment)].concat()
}

#[test]
fn sample_tables_of_mp4() {
    let file = mp4(&[100, 200, 300, 400, 50]);
    let film = read(file.clone()).unwrap();
    assert_eq!((film.seconds, film.bytes), (2.5, file.len() as u64));
    assert_eq!(film.second_bytes, [300, 700, 50]);
    // All of one size, of which there may be billions.
    let equal = mp4_with(&boxed(b"stsz", &words(&[0, 10, 6])), 6);
    assert_eq!(read(equal).unwrap().second_bytes, [20, 20, 20]);
    let small = mp4_with(&boxed(b"stz2", &words(&[0, 4, 4, 0x1234_0000])), 4);
    assert_eq!(read(small).unwrap().second_bytes, [3, 7]);
}

#[test]
fn without_samples_only_the_mean_is_known() {
    let fragments = mp4_with(&boxed(b"stsz", &words(&[0, 0, 0])), 0);
    // A header whose duration is 0 says nothing.
    assert!(read(fragments).unwrap_err().contains("how long"));
    let header = boxed(b"mvhd", &words(&[0, 0, 0, 1000, 4000]));
    let film = read([boxed(b"ftyp", b"isom"), boxed(b"moov", &header)].concat()).unwrap();
    assert_eq!((film.seconds, film.second_bytes.len()), (4.0, 0));
    assert_eq!(film.mean_rate(), film.bytes as f64 / 4.0);
}

#[test]
fn cues_of_matroska() {
    for seek in [true, false] {
        let file = matroska(&[(0, 1000), (1000, 3000), (3000, 500)], 4000.0, seek);
        let film = read(file).unwrap();
        assert_eq!(film.seconds, 4.0);
        assert_eq!(film.second_bytes[..3], [1000, 1500, 1500], "seek head: {seek}");
        assert!(film.second_bytes[3] >= 500);
    }
}

#[test]
fn what_is_no_film_is_said() {
    assert!(read(Vec::new()).unwrap_err().contains("neither"));
    assert!(read(b"just some text, no film".to_vec()).unwrap_err().contains("neither"));
    assert!(read(boxed(b"ftyp", b"isom")).unwrap_err().contains("moov"));
    assert!(read(element(&[0x1a, 0x45, 0xdf, 0xa3], &[])).unwrap_err().contains("Segment"));
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    for whole in [mp4(&[100, 200, 300]), matroska(&[(0, 100), (1000, 300)], 2000.0, true)] {
        for length in 0..whole.len() {
            let _ = read(whole[..length].to_vec());
        }
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] = value;
                let _ = read(damaged);
            }
        }
    }
}

/// Names with one file, and how often it is read; from this read on it cannot be.
fn names_with(file: &[u8], until: usize) -> (Memory, Arc<AtomicUsize>) {
    let mut names = Memory::new(Space::default());
    names.write_small("film", file).unwrap();
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let names = names.with_script(Arc::new(move |call, _| {
        let is_over = call == "read_part" && counted.fetch_add(1, Ordering::Relaxed) >= until;
        is_over.then(|| {
            Failure::new(Cause::Unreachable, "read").on("film").happened("the server has gone")
        })
    }));
    (names, reads)
}

#[test]
fn a_film_on_a_share_is_read_in_pieces() {
    let sizes: Vec<u32> = (0..20_000).map(|number| 1000 + number % 700).collect();
    let tail = vec![0; 3 << 20];
    for whole in [
        [mp4(&sizes), boxed(b"mdat", &tail)].concat(),
        matroska(&[(0, 100), (1000, 300), (2000, 4 << 20)], 3000.0, true),
        matroska(&[(0, 100_000), (1000, 90_000)], 2000.0, false),
    ] {
        let (mut names, reads) = names_with(&whole, usize::MAX);
        let found = film_among(&mut names, "film", whole.len() as u64);
        assert_eq!(found.unwrap(), read(whole).unwrap());
        // 80 kB of sample sizes are 4 + 8 + 16 + 32 + 64 KiB.
        let reads = reads.load(Ordering::Relaxed);
        assert!((1..=10).contains(&reads), "{reads}");
    }
}

#[test]
fn why_a_file_on_a_share_is_no_film() {
    let film = mp4(&[100; 5000]);
    let (mut names, _) = names_with(&film, 2);
    let found = film_among(&mut names, "film", film.len() as u64);
    assert!(matches!(&found, Err(NoFilm::Unreadable(f)) if f.cause == Cause::Unreachable));
    // Cut meanwhile: what is missing is no index.
    let (mut names, _) = names_with(&film[..50], usize::MAX);
    let found = film_among(&mut names, "film", film.len() as u64);
    assert!(matches!(&found, Err(NoFilm::NotAFilm(why)) if why.contains("moov")), "{found:?}");
    let (mut names, _) = names_with(b"no film at all, but long enough", usize::MAX);
    let found = film_among(&mut names, "film", 31);
    assert!(matches!(&found, Err(NoFilm::NotAFilm(why)) if why.contains("neither")), "{found:?}");
}
