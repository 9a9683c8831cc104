//! Rate of a film over time, from the index of its file: MP4 sample tables, or Matroska cues. Of a file with neither
//! only the mean is known.

mod matroska;
mod mp4;
mod on_share;

pub use on_share::{NoFilm, film_on_share};

use std::io::{self, Read, Seek, SeekFrom};

/// Longest film, in seconds: a day.
const LONGEST_SECONDS: usize = 86_400;
/// Most bytes of an index that are read.
const LARGEST_INDEX: u64 = 64 << 20;
/// Most elements of a file that are passed on the way to its index.
const MOST_ELEMENTS: usize = 1 << 20;

/// What the file of a film says about its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmFile {
    /// Length in seconds.
    pub seconds: f64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of each second; empty if only the mean is known.
    pub second_bytes: Vec<u64>,
}

impl FilmFile {
    /// Mean rate in bytes per second.
    pub fn mean_rate(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// Reads the rate of a film from the index of its file.
///
/// # Errors
/// Why it is no film, in words.
pub fn film_file<R: Read + Seek>(file: R) -> Result<FilmFile, String> {
    let mut file = Source::new(file).map_err(|e| format!("it cannot be read: {e}"))?;
    let begin = file.read(0, 12).map_err(|e| format!("it cannot be read: {e}"))?;
    let found = match &begin[..] {
        [0x1a, 0x45, 0xdf, 0xa3, ..] => matroska::film(&mut file),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => mp4::film(&mut file),
        _ => return Err("it is neither MP4 nor Matroska".to_owned()),
    }?;
    match found.seconds.is_finite() && found.seconds > 0.0 && found.bytes > 0 {
        true => Ok(found),
        false => Err("its index does not say how long it is".to_owned()),
    }
}

/// A file of a known size, which is read in pieces.
struct Source<R> {
    file: R,
    size: u64,
}

impl<R: Read + Seek> Source<R> {
    fn new(mut file: R) -> io::Result<Source<R>> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Source { file, size })
    }

    /// The bytes from an offset on: as many as there are, at most `length`.
    fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.size.saturating_sub(offset)).min(LARGEST_INDEX);
        self.file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Bytes over time, second by second.
#[derive(Default)]
struct Seconds(Vec<f64>);

impl Seconds {
    /// Spreads bytes evenly from one time to another, in seconds.
    fn add(&mut self, from: f64, to: f64, bytes: f64) {
        let most = LONGEST_SECONDS as f64;
        if !(from >= 0.0 && from < most && to.is_finite() && bytes >= 0.0) {
            return;
        }
        let to = to.clamp(from, most);
        let (first, last) = (from as usize, ((to.ceil() as usize).max(from as usize + 1)) - 1);
        if self.0.len() <= last {
            self.0.resize(last + 1, 0.0);
        }
        if to <= from {
            self.0[first] += bytes;
            return;
        }
        for second in first..=last {
            let begin = from.max(second as f64);
            let end = to.min(second as f64 + 1.0);
            self.0[second] += bytes * (end - begin).max(0.0) / (to - from);
        }
    }

    fn whole(self) -> Vec<u64> {
        self.0.into_iter().map(|bytes| bytes.round() as u64).collect()
    }
}

/// A big-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |all, byte| (all << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests;
