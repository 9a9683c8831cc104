#!/bin/busybox sh
# The first program of a machine after its root is there: makes it ready for commands.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /run/rpcbind /run/lock /run/samba
/sbin/modprobe -a virtio_console virtio_net
for word in $(cat /proc/cmdline); do
    case $word in plimsoll.host=*) hostname "${word#*=}" ;; esac
done
echo "127.0.0.1 localhost" >/etc/hosts
ip link set lo up
echo "plimsoll: the machine is up after $(cut -d ' ' -f 1 /proc/uptime) s"
exec /sbin/plimsoll-agent plimsoll. 16
