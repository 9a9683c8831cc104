//! The file of a film on a share: its index is read in pieces, over the connection of a namespace.

use super::{FilmFile, film_file};
use crate::share::{Namespace, Share};
use plimsoll_model::Failure;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the first piece: what a head of the index needs. Each one that follows it without a gap is twice as long,
/// up to the largest.
const FIRST_PIECE: usize = 4 << 10;
const LARGEST_PIECE: usize = 1 << 20;

/// Why the rate of a film on a share is not known.
#[derive(Debug)]
pub enum NoFilm {
    /// The file could not be read.
    Unreadable(Failure),
    /// It is no film, in words.
    NotAFilm(String),
}

impl From<Failure> for NoFilm {
    fn from(failure: Failure) -> NoFilm {
        NoFilm::Unreadable(failure)
    }
}

/// Reads the rate of a film from the index of its file: the one that the share was opened with, to be read in place.
///
/// # Errors
/// Why the file cannot be read, or is no film.
pub fn film_on_share(share: &dyn Share) -> Result<FilmFile, NoFilm> {
    let Some(in_place) = share.facts().in_place else {
        return Err(NoFilm::NotAFilm("no file of the target is named".to_owned()));
    };
    film_among(&mut *share.namespace()?, &in_place.file, in_place.size.0)
}

/// The same of a file of this size.
pub(super) fn film_among(
    names: &mut dyn Namespace,
    path: &str,
    size: u64,
) -> Result<FilmFile, NoFilm> {
    let (piece, failure) = (Vec::new(), None);
    let mut pieces = Pieces { names, path, size, place: 0, begin: 0, piece, failure };
    let found = film_file(&mut pieces);
    match pieces.failure {
        Some(failure) => Err(NoFilm::Unreadable(failure)),
        None => found.map_err(NoFilm::NotAFilm),
    }
}

/// A file of which one piece is here.
struct Pieces<'n> {
    names: &'n mut dyn Namespace,
    path: &'n str,
    size: u64,
    /// Where it is read next.
    place: u64,
    /// The piece, and where it begins.
    begin: u64,
    piece: Vec<u8>,
    /// Why it cannot be read.
    failure: Option<Failure>,
}

impl Pieces<'_> {
    /// What the piece has from the place on.
    fn here(&self) -> &[u8] {
        let at = self.place.checked_sub(self.begin).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.piece.get(at..)).unwrap_or(&[])
    }

    fn fetch(&mut self) -> io::Result<()> {
        let follows = self.place == self.begin + self.piece.len() as u64;
        let length = match self.piece.len() {
            before if follows => (2 * before).clamp(FIRST_PIECE, LARGEST_PIECE),
            _ => FIRST_PIECE,
        };
        match self.names.read_part(self.path, self.place, length) {
            Ok(piece) => {
                (self.begin, self.piece) = (self.place, piece);
                Ok(())
            }
            Err(failure) => {
                let error = io::Error::other(failure.happened.clone());
                self.failure = Some(failure);
                Err(error)
            }
        }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.place >= self.size {
            return Ok(0);
        }
        if self.here().is_empty() {
            self.fetch()?;
        }
        let here = self.here();
        let count = here.len().min(buffer.len());
        buffer[..count].copy_from_slice(&here[..count]);
        self.place += count as u64;
        Ok(count)
    }
}

impl Seek for Pieces<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(from) => self.size.checked_add_signed(from),
            SeekFrom::Current(from) => self.place.checked_add_signed(from),
        };
        self.place = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.place)
    }
}
