//! A store from elsewhere, a whole file or rows of it: opened, listed and shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_record::{Store, StudyStore, fuzzing};
use plimsoll_report::{Document, Style};

const STYLE: Style = Style { width: 80, colour: false };
/// Studies that are shown.
const SHOWN: usize = 4;

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"SQLite format 3\0") {
        let path = std::env::temp_dir().join(format!("plimsoll-fuzz-{}.db", std::process::id()));
        if let Ok(store) = fuzzing::file(data, &path) {
            show(&store);
        }
        let _ = std::fs::remove_file(path);
    } else {
        show(&fuzzing::rows(data));
    }
});

fn show(store: &Store) {
    let harmless = |text: String| assert_eq!(plimsoll_model::printable_lines(&text), text);
    let studies = store.list().unwrap_or_default();
    harmless(plimsoll_report::list(&studies, &STYLE));
    let loaded = studies.iter().take(SHOWN).filter_map(|study| store.load(&study.id.0).ok());
    for head in store.heads().unwrap_or_default().iter().take(SHOWN) {
        let _ = store.figures(&head.id);
        let _ = store.predictions(&[&head.id]);
    }
    for study in loaded {
        harmless(plimsoll_report::openmetrics(&study, None));
        harmless(plimsoll_report::bmf(&study));
        let document = Document::of_study(&study);
        harmless(document.screen(&STYLE));
        harmless(document.text(&STYLE));
        harmless(document.markdown(None));
        harmless(plimsoll_record::to_csv(&study).unwrap_or_default().replace("\r\n", "\n"));
        harmless(plimsoll_record::to_json(&study).unwrap_or_default());
    }
}
