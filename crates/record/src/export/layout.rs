//! Layout of exported JSON: one field per line, but arrays of numbers and small objects on one
//! line, because nobody can read a histogram of two thousand lines.

use serde_json::ser::Formatter;
use std::io::{Result, Write};

/// Every field of an object on a line of its own, every array in the line it began in.
#[derive(Debug, Default)]
pub(crate) struct ObjectLines {
    depth: usize,
    filled: bool,
}

impl ObjectLines {
    fn line<W: ?Sized + Write>(&self, out: &mut W) -> Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for ObjectLines {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.depth -= 1;
        if self.filled {
            self.line(out)?;
        }
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        self.line(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.filled = true;
        Ok(())
    }
}

/// Longest object that is put into one line, in bytes.
const LONGEST: usize = 120;

/// What [`ObjectLines`] wrote, with small objects in one line each.
pub(crate) fn small_objects_in_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // What is left of the last line: an array's next object begins in it.
    let mut begun = String::new();
    while let Some(line) = lines.get(at) {
        let first = if begun.is_empty() { line } else { begun.as_str() };
        let Some(fields) = small_object(first, &lines[at + 1..]) else {
            out.extend([first, "\n"]);
            begun.clear();
            at += 1;
            continue;
        };
        let fields_end = at + 1 + fields;
        let joined = lines[at + 1..fields_end].iter().map(|field| field.trim_start());
        out.extend([first, &joined.collect::<Vec<_>>().join(" ")]);
        let end = lines[fields_end];
        let rest = end.trim_start();
        match rest.strip_suffix(" {") {
            Some(rest) => {
                out.extend([rest, "\n"]);
                begun = format!("{}{{", &end[..end.len() - end.trim_start().len()]);
                at = fields_end;
            }
            None => {
                out.extend([rest, "\n"]);
                begun.clear();
                at = fields_end + 1;
            }
        }
    }
    out
}

/// Number of fields of the object that starts on `line`, if it is small and contains no other
/// object. No line ends with a brace inside a text, because a quotation mark follows the text.
fn small_object(line: &str, following: &[&str]) -> Option<usize> {
    let mut length = 0;
    for (number, field) in following.iter().enumerate().take_while(|_| line.ends_with('{')) {
        let field = field.trim_start();
        length += field.len() + 1;
        if field.starts_with('}') {
            return Some(number);
        }
        if field.ends_with('{') || length > LONGEST {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    fn laid_out(value: &Value) -> String {
        let mut bytes = Vec::new();
        value
            .serialize(&mut Serializer::with_formatter(&mut bytes, ObjectLines::default()))
            .unwrap();
        small_objects_in_lines(&String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn small_objects_are_lines_and_large_ones_have_a_line_for_each_field() {
        let long = "x".repeat(LONGEST);
        let value = json!({
            "a": {"p": 1, "q": [1, 2], "r": "{"},
            "b": {"long": long, "in": {"s": 1}},
            "c": [{"t": 1}, {"t": {}}, {"t": {"u": [{"v": "}, {"}]}}],
        });
        let text = laid_out(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.contains(&long)).collect();
        assert_eq!(
            lines,
            [
                "{",
                r#""a": {"p": 1, "q": [1, 2], "r": "{"},"#,
                r#""b": {"#,
                r#""in": {"s": 1},"#,
                "},",
                r#""c": [{"t": 1},"#,
                r#"{"t": {}},"#,
                "{",
                r#""t": {"#,
                r#""u": [{"v": "}, {"}]"#,
                "}",
                "}]",
                "}"
            ]
        );
    }
}
