//! Lines of the tracer's text: columns that options switch on and off, then the function, indented by its depth.
//!
//! ```text
//!  0)  netprot-1862  | + 11.231 us   |                      }
//! ```

/// A longer line is not the tracer's, in bytes.
const LONGEST: usize = 4096;
/// A longer name is not the kernel's, in bytes.
const LONGEST_NAME: usize = 256;

/// A line that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) cpu: Option<u32>,
    /// Task whose call this is, if the text has the column.
    pub(crate) pid: Option<u32>,
    pub(crate) time_ns: Option<u64>,
    /// Spaces before the function.
    pub(crate) indent: usize,
    pub(crate) event: Event<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Enter(Function<'a>),
    /// Entry and return in one line.
    Leaf(Function<'a>),
    /// Return, with the function's name where the kernel wrote it.
    Return(Option<&'a str>),
    InterruptBegin,
    InterruptEnd,
    /// Tasks before and after a context switch.
    Switch {
        from: u32,
        to: u32,
    },
    Lost(u64),
    Comment,
    /// Not the tracer's, or cut.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) module: Option<&'a str>,
}

/// The content of a line; `None` of headers and separators.
pub(crate) fn read(text: &str) -> Option<Line<'_>> {
    let text = text.trim_end();
    let start = text.trim_start();
    if start.starts_with('#') || start.bytes().all(|byte| byte == b'-') {
        return None;
    }
    let mut line = Line { cpu: None, pid: None, time_ns: None, indent: 0, event: Event::Unknown };
    if text.len() > LONGEST {
        return Some(line);
    }
    if let Some(count) = lost(start) {
        return Some(Line { event: Event::Lost(count), ..line });
    }
    let (columns, body) = match without_comment(text).rfind('|') {
        Some(bar) => (&text[..bar], &text[bar + 1..]),
        None => ("", text),
    };
    for column in columns.split('|') {
        let (cpu, rest) = numbered(column);
        line.cpu = line.cpu.or(cpu);
        let word = rest.trim();
        match (interrupt(word), nanoseconds(word)) {
            (Some(event), _) => line.event = event,
            (None, Some(time)) => line.time_ns = Some(time),
            (None, None) => line.pid = line.pid.or(pid(word)),
        }
    }
    let (cpu, body) = numbered(body);
    line.cpu = line.cpu.or(cpu);
    let function = body.trim_start();
    if !function.is_empty() {
        line.indent = body.len() - function.len();
        line.event = event(function);
    }
    Some(line)
}

/// "CPU:1 [LOST 123 EVENTS]".
fn lost(text: &str) -> Option<u64> {
    let (cpu, words) = text.strip_prefix("CPU:")?.split_once(' ')?;
    let count = words.trim().strip_prefix("[LOST")?.strip_suffix("EVENTS]")?.trim();
    let is_cpu = !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
    let count = if count.is_empty() { 1 } else { count.parse().ok()? };
    is_cpu.then_some(count)
}

/// "0)" before the rest.
fn numbered(text: &str) -> (Option<u32>, &str) {
    let start = text.trim_start();
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    match (start[..digits].parse(), start[digits..].strip_prefix(')')) {
        (Ok(cpu), Some(rest)) => (Some(cpu), rest),
        _ => (None, text),
    }
}

/// "netprot-1862".
fn pid(word: &str) -> Option<u32> {
    let (_, digits) = word.rsplit_once('-')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// "! 101.284 us"; the mark is the order of magnitude.
fn nanoseconds(word: &str) -> Option<u64> {
    let number = word.strip_suffix("us")?.trim_end();
    let number = number.trim_start_matches(['+', '!', '#', '*', '@', '$']).trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !are_digits || fraction.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

fn interrupt(word: &str) -> Option<Event<'_>> {
    match word {
        "==========>" => Some(Event::InterruptBegin),
        "<==========" => Some(Event::InterruptEnd),
        _ => None,
    }
}

/// The text up to the comment in it.
fn without_comment(text: &str) -> &str {
    text.find("/*").map_or(text, |start| &text[..start])
}

fn event(text: &str) -> Event<'_> {
    if text.starts_with("/*") {
        return Event::Comment;
    }
    if let Some(rest) = text.strip_prefix('}') {
        let rest = rest.trim();
        let comment = rest.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
        return match comment {
            // Some kernels write the returned value there, or who called.
            Some(comment) => {
                let word = comment.split_whitespace().next();
                Event::Return(word.and_then(function).map(|function| function.name))
            }
            None if rest.is_empty() => Event::Return(None),
            None => Event::Unknown,
        };
    }
    let call = without_comment(text).trim_end();
    if let Some(interrupt) = interrupt(call) {
        return interrupt;
    }
    if let Some((from, to)) = call.split_once("=>") {
        return match (pid(from.trim()), pid(to.trim())) {
            (Some(from), Some(to)) => Event::Switch { from, to },
            _ => Event::Unknown,
        };
    }
    let Some((name, arguments)) = call.split_once('(') else { return Event::Unknown };
    match function(name) {
        Some(function) if arguments.ends_with(");") => Event::Leaf(function),
        Some(function) if arguments.ends_with(") {") => Event::Enter(function),
        _ => Event::Unknown,
    }
}

/// "nf_confirm [nf_conntrack]".
fn function(text: &str) -> Option<Function<'_>> {
    let text = text.trim();
    let (name, module) = match text.split_once(' ') {
        Some((name, module)) => {
            let module = module.trim().strip_prefix('[')?.strip_suffix(']')?;
            (name, Some(module))
        }
        None => (text, None),
    };
    // Without the place in the function, which an option adds.
    let name = name.split_once('+').map_or(name, |(name, _)| name);
    (is_name(name) && module.is_none_or(is_name)).then_some(Function { name, module })
}

