//! MP4: sizes and times of samples (ISO/IEC 14496-12: `stsz`, `stz2`, `stts`).

use super::{FilmFile, LARGEST_INDEX, MOST_ELEMENTS, Seconds, Source, number};
use std::io::{Read, Seek};

/// Tracks that are read.
const MOST_TRACKS: usize = 64;

/// A box: its type, and what is in it.
type Inner<'a> = ([u8; 4], &'a [u8]);

pub(super) fn film<R: Read + Seek>(file: &mut Source<R>) -> Result<FilmFile, String> {
    let movie = movie(file)?;
    let mut seconds = Seconds::default();
    let mut length = 0.0f64;
    let mut tracks = 0;
    for (kind, inner) in boxes(&movie) {
        match &kind {
            b"mvhd" => length = length.max(duration(inner).unwrap_or(0.0)),
            b"trak" if tracks < MOST_TRACKS => {
                tracks += 1;
                track(inner, &mut seconds);
            }
            _ => {}
        }
    }
    let second_bytes = seconds.whole();
    let length = if length > 0.0 { length } else { second_bytes.len() as f64 };
    Ok(FilmFile { seconds: length, bytes: file.size, second_bytes })
}

/// The box that has the index: at the begin of the file or at its end.
fn movie<R: Read + Seek>(file: &mut Source<R>) -> Result<Vec<u8>, String> {
    let mut offset = 0;
    for _ in 0..MOST_ELEMENTS {
        let head = file.read(offset, 16).map_err(|e| format!("it cannot be read: {e}"))?;
        let Some((size, header, kind)) = head_of(&head, file.size - offset.min(file.size)) else {
            break;
        };
        if &kind == b"moov" {
            let length = size - header;
            if length > LARGEST_INDEX {
                return Err("its index is larger than 64 MiB".to_owned());
            }
            let found = file.read(offset + header, length);
            return found.map_err(|e| format!("it cannot be read: {e}"));
        }
        offset = offset.saturating_add(size);
    }
    Err("it has no index ('moov')".to_owned())
}

/// Size of a box with its header, size of the header, and type; `left` is what there is of the outer box.
fn head_of(bytes: &[u8], left: u64) -> Option<(u64, u64, [u8; 4])> {
    let size = number(bytes.get(..4)?)?;
    let kind = bytes.get(4..8)?.try_into().ok()?;
    let (size, header) = match size {
        0 => (left, 8),
        1 => (number(bytes.get(8..16)?)?, 16),
        size => (size, 8),
    };
    (size >= header && size <= left).then_some((size, header, kind))
}

/// The boxes in a box; what is damaged ends them.
fn boxes(bytes: &[u8]) -> impl Iterator<Item = Inner<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (size, header, kind) = head_of(rest, rest.len() as u64)?;
        let (own, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        rest = after;
        Some((kind, own.get(usize::try_from(header).ok()?..)?))
    })
}

fn find<'a>(bytes: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    boxes(bytes).find(|(kind, _)| kind == wanted).map(|(_, inner)| inner)
}

/// Units of time per second, and the duration in them, of a header of a movie or a track.
fn times(header: &[u8]) -> Option<(u64, u64)> {
    let (scale, duration) = match header.first()? {
        0 => (header.get(12..16)?, header.get(16..20)?),
        _ => (header.get(20..24)?, header.get(24..32)?),
    };
    Some((number(scale)?, number(duration)?)).filter(|(scale, _)| *scale > 0)
}

fn duration(header: &[u8]) -> Option<f64> {
    let (scale, duration) = times(header)?;
    // All ones stand for a duration that is not known.
    let known = duration != u64::from(u32::MAX) && duration != u64::MAX;
    known.then(|| duration as f64 / scale as f64)
}

/// Adds the samples of a track; one whose tables are damaged as far as they go.
fn track(track: &[u8], seconds: &mut Seconds) -> Option<()> {
    let media = find(track, b"mdia")?;
    let (scale, _) = times(find(media, b"mdhd")?)?;
    let table = find(find(media, b"minf")?, b"stbl")?;
    let runs = find(table, b"stts")?;
    let runs = runs.get(8..)?.chunks_exact(8).take(number(runs.get(4..8)?)? as usize);
    let mut sizes = Sizes::in_table(table)?;
    let mut time = 0u64;
    for run in runs {
        let (count, delta) = (number(&run[..4])?, number(&run[4..])?);
        let at = |units: u64| units as f64 / scale as f64;
        if let Some(size) = sizes.equal {
            let count = count.min(sizes.left);
            sizes.left -= count;
            let end = time.saturating_add(count.saturating_mul(delta));
            seconds.add(at(time), at(end), size as f64 * count as f64);
            time = end;
            continue;
        }
        for _ in 0..count {
            let size = sizes.next()?;
            let end = time.saturating_add(delta);
            seconds.add(at(time), at(end), size as f64);
            time = end;
        }
    }
    Some(())
}

/// Sizes of the samples of a track.
struct Sizes<'a> {
    /// The size of all, if it is the same.
    equal: Option<u64>,
    left: u64,
    table: &'a [u8],
    /// Bits of an entry of the table.
    bits: u8,
    place: usize,
}

impl<'a> Sizes<'a> {
    fn in_table(table: &'a [u8]) -> Option<Sizes<'a>> {
        if let Some(sizes) = find(table, b"stsz") {
            let equal = Some(number(sizes.get(4..8)?)?).filter(|size| *size > 0);
            let left = number(sizes.get(8..12)?)?;
            return Some(Sizes { equal, left, table: sizes.get(12..)?, bits: 32, place: 0 });
        }
        let sizes = find(table, b"stz2")?;
        let bits = *sizes.get(7)?;
        let left = number(sizes.get(8..12)?)?;
        let known = [4, 8, 16].contains(&bits);
        known.then(|| Sizes {
            equal: None,
            left,
            table: sizes.get(12..).unwrap_or(&[]),
            bits,
            place: 0,
        })
    }

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let place = self.place;
        self.place += 1;
        match self.bits {
            4 => {
                let byte = self.table.get(place / 2)?;
                Some(u64::from(if place.is_multiple_of(2) { byte >> 4 } else { byte & 15 }))
            }
            bits => {
                let bytes = usize::from(bits / 8);
                number(self.table.get(place * bytes..(place + 1) * bytes)?)
            }
        }
    }
}
