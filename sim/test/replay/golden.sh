# SPDX-License-Identifier: GPL-2.0-only
# A program that replays traces has to write one as it stands; where it ends before, with 77, up to there.
#
# usage: golden.sh PROGRAM TRACE
replayed=$(mktemp) || exit 1
trap 'rm -f "$replayed"' EXIT
"$1" "$2" >"$replayed"
code=$?
[ $code -eq 0 ] && { diff -U0 "$2" "$replayed"; exit; }
[ $code -eq 77 ] || exit $code
head -n "$(wc -l <"$replayed")" "$2" | diff -U0 - "$replayed" && exit 77
