# What the packages' own scripts would have made in $root: a part of build.sh.
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/srv" "$root/mnt" \
    "$root/root" "$root/etc/samba" "$root/var/lib/samba/private" "$root/var/cache/samba" \
    "$root/var/log/samba" "$root/var/lib/nfs/sm" "$root/var/lib/nfs/sm.bak" \
    "$root/var/lib/nfs/v4recovery" "$root/var/lib/nfs/nfsdcltrack" "$root/var/lib/nfs/rpc_pipefs"
rm -rf "$root/var/run" "$root/etc/mtab"
ln -s /run "$root/var/run"
ln -s /proc/mounts "$root/etc/mtab"
# BusyBox as /bin/sh would take its own applets for programs that are there.
ln -sf dash "$root/bin/sh"
ln -sf mawk "$root/bin/awk"
printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534::/:/bin/false \
    _rpc:x:101:65534::/:/bin/false statd:x:102:65534::/:/bin/false >"$root/etc/passwd"
printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
printf '%s: files\n' passwd group hosts protocols rpc services netgroup >"$root/etc/nsswitch.conf"
: >"$root/etc/exports"
: >"$root/var/lib/nfs/etab"
: >"$root/var/lib/nfs/rmtab"
# Applets for what no package brings.
"$own/bin/busybox" --list | while read -r applet; do
    for at in bin sbin; do
        [ ! -e "$root/$at/$applet" ] && [ ! -h "$root/$at/$applet" ] || continue 2
    done
    ln -s busybox "$root/bin/$applet"
done
install -m 755 "$GUEST/start.sh" "$root/sbin/plimsoll-start"
[ "$arch" != amd64 ] || "$root/sbin/ldconfig" -r "$root"
