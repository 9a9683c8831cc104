//! The kernel's function_graph tracer, by the files of tracefs: which functions it traces, with what is below them.
//!
//! A kernel has one tracer for all. One that another program uses is not touched: then the setting cannot be read.

use super::kernel_file::{self, check};
use super::{Found, Knob, Original, Scope, alone, command};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What stands for it.
pub const KIND: &str = "tracer";

/// Where tracefs is mounted, the usual place first.
pub const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Level without a traced function, as it is read.
const OFF: &str = "off";
const TRACER: &str = "function_graph";

/// Files with one value that undoing writes back, and the value while functions are traced; `None`: see `apply`. Kernels
/// lack some of them.
const VALUES: [(&str, Option<&str>); 13] = [
    ("tracing_on", None),
    ("buffer_size_kb", None),
    ("max_graph_depth", Some("0")),
    ("options/latency-format", Some("0")),
    ("options/function-fork", Some("1")),
    ("options/funcgraph-abstime", Some("0")),
    ("options/funcgraph-cpu", Some("1")),
    ("options/funcgraph-duration", Some("1")),
    ("options/funcgraph-irqs", Some("0")),
    ("options/funcgraph-overrun", Some("0")),
    ("options/funcgraph-proc", Some("1")),
    ("options/funcgraph-tail", Some("0")),
    ("options/funcgraph-retval", Some("0")),
];

/// Files that are empty unless somebody traces; those that `apply` or a traced program fills come first.
const FILTERS: [&str; 8] = [
    "set_graph_function",
    "set_ftrace_pid",
    "set_ftrace_filter",
    "set_graph_notrace",
    "set_ftrace_notrace",
    "set_ftrace_notrace_pid",
    "trace",
    "events/enable",
];
const OWN_FILTERS: usize = 3;

/// Key of an [`Original`] beside the files: the boot id.
const BOOT: &str = "boot";

/// Most functions of a level, and its bounds of the buffer of each core, in KiB.
const MOST_FUNCTIONS: usize = 8;
const LEAST_KIB: u32 = 64;
/// See [`LEAST_KIB`].
const MOST_KIB: u32 = 256 << 10;

/// The kernel rounds the size of a buffer up to whole pages, in KiB.
const ROUNDED_KIB: u32 = 64;

/// The level at which these functions are traced with all that they call, into a buffer of so many KiB for each core.
pub fn level(functions: &[&str], buffer_kib: u32) -> String {
    format!("{}@{buffer_kib}", functions.join("+"))
}

/// The same where of all that they call `only` these functions are traced, and others run as if there were no tracer.
pub fn level_of_few(functions: &[&str], only: &[&str], buffer_kib: u32) -> String {
    format!("{}/{}", level(functions, buffer_kib), only.join("+"))
}

#[derive(Debug)]
struct Tracer {
    places: Vec<String>,
}

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Tracer { places: PLACES.map(str::to_owned).to_vec() })
}

/// Shell that enters the directory of tracefs.
pub fn enter(places: &[impl AsRef<str>]) -> String {
    let places: Vec<&str> = places.iter().map(AsRef::as_ref).collect();
    format!(
        "at=; for d in {}; do [ ! -e \"$d/current_tracer\" ] || {{ at=$d; break; }}; done
        [ -n \"$at\" ] || {{ echo 'no tracefs is mounted, or this user is not root' >&2; exit 1; }}
        cd \"$at\" || exit 1",
        places.join(" ")
    )
}

/// A level in parts.
struct Level<'a> {
    functions: Vec<&'a str>,
    buffer_kib: u32,
    /// Functions that are traced below them; empty: all.
    only: Vec<&'a str>,
}

/// The parts of a level.
fn parsed(level: &str) -> Result<Level<'_>, String> {
    let (functions, rest) =
        level.split_once('@').ok_or("it is not FUNCTION+FUNCTION@KIB, as plimsoll trace has it")?;
    let (kib, only) = match rest.split_once('/') {
        Some((kib, only)) => (kib, names(only)?),
        None => (rest, Vec::new()),
    };
    match kib.parse::<u32>() {
        Ok(buffer_kib) if (LEAST_KIB..=MOST_KIB).contains(&buffer_kib) => {
            Ok(Level { functions: names(functions)?, buffer_kib, only })
        }
        _ => Err(format!("the buffer is not from {LEAST_KIB} to {MOST_KIB} KiB")),
    }
}

