#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes Debian's package of what contents.sh has gathered. SOURCE_DATE_EPOCH (the commit's time) is its only date.
# usage: packaging/deb.sh CONTENTS ARCHITECTURE FOLDER
set -euo pipefail
umask 022
[ $# = 3 ] || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
contents=$(realpath "$1") architecture=$2 out=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
version=$("$here/version.sh")-1
: "${SOURCE_DATE_EPOCH:?deb: the time of the commit, in seconds}"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/meshpace
cp -r "$contents" "$tree"
cp -r "$here/debian" "$tree/debian"
cd "$tree"
mkdir bash
mv meshpace.bash bash/meshpace
for unit in *.service; do mv "$unit" "debian/meshpace.$unit"; done
cat >debian/changelog <<END
meshpace ($version) unstable; urgency=medium

  * What changed is in changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(LC_ALL=C date -uRd "@$SOURCE_DATE_EPOCH")
END
dpkg-architecture -a "$architecture" -c dh binary >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
mv "$stage"/*.deb "$out"
