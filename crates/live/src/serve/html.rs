//! Text as it may stand in a page.

use std::fmt::{self, Write};

/// Text with markup escaped.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

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

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn markup_is_text() {
        let shown = Escaped("<b a='\"'>&").to_string();
        assert_eq!(shown, "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
