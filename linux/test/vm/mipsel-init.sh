#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# First and only process of the mipsel machine: runs what mipsel.sh brought in /given, and sends back what that
# left in /out, by the second serial port, since there is no other way out.
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf

mkdir /out/result
cd /given
sh ./run </dev/null >/out/stdout 2>/out/stderr
echo $? >/out/status

stty -F /dev/ttyS1 raw
tar -C /out -czf - . >/dev/ttyS1
# The port is emptied before the reset, which ends QEMU (-no-reboot).
stty -F /dev/ttyS1 cooked
reboot -f
