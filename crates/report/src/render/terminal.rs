//! A document for the terminal: one screen that answers, or all of it.

use super::table;
use crate::document::{Command, Document, Item, Section, Warning};
use crate::style::{Role, Style};
use crate::text::{shortened, width, wrapped};

/// Lines of a terminal, without that of the prompt.
const SCREEN: usize = 23;
/// Warnings on the one screen.
const WARNINGS: usize = 3;
/// Most columns of the name of a fact.
const NAME: usize = 24;

impl Document {
    /// The answer, on one screen of 80 x 24 where there are two subjects and few kinds of work.
    pub fn screen(&self, style: &Style) -> String {
        let answer = self.sections.iter().filter(|section| !section.details);
        let is_quiet = |item: &&Item| matches!(item, Item::Warning(warning) if warning.quiet);
        let items: Vec<&Item> =
            answer.flat_map(|section| &section.items).filter(|item| !is_quiet(item)).collect();
        let is_warning = |item: &&Item| matches!(item, Item::Warning(_));
        let mut page = Page { style: *style, text: String::new() };
        page.heading(&match self.extent.is_empty() {
            true => self.title.clone(),
            false => format!("{}: {}", self.title, self.extent),
        });
        let lines = |items: &mut dyn Iterator<Item = &Item>| {
            let mut page = Page { style: *style, text: String::new() };
            items.for_each(|item| page.item(item));
            page.text.lines().count()
        };
        let others = lines(&mut items.iter().copied().filter(|item| !is_warning(item)));
        let mut left = SCREEN.saturating_sub(others + page.text.lines().count());
        let all = items.iter().filter(|item| is_warning(item)).count();
        let is_urgent = |item: &&&Item| matches!(item, Item::Warning(warning) if warning.urgent);
        // Those that are on any screen have their places among the few.
        let most = WARNINGS.saturating_sub(items.iter().filter(is_urgent).count()).max(1);
        let (mut shown, mut unsaid, mut ordinary) = (0, 0, 0);
        for item in items {
            match item {
                Item::Warning(warning) => {
                    let command = warning.command.clone();
                    let short = Warning { text: short(warning), command, ..Warning::default() };
                    let lines = lines(&mut std::iter::once(&Item::Warning(short.clone())));
                    // One line stays for the number of those left out.
                    let rest = usize::from(shown + 1 < all);
                    let room = unsaid == 0 && ordinary < most && lines + rest <= left;
                    match shown == 0 || room || warning.urgent {
                        true => {
                            page.warning(&short);
                            shown += 1;
                            ordinary += usize::from(!warning.urgent);
                            left = left.saturating_sub(lines);
                        }
                        false => unsaid += 1,
                    }
                }
                item => {
                    page.unsaid(&mut unsaid);
                    page.item(item);
                }
            }
        }
        page.unsaid(&mut unsaid);
        page.text
    }

    /// All of it: the answer, then the details.
    pub fn text(&self, style: &Style) -> String {
        let mut page = Page { style: *style, text: String::new() };
        page.heading(&match self.extent.is_empty() {
            true => self.title.clone(),
            false => format!("{}: {}", self.title, self.extent),
        });
        if !self.subtitle.is_empty() {
            page.text.push_str(&wrapped("", &self.subtitle, style.columns()));
        }
        for section in &self.sections {
            page.section(section);
        }
        page.text
    }
}

/// A warning for one screen, with its advice if it has no shorter text.
fn short(warning: &Warning) -> String {
    match &warning.advice {
        _ if !warning.brief.is_empty() => warning.brief.clone(),
        Some(advice) => format!("{}. {advice}", warning.text),
        None => warning.text.clone(),
    }
}

/// Text that is filled from top to bottom.
struct Page {
    style: Style,
    text: String,
}

impl Page {
    fn section(&mut self, section: &Section) {
        if section.items.is_empty() {
            return;
        }
        if !section.heading.is_empty() {
            self.gap();
            self.heading(&section.heading);
        }
        section.items.iter().for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &Item) {
        let columns = self.style.columns();
        match item {
            Item::Text(text) => self.text.push_str(&wrapped("", text, columns)),
            Item::List(sentences) => {
                for sentence in sentences {
                    self.text.push_str(&wrapped("- ", sentence, columns));
                }
            }
            Item::Facts(facts) => self.facts(facts),
            Item::Table(data, layout) => {
                self.gap();
                self.text.push_str(&table::fitted(data, *layout, columns));
                self.text.push('\n');
            }
            Item::Verdict(verdict) => self.text.push_str(&wrapped("> ", verdict, columns)),
            Item::Warning(warning) => self.warning(warning),
            Item::Chart(figure) => {
                if let Some(text) = &figure.in_text {
                    self.gap();
                    self.text.push_str(text);
                }
            }
            Item::Command(command) => self.command(command),
        }
    }

    fn facts(&mut self, facts: &[(String, String)]) {
        let longest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(NAME);
        for (name, value) in facts {
            let name = shortened(name, NAME);
            let space = " ".repeat((longest + 2).saturating_sub(width(&name)));
            self.text.push_str(&wrapped(&format!("{name}{space}"), value, self.style.columns()));
        }
    }

    fn warning(&mut self, warning: &Warning) {
        self.painted(Role::Warning, "! ", &warning.text);
        if let Some(advice) = &warning.advice {
            self.text.push_str(&wrapped("  -> ", advice, self.style.columns()));
        } else if !warning.command.is_empty() {
            self.text.push_str(&format!("  {}\n", warning.command));
        }
    }

    /// In one line each, so that they can be copied.
    fn command(&mut self, Command { what, line, note }: &Command) {
        let note = if note.is_empty() { String::new() } else { format!("  ({note})") };
        self.text.push_str(&format!("{what}: {line}{note}\n"));
    }

    fn heading(&mut self, text: &str) {
        self.painted(Role::Heading, "", text);
    }

    /// Each line by itself, so that a pager that begins in the middle has the colour.
    fn painted(&mut self, role: Role, first: &str, text: &str) {
        for line in wrapped(first, text, self.style.columns()).lines() {
            self.text.push_str(&self.style.paint(role, line));
            self.text.push('\n');
        }
    }

    /// An empty line, unless there is one or nothing above.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// How many warnings there was no room for.
    fn unsaid(&mut self, unsaid: &mut usize) {
        if *unsaid > 0 {
            let more = crate::text::counted(*unsaid as u64, "more warning");
            self.painted(Role::Warning, "! ", &format!("{more}: see --details"));
        }
        *unsaid = 0;
    }
}
