#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Second stage inside the machine: mounts what the kernel offers, or has systemd do so, runs the command that run.sh
# left in the control folder, leaves its exit status there and switches the machine off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
control=/run/control
. "$control/settings"    # modules, folder, booted

mount_all() {
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs shm /dev/shm
    mount -t bpf bpf /sys/fs/bpf
    mount -t tracefs trace /sys/kernel/tracing
    mount -t cgroup2 cgroup /sys/fs/cgroup
    mkdir -p /lib/modules
    mount --bind "$modules" /lib/modules
    modprobe tun    # udev, absent here, would make /dev/net/tun
    ip link set lo up
    ln -sf /proc/self/fd /dev/fd
    ln -sf /proc/self/fd/1 /dev/stdout
    ln -sf /proc/self/fd/2 /dev/stderr
}

# perform: the command; after it the machine is off
perform() {
    # A virtio port can be opened once only: the command writes into pipes, so that /dev/stdout works too.
    mkfifo /run/stdout /run/stderr
    cat /run/stdout >/dev/vport0p1 & cats=$!
    cat /run/stderr >/dev/vport0p2 & cats+=" $!"
    cd "$folder" || cd /
    export OUT=/run/out
    bash "$control/command" </dev/null >/run/stdout 2>/run/stderr
    echo $? >"$control/status"

    # What the command left running keeps the pipes open: that output is waited for no longer than this.
    (sleep 1; kill $cats 2>/dev/null) &
    wait $cats 2>/dev/null
    sync
    # A reset ends QEMU (-no-reboot) at once; switching off by ACPI takes seconds under emulation.
    echo b >/proc/sysrq-trigger
    sleep 30
}

# by_systemd: it is the first process from here on, and this script a service of its
by_systemd() {
    local units=/run/systemd/system
    mkdir -p $units/multi-user.target.wants
    cat >$units/command.service <<END
[Service]
Type=oneshot
ExecStart=/bin/bash $control/stage2 perform
END
    ln -s ../command.service $units/multi-user.target.wants/
    exec /lib/systemd/systemd
}

if [ "${1:-}" != perform ]; then
    [ -z "$booted" ] || by_systemd
    mount_all
fi
perform
