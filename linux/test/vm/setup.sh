#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares build/vm for run.sh: Debian's kernels 5.10, 6.1 and 6.12, their modules and an initramfs each.
# The packages are unpacked, not installed: the machine's own /boot and boot loader stay as they are.
# usage: linux/test/vm/setup.sh [5.10|6.1|6.12]...      (default: 6.1 and 6.12; does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm

. "$here/unpack.sh"
. "$here/kernel.sh"

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
    local package options
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
    unpack_kernel "$(echo "$2"/*.deb)" "$2"
}

prepare() {
    local folder=$store/$1 stamp
    stamp=$(cat "$here/setup.sh" "$here/unpack.sh" "$here/kernel.sh" "$here/stage1.sh" | sha256sum)
    [ "$(cat "$folder/prepared" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    chmod 755 "$folder.new"
    fetch "$1" "$folder.new"
    initramfs "$folder.new" "$(command -v busybox)"
    echo "$stamp" >"$folder.new/prepared"
    rm -rf "$folder"
    mv "$folder.new" "$folder"
}

need_tools
alone "$store"
[ $# -gt 0 ] || set -- 6.1 6.12
for release; do
    case $release in
    5.10 | 6.1 | 6.12) prepare "$release" ;;
    *) echo "vm/setup: kernel '$release' unknown; expected 5.10, 6.1 or 6.12" >&2; exit 2 ;;
    esac
done
