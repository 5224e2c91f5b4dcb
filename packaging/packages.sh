#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds all packages into build/packages: in a Debian 12 of their own, so that they are the same whatever machine this
# is, with its compilers, and need no newer libraries than Debian 12 has.
# usage: packaging/packages.sh [amd64|arm64]...      (default: both)
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
store=$PWD/build/packages
root=$store/root
# The oldest Debian whose cargo (that for web browsers) compiles the program.
readonly SUITE=bookworm
readonly BUILD=(
    cargo-web rustc-web libstd-rust-web-dev:arm64 clang libclang1-14 gcc gcc-aarch64-linux-gnu make pkg-config
    libc6-dev libelf-dev zlib1g-dev linux-libc-dev libc6-dev:arm64 libelf-dev:arm64 zlib1g-dev:arm64
    linux-libc-dev:arm64 debhelper
)

fail() { echo "packages: $1" >&2; exit 1; }
[ $# -gt 0 ] || set -- amd64 arm64
for architecture; do
    case $architecture in
    amd64 | arm64) ;;
    *) echo "packages: architecture '$architecture' unknown; expected amd64 or arm64" >&2; exit 2 ;;
    esac
done
[ "$(id -u)" = 0 ] || fail 'they are built in a Debian of their own, which needs root; run it with sudo'
# Whose the folder is does not matter: only the commit's time is asked.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$PWD" log -1 --format=%ct)} ||
    fail 'no commit whose time the packages could have; set SOURCE_DATE_EPOCH, in seconds'

packaging/root.sh "$root" "$SUITE" amd64,arm64 "${BUILD[@]}"
packaging/crates.sh "$store/crates"
exec 9>"$store/build.lock"
flock 9    # two at once would write into each other's
mkdir -p "$store/target" "$root"/{src,crates,target,out}

# Without any network: nothing else than what is named above gets into a package. The folders have the same names in it
# whatever they are called outside, and so in the program.
unshare --mount --net --propagation private bash -euc '
    store=$1 root=$2
    shift 2
    mount --bind . "$root/src"
    mount -o remount,bind,ro "$root/src"
    mount --bind "$store/crates" "$root/crates"
    mount --bind "$store/target" "$root/target"
    mount --bind "$store" "$root/out"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/tmp"
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
' packages "$store" "$root" SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" /src/packaging/build.sh "$@"
