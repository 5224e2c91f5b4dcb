#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares build/vm/arm64 for run.sh: Debian 12 for arm64, minimal, with what tests in it call, its kernel, and QEMU.
# Here all is unpacked, nothing installed; Debian sets itself up in its own kernel, as no other processor can. Needs
# root, for the files are of many users.
# usage: linux/test/vm/arm64-setup.sh      (does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
store=$root/build/vm

readonly SUITE=bookworm META=linux-image-arm64
# What the gateway's package depends on and recommends, and what tests call; systemd, for when it is booted by that.
readonly PACKAGES=(mount iproute2 libelf1 zlib1g libgcc-s1 nftables iptables iperf3 kmod tcpdump systemd)
# Emulation takes six minutes of a processor's time for it, of which a busy machine gives it a half.
readonly LIMIT_S=1800
. "$here/unpack.sh"
. "$here/kernel.sh"

# unpack_guest FOLDER: the kernel, its initramfs, and the root as it comes
unpack_guest() {
    local apt=$1/apt kernel
    configure "$apt" arm64
    kernel=$(newest_kernel "$apt" "$META")
    echo "vm/arm64-setup: unpacking $kernel into build/vm/arm64"
    mkdir -p "$1/debs"
    foreign "$apt" download "$1/debs" "$kernel" busybox-static
    dpkg-deb -x "$1"/debs/busybox-static_*.deb "$1/busybox"
    unpack_kernel "$(echo "$1"/debs/linux-image-*.deb)" "$1"
    initramfs "$1" "$1/busybox/bin/busybox"
    rm -rf "$apt" "$1/debs" "$1/busybox"
    "$root/packaging/root.sh" -x "$1/root" "$SUITE" arm64 "${PACKAGES[@]}"
    mv "$1/lib/modules" "$1/root/usr/lib/"
    rmdir "$1/lib"
}

# set_up KERNEL: Debian's own programs do it, in the machine; what that leaves is its root from then on
set_up() {
    local folder=$store/$1
    echo 'vm/arm64-setup: setting Debian up, which takes minutes'
    (cd / && "$here/run.sh" -k "$1" -t "$LIMIT_S" -m 1500 -s 2 -o "$folder/out" sh -euc '
        export DEBIAN_FRONTEND=noninteractive
        # Some of what is essential needs what is set up after it.
        dpkg --force-depends --force-unsafe-io --install /debs/*.deb
        rm -r /debs
        tar -C / --one-file-system --exclude=./lib/modules --exclude=./usr/lib/modules -cf $OUT/root.tar .
    ') >"$folder/log" 2>&1 || { tail -5 "$folder/log" >&2; fail "Debian does not set itself up; the whole of it: $folder/log"; }
    mkdir "$folder/done"
    tar -C "$folder/done" --numeric-owner -xpf "$folder/out/root.tar"
    mv "$folder/root/usr/lib/modules" "$folder/done/usr/lib/"
    rm -rf "$folder/root" "$folder/out" "$folder"/root.{stamp,lock,log}
    mv "$folder/done" "$folder/root"
}

[ "$(id -u)" = 0 ] || fail 'the files of a Debian are of many users, which needs root; run it with sudo'
need_tools
alone "$store"
stamp=$(cat "$here"/{arm64-setup,unpack,kernel,stage1}.sh "$root/packaging/root.sh" | sha256sum)
[ "$(cat "$store/arm64/prepared" 2>/dev/null)" = "$stamp" ] && exit
new=$store/arm64.new
rm -rf "$new"
mkdir -p "$new"
chmod 755 "$new"
unpack_here "$new/host" qemu-system-arm
"$new/host/usr/bin/qemu-system-aarch64" --version >/dev/null ||
    fail 'QEMU lacks libraries; install qemu-system-x86, which needs the same'
unpack_guest "$new"
echo "$stamp" >"$new/prepared"
set_up arm64.new
rm -rf "$store/arm64"
mv "$new" "$store/arm64"
