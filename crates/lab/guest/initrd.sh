#!/bin/busybox sh
# The first program of a machine: finds its root on the first disk, which all machines share and
# none changes; what is changed goes to memory.
/bin/busybox mkdir -p /proc /dev /root /shared /changes
/bin/busybox mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
# Cards of a malta board share interrupts 10 and 11. QEMU's interrupt controller starts with edges, and neither QEMU nor the
# kernel changes that: if a card interrupts while another one still holds the line, no edge follows, and both are never
# heard again. So both interrupts become levels, by their bits in the port 0x4d1 (ELCR), before any driver is loaded.
case $(/bin/busybox uname -m) in
    mips*)
        /bin/busybox printf '\014' |
            /bin/busybox dd of=/dev/port bs=1 seek=$((0x4d1)) conv=notrunc 2>/dev/null ||
            echo "plimsoll: the interrupts of cards stay edges, and can be lost"
        ;;
esac
for module in /modules/*; do /bin/busybox insmod "$module"; done
n=0
until /bin/busybox mount -t ext4 -o ro,noload /dev/vda /shared 2>/dev/null || [ $n -ge 100 ]; do
    n=$((n + 1))
    /bin/busybox sleep 0.05
done
/bin/busybox mount -t tmpfs -o size=75% changes /changes
/bin/busybox mkdir /changes/upper /changes/work
/bin/busybox mount -t overlay \
    -o index=on,nfs_export=on,lowerdir=/shared,upperdir=/changes/upper,workdir=/changes/work \
    root /root
/bin/busybox mount --move /dev /root/dev
exec /bin/busybox switch_root /root /sbin/plimsoll-start
echo "plimsoll: there is no root on the first disk"
