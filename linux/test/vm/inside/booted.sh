#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In a Debian that systemd has booted (../run.sh -b): installs the package $OUT/meshpace.deb, whose needs are there, has the
# units go through what an operator and life do to them, upgrades it to $OUT/newer.deb, and purges it. What it sees goes
# to $OUT, for ../../test_booted.py.
set -eu
cd "$OUT"
export DEBIAN_FRONTEND=noninteractive
# An emulated processor takes half a minute for what another does in a second.
PATIENCE_S=90

step() { echo "== $1 ($(cut -d ' ' -f 1 /proc/uptime) s)"; }

# until_so COMMAND...: waits until it succeeds
until_so() {
    for _ in $(seq "$PATIENCE_S"); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 1
    done
    echo "never so: $*" >&2
    systemctl status --no-pager --full meshpace meshpace-sender >&2 || true
    return 1
}

# kernel NAME: what is set up in it, and what the programs keep beside; whether links are up already does not matter
kernel() {
    {
        ip -brief link | awk '{ print $1, $3 }' | sort
        tc qdisc show
        tc filter show dev mesh0 ingress
        tc filter show dev mesh0 egress
        nft list ruleset
        echo "congestion control: $(cat /proc/sys/net/ipv4/tcp_congestion_control)"
        ls -A /sys/fs/bpf /run/meshpace 2>/dev/null
    } | grep -v '^qdisc noqueue' >"kernel.$1" || true
}

# unit NAME: what systemd says of the gateway
unit() { systemctl show -p ActiveState,UnitFileState,NRestarts,MainPID,Result meshpace >"unit.$1"; }

ready() { meshpace status --json | grep -q '"state": *"ready"'; }
sends() { cat /proc/sys/net/ipv4/tcp_congestion_control | grep -q meshpace; }
tries() { meshpace status | grep -q 'a try: paces'; }
logged() { journalctl --no-pager -o cat -u meshpace | grep -q "$1"; }
is_another() { [ "$(systemctl show -P MainPID meshpace)" != "$1" ] && ready; }

step network
modprobe ifb
ip netns add wired
ip netns add host
ip link add eth0 type veth peer name eth0 netns wired
ip link add mesh0 type veth peer name eth0 netns host
ip address add 192.0.2.254/24 dev eth0
ip address add 10.1.0.1/16 dev mesh0
for end in wired host; do ip -n "$end" link set eth0 up; done
for end in eth0 mesh0; do ip link set "$end" up; done
kernel before

step install
dpkg -i meshpace.deb >installed 2>&1 || { cat installed >&2; exit 1; }
unit installed

step setup
meshpace setup --mesh mesh0 --wired eth0 >setup
until_so ready
unit observes
meshpace status >status.observes
kernel observes

step reload
echo 'nonsense = 1' >>/etc/meshpace/gateway.toml
systemctl reload meshpace
until_so logged nonsense
sed -i '/nonsense/d' /etc/meshpace/gateway.toml
systemctl reload meshpace
unit reloaded

step try
meshpace try 2m >try 2>&1 &
until_so tries
meshpace status >status.tries
meshpace try --stop >try.stop 2>&1
wait $!
until_so ready
meshpace status >status.tried
meshpace try --stay >stay 2>&1
until_so ready
meshpace status >status.paces
unit paces
kernel paces

step killed
pid=$(systemctl show -P MainPID meshpace)
kill -KILL "$pid"
until_so is_another "$pid"
unit killed
meshpace status >status.killed

step hangs
pid=$(systemctl show -P MainPID meshpace)
kill -STOP "$pid"
until_so is_another "$pid"
unit hung
meshpace status >status.hung

step upgrade
pid=$(systemctl show -P MainPID meshpace)
dpkg --force-confold -i newer.deb >upgraded 2>&1
until_so is_another "$pid"
unit upgraded
meshpace status >status.upgraded

step stop
systemctl stop meshpace
unit stopped
kernel stopped

# As at boot, when a route comes later than the unit.
step sender
! systemctl start meshpace-sender 2>/dev/null
ip route add default via 10.1.0.2 dev mesh0
until_so systemctl is-active --quiet meshpace-sender
until_so sends
kernel sends
systemctl stop meshpace-sender
ip route del default
kernel sent

# Whose modules are loaded by its first rule, which is the unit's.
step legacy
dpkg -r nftables >/dev/null 2>&1
update-alternatives --set iptables /usr/sbin/iptables-legacy >/dev/null
lsmod >modules.legacy
sed -i 's/^release = .*/release = "nfqueue"/' /etc/meshpace/gateway.toml
systemctl start meshpace
until_so ready
meshpace status >status.legacy
iptables-legacy-save >rules.legacy

step purge
apt-get purge -y -q meshpace >purged 2>&1
unit purged
kernel after
ls /etc/meshpace /usr/bin/meshpace /etc/systemd/system/*.wants/meshpace* >left 2>/dev/null || true
journalctl --no-pager -u meshpace -u meshpace-sender >journal
step end
