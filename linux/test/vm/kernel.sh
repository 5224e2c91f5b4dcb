# SPDX-License-Identifier: GPL-2.0-only
# What run.sh boots, of one of Debian's packages of a kernel; to be sourced.

# What the scenarios may load. A whole Debian kernel would be half a gigabyte.
readonly WANTED=(
    './boot/vmlinuz-*' './lib/modules/*/modules.*'
    './lib/modules/*/kernel/net/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/crypto/*'
    './lib/modules/*/kernel/arch/*/crypto/*' './lib/modules/*/kernel/drivers/virtio/*'
    './lib/modules/*/kernel/drivers/char/virtio_console.ko*'
    './lib/modules/*/kernel/drivers/net/*.ko*' './lib/modules/*/kernel/drivers/net/wireless/*hwsim.ko*'
    './lib/modules/*/kernel/fs/9p/*' './lib/modules/*/kernel/fs/netfs/*'
    './lib/modules/*/kernel/fs/fscache/*' './lib/modules/*/kernel/fs/overlayfs/*'
)
# What stage 1 needs to reach the files of the root.
readonly FIRST=(virtio_pci virtio_console 9pnet_virtio 9p overlay)

# unpack_kernel DEB FOLDER: unpacks what is wanted, resolves module dependencies
unpack_kernel() {
    local kver
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards --no-anchored "${WANTED[@]}" 2>/dev/null ||
        [ -d "$2/lib/modules" ] || fail "$1 cannot be unpacked"
    rm "$1"
    kver=$(basename "$2"/lib/modules/*)
    mv "$2/boot/vmlinuz-$kver" "$2/vmlinuz"
    rmdir "$2/boot"
    # Under emulation unpacking each module at each start costs more than the space.
    find "$2/lib" -name '*.ko.xz' -exec xz -d {} +
    depmod -b "$2" "$kver"
    echo "$kver" >"$2/kver"
}

# initramfs FOLDER BUSYBOX: busybox, stage1 and the modules of FIRST in the order of their dependencies
initramfs() {
    local root=$1/initramfs kver module
    kver=$(cat "$1/kver")
    rm -rf "$root"
    mkdir -p "$root"/{bin,modules,proc,sys,dev,host,scratch,root}
    cp "$2" "$root/bin/busybox"
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

# need_tools: what these call
need_tools() {
    local tool
    export PATH=$PATH:/usr/sbin:/sbin
    for tool in apt-get dpkg-deb xz depmod modprobe cpio busybox; do
        command -v "$tool" >/dev/null ||
            fail "no $tool; install kmod, cpio, busybox-static and xz-utils (and run on Debian)"
    done
}
