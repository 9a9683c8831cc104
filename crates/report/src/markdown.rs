//! The same as Markdown, for an issue, a wiki or a README. Figures are in its tables; charts are
//! linked to where their files are.

use crate::chart::Table;
use crate::content::{Content, Part};
use plimsoll_model::printable_lines;
use std::fmt::Write;

/// The text of this content; with `charts`, the folder that the charts' files are in.
pub(crate) fn markdown(content: &Content, charts: Option<&str>) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("# {}\n\n{}\n", safe(&content.title), safe(&content.subtitle)));
    if let Some(failure) = &content.failure {
        line(format!("**{}**\n", safe(failure)));
    }
    for sentence in content.answer.iter().chain(&content.further) {
        line(format!("- {}", safe(sentence)));
    }
    for part in &content.parts {
        line(self::part(part, charts));
    }
    if !content.warnings.is_empty() {
        line("\n## Warnings\n".to_owned());
    }
    for warning in &content.warnings {
        let advice = warning.advice.iter().map(|advice| format!(" *{}*", safe(advice)));
        line(format!("- {}{}", safe(&warning.text), advice.collect::<String>()));
    }
    line("\n## Method\n".to_owned());
    for sentence in &content.method.sentences {
        line(format!("- {}", safe(sentence)));
    }
    for (name, data) in &content.method.tables {
        line(format!("\n### {name}\n\n{}", table(data)));
    }
    line("### To repeat it\n".to_owned());
    for command in &content.method.commands {
        // Indented, so that no backtick in it can end the block.
        line(format!("    {}", command.replace('\n', " ")));
    }
    printable_lines(&out)
}

fn part(part: &Part, charts: Option<&str>) -> String {
    let mut out = format!("\n## {}\n\n", safe(&part.heading));
    for remark in &part.remarks {
        let _ = writeln!(out, "{}\n", safe(remark));
    }
    if let Some(data) = &part.table {
        let _ = writeln!(out, "{}", table(data));
    }
    for claim in &part.claims {
        let _ = writeln!(out, "{}\n", safe(claim));
    }
    if let Some(folder) = charts {
        for figure in &part.figures {
            let title = safe(figure.chart.title());
            let _ = writeln!(out, "![{title}](<{folder}/{}.svg>)\n", figure.id);
        }
    }
    out.truncate(out.trim_end().len());
    out
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
