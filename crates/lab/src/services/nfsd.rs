//! The kernel's NFS server.

use super::script;
use crate::plan::{Nfsd, NfsdExport};
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};

/// What an export has unless its options say otherwise: any port of a client will do, and
/// nothing is looked up.
const OPTIONS: [(&str, &str); 2] = [("no_subtree_check", "subtree_check"), ("insecure", "secure")];

/// Seconds for which clients hold what they opened: short, so that tests need not wait.
const LEASE: u8 = 10;

/// Exports what is asked for, and serves it.
pub fn start(host: &dyn Reach, nfsd: &Nfsd) -> Result<(), Failure> {
    let exports: String = (1..).zip(&nfsd.exports).map(|(n, export)| share(n, export)).collect();
    let (threads, wanted) = (nfsd.threads, nfsd.versions.join(" "));
    let serve = if nfsd.versions.iter().any(|version| version == "2") {
        format!("{WITH_TWO}\nserve_with_two {threads} {}", by_file(&nfsd.versions))
    } else {
        format!("rpc.nfsd -L {LEASE} -G {LEASE} {} {threads}", flags(&nfsd.versions))
    };
    // The grace period would let nobody open a file for its length.
    let text = format!(
        "/sbin/modprobe nfsd
        grep -q ' /proc/fs/nfsd ' /proc/mounts || mount -t nfsd nfsd /proc/fs/nfsd
        pipes=/var/lib/nfs/rpc_pipefs
        grep -q \" $pipes \" /proc/mounts || mount -t rpc_pipefs rpc_pipefs $pipes
        mkdir -p /run/rpcbind
        rpcbind -w >/dev/null 2>&1 </dev/null
        rpc.statd --no-notify >/dev/null 2>&1 </dev/null
        : >/etc/exports
        {exports}
        exportfs -ra
        cd /proc/fs/nfsd
        {serve}
        for version in {wanted}; do
            # What is 4.0 is listed as 4.
            version=${{version%.0}}
            case \" $(cat versions) \" in
                *\" +$version \"*) ;;
                *) echo \"this kernel's server does not speak version $version\" >&2; exit 1 ;;
            esac
        done
        rpc.mountd >/dev/null 2>&1 </dev/null
        echo Y >v4_end_grace 2>/dev/null || true"
    );
    script(host, "start the kernel's NFS server", &text).map(drop)
}

/// rpc.nfsd switches version 2 off. Configured by files, the kernel serves it, over UDP too, but tells no
/// portmapper: that is done here, by calls of its procedure SET (RFC 1833) from reserved ports.
const WITH_TWO: &str = r#"
word() { printf '\\%03o\\%03o\\%03o\\%03o' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }
register() {
    call=
    for n in 2147483704 1 0 2 100000 2 1 0 0 0 0 100003 "$1" "$2" 2049; do call=$call$(word "$n"); done
    printf "$call" | busybox nc -w 5 -p "$3" 127.0.0.1 111 >/dev/null
}
serve_with_two() {
    threads=$1
    shift
    for version; do
        echo "$version" >versions 2>/dev/null ||
            { echo "this kernel's server does not speak version ${version#?}" >&2; exit 1; }
    done
    echo 'tcp 2049' >portlist
    echo 'udp 2049' >portlist
    echo "$threads" >threads
    register 2 6 901
    register 2 17 902
    for version; do
        case $version in
            +3) register 3 6 903; register 3 17 904 ;;
            +4) register 4 6 905 ;;
        esac
    done
}
"#;

/// A line of /etc/exports. What lies in memory has no number of its own, which exports need; the
/// root of a machine cannot be exported at all, so memory is mounted there.
fn share(n: usize, export: &NfsdExport) -> String {
    let mut options = export.options.clone();
    for (option, opposite) in OPTIONS {
        if !export.options.split(',').any(|given| given == option || given == opposite) {
            options.push(',');
            options.push_str(option);
        }
    }
    let path = quote(&export.path);
    format!(
        "mkdir -p {path}
        case $(stat -f -c %T {path}) in overlayfs) mount -t tmpfs -o mode=755 export{n} {path} ;; esac
        case $(stat -f -c %T {path}) in tmpfs) number=,fsid={n} ;; *) number= ;; esac
        printf '\"%s\" *(%s%s)\\n' {path} {} \"$number\" >>/etc/exports
        ",
        quote(&options)
    )
}

/// The options of rpc.nfsd for the versions 3 and 4.x.
fn flags(wanted: &[String]) -> String {
    let has = |version: &str| wanted.iter().any(|w| w == version);
    let switch = |version: &str, on: bool| format!("-{} {version}", if on { 'V' } else { 'N' });
    let minors = ["4.0", "4.1", "4.2"];
    let mut words = vec![switch("3", has("3"))];
    if minors.into_iter().any(has) {
        words.extend(minors.map(|minor| switch(minor, has(minor))));
    } else {
        words.push(switch("4", false));
    }
    words.join(" ")
}

/// Words for /proc/fs/nfsd/versions, with version 2.
fn by_file(wanted: &[String]) -> String {
    let has = |version: &str| wanted.iter().any(|w| w == version);
    let word = |version: &str, on: bool| format!("{}{version}", if on { '+' } else { '-' });
    let minors = ["4.0", "4.1", "4.2"];
    let four = minors.into_iter().any(has);
    let mut words = vec!["+2".to_owned(), word("3", has("3")), word("4", four)];
    if four {
        words.extend(minors.map(|minor| word(minor, has(minor))));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_switched_one_by_one() {
        let flags_for =
            |wanted: &[&str]| flags(&wanted.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(flags_for(&["3", "4.2"]), "-V 3 -N 4.0 -N 4.1 -V 4.2");
        assert_eq!(flags_for(&["3"]), "-V 3 -N 4");
        let by_file =
            |wanted: &[&str]| by_file(&wanted.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(by_file(&["2", "3"]), "+2 +3 -4");
        assert_eq!(by_file(&["2", "4.1"]), "+2 -3 +4 -4.0 +4.1 -4.2");
    }
}
