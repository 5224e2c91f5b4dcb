#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares build/vm/mipsel for mipsel.sh: Debian's kernel for MIPS (little endian, 32 bits, no BTF), an initramfs
# with its bpftool, QEMU, and a compiler. All is unpacked, nothing installed: apt has folders of its own, so that
# the machine does not learn of a second architecture.
# usage: linux/test/vm/mipsel-setup.sh      (does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm

readonly META=linux-image-4kc-malta
# What runs in the machine; apt finds the libraries.
readonly GUEST=(bpftool busybox-static)
# What runs here. The libraries that these need are those of the machine's own gcc and QEMU.
readonly HOST=(
    qemu-system-mips binutils-mipsel-linux-gnu cpp-12-mipsel-linux-gnu gcc-12-mipsel-linux-gnu
    libgcc-12-dev-mipsel-cross libc6-dev-mipsel-cross libc6-mipsel-cross linux-libc-dev-mipsel-cross
)

fail() { echo "vm/mipsel-setup: $1" >&2; exit 1; }

# configure FOLDER: apt for mipsel, by the machine's own sources and keys, as if nothing were installed
configure() {
    mkdir -p "$1"/{lists,cache}/partial "$1/cache/archives/partial"
    : >"$1/status"
    cat >"$1/conf" <<END
APT::Architecture "mipsel";
APT::Architectures { "mipsel"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State "$1";
Dir::State::Lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
END
}

# foreign FOLDER COMMAND...: apt's command, for mipsel
foreign() { APT_CONFIG=$1/conf "${@:2}"; }

# download FOLDER PACKAGE...: into FOLDER. That apt is not sandboxed there is no matter of ours.
download() {
    (cd "$1" && apt-get download -qq "${@:2}" 2>"$1/complaints") ||
        fail "a package cannot be downloaded: $(cat "$1/complaints")"
}

# with_libraries APT PACKAGE...: the names of these packages and of all that they need
with_libraries() {
    foreign "$1" apt-get install -qq --print-uris "${@:2}" | awk '{ sub(/_.*/, "", $2); print $2 }'
}

# unpack_host FOLDER: QEMU and the compiler into FOLDER/host, and FOLDER/cc, which calls it
unpack_host() {
    local deb
    mkdir -p "$1/host"
    apt-cache show "${HOST[0]}" >/dev/null 2>&1 || apt-get update -qq ||
        fail 'no package lists; run apt-get update as root, then again'
    download "$1/debs" "${HOST[@]}"
    for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1/host"; done
    rm "$1"/debs/*.deb
    rm -rf "$1"/host/usr/share
    cat >"$1/cc" <<'END'
#!/bin/sh
host=$(dirname "$(readlink -f "$0")")/host/usr
export LD_LIBRARY_PATH="$host/lib/$(uname -m)-linux-gnu"
exec "$host/bin/mipsel-linux-gnu-gcc-12" "$@"
END
    chmod +x "$1/cc"
    "$1/host/usr/bin/qemu-system-mipsel" --version >/dev/null ||
        fail 'QEMU lacks libraries; install qemu-system-x86, which needs the same'
    "$1/cc" --version >/dev/null || fail 'the compiler lacks libraries; install gcc-12, which needs the same'
}

# unpack_guest FOLDER: the kernel as FOLDER/vmlinuz, the programs that run in it as FOLDER/root
unpack_guest() {
    local apt=$1/apt kernel deb
    local -a programs
    configure "$apt"
    foreign "$apt" apt-get update -qq 2>"$apt/complaints" || fail "apt-get update: $(cat "$apt/complaints")"
    kernel=$(foreign "$apt" apt-cache depends "$META" | awk '/Depends: linux-image-/ { print $2; exit }')
    [ -n "$kernel" ] || fail "no $META among the Debian packages; it is in Debian 12"
    mapfile -t programs < <(with_libraries "$apt" "${GUEST[@]}")
    echo "vm/mipsel-setup: unpacking $kernel into build/vm/mipsel"
    export APT_CONFIG=$apt/conf
    download "$1/debs" "$kernel" "${programs[@]}"
    unset APT_CONFIG
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
mkdir -p "$store"
exec 9>"$store/lock"
flock 9    # two tests at once must not unpack twice
stamp=$(cat "$here/mipsel-setup.sh" "$here/mipsel-init.sh" | sha256sum)
[ "$(cat "$store/mipsel/prepared" 2>/dev/null)" = "$stamp" ] && exit
new=$store/mipsel.new
rm -rf "$new"
mkdir -p "$new/debs"
unpack_host "$new"
unpack_guest "$new"
initramfs "$new"
echo "$stamp" >"$new/prepared"
rm -rf "$store/mipsel"
mv "$new" "$store/mipsel"