/// Names of functions.
fn names(text: &str) -> Result<Vec<&str>, String> {
    let names: Vec<&str> = text.split('+').collect();
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"_.".contains(&b);
    let sound = |name: &&str| (1..=128).contains(&name.len()) && name.bytes().all(letter);
    if names.len() > MOST_FUNCTIONS || !names.iter().all(sound) {
        return Err("it does not name kernel functions".into());
    }
    Ok(names)
}

/// Functions in a file of tracefs, in order. The kernel writes the module of a function after it.
fn listed(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> =
        text.split_whitespace().filter(|word| !word.starts_with('[')).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What undoing writes to buffer_size_kb: of a buffer that the kernel would enlarge for the first tracer, that size.
fn buffer_kib(value: &str) -> Option<u32> {
    match value.split_once(" (expanded: ") {
        Some((_, expanded)) => expanded.strip_suffix(')')?.parse().ok(),
        None => value.parse().ok(),
    }
}

/// Whether this can be the value of a file of `VALUES`.
fn is_value(file: &str, value: &str) -> bool {
    match file {
        "buffer_size_kb" => buffer_kib(value).is_some(),
        _ => value.len() <= 9 && value.parse::<u32>().is_ok(),
    }
}

/// What the files say, by name.
type Files = BTreeMap<String, String>;

impl Tracer {
    /// The files that there are, each in one line.
    fn files(&self, host: &dyn Reach) -> Result<Files, Failure> {
        let names: Vec<&str> = VALUES.iter().map(|(file, _)| *file).chain(FILTERS).collect();
        let text = format!(
            "{}
            for f in current_tracer {}; do
                [ ! -e $f ] || printf '%s=%s\\n' $f \"$(grep -v '^#' $f | head -c 256 | tr '\\n' ' ')\"
            done",
            enter(&self.places),
            names.join(" ")
        );
        let text = command(host, "read the state of the kernel's tracer", &text, b"")?;
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let plain = |value: &str| match value.trim() {
            "no pid" => String::new(),
            value => value.to_owned(),
        };
        Ok(lines.map(|(file, value)| (file.to_owned(), plain(value))).collect())
    }

    /// What shows that another program traces.
    fn use_of_others(files: &Files) -> Option<String> {
        let content = |file: &str| files.get(file).map_or("", String::as_str);
        if content("current_tracer") != "nop" {
            return Some(format!("current_tracer is {}", content("current_tracer")));
        }
        if !["", "0"].contains(&content("events/enable")) {
            return Some("trace events are enabled".to_owned());
        }
        let filters = FILTERS.iter().filter(|file| **file != "events/enable");
        let used = filters.copied().find(|file| !content(file).is_empty());
        used.map(|file| format!("{file} has entries"))
    }

    fn refused(&self, host: &dyn Reach, happened: &str) -> Failure {
        let next = "Wait until the other program ends. If none runs, reset its state: echo nop \
            >current_tracer and echo >FILE, in the host's /sys/kernel/tracing.";
        let tried = "use the kernel's tracer";
        Failure::new(Cause::NotPermitted, tried).on(host.name()).happened(happened).next(next)
    }

    /// Shell that puts everything back, without a line break.
    fn back(&self, original: &Original) -> String {
        let place = enter(&self.places).replace('\n', "; ");
        // The kernel enlarges its buffer at every write to current_tracer, also without effect.
        let mut text = format!(
            "{place}; echo 0 >tracing_on; [ \"$(cat current_tracer)\" = nop ] || echo nop >current_tracer"
        );
        for file in &FILTERS[..OWN_FILTERS] {
            let _ = write!(text, "; [ ! -e {file} ] || echo >{file}");
        }
        let values = VALUES.iter().filter_map(|(file, _)| Some((*file, original.0.get(*file)?)));
        for (file, value) in values.filter(|(file, _)| *file != "tracing_on") {
            let wanted =
                if file == "buffer_size_kb" { buffer_kib(value) } else { value.parse().ok() };
            let _ = wanted.map(|wanted| {
                write!(text, "; [ \"$(cat {file})\" = '{value}' ] || echo {wanted} >{file}")
            });
        }
        let on = original.0.get("tracing_on").map_or("1", String::as_str);
        let _ = write!(text, "; echo >trace; echo {on} >tracing_on");
        text
    }

    /// Fails unless the tracer is as it was found.
    fn expect_back(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let now = self.files(host)?;
        let wrong = Tracer::use_of_others(&now).or_else(|| {
            let other = original.0.iter().find(|(file, value)| {
                *file != BOOT && !same(file, value, now.get(*file).map_or("", String::as_str))
            });
            other.map(|(file, _)| format!("{file} differs from its old value"))
        });
        let Some(happened) = wrong else { return Ok(()) };
        let next = "Check the files of the host's /sys/kernel/tracing.";
        Err(Failure::new(Cause::Trial, "reset the kernel's tracer")
            .on(host.name())
            .happened(happened)
            .next(next))
    }
}

/// Whether what a file says now means the value that was found.
fn same(file: &str, found: &str, now: &str) -> bool {
    match (file, buffer_kib(found), buffer_kib(now)) {
        ("buffer_size_kb", Some(found), Some(now)) => {
            (found..=found.saturating_add(ROUNDED_KIB)).contains(&now)
        }
        _ => found == now,
    }
}

impl Knob for Tracer {
    fn name(&self) -> String {
        KIND.to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Kernel
    }

    fn check(&self, level: &str) -> Result<(), String> {
        parsed(level).map(drop)
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        for (file, value) in &original.0 {
            let known = match file.as_str() {
                BOOT => kernel_file::is_boot(value),
                file => VALUES.iter().any(|(own, _)| *own == file) && is_value(file, value),
            };
            if !known || check(value).is_err() {
                return Err("it contains other files or values than the tracer has".into());
            }
        }
        match [BOOT, "tracing_on", "buffer_size_kb"].iter().all(|key| original.0.contains_key(*key))
        {
            true => Ok(()),
            false => Err("it does not contain the state of a tracer".into()),
        }
    }

    /// Fails where another program uses the tracer.
    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let mut files = self.files(host)?;
        if let Some(by) = Tracer::use_of_others(&files) {
            return Err(self.refused(host, &format!("another program uses it: {by}")));
        }
        files.retain(|file, _| VALUES.iter().any(|(own, _)| own == file));
        files.insert(BOOT.to_owned(), kernel_file::boot(host)?);
        let original = Original(files);
        self.check_original(&original).map_err(|why| self.refused(host, &why))?;
        Ok(Found { level: OFF.to_owned(), original })
    }

    /// Nothing is recorded until somebody turns tracing_on on.
    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        let usage =
            |why: String| Failure::new(Cause::Usage, "read a tracer").on(level).happened(why);
        let Level { functions, buffer_kib: kib, only } = parsed(level).map_err(usage)?;
        let boot = original.0.get(BOOT).map_or("", String::as_str);
        kernel_file::expect_boot(host, KIND, boot)?;
        let mut steps = vec![
            "echo 0 >tracing_on".to_owned(),
            format!("{{ [ \"$(cat buffer_size_kb)\" = {kib} ] || echo {kib} >buffer_size_kb; }}"),
            "echo >set_graph_function".to_owned(),
            "{ [ ! -e set_ftrace_filter ] || echo >set_ftrace_filter; }".to_owned(),
        ];
        let add = |file: &'static str| move |name: &&str| format!("echo {name} >>{file}");
        steps.extend(functions.iter().map(add("set_graph_function")));
        steps.extend(only.iter().map(add("set_ftrace_filter")));
        steps.push(format!("echo {TRACER} >current_tracer"));
        for (file, wanted) in VALUES.iter().filter_map(|(file, wanted)| Some((file, (*wanted)?))) {
            if original.0.contains_key(*file) {
                steps.push(format!("echo {wanted} >{file}"));
            }
        }
        steps.push("echo >trace".to_owned());
        let text = format!("{}\n{}", enter(&self.places), steps.join(" &&\n"));
        command(host, "start the kernel's tracer", &text, b"").map(drop)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let usage =
            |why: String| Failure::new(Cause::Usage, "read a tracer").on(level).happened(why);
        let wanted = parsed(level).map_err(usage)?;
        let files = self.files(host)?;
        let content = |file: &str| files.get(file).map_or("", String::as_str);
        let functions = listed(content("set_graph_function"));
        let are_traced = functions == listed(&wanted.functions.join(" "));
        let only = listed(content("set_ftrace_filter"));
        if content("current_tracer") == TRACER
            && are_traced
            && only == listed(&wanted.only.join(" "))
        {
            return Ok(());
        }
        let value = format!("{} of {}", content("current_tracer"), functions.join("+"));
        Err(kernel_file::not_in_effect(host, KIND, &value, level))
    }

    /// After a reboot nothing is left to undo.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        if kernel_file::boot(host)? != original.0.get(BOOT).map_or("", String::as_str) {
            return Ok(());
        }
        command(host, "reset the kernel's tracer", &self.back(original), b"")?;
        self.expect_back(host, original)
    }

    /// A traced host is slow, and the link may be lost meanwhile.
    fn undo_by_shell(&self, original: &Original) -> Option<String> {
        Some(format!("({})", self.back(original)))
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let keys = original.0.keys().eq(now.0.keys());
        keys && original
            .0
            .iter()
            .all(|(file, value)| now.0.get(file).is_some_and(|other| same(file, value, other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;
    use std::fs;
    use std::path::Path;

    /// A directory with the files of a kernel that traces nothing.
    fn idle(place: &Path) -> Tracer {
        fs::create_dir_all(place.join("options")).unwrap();
        fs::create_dir_all(place.join("events")).unwrap();
        for (file, value) in [
            ("current_tracer", "nop\n"),
            ("tracing_on", "1\n"),
            ("buffer_size_kb", "7 (expanded: 1408)\n"),
            ("set_graph_function", "#### all functions enabled ####\n"),
            ("set_ftrace_filter", "#### all functions enabled ####\n"),
            ("set_ftrace_pid", "no pid\n"),
            ("trace", "# tracer: nop\n#\n"),
            ("events/enable", "0\n"),
            ("options/funcgraph-irqs", "1\n"),
            ("options/funcgraph-proc", "0\n"),
            ("options/function-fork", "0\n"),
        ] {
            fs::write(place.join(file), value).unwrap();
        }
        Tracer { places: vec!["/no/such/place".into(), place.to_str().unwrap().into()] }
    }

    fn text(place: &Path, file: &str) -> String {
        fs::read_to_string(place.join(file)).unwrap().trim().to_owned()
    }

    #[test]
    fn a_tracer_is_started_and_put_back() {
        let place = tempfile::tempdir().unwrap();
        let (tracer, place) = (idle(place.path()), place.path());
        let Found { level: found, original } = tracer.read(&Local).unwrap();
        assert_eq!(found, OFF);
        tracer.check_original(&original).unwrap();
        let traced = level(&["__x64_sys_sendto", "__x64_sys_pread64"], 4096);
        tracer.check(&traced).unwrap();
        tracer.apply(&Local, &original, &traced).unwrap();
        tracer.verify(&Local, &traced).unwrap();
        for (file, value) in [
            ("current_tracer", "function_graph"),
            ("tracing_on", "0"),
            ("buffer_size_kb", "4096"),
            ("options/funcgraph-irqs", "0"),
            ("options/funcgraph-proc", "1"),
            ("options/function-fork", "1"),
            ("set_graph_function", "__x64_sys_sendto\n__x64_sys_pread64"),
        ] {
            assert_eq!(text(place, file), value, "{file}");
        }
        assert!(!place.join("options/funcgraph-tail").exists(), "a file that the kernel lacks");
        // Another level, and one that is not in effect.
        let other = level(&["__x64_sys_fsync"], 64);
        assert!(tracer.verify(&Local, &other).is_err());
        tracer.apply(&Local, &original, &other).unwrap();
        tracer.verify(&Local, &other).unwrap();
        // The kernel adds the modules.
        let few = level_of_few(&["svc_process", "f"], &["svc_process", "nfsd4_read"], 64);
        tracer.apply(&Local, &original, &few).unwrap();
        tracer.verify(&Local, &few).unwrap();
        assert_eq!(text(place, "set_ftrace_filter"), "svc_process\nnfsd4_read");
        fs::write(place.join("set_graph_function"), "f\nsvc_process [sunrpc]\n").unwrap();
        fs::write(place.join("set_ftrace_filter"), "nfsd4_read [nfsd]\nsvc_process [sunrpc]\n")
            .unwrap();
        tracer.verify(&Local, &few).unwrap();
        assert!(tracer.verify(&Local, &level(&["svc_process", "f"], 64)).is_err());
        fs::write(place.join("set_ftrace_pid"), "77\n").unwrap();
        fs::write(place.join("trace"), "# x\n 0)   1.5 us  |  f();\n").unwrap();
        tracer.undo(&Local, &original).unwrap();
        tracer.undo(&Local, &original).unwrap();
        for (file, value) in [
            ("current_tracer", "nop"),
            ("tracing_on", "1"),
            // What the kernel makes of it for the first tracer.
            ("buffer_size_kb", "1408"),
            ("options/funcgraph-irqs", "1"),
            ("options/funcgraph-proc", "0"),
            ("options/function-fork", "0"),
            ("set_graph_function", ""),
            ("set_ftrace_filter", ""),
            ("set_ftrace_pid", ""),
            ("trace", ""),
        ] {
            assert_eq!(text(place, file), value, "{file}");
        }
        let now = tracer.read(&Local).unwrap().original;
        assert!(tracer.is_as_found(&original, &now), "{original:?} {now:?}");
    }

    #[test]
    fn the_timer_of_a_host_puts_it_back_likewise() {
        let place = tempfile::tempdir().unwrap();
        let tracer = idle(place.path());
        let original = tracer.read(&Local).unwrap().original;
        tracer.apply(&Local, &original, &level(&["f"], 64)).unwrap();
        let line = tracer.undo_by_shell(&original).unwrap();
        assert!(!line.contains('\n'));
        command(&Local, "undo", &line, b"").unwrap();
        tracer.expect_back(&Local, &original).unwrap();
    }

    #[test]
    fn a_tracer_that_another_program_uses_is_left_alone() {
        for (file, value, named) in [
            ("current_tracer", "function\n", "current_tracer is function"),
            ("set_ftrace_filter", "tcp_sendmsg\n", "set_ftrace_filter has entries"),
            ("set_ftrace_pid", "12\n", "set_ftrace_pid has entries"),
            ("trace", "# tracer: nop\n cat-1 [000] ..... 1.0: sys_enter\n", "trace has entries"),
            ("events/enable", "X\n", "trace events are enabled"),
        ] {
            let place = tempfile::tempdir().unwrap();
            let tracer = idle(place.path());
            fs::write(place.path().join(file), value).unwrap();
            let failure = tracer.read(&Local).unwrap_err();
            assert_eq!(failure.cause, Cause::NotPermitted);
            assert!(failure.happened.contains(named), "{failure}");
            assert_eq!(fs::read_to_string(place.path().join(file)).unwrap(), value);
        }
        let none = Tracer { places: vec!["/no/such/place".into()] };
        let failure = none.read(&Local).unwrap_err();
        assert!(failure.happened.contains("no tracefs"), "{failure}");
    }

    #[test]
    fn nothing_is_undone_after_a_reboot() {
        let place = tempfile::tempdir().unwrap();
        let tracer = idle(place.path());
        let mut original = tracer.read(&Local).unwrap().original;
        let boot = "00000000-0000-0000-0000-000000000000".to_owned();
        original.0.insert(BOOT.to_owned(), boot);
        tracer.check_original(&original).unwrap();
        fs::write(place.path().join("current_tracer"), "function\n").unwrap();
        tracer.undo(&Local, &original).unwrap();
        assert_eq!(text(place.path(), "current_tracer"), "function");
        assert!(tracer.apply(&Local, &original, "f@64").is_err());
    }

    #[test]
    fn what_is_no_level_or_original() {
        let tracer = make("").unwrap();
        for level in
            ["", "f", "@64", "f@", "f@1", "f@9999999", "f g@64", "f;id@64", "f+@64", "$(id)@64"]
        {
            assert!(tracer.check(level).is_err(), "{level}");
        }
        for level in ["f@64/", "f@64/g;id", "f@64/g+", "f@64/g/h", "f/g@64", "f@64@64"] {
            assert!(tracer.check(level).is_err(), "{level}");
        }
        tracer.check("ip_rcv.isra.0+f@64").unwrap();
        tracer.check("f@64/f+g").unwrap();
        let boot = ("boot", "01234567-0123-0123-0123-0123456789ab");
        let checked = |pairs: &[(&str, &str)]| {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            tracer.check_original(&Original(pairs.iter().map(own).collect()))
        };
        checked(&[boot, ("tracing_on", "1"), ("buffer_size_kb", "7 (expanded: 1408)")]).unwrap();
        for pairs in [
            &[boot, ("tracing_on", "1")][..],
            &[boot, ("tracing_on", "1;id"), ("buffer_size_kb", "7")],
            &[boot, ("tracing_on", "1"), ("buffer_size_kb", "7 (expanded: x)")],
            &[boot, ("tracing_on", "1"), ("buffer_size_kb", "7'; id; '")],
            &[boot, ("tracing_on", "1"), ("buffer_size_kb", "7"), ("../x", "1")],
            &[("boot", "x"), ("tracing_on", "1"), ("buffer_size_kb", "7")],
        ] {
            assert!(checked(pairs).is_err(), "{pairs:?}");
        }
    }
}
