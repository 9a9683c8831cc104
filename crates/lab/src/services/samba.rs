//! Samba. All that it keeps lies in one directory of its own; whoever logs in is root there.

use super::script;
use crate::plan::Samba;
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};
use std::fmt::Write;

const PLACE: &str = "/run/plimsoll-samba";

/// Shares what is asked for.
pub fn start(host: &dyn Reach, samba: &Samba) -> Result<(), Failure> {
    let (configuration, password) = (quote(&configuration(samba)), quote(&samba.password));
    let paths: Vec<_> = samba.shares.iter().map(|share| quote(&share.path)).collect();
    let text = format!(
        "umask 077
        mkdir -p {PLACE}/private {PLACE}/state {PLACE}/cache {PLACE}/lock {PLACE}/pid {PLACE}/rpc
        umask 022
        for path in {paths}; do mkdir -p \"$path\"; done
        printf '%s' {configuration} >{PLACE}/smb.conf
        printf 'root = %s\\n' {user} >{PLACE}/users
        printf '%s\\n%s\\n' {password} {password} |
            smbpasswd -c {PLACE}/smb.conf -a -s root >/dev/null
        smbd -D -s {PLACE}/smb.conf </dev/null >/dev/null 2>&1
        n=0
        until grep -qE ':01BD [0-9A-F]+:0000 0A' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
            n=$((n + 1))
            [ $n -lt 300 ] || {{ tail -n 1 {PLACE}/log >&2; exit 1; }}
            sleep 0.1
        done",
        paths = paths.join(" "),
        user = quote(&samba.user),
    );
    script(host, "start Samba", &text).map(drop)
}

fn configuration(samba: &Samba) -> String {
    let mut text = format!(
        "[global]
        server role = standalone server
        workgroup = PLIMSOLL
        disable netbios = yes
        smb ports = 445
        private dir = {PLACE}/private
        passdb backend = tdbsam:{PLACE}/private/passdb.tdb
        state directory = {PLACE}/state
        cache directory = {PLACE}/cache
        lock directory = {PLACE}/lock
        pid directory = {PLACE}/pid
        ncalrpc dir = {PLACE}/rpc
        log file = {PLACE}/log
        username map = {PLACE}/users
        load printers = no
        printing = bsd
        printcap name = /dev/null
        disable spoolss = yes
        server min protocol = SMB2_02\n"
    );
    for line in &samba.lines {
        let _ = writeln!(text, "{line}");
    }
    for share in &samba.shares {
        let _ = writeln!(text, "[{}]\npath = {}\nread only = no", share.name, share.path);
        for line in &share.lines {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}
