//! Which of plimsoll's patterns a run of fio is.

use super::run::Run;
use plimsoll_model::Pattern;

/// What kind of pattern a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One that plimsoll has.
    Known(Pattern),
    /// One that it has no word for; how to call it.
    Foreign(String),
    /// It cannot be told from the file.
    Unknown,
}

/// The pattern of a run: what the job was asked for, else what the user says, else what its name
/// says of order and its figures of direction.
pub(super) fn of(run: &Run, said: Option<Pattern>) -> Kind {
    if let Some(rw) = &run.asked.rw {
        return asked(rw);
    }
    if let Some(pattern) = said {
        return Kind::Known(pattern);
    }
    let names = [run.section.test.as_deref().unwrap_or_default(), &run.name];
    let random = names.iter().find_map(|name| is_random(name));
    match (random, run.read.is_some(), run.write.is_some(), run.unified.is_some()) {
        (None, ..) => Kind::Unknown,
        (Some(true), true, false, false) => Kind::Known(Pattern::RandomRead),
        (Some(true), false, true, false) => Kind::Known(Pattern::RandomWrite),
        (Some(true), true, true, _) | (Some(true), _, _, true) => Kind::Known(Pattern::RandomMixed),
        (Some(false), true, false, false) => Kind::Known(Pattern::SequentialRead),
        (Some(false), false, true, false) => Kind::Known(Pattern::SequentialWrite),
        (Some(false), true, true, _) | (Some(false), _, _, true) => mixed(),
        (Some(_), false, false, false) => Kind::Unknown,
    }
}

/// fio's word for a pattern; a modifier may follow, as in `randread:8`.
fn asked(rw: &str) -> Kind {
    let word = rw.split([':', ',']).next().unwrap_or_default().trim();
    match word {
        "read" => Kind::Known(Pattern::SequentialRead),
        "write" => Kind::Known(Pattern::SequentialWrite),
        "randread" => Kind::Known(Pattern::RandomRead),
        "randwrite" => Kind::Known(Pattern::RandomWrite),
        "randrw" => Kind::Known(Pattern::RandomMixed),
        "rw" | "readwrite" => mixed(),
        other => Kind::Foreign(format!("'{}'", other.escape_debug())),
    }
}

fn mixed() -> Kind {
    Kind::Foreign("reads and writes mixed in sequential order ('rw')".to_owned())
}

/// What a job's name says of the order of its offsets.
fn is_random(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "read" | "write" | "rw" | "readwrite" => Some(false),
        _ if name.contains("rand") => Some(true),
        _ if name.contains("seq") => Some(false),
        _ => None,
    }
}
