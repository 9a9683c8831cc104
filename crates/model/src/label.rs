//! Short unique names of the subjects of a study.

use crate::{Plan, Subject, Target};
use std::collections::HashSet;

/// A short name for each subject of the plan, each different from the others: as the user chose; else
/// what sets them apart: the protocol ("nfs", "smb"), the server, or the share. Directories are their
/// paths. Never empty.
pub fn labels(plan: &Plan) -> Vec<String> {
    let mut labels = plan.labels.clone();
    let distinct = apart(&plan.subjects);
    labels.truncate(distinct.len());
    labels.extend(distinct.into_iter().skip(labels.len()));
    unique(labels)
}

/// Name of a subject.
type Naming = fn(&Subject) -> String;

/// First naming that is unique for all subjects, or else the subjects as given.
fn apart(subjects: &[Subject]) -> Vec<String> {
    let namings: [Naming; 5] = match subjects {
        [_] => [server, protocol, share, service, options],
        _ => [protocol, server, share, service, options],
    };
    let mut named = namings.iter().map(|naming| subjects.iter().map(naming).collect::<Vec<_>>());
    let distinct = |names: &Vec<String>| {
        names.iter().collect::<HashSet<_>>().len() == names.len() && !names.contains(&String::new())
    };
    let found = named.find(distinct);
    found.unwrap_or_else(|| subjects.iter().map(Subject::to_string).collect())
}

/// Path of a directory, path through a network, or host without its transport. Other subjects have
/// no such name.
fn otherwise(subject: &Subject, of: impl Fn(&Target) -> Option<String>) -> String {
    subject.target().and_then(of).unwrap_or_else(|| subject.short_name())
}

fn protocol(subject: &Subject) -> String {
    otherwise(subject, |target| match target {
        Target::Directory(_) => None,
        Target::Nfs(_) => Some("nfs".to_owned()),
        Target::Smb(_) => Some("smb".to_owned()),
    })
}

fn server(subject: &Subject) -> String {
    otherwise(subject, |target| target.host().map(str::to_owned))
}

fn share(subject: &Subject) -> String {
    otherwise(subject, |target| match target {
        Target::Directory(_) => None,
        Target::Nfs(nfs) => Some(nfs.path.clone()),
        Target::Smb(smb) => Some(match smb.path.trim_matches('/') {
            "" => smb.share.clone(),
            path => format!("{}/{path}", smb.share),
        }),
    })
}

/// The server with its port.
fn service(subject: &Subject) -> String {
    otherwise(subject, |target| {
        let given = target.to_string();
        let (_, rest) = given.split_once("://")?;
        let authority = rest.split(['/', '?']).next()?;
        Some(authority.rsplit('@').next()?.to_owned())
    })
}

/// The options behind the address.
fn options(subject: &Subject) -> String {
    otherwise(subject, |target| {
        target.host()?;
        let given = target.to_string();
        let options = given.split_once('?').map(|(_, options)| options.to_owned());
        Some(options.unwrap_or_else(|| "no options".to_owned()))
    })
}

/// The same names, with a number appended to repeated names.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut used: HashSet<String> = HashSet::new();
    let name = |name: String| {
        let mut own = name.clone();
        let mut number = 2;
        while !used.insert(own.clone()) {
            own = format!("{name} ({number})");
            number += 1;
        }
        own
    };
    names.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, PathSubject};

    fn named(given: &[&str], chosen: &[&str]) -> Vec<String> {
        let target = |text: &&str| Subject::from(text.parse::<Target>().unwrap());
        let subjects = given.iter().map(target).collect();
        let mut plan = Plan::new(subjects, Vec::new(), Design::default());
        plan.labels = chosen.iter().map(|label| (*label).to_owned()).collect();
        labels(&plan)
    }

    #[test]
    fn subjects_are_named_by_what_sets_them_apart() {
        assert_eq!(named(&["nfs://nas/volume1"], &[]), ["nas"]);
        assert_eq!(named(&["nfs://nas/volume1", "smb://me@nas/video"], &[]), ["nfs", "smb"]);
        assert_eq!(named(&["nfs://nas/a", "nfs://old/a"], &[]), ["nas", "old"]);
        assert_eq!(named(&["nfs://nas/a", "nfs://nas/b"], &[]), ["/a", "/b"]);
        assert_eq!(named(&["smb://me@nas/v", "smb://me@nas/v/sub"], &[]), ["v", "v/sub"]);
        assert_eq!(named(&["/mnt/nfs3", "/mnt/smb"], &[]), ["/mnt/nfs3", "/mnt/smb"]);
        assert_eq!(named(&["/mnt/nfs3", "nfs://nas/a"], &[]), ["/mnt/nfs3", "nfs"]);
        assert_eq!(named(&["nfs://nas/a", "nfs://nas:20049/a"], &[]), ["nas", "nas:20049"]);
        assert_eq!(
            named(&["nfs://nas/a", "nfs://nas/a?rsize=4096"], &[]),
            ["no options", "rsize=4096"]
        );
        assert_eq!(named(&["/data", "/data"], &[]), ["/data", "/data (2)"]);
    }

    #[test]
    fn paths_are_named_by_their_ends() {
        let end = |host: &str| crate::Endpoint { host: host.parse().unwrap(), address: None };
        let path =
            |to: &str| Subject::from(PathSubject { from: end("local"), to: end(to), via: None });
        let labels = |subjects| labels(&Plan::new(subjects, Vec::new(), Design::default()));
        assert_eq!(labels(vec![path("ssh://root@nas")]), ["this machine to nas"]);
        // Two that have one name are named in full.
        assert_eq!(
            labels(vec![path("ssh://nas"), path("ssh://root@nas")]),
            ["local to ssh://nas", "local to ssh://root@nas"]
        );
    }

    #[test]
    fn chosen_names_go_first() {
        assert_eq!(named(&["/a", "/b"], &["old", "new"]), ["old", "new"]);
        assert_eq!(named(&["/a", "/b"], &["old"]), ["old", "/b"]);
        assert_eq!(named(&["/a", "/b"], &["same", "same"]), ["same", "same (2)"]);
        assert_eq!(named(&["/a"], &["old", "one more"]), ["old"]);
    }
}
