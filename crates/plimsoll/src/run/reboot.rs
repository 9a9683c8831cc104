//! The reboot that each setting begins with: of the plan's `[reboot]`, or of `--reboot`.

use super::file::{RebootEntry, Source};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Factor, Failure, HostName, Reboot, Switch};
use std::time::Duration;

/// Until a box that checks its disks works again.
const WITHIN: Duration = Duration::from_secs(600);

/// What is rebooted and how, if anything. Each factor is one that restarts something then.
pub fn reboot(
    source: &Source<'_>,
    asked: bool,
    clients: &[HostName],
    factors: &mut [Factor],
) -> Result<Option<Reboot>, Failure> {
    let none = RebootEntry::default();
    let Some(entry) = source.plan.reboot.as_ref().or(asked.then_some(&none)) else {
        return Ok(None);
    };
    let problem =
        |key, happened: &str, next: &str| Err(source.problem(&["reboot", key], happened, next));
    let host = match (&entry.host, &*factors) {
        (_, []) => {
            let next = "Add a [[factor]]: the device is rebooted before each setting.";
            return problem("host", "the plan varies no setting", next);
        }
        (Some(host), _) => {
            let host = source.fill_all(&["reboot", "host"], host)?;
            host.parse().map_err(|failure| source.placed(&["reboot", "host"], failure))?
        }
        (None, [first, rest @ ..]) if rest.iter().all(|other| other.host == first.host) => {
            first.host.clone()
        }
        (None, _) => {
            let next = "Name the host to reboot: [reboot] host = \"ssh://root@nas\".";
            return problem("host", "the plan varies settings of several hosts", next);
        }
    };
    if host == HostName::Local || clients.contains(&host) {
        let happened = format!("{} runs the load and would be rebooted", host.name());
        return problem(
            "host",
            &happened,
            "Reboot another host, or run the load on another host with --on.",
        );
    }
    let command = entry.command.as_ref().map(|line| source.fill_all(&["reboot", "command"], line));
    let within = match &entry.within {
        None => WITHIN,
        Some(text) => match parse_duration(text) {
            Ok(within) if !within.is_zero() => within,
            Ok(_) => return problem("within", "the time must be longer than 0", "Write \"5min\"."),
            Err(why) => return problem("within", &why, "Write \"5min\"."),
        },
    };
    for factor in factors {
        factor.switch = Switch::Restart;
    }
    let within_seconds = within.as_secs_f64();
    Ok(Some(Reboot { host, command: command.transpose()?, within_seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Cause, FactorLevel};

    const PLAN: &str = "about = \"x\"\n[[job]]\nkind = \"scan\"\n[reboot]\n";

    fn factor(host: &str) -> Factor {
        let (name, levels) = ("nfsd-threads".into(), vec![FactorLevel::AsFound; 2]);
        Factor { name, host: host.parse().unwrap(), levels, switch: Switch::Live }
    }

    fn made(text: &str, hosts: &[&str], asked: bool) -> Result<(Option<Reboot>, bool), Failure> {
        let source = Source::read(text, "plan.toml", &[])?;
        let mut factors: Vec<Factor> = hosts.iter().map(|host| factor(host)).collect();
        let clients = ["ssh://client".parse().unwrap()];
        let made = reboot(&source, asked, &clients, &mut factors)?;
        Ok((made, factors.iter().all(|factor| factor.switch == Switch::Restart)))
    }

    #[test]
    fn a_plan_says_how_and_an_option_that() {
        let nas = "ssh://root@nas";
        let (without, _) = PLAN.split_once("[reboot]").unwrap();
        assert_eq!(made(without, &[nas], false).unwrap(), (None, false));
        let (usual, restart) = made(without, &[nas, nas], true).unwrap();
        let usual = usual.unwrap();
        assert_eq!(
            (usual.host.to_string(), usual.command, usual.within_seconds),
            (nas.into(), None, 600.0)
        );
        assert!(restart, "every setting is a whole plot");
        let more = "host = \"ssh://root@box\"\ncommand = \"systemctl reboot\"\nwithin = \"90s\"\n";
        let (own, restart) = made(&format!("{PLAN}{more}"), &[nas, "local"], false).unwrap();
        let own = own.unwrap();
        assert_eq!((own.host.to_string(), own.within_seconds), ("ssh://root@box".into(), 90.0));
        assert_eq!(own.command.as_deref(), Some("systemctl reboot"));
        assert!(restart);
    }

    #[test]
    fn what_cannot_be_rebooted_is_found_with_its_line() {
        let nas = "ssh://root@nas";
        let cases: [(&str, &[&str], &str); 7] = [
            ("", &[], "varies no setting"),
            ("", &[nas, "ssh://root@other"], "several hosts"),
            ("", &["local"], "this machine"),
            ("host = \"ssh://client\"", &[nas], "client runs the load"),
            ("within = \"soon\"", &[nas], "soon"),
            ("within = \"0s\"", &[nas], "longer than 0"),
            ("host = \"telnet://nas\"", &[nas], "telnet"),
        ];
        for (line, hosts, words) in cases {
            let failure = made(&format!("{PLAN}{line}\n"), hosts, false).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{line}");
            let text = failure.to_string();
            assert!(text.contains(words) && text.contains("plan.toml:"), "{line}: {text}");
        }
        let failure = made(&format!("{PLAN}hosts = 1\n"), &[nas], false).unwrap_err();
        assert!(failure.to_string().contains("`host`"), "{failure}");
    }
}
