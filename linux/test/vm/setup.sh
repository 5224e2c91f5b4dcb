#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares build/vm for run.sh: Debian's kernels 5.10, 6.1 and 6.12, their modules and an initramfs each.
# The packages are unpacked, not installed: the machine's own /boot and boot loader stay as they are.
# usage: linux/test/vm/setup.sh [5.10|6.1|6.12]...      (default: 6.1 and 6.12; does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm

# What the scenarios may load. A whole Debian kernel would be half a gigabyte.
readonly WANTED=(
    './boot/vmlinuz-*' './lib/modules/*/modules.*'
    './lib/modules/*/kernel/net/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/crypto/*'
    './lib/modules/*/kernel/arch/x86/crypto/*' './lib/modules/*/kernel/drivers/virtio/*'
    './lib/modules/*/kernel/drivers/char/virtio_console.ko*'
    './lib/modules/*/kernel/drivers/net/*.ko*' './lib/modules/*/kernel/drivers/net/wireless/*hwsim.ko*'
    './lib/modules/*/kernel/fs/9p/*' './lib/modules/*/kernel/fs/netfs/*'
    './lib/modules/*/kernel/fs/fscache/*' './lib/modules/*/kernel/fs/overlayfs/*'
)
# What stage 1 needs to reach the host's files.
readonly FIRST=(virtio_pci virtio_console 9pnet_virtio 9p overlay)

fail() { echo "vm/setup: $1" >&2; exit 1; }

# of RELEASE: makes apt's options those of this machine, or of package lists of our own, where Debian 11 has the kernel
of() {
    local lists=$store/apt file
    options=()
    [ "$1" = 5.10 ] || return 0
    mkdir -p "$lists"/{sources,state/lists/partial,cache/archives/partial}
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed 's/bookworm/bullseye/g' "$file" >"$lists/sources/${file##*/}"
    done
    options=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$lists/sources"
        -o Dir::State::Lists="$lists/state/lists" -o Dir::Cache="$lists/cache")
}

# newest RELEASE: the name of the package that holds Debian's newest kernel of this release
newest() {
    local meta=linux-image-$1-amd64
    # Debian 12's own kernel; Debian 11's
    case $1 in 6.1 | 5.10) meta=linux-image-amd64 ;; esac
    { apt-cache "${options[@]}" depends "$meta" 2>/dev/null || true; } |
        awk '/Depends: linux-image-/ && !found { print $2; found = 1 }'
}

# update: package lists; some of Debian 11's have gone, and what matters is whether the kernel is in one of them
update() { apt-get "${options[@]}" update -qq 2>/dev/null || [ ${#options[@]} -gt 0 ]; }

# fetch RELEASE FOLDER: downloads the package, unpacks what is wanted, resolves module dependencies
fetch() {
    local package deb kver options
    of "$1"
    package=$(newest "$1")
    if [ -z "$package" ]; then    # a fresh machine has no package lists yet
        update || fail 'no package lists; run apt-get update as root, then again'
        package=$(newest "$1")
    fi
    [ -n "$package" ] || fail "no kernel $1 among the Debian packages; add bookworm-security to apt's sources"
    echo "vm/setup: unpacking $package into build/vm/$1"
    (cd "$2" && apt-get "${options[@]}" download -qq "$package" 2>/dev/null) ||
        (update && cd "$2" && apt-get "${options[@]}" download -qq "$package" 2>/dev/null) ||
        fail "$package cannot be downloaded; see what 'apt-get download $package' says"
    deb=$(echo "$2"/*.deb)
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --wildcards --no-anchored "${WANTED[@]}" 2>/dev/null ||
        [ -d "$2/lib/modules" ] || fail "$deb cannot be unpacked"
    rm "$deb"
    kver=$(basename "$2"/lib/modules/*)
    mv "$2/boot/vmlinuz-$kver" "$2/vmlinuz"
    rmdir "$2/boot"
    # Under emulation unpacking each module at each start costs more than the space.
    find "$2/lib" -name '*.ko.xz' -exec xz -d {} +
    depmod -b "$2" "$kver"
    echo "$kver" >"$2/kver"
}

# initramfs FOLDER: busybox, stage1 and the modules of FIRST in the order of their dependencies
initramfs() {
    local root=$1/initramfs kver module busybox
    kver=$(cat "$1/kver")
    rm -rf "$root"
    mkdir -p "$root"/{bin,modules,proc,sys,dev,host,scratch,root}
    busybox=$(command -v busybox) || fail 'no busybox; install busybox-static'
    cp "$busybox" "$root/bin/busybox"
    cp "$here/stage1.sh" "$root/init"
    chmod +x "$root/init"
    # A dependency that several modules share appears several times: the first place counts.
    for module in "${FIRST[@]}"; do
        modprobe -d "$1" -S "$kver" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$1/first"
    while read -r module; do
        cp "$module" "$root/modules/"
        basename "$module"
    done <"$1/first" >"$root/modules/order"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$1/initramfs.cpio"
    rm -rf "$root" "$1/first"
}

prepare() {
    local folder=$store/$1 stamp
    stamp=$(cat "$here/setup.sh" "$here/stage1.sh" | sha256sum)
    [ "$(cat "$folder/prepared" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    chmod 755 "$folder.new"
    fetch "$1" "$folder.new"
    initramfs "$folder.new"
    echo "$stamp" >"$folder.new/prepared"
    rm -rf "$folder"
    mv "$folder.new" "$folder"
}

export PATH=$PATH:/usr/sbin:/sbin
for tool in apt-get dpkg-deb xz depmod modprobe cpio busybox; do
    command -v "$tool" >/dev/null ||
        fail "no $tool; install kmod, cpio, busybox-static and xz-utils (and run on Debian)"
done
mkdir -p "$store"
exec 9>"$store/lock"
flock 9    # two tests at once must not unpack twice
[ $# -gt 0 ] || set -- 6.1 6.12
for release; do
    case $release in
    5.10 | 6.1 | 6.12) prepare "$release" ;;
    *) echo "vm/setup: kernel '$release' unknown; expected 5.10, 6.1 or 6.12" >&2; exit 2 ;;
    esac
done
