#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares build/vm/mipsel for mipsel.sh: Debian's kernel for MIPS (little endian, 32 bits, no BTF), an initramfs
# with its bpftool, QEMU, and a compiler (compilers.sh). All is unpacked, nothing installed.
# usage: linux/test/vm/mipsel-setup.sh      (does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm

readonly META=linux-image-4kc-malta
# What runs in the machine; apt finds the libraries.
readonly GUEST=(bpftool busybox-static)
. "$here/unpack.sh"

# with_libraries APT PACKAGE...: the names of these packages and of all that they need
with_libraries() {
    foreign "$1" apt-get install -qq --print-uris "${@:2}" | awk '{ sub(/_.*/, "", $2); print $2 }'
}

# unpack_guest FOLDER: the kernel as FOLDER/vmlinuz, the programs that run in it as FOLDER/root
unpack_guest() {
    local apt=$1/apt kernel deb
    local -a programs
    configure "$apt" mipsel
    kernel=$(newest_kernel "$apt" "$META")
    mapfile -t programs < <(with_libraries "$apt" "${GUEST[@]}")
    echo "vm/mipsel-setup: unpacking $kernel into build/vm/mipsel"
    foreign "$apt" download "$1/debs" "$kernel" "${programs[@]}"
    mkdir -p "$1/root"
    for deb in "$1"/debs/*.deb; do
        case $deb in
        */linux-image-*) dpkg-deb --fsys-tarfile "$deb" | tar -x -O --wildcards './boot/vmlinuz-*' >"$1/vmlinuz" ;;
        *) dpkg-deb -x "$deb" "$1/root" ;;
        esac
    done
    rm -rf "$1/debs" "$apt" "$1"/root/usr/share
}

# initramfs FOLDER: of FOLDER/root, with busybox as its shell and all that is not bpftool
initramfs() {
    local root=$1/root
    mkdir -p "$root"/{dev,proc,sys,out,tmp}
    cp "$here/mipsel-init.sh" "$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$1/initramfs.cpio"
    rm -rf "$root"
}

for tool in apt-get dpkg-deb cpio; do
    command -v "$tool" >/dev/null || fail "no $tool; install cpio (and run on Debian)"
done
alone "$store"
"$here/compilers.sh" mipsel
stamp=$(cat "$here/mipsel-setup.sh" "$here/unpack.sh" "$here/mipsel-init.sh" | sha256sum)
[ "$(cat "$store/mipsel/prepared" 2>/dev/null)" = "$stamp" ] && exit
new=$store/mipsel.new
rm -rf "$new"
mkdir -p "$new/debs"
unpack_here "$new/host" qemu-system-mips
# The libraries that it needs are those of this machine's own QEMU.
"$new/host/usr/bin/qemu-system-mipsel" --version >/dev/null ||
    fail 'QEMU lacks libraries; install qemu-system-x86, which needs the same'
unpack_guest "$new"
initramfs "$new"
echo "$stamp" >"$new/prepared"
rm -rf "$store/mipsel"
mv "$new" "$store/mipsel"
