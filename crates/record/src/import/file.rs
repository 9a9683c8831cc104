//! A file to import, read whole and unpacked.

use super::foreign;
use super::malformed::{Malformed, Parsed};
use crate::input::open_regular;
use flate2::read::MultiGzDecoder;
use plimsoll_model::{Cause, Failure};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Largest file that is read, in bytes.
pub const IMPORT_LIMIT_BYTES: u64 = 256 << 20;

/// Largest content of a compressed file, in bytes. A small file may claim any amount.
const UNPACKED_LIMIT_BYTES: u64 = 64 << 20;

/// How files of gzip begin.
const GZIP: &[u8] = b"\x1f\x8b";

/// A file to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFile {
    /// As the user named it.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// When it was last changed, in seconds since 1970-01-01 UTC: the date of runs without one.
    pub modified_unix_seconds: u64,
}

impl ImportFile {
    /// Reads a file of at most [`IMPORT_LIMIT_BYTES`]. Content that gzip packed is unpacked. Fails when it is larger,
    /// cannot be read or is not UTF-8.
    pub fn read(path: &Path) -> Result<ImportFile, Failure> {
        ImportFile::read_limited(path, IMPORT_LIMIT_BYTES)
    }

    pub(super) fn read_limited(path: &Path, limit: u64) -> Result<ImportFile, Failure> {
        let failed = |happened: &dyn std::fmt::Display, next: &str| {
            Failure::new(Cause::Usage, "read a file to import")
                .on(path.display())
                .happened(happened)
                .next(next)
        };
        let unreadable = |e: std::io::Error| failed(&e, "Name a regular file that you can read.");
        let file = open_regular(path).map_err(unreadable)?;
        let facts = file.metadata().map_err(unreadable)?;
        let mut bytes = Vec::new();
        // One byte more than the limit tells a file that is too large.
        file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > limit {
            let happened = format!("it is larger than {}", plimsoll_model::units::Bytes(limit));
            return Err(failed(
                &happened,
                "Split it, or remove the text that is not output of the tool.",
            ));
        }
        let modified = facts.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |d| d.as_secs());
        ImportFile::from_bytes(path.display().to_string(), bytes, modified)
    }

    /// A file with this content. Content that gzip packed is unpacked.
    ///
    /// # Errors
    /// The content is not UTF-8, or gzip cannot unpack it.
    pub fn from_bytes(
        name: String,
        bytes: Vec<u8>,
        modified_unix_seconds: u64,
    ) -> Result<ImportFile, Failure> {
        let unpacked = match bytes.starts_with(GZIP) {
            true => unpacked(&bytes, UNPACKED_LIMIT_BYTES),
            false => Ok(bytes),
        };
        match unpacked.and_then(text) {
            Ok(text) => Ok(ImportFile { name, text, modified_unix_seconds }),
            Err(malformed) => Err(malformed.in_file(&name)),
        }
    }
}

/// What gzip packed.
pub(super) fn unpacked(bytes: &[u8], limit: u64) -> Parsed<Vec<u8>> {
    let mut content = Vec::new();
    // One byte more than the limit tells a content that is too large.
    let read = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut content);
    if content.len() as u64 > limit {
        let limit = plimsoll_model::units::Bytes(limit);
        let happened = format!("gzip unpacks it to more than {limit}");
        let next = "Unpack it with gunzip -k, and import the part that is needed.";
        return Err(Malformed::new(1, happened, next));
    }
    match read {
        Ok(_) => Ok(content),
        Err(error) => {
            let happened = format!("gzip cannot unpack it: {error}");
            Err(Malformed::new(1, happened, "Copy the file again; it is damaged or incomplete."))
        }
    }
}

/// UTF-8, without the mark that some editors put first.
fn text(bytes: Vec<u8>) -> Result<String, Malformed> {
    if let Some((happened, next)) = foreign::bytes(&bytes) {
        return Err(Malformed::new(1, happened, &next));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        if let Some((happened, next)) = foreign::text(&utf_16(&bytes)) {
            return Err(Malformed::new(1, happened, &next));
        }
        let next = "Save it as UTF-8; in PowerShell, write it with Out-File -Encoding utf8.";
        return Err(Malformed::new(1, "it is UTF-16: expected UTF-8", next));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        Malformed::new(line, "bytes that are not UTF-8: expected text", "Save it as UTF-8.")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The text after the mark of the order of bytes, with what is no UTF-16 replaced.
fn utf_16(bytes: &[u8]) -> String {
    let order =
        if bytes.starts_with(&[0xff, 0xfe]) { u16::from_le_bytes } else { u16::from_be_bytes };
    let units = bytes.chunks_exact(2).skip(1).map(|pair| order([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
