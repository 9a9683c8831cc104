//! The governor of the processor's frequency (cpufreq), of all cores together.

use super::{Found, Knob, Original, Scope, alone, command, kernel_file};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};
use std::fmt::Write;

/// What stands for it.
pub(super) const KIND: &str = "governor";

/// Where the kernel has a directory for each group of cores that share a clock.
const PLACE: &str = "/sys/devices/system/cpu/cpufreq";
const FILE: &str = "scaling_governor";

/// With this one a program sets the frequency, which would be lost.
const BY_A_PROGRAM: &str = "userspace";

#[derive(Debug)]
struct Governor {
    place: String,
}

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Governor { place: PLACE.to_owned() })
}

impl Governor {
    /// The governor of each group of cores.
    fn get(&self, host: &dyn Reach) -> Result<Original, Failure> {
        const TRIED: &str = "read the governor of the processor's frequency";
        let text = format!(
            "cd {} 2>/dev/null || exit 0
            for p in policy*; do
                [ ! -f \"$p/{FILE}\" ] || echo \"$p $(cat \"$p/{FILE}\")\"
            done",
            quote(&self.place)
        );
        let text = command(host, TRIED, &text, b"")?;
        let failed = |happened: &str| {
            let next = "Use another setting: the kernel of this host does not control the clock of the processor.";
            Err(Failure::new(Cause::NotPermitted, TRIED)
                .on(host.name())
                .happened(happened)
                .next(next))
        };
        let policy_governor = |line: &str| {
            let (policy, governor) = line.split_once(' ')?;
            Some((policy.to_owned(), governor.to_owned()))
        };
        match text.lines().map(policy_governor).collect::<Option<_>>().map(Original) {
            Some(original) if original.0.is_empty() => {
                failed("the kernel of the host has no cpufreq")
            }
            Some(original) => match self.check_original(&original) {
                Ok(()) => Ok(original),
                Err(why) => failed(&why),
            },
            None => failed("the output names no governor"),
        }
    }

    fn put(&self, host: &dyn Reach, lines: &str) -> Result<(), Failure> {
        let text = format!(
            "cd {} && while read -r p governor; do
                printf '%s\\n' \"$governor\" >\"$p/{FILE}\" || exit 1
            done",
            quote(&self.place)
        );
        command(host, "set the governor of the processor's frequency", &text, lines.as_bytes())
            .map(drop)
    }
}

/// A line for each group of cores.
fn lines<'a>(of: impl Iterator<Item = (&'a String, &'a str)>) -> String {
    of.fold(String::new(), |mut text, (policy, governor)| {
        let _ = writeln!(text, "{policy} {governor}");
        text
    })
}

fn is_governor(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=32).contains(&text.len()) && text.bytes().all(letter)
}

fn is_policy(text: &str) -> bool {
    text.strip_prefix("policy").is_some_and(|n| n.parse::<u16>().is_ok_and(|m| m.to_string() == n))
}

/// The governor that all have; else "mixed".
fn level(original: &Original) -> String {
    let mut governors = original.0.values();
    let first = governors.next().cloned().unwrap_or_default();
    if governors.all(|other| *other == first) { first } else { "mixed".to_owned() }
}

impl Knob for Governor {
    fn name(&self) -> String {
        KIND.to_owned()
    }

