#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes a minimal Debian of its own in a folder, from wherever this machine's apt takes its packages, if it is not
# there yet: to build packages in, or to try them.
# usage: packaging/root.sh [-x] FOLDER SUITE ARCHITECTURE[,ARCHITECTURE]... [PACKAGE]...
#   -x  only unpacks it, for a processor that is not this one: to be set up there by "dpkg --install" of all in /debs
set -euo pipefail
fail() { echo "root: $1" >&2; exit 1; }
how=(--variant=minbase)
if [ "${1:-}" = -x ]; then
    # What minbase takes by itself is named to it.
    how=(--variant=extract '--include=?essential' --include=apt,usr-is-merged
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
        --extract-hook='mkdir "$1/debs" && cp "$1"/var/cache/apt/archives/*.deb "$1/debs"')
    shift
fi
[ $# -ge 3 ] || { sed -n '/^# usage/,/^set/{/^#/s/^# //p}' "$0" >&2; exit 2; }
folder=$1 suite=$2 architectures=$3
shift 3
packages=$(IFS=,; echo "$*")

[ "$(id -u)" = 0 ] || fail 'a Debian in a folder needs root; run it with sudo'
command -v mmdebstrap >/dev/null || fail 'no mmdebstrap; run scripts/setup.sh packages'

# sources: this machine's Debian suites, security updates included, for $suite
sources() {
    local here
    here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(ORIGIN)|$(SITE)|$(CODENAME)|$(COMPONENT)' 'Created-By: Packages' |
        awk -F'|' -v here="$here" -v suite="$suite" \
            '$1 == "Debian" && index($3, here) == 1 { print "deb", $2, suite substr($3, length(here) + 1), $4 }' |
        sort -u
}
# How this machine's apt reaches them.
ways() { apt-config dump --format '%F "%v";%n' | grep -iE '^Acquire::(https?|Check|Retries)' || true; }

[ "$(apt-get indextargets 'Created-By: Packages')" ] || apt-get update -qq
lines=$(sources)
[ "$lines" ] || fail "apt's sources name no suite of Debian; see 'apt-get indextargets'"
stamp=$(echo "$lines $suite $architectures $packages" | cat - "$0" | sha256sum)
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9    # two at once would write into each other's
[ "$(cat "$folder.stamp" 2>/dev/null)" = "$stamp" ] && exit

echo "root: Debian $suite into $folder"
rm -rf "$folder" "$folder.new" "$folder.stamp"
# What it mounts goes with it, also when it is killed: a /proc that stays would keep the folder from being removed.
unshare --mount --propagation private \
    mmdebstrap --quiet "${how[@]}" --architectures="$architectures" ${packages:+--include="$packages"} \
    --aptopt=<(ways) "$suite" "$folder.new" - <<<"$lines" >"$folder.log" 2>&1 ||
    { tail -5 "$folder.log" >&2; fail "Debian $suite cannot be made; the whole of it: $folder.log"; }
mv "$folder.new" "$folder"
echo "$stamp" >"$folder.stamp"
