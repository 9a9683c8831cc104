# Prints files of this host, each after a line with its name. Reads; changes nothing. POSIX shell,
# cat, grep, readlink, tr and uname; nearly all is done without starting a program.

# The first line of each file. The shells of small systems read a byte at a time, and a number of
# /proc/sys has nothing more after its first byte: cat reads those at once.
v() {
    for i; do
        x=
        case $i in
        /proc/sys/*) x=$(cat "$i") ;;
        *) read -r x <"$i" ;;
        esac 2>/dev/null
        [ -n "$x" ] && printf '@@plimsoll %s\n%s\n' "$i" "$x"
    done
}
# All of each file.
f() {
    for i; do
        [ -f "$i" ] && [ -r "$i" ] && printf '@@plimsoll %s\n' "$i" && cat "$i" && echo
    done 2>/dev/null
}
# Where each link leads.
l() {
    for i; do
        [ -L "$i" ] && printf '@@plimsoll %s\n%s\n' "$i" "$(readlink "$i")"
    done
}
# Of files in many directories: those named first, in the directories after --.
d() {
    names=
    while [ "$1" != -- ]; do names="$names $1"; shift; done
    shift
    for directory; do
        [ -d "$directory" ] || continue
        for name in $names; do v "$directory/$name"; done
    done
}

v /proc/device-tree/model /tmp/sysinfo/model /tmp/sysinfo/board_name
d sys_vendor product_name board_name bios_version bios_date -- /sys/class/dmi/id
d family soc_id machine -- /sys/devices/soc0
[ -r /proc/device-tree/compatible ] &&
    printf '@@plimsoll compatible\n%s\n' "$(tr '\0' '\n' </proc/device-tree/compatible)"
v /proc/sys/kernel/ostype /proc/sys/kernel/osrelease /proc/sys/kernel/version \
    /proc/sys/kernel/hostname /proc/uptime \
    /sys/devices/system/clocksource/clocksource0/current_clocksource
printf '@@plimsoll uname -m\n%s\n' "$(uname -m)"
f /etc/os-release /etc/openwrt_release /etc.defaults/VERSION
[ -r /etc/os-release ] || f /usr/lib/os-release
v /etc/version /etc/debian_version /etc/alpine-release /proc/1/comm

f /proc/cpuinfo /proc/meminfo /proc/modules
d online present smt/control -- /sys/devices/system/cpu
d level type size coherency_line_size ways_of_associativity shared_cpu_list -- \
    /sys/devices/system/cpu/cpu0/cache/index*
d related_cpus scaling_driver scaling_governor cpuinfo_min_freq cpuinfo_max_freq \
    scaling_cur_freq -- /sys/devices/system/cpu/cpufreq/policy*

d name type size erasesize -- /sys/class/mtd/mtd*
for i in /sys/bus/usb/devices/*; do
    case $i in
    *:*) ;;
    *) d speed version idVendor idProduct manufacturer product -- "$i" ;;
    esac
done

d ifindex speed duplex mtu operstate type tx_queue_len -- /sys/class/net/*
for i in /sys/class/net/*; do
    l "$i/device/driver" "$i/device/subsystem" "$i/master"
    if [ -e "$i/phy80211" ] || [ -e "$i/wireless" ]; then printf '@@plimsoll %s/radio\n1\n' "$i"; fi
    [ -e "$i/bridge" ] && printf '@@plimsoll %s/bridge\n1\n' "$i"
done
v /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/net/core/default_qdisc \
    /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem
for i in /sys/class/ieee80211/*; do l "$i/device/driver"; done

d size removable ro device/model device/vendor device/type queue/rotational queue/scheduler \
    queue/write_cache queue/nr_requests queue/read_ahead_kb queue/logical_block_size \
    queue/physical_block_size device/queue_depth md/level md/array_state md/sync_action \
    dm/name dm/uuid -- /sys/block/*
# A disk on USB hangs on a port some directories up.
for i in /sys/block/sd*; do
    [ -d "$i" ] || continue
    up=$(cd -P "$i" 2>/dev/null && pwd)
    while [ -n "$up" ]; do
        if [ -e "$up/bMaxPacketSize0" ]; then
            x=
            { read -r x <"$up/speed"; } 2>/dev/null
            printf '@@plimsoll %s/usb_speed\n%s\n' "$i" "$x"
            break
        fi
        up=${up%/*}
    done
done

for i in nf_tables nf_flow_table ksmbd; do
    [ -e "/sys/module/$i" ] && printf '@@plimsoll /sys/module/%s\n1\n' "$i"
done
d nf_conntrack_count nf_conntrack_max nf_conntrack_buckets -- /proc/sys/net/netfilter
f /proc/net/ip_tables_names /proc/net/ip6_tables_names
v /proc/sys/net/ipv4/ip_forward /proc/sys/net/bridge/bridge-nf-call-iptables
[ -r /etc/config/firewall ] &&
    printf '@@plimsoll flow_offloading\n%s\n' "$(grep flow_offloading /etc/config/firewall)"

d versions threads pool_threads max_block_size nfsv4leasetime -- /proc/fs/nfsd
f /proc/fs/nfsd/portlist /proc/fs/nfsd/exports /var/lib/nfs/etab /etc/exports /etc/exports.d/* \
    /etc/nfs.conf
# Section heads, and settings that decide about speed; nothing that could be a secret.
for i in /etc/samba/smb.conf /etc/smb.conf /var/etc/smb.conf /usr/local/etc/smb4.conf \
    /etc/smb4.conf /etc/ksmbd/ksmbd.conf /etc/ksmbd/smb.conf /tmp/ksmbd.conf; do
    [ -r "$i" ] || continue
    printf '@@plimsoll smb %s\n' "$i"
    grep -iE '^[[:space:]]*(\[|(server |client )?(min |max )?protocol|server (min|max|signing|smb|multi)|smb encrypt|smb2 |smb3|oplocks|level2 oplocks|kernel oplocks|strict|sync always|socket options|use sendfile|min receivefile|aio |write cache|max xmit|case sensitive|vfs objects|path|read only|guest ok|fruit:|interfaces|async|durable handles)' "$i"
done 2>/dev/null
for i in /proc/[0-9]*/comm; do
    x=
    { read -r x <"$i"; } 2>/dev/null
    case $x in
    ganesha.nfsd | unfsd | rpc.mountd | rpcbind | smbd | ksmbd.mountd | ksmbd | wsdd2 | wsdd)
        printf '@@plimsoll process %s\n%s\n' "$i" "$x"
        ;;
    esac
done
