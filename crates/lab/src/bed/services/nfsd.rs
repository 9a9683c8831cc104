//! The kernel's NFS server.

use super::script;
use crate::bed::plan::{Nfsd, NfsdExport};
use host::reach::{Reach, quote};
use model::Failure;

/// What an export has unless its options say otherwise: any port of a client will do, and
/// nothing is looked up.
const OPTIONS: [(&str, &str); 2] = [("no_subtree_check", "subtree_check"), ("insecure", "secure")];

/// Seconds for which clients hold what they opened: short, so that tests need not wait.
const LEASE: u8 = 10;

/// Exports what is asked for, and serves it.
pub fn start(host: &dyn Reach, nfsd: &Nfsd) -> Result<(), Failure> {
    let exports: String = (1..).zip(&nfsd.exports).map(|(n, export)| share(n, export)).collect();
    let (flags, wanted) = (flags(&nfsd.versions), nfsd.versions.join(" "));
    // rpc.nfsd knows nothing of version 2 and leaves it as it is.
    let two = nfsd.versions.iter().any(|version| version == "2");
    let (sign, udp) = if two { ("+2", "echo 'udp 2049' >portlist") } else { ("-2", "") };
    let threads = nfsd.threads;
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
        echo {sign} >versions 2>/dev/null || true
        rpc.nfsd -L {LEASE} -G {LEASE} {flags} {threads}
        {udp}
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

/// What rpc.nfsd is told of the versions 3 and 4.x.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_switched_one_by_one() {
        let of =
            |wanted: &[&str]| flags(&wanted.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["3", "4.2"]), "-V 3 -N 4.0 -N 4.1 -V 4.2");
        assert_eq!(of(&["3"]), "-V 3 -N 4");
        assert_eq!(of(&["2"]), "-N 3 -N 4");
    }
}
