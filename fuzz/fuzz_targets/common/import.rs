//! Imports a text, and checks what must hold of whatever comes of it.

use plimsoll_record::{ImportFile, ImportOptions};

/// Imports the content of a file, which gzip may have packed.
#[allow(dead_code, reason = "some targets import text")]
pub fn import_bytes(bytes: &[u8]) {
    if let Ok(file) = ImportFile::from_bytes("f".into(), bytes.to_vec(), 0) {
        import(&file.text);
    }
}

/// Whatever is imported can be exported, and has no more trials than the text has room for.
pub fn import(text: &str) {
    let file = ImportFile { name: "f".into(), text: text.into(), modified_unix_seconds: 0 };
    for jobs in [None, std::num::NonZeroU16::new(1)] {
        let options = ImportOptions { jobs, ..ImportOptions::default() };
        let imports = plimsoll_record::import(std::slice::from_ref(&file), &options);
        for study in imports.unwrap_or_default().studies {
            assert!(study.trials.len() <= text.len());
            assert!(plimsoll_record::to_json(&study).is_ok());
        }
    }
}
