#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Puts the sources of all crates, as the lock file has them, into a folder.
# usage: packaging/crates.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
folder=$(realpath -m "$1")
cd "$(dirname "$0")/../linux"
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9    # two at once would take away each other's
wanted=$(sha256sum <Cargo.lock)
[ "$(cat "$folder.stamp" 2>/dev/null)" = "$wanted" ] && exit
rm -rf "$folder"
cargo vendor --quiet --locked --versioned-dirs "$folder" >/dev/null
echo "$wanted" >"$folder.stamp"
