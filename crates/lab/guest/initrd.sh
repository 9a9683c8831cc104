#!/bin/busybox sh
# The first program of a machine: finds its root on the first disk, which all machines share and
# none changes; what is changed goes to memory.
/bin/busybox mkdir -p /proc /dev /root /shared /changes
/bin/busybox mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
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
