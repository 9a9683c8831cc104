# Prints how interfaces are set up, each thing after a line with its name: what neither the probe nor
# the files of the inventory have. Reads; changes nothing. POSIX shell, cat, grep, head and readlink;
# ip and tc where they are there.

# Disciplines at the root, at the entrance, and all that shape.
printf '@@plimsoll qdisc\n'
tc qdisc show 2>/dev/null |
    grep -E ' (root|ingress|clsact|rate|bandwidth)( |$)| ffff:fff1 ' | head -n 512
# What classes directly below the root let through.
tc qdisc show 2>/dev/null | head -n 512 | while read -r q kind handle dev name rest; do
    case $kind in
    htb | hfsc)
        printf '@@plimsoll class %s %s\n' "$name" "$handle"
        tc class show dev "$name" 2>/dev/null | head -n 256
        ;;
    esac
done
printf '@@plimsoll addresses\n'
ip -o addr show 2>/dev/null | head -n 1024
printf '@@plimsoll vlans\n'
[ -r /proc/net/vlan/config ] && head -n 258 /proc/net/vlan/config
# Queues with the cores that work for them, and interrupts with theirs.
for i in /sys/class/net/*; do
    name=${i##*/}
    [ "$name" = lo ] && continue
    for queue in "$i"/queues/rx-*/rps_cpus "$i"/queues/tx-*/xps_cpus; do
        [ -r "$queue" ] || continue
        x=$(cat "$queue" 2>/dev/null)
        queue=${queue%/*}
        printf '@@plimsoll queue %s/%s\n%s\n' "$name" "${queue##*/}" "$x"
    done
    [ -e "$i/device" ] || continue
    irqs=
    for directory in "$i"/device/msi_irqs/*; do
        [ -e "$directory" ] && irqs="$irqs ${directory##*/}"
    done
    # A device of virtio has its interrupts in the device that carries it.
    case $(readlink "$i/device/subsystem") in
    */virtio)
        for directory in "$i"/device/../msi_irqs/*; do
            [ -e "$directory" ] && irqs="$irqs ${directory##*/}"
        done
        ;;
    esac
    # On a system on a chip they go by the name of the interface or of its device.
    if [ -z "$irqs" ]; then
        device=$(readlink "$i/device")
        for directory in /proc/irq/*/"$name" /proc/irq/*/"$name"-* /proc/irq/*/"${device##*/}"; do
            [ -d "$directory" ] || continue
            directory=${directory%/*}
            irqs="$irqs ${directory##*/}"
        done
    fi
    for irq in $irqs; do
        handler=
        for directory in /proc/irq/"$irq"/*/; do
            [ -d "$directory" ] || continue
            directory=${directory%/}
            handler=${directory##*/}
        done
        [ -n "$handler" ] &&
            printf '@@plimsoll irq %s/%s\n%s %s\n' "$name" "$irq" \
                "$(cat "/proc/irq/$irq/smp_affinity" 2>/dev/null)" "$handler"
    done
done
printf '@@plimsoll end\n'
