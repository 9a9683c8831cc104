//! Matroska and WebM (RFC 9559): cues have the times and places of clusters.

use super::{FilmFile, LARGEST_INDEX, MOST_ELEMENTS, Seconds, Source, number};
use std::io::{Read, Seek};

const SEGMENT: u64 = 0x1853_8067;
const SEEK_HEAD: u64 = 0x114d_9b74;
const SEEK: u64 = 0x4dbb;
const SEEK_ID: u64 = 0x53ab;
const SEEK_POSITION: u64 = 0x53ac;
const INFO: u64 = 0x1549_a966;
const TIMESTAMP_SCALE: u64 = 0x2a_d7b1;
const DURATION: u64 = 0x4489;
const CUES: u64 = 0x1c53_bb6b;
const CUE_POINT: u64 = 0xbb;
const CUE_TIME: u64 = 0xb3;
const CUE_TRACK_POSITIONS: u64 = 0xb7;
const CUE_CLUSTER_POSITION: u64 = 0xf1;

/// Nanoseconds of a unit of time, where the file names none.
const USUAL_SCALE: u64 = 1_000_000;

/// Where an element's content is: its offset, and its length; `None` if that is not known.
struct Place {
    id: u64,
    offset: u64,
    length: Option<u64>,
}

pub(super) fn film<R: Read + Seek>(file: &mut Source<R>) -> Result<FilmFile, String> {
    let segment = segment(file)?;
    let (mut info, mut cues) = (None, None);
    let mut offset = segment.offset;
    for _ in 0..MOST_ELEMENTS {
        let Some(place) = place(file, offset)? else { break };
        match place.id {
            INFO => info = Some(content(file, &place)?),
            CUES => cues = Some(content(file, &place)?),
            SEEK_HEAD if cues.is_none() => {
                let named = cues_position(&content(file, &place)?);
                if let Some(named) = named.and_then(|at| segment.offset.checked_add(at))
                    && let Some(place) = self::place(file, named)?.filter(|place| place.id == CUES)
                {
                    cues = Some(content(file, &place)?);
                }
            }
            _ => {}
        }
        if info.is_some() && cues.is_some() {
            break;
        }
        let Some(length) = place.length else { break };
        offset = place.offset.saturating_add(length);
    }
    let info = info.ok_or("it has no element 'Info'")?;
    let (scale, duration) = times(&info);
    let seconds = duration.unwrap_or(0.0) * scale as f64 / 1e9;
    let second_bytes = cues.map_or_else(Vec::new, |cues| {
        let end = file.size.saturating_sub(segment.offset);
        over_time(&cues, scale, seconds, end)
    });
    Ok(FilmFile { seconds, bytes: file.size, second_bytes })
}

fn segment<R: Read + Seek>(file: &mut Source<R>) -> Result<Place, String> {
    let mut offset = 0;
    for _ in 0..MOST_ELEMENTS {
        let Some(place) = place(file, offset)? else { break };
        if place.id == SEGMENT {
            return Ok(place);
        }
        let Some(length) = place.length else { break };
        offset = place.offset.saturating_add(length);
    }
    Err("it has no element 'Segment'".to_owned())
}

/// The element at an offset; `None` at the end, and where there is none.
fn place<R: Read + Seek>(file: &mut Source<R>, offset: u64) -> Result<Option<Place>, String> {
    if offset >= file.size {
        return Ok(None);
    }
    let head = file.read(offset, 12).map_err(|e| format!("it cannot be read: {e}"))?;
    let Some((id, length, header)) = head_of(&head) else { return Ok(None) };
    Ok(Some(Place { id, offset: offset + header as u64, length }))
}

fn content<R: Read + Seek>(file: &mut Source<R>, place: &Place) -> Result<Vec<u8>, String> {
    let length = place.length.unwrap_or(0);
    if length > LARGEST_INDEX {
        return Err("its index is larger than 64 MiB".to_owned());
    }
    file.read(place.offset, length).map_err(|e| format!("it cannot be read: {e}"))
}

/// Identifier of an element with its marker, length of its content if known, and bytes of both.
fn head_of(bytes: &[u8]) -> Option<(u64, Option<u64>, usize)> {
    let id_length = bytes.first()?.leading_zeros() as usize + 1;
    if id_length > 4 {
        return None;
    }
    let id = number(bytes.get(..id_length)?)?;
    let first = *bytes.get(id_length)?;
    let length_length = first.leading_zeros() as usize + 1;
    if length_length > 8 {
        return None;
    }
    let end = id_length + length_length;
    let length = number(bytes.get(id_length..end)?)?;
    let mask = (1u64 << (7 * length_length)) - 1;
    let length = length & mask;
    // All ones: it is not known.
    Some((id, (length != mask).then_some(length), end))
}

/// The elements in an element; what is damaged ends them.
fn elements(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (id, length, header) = head_of(rest)?;
        let end = header.checked_add(usize::try_from(length?).ok()?)?;
        let (own, after) = rest.split_at_checked(end)?;
        rest = after;
        Some((id, &own[header..]))
    })
}

fn find(bytes: &[u8], wanted: u64) -> Option<&[u8]> {
    elements(bytes).find(|(id, _)| *id == wanted).map(|(_, content)| content)
}

/// Position of the cues in the segment, of a list of positions.
fn cues_position(seek_head: &[u8]) -> Option<u64> {
    let seeks = elements(seek_head).filter(|(id, _)| *id == SEEK);
    let is_cues = |seek: &&[u8]| find(seek, SEEK_ID).and_then(number) == Some(CUES);
    let seek = seeks.map(|(_, seek)| seek).find(is_cues)?;
    number(find(seek, SEEK_POSITION)?)
}

/// Nanoseconds of a unit of time, and the duration in units.
fn times(info: &[u8]) -> (u64, Option<f64>) {
    let scale = find(info, TIMESTAMP_SCALE).and_then(number).filter(|scale| *scale > 0);
    let duration = find(info, DURATION).and_then(|bytes| match bytes.len() {
        4 => Some(f64::from(f32::from_be_bytes(bytes.try_into().ok()?))),
        8 => Some(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    });
    (scale.unwrap_or(USUAL_SCALE), duration)
}

/// Bytes of each second: those between the clusters of two cues belong to the time between them.
fn over_time(cues: &[u8], scale: u64, seconds: f64, end: u64) -> Vec<u64> {
    let points = elements(cues).filter(|(id, _)| *id == CUE_POINT);
    let points = points.filter_map(|(_, point)| {
        let time = number(find(point, CUE_TIME)?)? as f64 * scale as f64 / 1e9;
        let positions = find(point, CUE_TRACK_POSITIONS)?;
        Some((time, number(find(positions, CUE_CLUSTER_POSITION)?)?))
    });
    let mut all = Seconds::default();
    let mut before: Option<(f64, u64)> = None;
    for (time, position) in points.chain([(seconds, end)]) {
        let Some((from, begin)) = before else {
            before = Some((time, position));
            continue;
        };
        // Several cues of one cluster, or of one time, are one; what goes back is damaged.
        if time > from && position > begin {
            all.add(from, time, (position - begin) as f64);
            before = Some((time, position));
        }
    }
    all.whole()
}
