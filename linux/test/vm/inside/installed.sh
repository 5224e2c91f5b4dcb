#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In a Debian of its own (../run.sh -k arm64): installs the package $OUT/meshpace.deb, has the gateway hold a download
# between two network namespaces, kills it, and purges the package. What it sees goes to $OUT, for ../../test_arm64.py.
#     wired eth0 --- eth0 this machine mesh0 --- eth0 host
set -eu
cd "$OUT"
export DEBIAN_FRONTEND=noninteractive
# A round trip in the mesh, half of it each way, beside which the emulated machine's own milliseconds are few.
DELAY_MS=10
# What a download may have under way: fewer packets than wait for so long that the gateway would drop one.
WINDOW=16K

step() { echo "== $1 ($(cut -d ' ' -f 1 /proc/uptime) s)"; }

# files NAME: every path that stays; caches, logs and package managers' notes do not count
files() {
    find / -xdev \( -path /tmp -o -path /dev -o -path /proc -o -path /sys -o -path /run -o -path /var/cache \
        -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort >"files.$1"
}

# kernel NAME: what is set up in it, and what the program keeps beside
kernel() {
    { ip -brief link; tc qdisc show; tc filter show dev mesh0; nft list ruleset; ls -A /sys/fs/bpf /run/meshpace 2>/dev/null; } |
        grep -v '^qdisc noqueue' >"kernel.$1" || true
}

network() {
    # Modules stay when a program has gone, and Debian's ifb comes with two interfaces of its own.
    modprobe ifb
    ip netns add wired
    ip netns add host
    ip link add eth0 type veth peer name eth0 netns wired
    ip link add mesh0 type veth peer name eth0 netns host
    for side in 'wired 192.0.2.1/24 192.0.2.254' 'host 10.1.0.2/16 10.1.0.1'; do
        set -- $side
        ip -n "$1" address add "$2" dev eth0
        ip -n "$1" link set eth0 up
        ip -n "$1" route add default via "$3" quickack 1
    done
    ip address add 192.0.2.254/24 dev eth0
    ip address add 10.1.0.1/16 dev mesh0
    ip link set eth0 up
    ip link set mesh0 up
    ip route add default via 192.0.2.1
    # As a mesh's routing daemon would.
    ip route add 10.9.0.0/16 via 10.1.0.2 dev mesh0 proto babel
    echo 1 >/proc/sys/net/ipv4/ip_forward
    tc qdisc add dev mesh0 root netem delay "${DELAY_MS}ms"
    ip netns exec host tc qdisc add dev eth0 root netem delay "${DELAY_MS}ms"
}

# received NAME: bytes that come to the mesh host in four seconds, each beside the time
received() {
    for _ in 0 1 2 3 4; do
        echo "$(cut -d ' ' -f 1 /proc/uptime) $(ip netns exec host cat /sys/class/net/eth0/statistics/rx_bytes)"
        sleep 1
    done >"received.$1"
}

# gateway NAME WORD...: starts it, and waits until packets may come
gateway() {
    name=$1
    shift
    meshpace gateway "$@" 2>"log.$name" &
    daemon=$!
    for _ in $(seq 120); do
        ! grep -q 'ready:' "log.$name" || return 0
        sleep 1
    done
    echo "the gateway is not ready: $(cat "log.$name")" >&2
    exit 1
}

# paced RELEASE: how packets leave meanwhile, beside what status says; then killed
paced() {
    gateway "$1" --config held.toml --release "$1"
    sleep 5
    ip netns exec host tcpdump -tt -n -l -i eth0 'tcp src port 5201 or tcp dst port 5201' >"packets.$1" 2>"capture.$1" &
    capture=$!
    sleep 2
    for second in 0 1 2 3 4 5 6 7 8 9; do
        meshpace status --json >"status.$1.$second"
        sleep 1
    done
    kill "$capture"
    wait "$capture" || true
    grep VmRSS "/proc/$daemon/status" >"memory.$1"
    kill -KILL "$daemon"
    wait "$daemon" || true
    # Within half a second nothing is brought before it any more.
    sleep 1
    received "killed.$1"
}

step 'install'
files before
apt-get install -y -q "$OUT/meshpace.deb" >installed 2>&1 || { cat installed >&2; exit 1; }
uname -m >machine
meshpace --version >version
du -k /usr/bin/meshpace | cut -f 1 >size
network
kernel before

step 'doctor'
meshpace doctor --mesh mesh0 --json >doctor

step 'observed'
meshpace setup >setup
ip netns exec host iperf3 -s -D >/dev/null
gateway observed --config /etc/meshpace/gateway.toml
ip netns exec wired iperf3 -c 10.1.0.2 -t 3600 -w "$WINDOW" >iperf 2>&1 &
sleep 5
meshpace status >status.observed
received observed
kill "$daemon"
wait "$daemon"

cat >held.toml <<'END'
mesh = "mesh0"
wired = ["eth0"]
law = "gap"
[[host]]
address = "10.1.0.2"
hops = 4
mbps = 0.8
END
for release in htb nfqueue; do
    step "held by $release"
    paced "$release"
done

step 'purge'
apt-get purge -y -q meshpace >purged 2>&1 || { cat purged >&2; exit 1; }
kernel after
files after
step 'done'
