#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Gathers what every package holds into a folder: the program, its manual pages and completions, the configuration,
# the units, the documents, and the licences of the libraries in the program.
# usage: packaging/contents.sh PROGRAM NATIVE CRATES FOLDER   (NATIVE: the same program for this machine, which writes
#                                                              the pages; CRATES: the folder that cargo vendor made)
set -euo pipefail
umask 022
[ $# = 4 ] || { sed -n '/^# usage/,/^#  /s/^# //p' "$0" >&2; exit 2; }
program=$1 native=$2 crates=$3 folder=$4
root=$(cd "$(dirname "$0")/.." && pwd)

# All licences are told by their texts; of a choice that of MIT is enough.
licence_of() {
    local found=("$1"/LICENSE-MIT*)
    [ -e "${found[0]}" ] || found=("$1"/LICENSE* "$1"/libbpf/LICENSE.BSD*)
    for text in "${found[@]}"; do
        [ ! -e "$text" ] || cat "$text"
    done
}

# The crates are the same on every Linux.
licences() {
    local name version licence
    echo 'The program holds these libraries; the licence of each follows.'
    cargo tree --manifest-path "$root/linux/Cargo.toml" --frozen -p meshpace -e normal,no-proc-macro --target x86_64-unknown-linux-gnu \
        --prefix none --format '{p}|{l}' --config "source.crates-io.replace-with='here'" \
        --config "source.here.directory='$crates'" |
        sed 's/ (\*)$//' | sort -u | grep -v '^meshpace' >"$folder/crates"
    while IFS='| ' read -r name version licence; do
        printf '\n\n==== %s %s (%s)\n\n' "$name" "${version#v}" "$licence"
        licence_of "$crates/$name-${version#v}" >"$folder/text"
        [ -s "$folder/text" ] || { echo "contents: no licence in $crates/$name-${version#v}" >&2; exit 1; }
        cat "$folder/text"
    done <"$folder/crates"
    rm -f "$folder/crates" "$folder/text"
}

rm -rf "$folder"
mkdir -p "$folder"
licences >"$folder/licences"
"$native" generate "$folder"
install -m 755 "$program" "$folder/meshpace"
cp "$root"/packaging/systemd/*.service "$root/CHANGELOG.md" "$root/LICENSE" "$folder"
mkdir "$folder/documents"
cp "$root"/docs/operate/{gateway.toml,status.schema.json} "$root/packaging/grafana/meshpace.json" \
    "$folder/documents"
# What is not installed is named by its place in the sources instead of a link.
for page in "$root"/docs/operate/*.md; do
    sed -E 's|\[([^]]*)\]\(\.\./\.\./([^)#]*)[^)]*\)|\1: `\2` of the sources|g
            s|\[([^]]*)\]\(\.\./([^)#]*)[^)]*\)|\1: `docs/\2` of the sources|g' "$page" >"$folder/documents/$(basename "$page")"
done
# Values are shown as they are by default, each behind a "#": who has changed one line keeps to the defaults of a
# later version in all others.
sed -E 's/^([a-z_]+ = )/# \1/' "$root/docs/operate/gateway.toml" >"$folder/gateway.toml"
find "$folder" -type f ! -name meshpace -exec chmod 644 {} +
