//! A study or a device from somebody else's document, imported and shown: page, tables, charts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_report::Paper;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(study) = plimsoll_record::from_json(&text) {
        let studies = [study];
        show(&Paper::new(&studies));
        let [study] = studies;
        let _ = plimsoll_report::redact(&study, &["secret".into()]);
        let _ = plimsoll_record::to_csv(&study);
    }
});

fn show(paper: &Paper) {
    let _ = (paper.html(), paper.markdown(None), paper.charts().count());
}
