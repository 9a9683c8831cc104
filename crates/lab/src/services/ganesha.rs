//! NFS-Ganesha on a host made of namespaces, with a portmapper beside it.

use crate::plan::Ganesha;
use crate::setup::script;
use plimsoll_model::Failure;
use plimsoll_reach::Reach;

/// Ganesha wants a configuration file, and a place for what it recovers after a restart. It and
/// the portmapper end with the host.
const START: &str = r#"
d=/run/plimsoll/ganesha
mkdir -p "$d/recovery"
cat >"$d/ganesha.conf"
command -v rpcbind >/dev/null || { echo "rpcbind is not installed" >&2; exit 1; }
command -v ganesha.nfsd >/dev/null || { echo "nfs-ganesha is not installed" >&2; exit 1; }
setsid rpcbind -w -f </dev/null >"$d/rpcbind.log" 2>&1 &
i=0
# The server registers itself at once, or gives up. 006F is port 111, 0A is listening.
until grep -q ':006F 00000000:0000 0A' /proc/net/tcp; do
    i=$((i + 1))
    if [ "$i" -gt 1000 ]; then
        echo "rpcbind does not answer" >&2
        tail -n 5 "$d/rpcbind.log" >&2
        exit 1
    fi
    sleep 0.02
done
setsid ganesha.nfsd -F -f "$d/ganesha.conf" -L "$d/log" -p "$d/pid" -N EVENT </dev/null >"$d/out" 2>&1 &
server=$!
i=0
until grep -q "NFS SERVER INITIALIZED" "$d/log" 2>/dev/null; do
    i=$((i + 1))
    if [ "$i" -gt 1000 ] || ! kill -0 "$server" 2>/dev/null; then
        tail -n 5 "$d/log" "$d/out" >&2
        exit 1
    fi
    sleep 0.02
done
"#;

/// Starts it, and waits until it serves.
pub(crate) fn start(reach: &dyn Reach, ganesha: &Ganesha) -> Result<(), Failure> {
    let made: String =
        ganesha.exports.iter().map(|export| format!("mkdir -p {}\n", export.path)).collect();
    let text = format!("{made}{START}");
    script(reach, "start NFS-Ganesha", &text, configuration(ganesha).as_bytes()).map(drop)
}

/// `Filesystem_id` because a tmpfs has none of its own that outlives a restart.
fn configuration(ganesha: &Ganesha) -> String {
    let mut text = String::from(
        "NFS_CORE_PARAM { NFS_Protocols = 3, 4; NFS_Port = 2049; MNT_Port = 20048; \
         Enable_UDP = false; Enable_NLM = false; Enable_RQUOTA = false; }\n\
         NFSV4 { Graceless = true; Minor_Versions = 0, 1, 2; \
         RecoveryRoot = \"/run/plimsoll/ganesha/recovery\"; RecoveryBackend = fs; }\n\
         EXPORT_DEFAULTS { SecType = sys; Protocols = 3, 4; Squash = None; Transports = TCP; }\n\
         LOG { Default_Log_Level = EVENT; }\n",
    );
    for (number, export) in (1..).zip(&ganesha.exports) {
        let (path, access) = (&export.path, if export.read_only { "RO" } else { "RW" });
        text.push_str(&format!(
            "EXPORT {{ Export_Id = {number}; Path = {path}; Pseudo = {path}; \
             Access_Type = {access}; Filesystem_id = 192.{number}; FSAL {{ Name = VFS; }} }}\n"
        ));
    }
    text
}
