//! What every page has.

use plimsoll_report::chart::Escaped;

/// A whole page; with `script` it keeps itself up to date. Addresses in it are relative to the
/// page one comes in by.
pub(super) fn page(title: &str, script: bool, body: &str) -> String {
    let script = if script {
        "<script src=\"live.js\" defer></script>\
         <noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"
    } else {
        ""
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{}</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"style.css\">\
         {script}</head><body>{body}</body></html>\n",
        Escaped(title)
    )
}
