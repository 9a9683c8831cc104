//! Properties of ZFS, on a stand-in for its program: no test machine has ZFS.

use super::super::is_empty;
use super::super::support::own_place::OwnPlace;
use super::super::support::setter::session;
use plimsoll_model::Cause;
use plimsoll_settings::Journal;
use plimsoll_testkit::enter_or_skip;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Keeps a line "PROPERTY VALUE SOURCE" for each property of tank/films, as zfs(8) answers.
const STAND_IN: &str = r#"#!/bin/sh
file=/run/zfs
of() { awk -v p="$1" '$1 == p' $file; }
put() { awk -v p="$1" '$1 != p' $file >$file.new; echo "$1 $2 $3" >>$file.new; mv $file.new $file; }
case $1 in
list) printf 'tank\ntank/films\n' ;;
get) set -- "$6" "$7"; of "$1" | awk '{ s = $3; if (s == "inherited") s = s " from tank"; printf "%s\t%s\n", $2, s }' ;;
set)
    name=${2%%=*} value=${2#*=}
    case $name=$value in
    compression=nosuch) echo "cannot set property for '$3': 'compression' must be one of 'on | off | lz4'" >&2; exit 1 ;;
    recordsize=1M) value=1048576 ;;
    recordsize=16K) value=16384 ;;
    sync=standard) exit 0 ;;
    esac
    put "$name" "$value" local ;;
inherit) case $2 in recordsize) put recordsize 131072 default ;; compression) put compression lz4 inherited ;; esac ;;
*) exit 2 ;;
esac
"#;

#[test]
fn properties_are_set_and_inherited_again() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let _programs = stage.tmpfs("/usr/local/sbin", 1 << 20).unwrap();
    fs::write("/usr/local/sbin/zfs", STAND_IN).unwrap();
    fs::set_permissions("/usr/local/sbin/zfs", fs::Permissions::from_mode(0o755)).unwrap();
    let found = "recordsize 131072 default\ncompression lz4 inherited\nsync always local\n\
                 atime off temporary\n";
    fs::write("/run/zfs", found).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let now = || sorted(&fs::read_to_string("/run/zfs").unwrap());
    let home = tempfile::tempdir().unwrap();
    let journal = || Journal::at(home.path().join("j"));
    let sets = [
        "local/zfs:tank/films:recordsize=as-found,1M,16K",
        "local/zfs:tank/films:compression=off",
        "local/zfs:tank/films:sync=disabled",
    ];
    let mut own = session(journal(), &sets).unwrap();
    assert_eq!((own.found(0), now()), (Some("131072"), sorted(found)), "tried, and put back");
    own.set(0, 1).unwrap();
    own.set(1, 0).unwrap();
    own.set(2, 0).unwrap();
    own.verify_all().unwrap();
    let expected = "recordsize 1048576 local\ncompression off local\nsync disabled local\natime off temporary\n";
    assert_eq!(now(), sorted(expected));
    own.set(0, 2).unwrap();
    own.set(0, 0).unwrap();
    assert!(now().contains(&"recordsize 131072 default".to_owned()), "{:?}", now());
    drop(own);
    assert_eq!(now(), sorted(found));
    assert!(is_empty(&home.path().join("j")));
    for (set, cause, part) in [
        ("zfs:tank/music:sync=always", Cause::Usage, "no dataset with this name"),
        ("zfs:tank/films:compression=nosuch", Cause::NotPermitted, "must be one of"),
        ("zfs:tank/films:sync=standard", Cause::Trial, "instead of"),
        ("zfs:tank/films:atime=on", Cause::NotPermitted, "cannot be restored"),
    ] {
        let failure = session(journal(), &[&format!("local/{set}")]).err().expect(set);
        assert_eq!(failure.cause, cause, "{failure}");
        assert!(failure.happened.contains(part), "{part}: {failure}");
        assert_eq!(now(), sorted(found), "{set}");
    }
    let failure = session(journal(), &["local/zfs:tank/music:sync=always"]).err().unwrap();
    assert!(failure.next.contains("tank/films"), "{failure}");
}
