#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# First process of the machine, from the initramfs: lays a scratch layer over the host's files
# (read-only, over 9p) and hands over to stage2.sh, which the host names on the kernel's command line.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sysfs /sys
$bb mount -t devtmpfs dev /dev

while read -r module; do
    $bb insmod "/modules/$module" || echo "stage1: $module cannot be loaded"
done </modules/order

share=trans=virtio,version=9p2000.L,msize=512000
$bb mount -t 9p -o "$share,cache=loose,ro" host /host || echo 'stage1: no host files'
$bb mount -t tmpfs -o size=50% scratch /scratch
$bb mkdir /scratch/upper /scratch/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/scratch/upper,workdir=/scratch/work root /root ||
    echo 'stage1: no root file system'

for mount in proc sys dev; do $bb mount --move /$mount /root/$mount; done
$bb mount -t tmpfs run /root/run
$bb mkdir -p /root/run/netns /root/run/control /root/run/out
$bb mount -t 9p -o "$share" control /root/run/control || echo 'stage1: no control folder'
$bb mount -t 9p -o "$share" out /root/run/out || echo 'stage1: no output folder'
exec $bb switch_root /root /bin/bash /run/control/stage2
