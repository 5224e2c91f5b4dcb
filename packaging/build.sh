#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compiles and packs, in the Debian that packages.sh has made: sources in /src, crates in /crates, packages to /out.
# usage: packaging/build.sh ARCHITECTURE...
set -euo pipefail
umask 022
export HOME=/tmp CARGO_HOME=/tmp/cargo CARGO_TARGET_DIR=/target CARGO_NET_OFFLINE=true PKG_CONFIG_ALLOW_CROSS=1
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export SOURCE_DATE_EPOCH
mkdir -p "$CARGO_HOME"
cat >"$CARGO_HOME/config.toml" <<'END'
source.crates-io.replace-with = "here"
source.here.directory = "/crates"
END

# machine ARCHITECTURE: what the compilers call it
machine() {
    case $1 in
    amd64) echo x86_64 ;;
    arm64) echo aarch64 ;;
    esac
}

# compile ARCHITECTURE PROGRAM [FLAGS]
compile() {
    local target
    target=$(machine "$1")-unknown-linux-gnu
    echo "packages: compiling for $1${3:+, static}"
    (
        cd /src/linux
        export PKG_CONFIG_LIBDIR=/usr/lib/$(machine "$1")-linux-gnu/pkgconfig RUSTFLAGS=${3:-}
        cargo build --quiet --release --locked --target "$target" -p meshpace
    )
    cp "/target/$target/release/meshpace" "$2"
}

# The program that writes the pages of all has to run here.
native=/tmp/native
compile amd64 "$native"
for architecture; do
    program=/tmp/$architecture static=/tmp/$architecture-static contents=/tmp/contents
    compile "$architecture" "$program"
    /src/packaging/contents.sh "$program" "$native" /crates "$contents"
    /src/packaging/deb.sh "$contents" "$architecture" /out
    compile "$architecture" "$static" '-C target-feature=+crt-static'
    /src/packaging/contents.sh "$static" "$native" /crates "$contents"
    for library in libc6-dev libelf-dev zlib1g-dev; do
        printf '\n\n==== %s, of which Debian has the source\n\n' "$(dpkg-query -W "$library:$architecture")"
        cat "/usr/share/doc/$library/copyright"
    done >>"$contents/licences"
    /src/packaging/tarball.sh "$contents" "$architecture" /out
done
