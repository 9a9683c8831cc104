//! A study or a device from somebody else's document, imported and shown: page, tables, charts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_report::{Document, Style};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(study) = plimsoll_record::from_json(&text) {
        show(&Document::of_study(&study));
        show(&Document::of_two(&study, &study));
        show(&Document::advising(&study, None));
        let _ = plimsoll_report::redact(&study, &["secret".into()]);
        let _ = plimsoll_record::to_csv(&study);
    }
});

fn show(document: &Document) {
    let style = Style { width: 80, colour: false };
    let _ = (document.screen(&style), document.text(&style), document.csv());
    let _ = (document.html(), document.markdown(None), document.charts().count());
}
