//! A document for the terminal: one screen that answers, or all of it.

use super::table;
use crate::document::{Command, Document, Forms, Item, Section, Warning};
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
        let roomy = self.arranged(style, false);
        let is_roomy = roomy.fits() && roomy.has_needed_forms();
        let screen = if is_roomy { roomy } else { self.arranged(style, true) };
        screen.text(style)
    }

    /// The answer with as many warnings, and items as full, as a screen has room for; `dense` without empty lines.
    fn arranged(&self, style: &Style, dense: bool) -> Screen<'_> {
        let answer = self.sections.iter().filter(|section| !section.details);
        let is_quiet = |item: &&Item| matches!(item, Item::Warning(warning) if warning.quiet);
        let items = answer.flat_map(|section| &section.items).filter(|item| !is_quiet(item));
        let choices: Vec<Choice<'_>> = items.map(Choice::new).collect();
        // Colours take no columns.
        let plain = Style { colour: false, ..*style };
        let mut screen = Screen { document: self, plain, dense, choices };
        screen.choose_warnings(false);
        screen.choose_forms(true);
        screen.choose_warnings(true);
        screen.choose_forms(false);
        screen
    }

    fn first_line(&self, page: &mut Page) {
        page.heading(&match self.extent.is_empty() {
            true => self.title.clone(),
            false => format!("{}: {}", self.title, self.extent),
        });
    }

    /// All of it: the answer, then the details.
    pub fn text(&self, style: &Style) -> String {
        let mut page = Page { style: *style, text: String::new(), dense: false };
        self.first_line(&mut page);
        if !self.subtitle.is_empty() {
            page.text.push_str(&wrapped("", &self.subtitle, style.columns()));
        }
        for section in &self.sections {
            page.section(section);
        }
        page.text
    }
}

/// An item of the answer, and the form of it that a screen has.
enum Choice<'a> {
    /// A warning in brief, and whether the screen has it.
    Warning(&'a Warning, Item, bool),
    /// Forms, the place of the needed one, and that of the chosen one.
    Forms(&'a [Item], usize, usize),
}

impl<'a> Choice<'a> {
    /// No warning, and the shortest form of everything else.
    fn new(item: &'a Item) -> Choice<'a> {
        match item {
            Item::Warning(warning) => {
                let (text, command) = (short(warning), warning.command.clone());
                let brief = Warning { text, command, ..Warning::default() };
                Choice::Warning(warning, Item::Warning(brief), false)
            }
            Item::Forms(Forms { forms, needed }) => {
                Choice::Forms(forms, *needed, forms.len().saturating_sub(1))
            }
            item => Choice::Forms(std::slice::from_ref(item), 0, 0),
        }
    }
}

/// An answer that is fitted to a screen.
struct Screen<'a> {
    document: &'a Document,
    /// The style of the terminal without its colours.
    plain: Style,
    dense: bool,
    choices: Vec<Choice<'a>>,
}

impl Screen<'_> {
    fn text(&self, style: &Style) -> String {
        let mut page = Page { style: *style, text: String::new(), dense: self.dense };
        self.document.first_line(&mut page);
        let (mut shown, mut unsaid) = (0, 0);
        for choice in &self.choices {
            match choice {
                Choice::Warning(_, brief, true) => {
                    page.item(brief);
                    shown += 1;
                }
                Choice::Warning(_, _, false) => unsaid += 1,
                Choice::Forms(forms, _, chosen) => {
                    page.unsaid(&mut unsaid, shown);
                    forms.get(*chosen).into_iter().for_each(|item| page.item(item));
                }
            }
        }
        page.unsaid(&mut unsaid, shown);
        page.text
    }

    fn fits(&self) -> bool {
        let columns = self.plain.columns();
        // Commands may be longer than a line.
        let lines = |line: &str| width(line).div_ceil(columns).max(1);
        self.text(&self.plain).lines().map(lines).sum::<usize>() <= SCREEN
    }

    /// Whether everything is as full as needed: empty lines are worth less.
    fn has_needed_forms(&self) -> bool {
        let is_needed = |choice: &Choice<'_>| match choice {
            Choice::Forms(_, needed, chosen) => chosen <= needed,
            Choice::Warning(..) => true,
        };
        self.choices.iter().all(is_needed)
    }

    /// The first few for which there is room; without the `minor` ones only those that need none. Those that are on any
    /// screen have their places among the few.
    fn choose_warnings(&mut self, minor: bool) {
        let warning = |choice: &Choice<'_>| match choice {
            Choice::Warning(warning, ..) => Some((warning.urgent, warning.is_minor)),
            Choice::Forms(..) => None,
        };
        let all: Vec<_> = self.choices.iter().map(warning).collect();
        let urgent = all.iter().flatten().filter(|(urgent, _)| *urgent).count();
        let most = WARNINGS.saturating_sub(urgent).max(1);
        let (mut ordinary, mut is_full) = (0, false);
        for (place, (is_urgent, is_minor)) in
            all.into_iter().enumerate().filter_map(|(place, of)| Some((place, of?)))
        {
            let is_first = ordinary == 0 && !is_full && !is_minor;
            let has_place = is_urgent || !is_full && ordinary < most;
            self.show(place, has_place);
            let needs_room = !is_urgent && !is_first;
            if has_place && needs_room && (!minor || !self.fits()) {
                self.show(place, false);
            }
            match (is_urgent, self.is_shown(place)) {
                (true, _) => {}
                (false, true) => ordinary += 1,
                (false, false) => is_full = true,
            }
        }
    }

    fn show(&mut self, place: usize, shown: bool) {
        if let Some(Choice::Warning(_, _, is_shown)) = self.choices.get_mut(place) {
            *is_shown = shown;
        }
    }

    fn is_shown(&self, place: usize) -> bool {
        matches!(self.choices.get(place), Some(Choice::Warning(_, _, true)))
    }

    /// The fullest forms for which there is room, in the order of the items; up to the `needed` ones only these.
    fn choose_forms(&mut self, needed: bool) {
        for place in 0..self.choices.len() {
            let Choice::Forms(_, least, now) = self.choices[place] else { continue };
            for form in if needed { least.min(now) } else { 0 }..=now {
                if let Choice::Forms(_, _, chosen) = &mut self.choices[place] {
                    *chosen = form;
                }
                if self.fits() {
                    break;
                }
            }
        }
    }
}

/// A warning for one screen, with its advice if it has no shorter text.
fn short(warning: &Warning) -> String {
    match &warning.advice {
        _ if !warning.brief.is_empty() => warning.brief.clone(),
        Some(advice) => format!("{}. {advice}", warning.text.trim_end_matches('.')),
        None => warning.text.clone(),
    }
}

/// Text that is filled from top to bottom.
struct Page {
    style: Style,
    text: String,
    /// Whether there are no empty lines.
    dense: bool,
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
        match item.fullest() {
            Item::Forms(_) => {}
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
                self.gap();
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
        if !self.dense && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// How many warnings there was no room for, beside those shown.
    fn unsaid(&mut self, unsaid: &mut usize, shown: usize) {
        if *unsaid > 0 {
            let noun = if shown == 0 { "warning" } else { "more warning" };
            let more = crate::text::counted(*unsaid as u64, noun);
            self.painted(Role::Warning, "! ", &format!("{more}: see --details"));
        }
        *unsaid = 0;
    }
}