    fn scope(&self) -> Scope {
        Scope::Kernel
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match is_governor(level) && level != BY_A_PROGRAM {
            true => Ok(()),
            false => Err("it is not a governor, such as performance or powersave".into()),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        if original.0.values().any(|governor| governor == BY_A_PROGRAM) {
            return Err(
                "the governor is userspace: a frequency set by another program would be lost"
                    .into(),
            );
        }
        let sound =
            |(policy, governor): (&String, &String)| is_policy(policy) && is_governor(governor);
        match !original.0.is_empty() && original.0.iter().all(sound) {
            true => Ok(()),
            false => Err("it does not name groups of cores with their governors".into()),
        }
    }

    /// Those of the first group of cores.
    fn listed(&self, host: &dyn Reach) -> Option<Vec<String>> {
        let text = format!("cat {}/policy*/scaling_available_governors", quote(&self.place));
        let list = command(host, "list the governors", &text, b"").ok()?;
        let first = list.lines().next()?;
        Some(first.split_ascii_whitespace().map(str::to_owned).collect())
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let original = self.get(host)?;
        Ok(Found { level: level(&original), original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        self.put(host, &lines(original.0.keys().map(|policy| (policy, level))))
    }

    fn verify(&self, host: &dyn Reach, wanted: &str) -> Result<(), Failure> {
        let now = self.get(host)?;
        match now.0.values().find(|governor| *governor != wanted) {
            None => Ok(()),
            Some(other) => Err(kernel_file::not_in_effect(host, KIND, other, wanted)),
        }
    }

    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        self.put(host, &lines(original.0.iter().map(|(policy, g)| (policy, g.as_str()))))?;
        let now = self.get(host)?;
        match now == *original {
            true => Ok(()),
            false => {
                let (now, wanted) = (level(&now), level(original));
                Err(kernel_file::not_in_effect(host, KIND, &now, &wanted))
            }
        }
    }
}

/// On a directory that has the kernel's form: machines to test on seldom have a clock to set.
#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;
    use std::fs;
    use std::path::Path;

    fn found(place: &Path, governors: &[&str]) -> Governor {
        for (n, governor) in governors.iter().enumerate() {
            let policy = place.join(format!("policy{n}"));
            fs::create_dir_all(&policy).unwrap();
            fs::write(policy.join(FILE), format!("{governor}\n")).unwrap();
        }
        fs::create_dir_all(place.join("boost")).unwrap();
        Governor { place: place.to_str().unwrap().to_owned() }
    }

    fn has(place: &Path) -> Vec<String> {
        let governor =
            |n: usize| fs::read_to_string(place.join(format!("policy{n}")).join(FILE)).ok();
        (0..).map_while(governor).collect()
    }

    #[test]
    fn all_cores_are_set_and_each_is_put_back() {
        let place = tempfile::tempdir().unwrap();
        let knob = found(place.path(), &["schedutil", "powersave", "schedutil"]);
        let Found { level, original } = knob.read(&Local).unwrap();
        assert_eq!(level, "mixed");
        knob.check_original(&original).unwrap();
        let before = has(place.path());
        knob.apply(&Local, &original, "performance").unwrap();
        knob.verify(&Local, "performance").unwrap();
        assert_eq!(has(place.path()), ["performance\n"; 3]);
        // One that the kernel did not take.
        fs::write(place.path().join("policy1").join(FILE), "powersave\n").unwrap();
        let failure = knob.verify(&Local, "performance").unwrap_err();
        assert!(failure.happened.contains("\"powersave\""), "{failure}");
        knob.undo(&Local, &original).unwrap();
        knob.undo(&Local, &original).unwrap();
        assert_eq!(has(place.path()), before);
    }

    #[test]
    fn what_could_not_be_put_back_is_not_begun() {
        let place = tempfile::tempdir().unwrap();
        let none = Governor { place: place.path().join("none").to_str().unwrap().to_owned() };
        assert!(none.read(&Local).unwrap_err().happened.contains("no cpufreq"));
        let knob = found(place.path(), &["powersave", "userspace"]);
        assert!(knob.read(&Local).unwrap_err().happened.contains("would be lost"));
        // A core that is gone meanwhile.
        let knob = found(place.path(), &["powersave", "powersave"]);
        let original = knob.read(&Local).unwrap().original;
        fs::remove_dir_all(place.path().join("policy1")).unwrap();
        assert!(knob.undo(&Local, &original).is_err());
    }

    #[test]
    fn originals_name_groups_of_cores_alone() {
        let knob = make("").unwrap();
        let checked = |policy: &str, governor: &str| {
            knob.check_original(&Original([(policy.to_owned(), governor.to_owned())].into()))
        };
        checked("policy0", "schedutil").unwrap();
        for (policy, governor) in [
            ("policy", "schedutil"),
            ("policy00", "schedutil"),
            ("policy0/../../x", "schedutil"),
            ("../policy0", "schedutil"),
            ("policy0", ""),
            ("policy0", "a b"),
            ("policy0", "a\nb"),
            ("policy0", "userspace"),
        ] {
            assert!(checked(policy, governor).is_err(), "{policy} {governor}");
        }
        assert!(knob.check_original(&Original::default()).is_err());
        assert!(knob.check("user space").is_err() && knob.check("").is_err());
        assert!(make("policy0").is_err());
    }
}
