#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the archive for systems without Debian's packages, of what contents.sh has gathered with the static program.
# usage: packaging/tarball.sh CONTENTS ARCHITECTURE FOLDER
set -euo pipefail
umask 022
[ $# = 3 ] || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
contents=$(realpath "$1") architecture=$2 out=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
: "${SOURCE_DATE_EPOCH:?tarball: the time of the commit, in seconds}"
name=meshpace-$("$here/version.sh")-linux-$architecture

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
folder=$stage/$name
mkdir "$folder" "$folder"/{man,completions,systemd,docs}
cd "$contents"
cp meshpace gateway.toml LICENSE licences CHANGELOG.md "$folder"
cp ./*.1 "$folder/man"
cp meshpace.bash _meshpace meshpace.fish "$folder/completions"
cp ./*.service "$folder/systemd"
cp documents/* "$folder/docs"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" |
    gzip -9n >"$out/$name.tar.gz"
