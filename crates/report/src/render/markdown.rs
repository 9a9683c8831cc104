//! The same as Markdown, for an issue, a wiki or a README. Figures are in its tables; charts are
//! linked to where their files are.

use crate::chart::Table;
use crate::document::{Command, Document, Item, Section};
use plimsoll_model::printable_lines;

impl Document {
    /// All of it as Markdown. Pictures are linked where `charts` names the folder of their files.
    pub fn markdown(&self, charts: Option<&str>) -> String {
        let mut out = format!("# {}\n\n{}\n", safe(&self.title), safe(&self.below_title()));
        for section in self.sections.iter().filter(|section| !section.items.is_empty()) {
            out.push_str(&self::section(section, charts));
        }
        printable_lines(&out)
    }
}

fn section(section: &Section, charts: Option<&str>) -> String {
    let mut out = String::new();
    if !section.heading.is_empty() {
        out.push_str(&format!("\n## {}\n", safe(&section.heading)));
    }
    let mut warned = false;
    for item in &section.items {
        // Warnings after each other are one list.
        let text = self::item(item, charts);
        let is_warning = matches!(item, Item::Warning(_));
        let goes_on = is_warning && warned;
        if !text.is_empty() && !goes_on {
            out.push('\n');
        }
        warned = is_warning;
        out.push_str(&text);
    }
    out
}

fn item(item: &Item, charts: Option<&str>) -> String {
    match item.fullest() {
        Item::Forms(_) => String::new(),
        Item::Text(text) => format!("{}\n", safe(text)),
        Item::List(sentences) => {
            sentences.iter().map(|sentence| format!("- {}\n", safe(sentence))).collect()
        }
        Item::Facts(facts) => facts
            .iter()
            .map(|(name, value)| format!("- **{}**: {}\n", safe(name), safe(value)))
            .collect(),
        Item::Table(data, _) => table(data),
        Item::Verdict(verdict) => format!("**Verdict:** {}\n", safe(verdict)),
        Item::Warning(warning) => {
            let advice = warning.advice.iter().map(|advice| format!(" *{}*", safe(advice)));
            format!("- \\! {}{}\n", safe(&warning.text), advice.collect::<String>())
        }
        Item::Chart(figure) => match charts {
            Some(folder) => {
                let title = safe(figure.chart.title());
                format!("![{title}](<{folder}/{}.svg>)\n", figure.id)
            }
            None => String::new(),
        },
        Item::Command(Command { what, line, note }) => {
            let note = if note.is_empty() { String::new() } else { format!(" ({})", safe(note)) };
            // Indented, so that no backtick in it can end the block.
            format!("{}{note}:\n\n    {}\n", safe(what), line.replace('\n', " "))
        }
    }
}

fn table(data: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| safe(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = (0..data.header.len()).map(|i| if i == 0 { "| --- " } else { "| ---: " });
    let mut out = row(&data.header);
    out.extend(rule);
    out.push_str("|\n");
    data.rows.iter().for_each(|cells| out.push_str(&row(cells)));
    out
}

/// Text without a meaning in Markdown or HTML: what steers either is escaped by a backslash
/// (CommonMark 0.31, section 2.4), which stands for itself where it is not needed.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => safe.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_markup_in_it() {
        let mut data = Table::new(vec![String::new(), "a|b".to_owned()]);
        data.rows.push(vec!["<script>".to_owned(), "*x*\n".to_owned()]);
        assert_eq!(table(&data), "|  | a\\|b |\n| --- | ---: |\n| \\<script\\> | \\*x\\*  |\n");
    }
}
