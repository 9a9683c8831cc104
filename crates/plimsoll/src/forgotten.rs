//! Programs that killed runs left on hosts, in words.

use crate::output;
use plimsoll_model::printable;
use plimsoll_reach::deploy::{self, Forgotten};
use plimsoll_reach::{Reach, quote};

/// A line for each directory of such a program: removed, or with the command that removes it.
pub fn lines(found: &Forgotten, host: &str) -> Vec<String> {
    let host = printable(host);
    let removed = found.removed.iter().map(|directory| {
        format!("removed {} from {host}: a program of a killed run", printable(directory))
    });
    let kept = found.kept.iter().map(|directory| {
        let command = format!("rm -rf {}", quote(directory));
        format!(
            "kept {} on {host}: a program of a run that was killed, or that runs in another container or lab host. \
             If it was killed, run on {host}: {}",
            printable(directory),
            printable(&command)
        )
    });
    removed.chain(kept).collect()
}

/// Removes the programs of killed runs from a host that is about to be measured, and names them. What may be in use
/// is left to `restore` and `clean`.
pub fn remove(reach: &dyn Reach) {
    let found = deploy::forgotten(reach, &[]);
    note(&Forgotten { kept: Vec::new(), ..found }, reach.name());
}

/// Names them beside the output of a command.
pub fn note(found: &Forgotten, host: &str) {
    for line in lines(found, host) {
        output::complain(&format!("plimsoll: note: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_named_with_the_command_that_removes_it() {
        let found = Forgotten {
            removed: vec!["/dev/shm/plimsoll-0123456789abcdef".into()],
            kept: vec!["/tmp/it's/plimsoll-0123456789abcdef".into()],
        };
        let [removed, kept] = &lines(&found, "ssh://root@nas")[..] else { panic!("two lines") };
        assert_eq!(
            removed,
            "removed /dev/shm/plimsoll-0123456789abcdef from ssh://root@nas: a program of a killed run"
        );
        assert!(
            kept.ends_with(
                r"run on ssh://root@nas: rm -rf '/tmp/it'\''s/plimsoll-0123456789abcdef'"
            ),
            "{kept}"
        );
    }
}
