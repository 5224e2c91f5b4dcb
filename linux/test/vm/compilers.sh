#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares compilers of C for other processors, Debian's, which are unpacked and not installed:
# build/vm/compilers/ARCHITECTURE/cc. What they link is to be static, for its libraries are there alone.
# usage: linux/test/vm/compilers.sh mips|mipsel|armhf|arm64|riscv64...      (does nothing when all is there)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm/compilers
. "$here/unpack.sh"

# triplet ARCHITECTURE: what the compilers call it
triplet() {
    case $1 in
    mips | mipsel | riscv64) echo "$1-linux-gnu" ;;
    armhf) echo arm-linux-gnueabihf ;;
    arm64) echo aarch64-linux-gnu ;;
    *) return 1 ;;
    esac
}

# prepare ARCHITECTURE: the libraries that these programs need are those of the machine's own gcc
prepare() {
    local folder=$store/$1 new=$store/$1.new name stamp
    name=$(triplet "$1")
    stamp=$(cat "$here/compilers.sh" "$here/unpack.sh" | sha256sum)
    [ "$(cat "$folder/prepared" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$new"
    unpack_here "$new" "binutils-$name" "cpp-12-$name" "gcc-12-$name" "libgcc-12-dev-$1-cross" "libc6-dev-$1-cross" \
        "libc6-$1-cross" "linux-libc-dev-$1-cross"
    cat >"$new/cc" <<END
#!/bin/sh
usr=\$(dirname "\$(readlink -f "\$0")")/usr
export LD_LIBRARY_PATH="\$usr/lib/\$(uname -m)-linux-gnu"
exec "\$usr/bin/$name-gcc-12" "\$@"
END
    chmod +x "$new/cc"
    "$new/cc" --version >/dev/null || fail 'the compiler lacks libraries; install gcc-12, which needs the same'
    echo "$stamp" >"$new/prepared"
    rm -rf "$folder"
    mv "$new" "$folder"
}

for architecture; do
    triplet "$architecture" >/dev/null || {
        echo "vm/compilers: architecture '$architecture' unknown; expected mips, mipsel, armhf, arm64 or riscv64" >&2
        exit 2
    }
done
alone "$store"
for architecture; do prepare "$architecture"; done