/// Whether it can be the name of a function of the kernel, or of a module.
pub(crate) fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$-".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str) -> Function<'_> {
        Function { name, module: None }
    }

    #[test]
    fn columns_may_be_missing() {
        let leaf = |cpu, pid, time_ns, indent| {
            Some(Line { cpu, pid, time_ns, indent, event: Event::Leaf(plain("kfree")) })
        };
        let (zero, task) = (Some(0), Some(1862));
        for (text, wanted) in [
            (" 0)  netprot-1862  |   2.236 us    |    kfree();", leaf(zero, task, Some(2236), 4)),
            (
                " 12.000100 |   0)  a:b-/c-1862  | ! 101.284 us  |  kfree();",
                leaf(zero, task, Some(101_284), 2),
            ),
            (
                " 0)   netprot-1862  |  d.s1. | $ 12345.67 us |  kfree();",
                leaf(zero, task, Some(12_345_670), 2),
            ),
            (
                " 0)  (sd-pam)-1862  | @ 1234567 us |  kfree();",
                leaf(zero, task, Some(1_234_567_000), 2),
            ),
            (" 0)               |  kfree();", leaf(zero, None, None, 2)),
            (" 0)    kfree();", leaf(zero, None, None, 4)),
            ("   0.619 us    |    kfree(); /* = 0x0 | 1 */\r", leaf(None, None, Some(619), 4)),
            ("  kfree(objp=0xffff888003c0);", leaf(None, None, None, 2)),
            ("  kfree+0x0/0x110();", leaf(None, None, None, 2)),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[test]
    fn kinds_of_lines() {
        let event = |text| read(text).map(|line| line.event);
        let in_module = Function { name: "nf_confirm.part.0", module: Some("nf_conntrack") };
        for (text, wanted) in [
            ("  |  nf_confirm.part.0 [nf_conntrack]() {", Event::Enter(in_module)),
            ("  |  nf_confirm.part.0 [nf_conntrack]();", Event::Leaf(in_module)),
            (" 1)   1.000 us |  }", Event::Return(None)),
            (" 1)   1.000 us |  } /* kfree */", Event::Return(Some("kfree"))),
            (
                " 1)   1.000 us |  } /* nf_confirm [nf_conntrack] */",
                Event::Return(Some("nf_confirm")),
            ),
            (" 1)   1.000 us |  } /* = 0x0 */", Event::Return(None)),
            (" 1)   1.000 us |  } /* kfree = 0x0 */", Event::Return(Some("kfree"))),
            (" 1)   ==========> |", Event::InterruptBegin),
            (" 1)  a-7  |   <========== |", Event::InterruptEnd),
            (" 1)  ==========>", Event::InterruptBegin),
            (" 1)  sh-4   =>  ksoftir-14", Event::Switch { from: 4, to: 14 }),
            ("CPU:1 [LOST 123 EVENTS]", Event::Lost(123)),
            ("CPU:11 [LOST EVENTS]", Event::Lost(1)),
            (" 1)  a-7  |               |  /* begin a|b() { */", Event::Comment),
            (" 1)  a-7  |               |  kfree(", Event::Unknown),
            (" 1)  a-7  |               |  kfree()", Event::Unknown),
            (" 1)  a-7  |               |  } x", Event::Unknown),
            (" 1)  a-7  | 0.6", Event::Unknown),
            (" 1)  a-7  |  1.000 us |", Event::Unknown),
            ("a (b) => c-1", Event::Unknown),
            ("CPU:x [LOST 1 EVENTS]", Event::Unknown),
            ("  kf ree();", Event::Unknown),
            ("  \u{fc}ber();", Event::Unknown),
        ] {
            assert_eq!(event(text), Some(wanted), "{text}");
        }
        for nothing in
            ["", "  ", "# tracer: function_graph", " ----------", "##### CPU 2 buffer started ####"]
        {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        let long = format!("  {}();", "a".repeat(LONGEST_NAME + 1));
        assert_eq!(event(&long), Some(Event::Unknown));
        assert_eq!(event(&" |".repeat(LONGEST)), Some(Event::Unknown));
    }

    #[test]
    fn times_are_exact() {
        for (text, wanted) in [
            ("0.821 us", Some(821)),
            ("+ 18.611 us", Some(18_611)),
            ("12.5 us", Some(12_500)),
            ("7 us", Some(7000)),
            ("us", None),
            (". us", None),
            ("1.2345 us", None),
            ("-1.0 us", None),
            ("99999999999999999999 us", None),
            ("18446744073709551615 us", None),
        ] {
            assert_eq!(nanoseconds(text), wanted, "{text}");
        }
    }
}
