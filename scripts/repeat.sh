#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs tests many times in a row while every core is kept busy: what depends on time must hold, or be
# skipped as inconclusive. Prints each round's outcome, and the outputs of rounds that failed.
# usage: scripts/repeat.sh ROUNDS TEST_FILE...       (pytest's files; paths from where you are)
# Exit status: 0 no round failed; 1 one did; 2 wrong usage.
set -euo pipefail
if [[ $# -lt 2 || ! $1 =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: scripts/repeat.sh ROUNDS TEST_FILE..." >&2
    exit 2
fi
python=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin/python
rounds=$1
shift
output=$(mktemp)
load=()
finish() {
    [ ${#load[@]} = 0 ] || kill "${load[@]}" 2>/dev/null || true
    rm -f "$output"
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

for _ in $(seq "$(nproc)"); do
    (while :; do :; done) &
    load+=($!)
done
failed=0
for round in $(seq "$rounds"); do
    if "$python" -m pytest -q -rs -p no:cacheprovider "$@" >"$output" 2>&1; then
        outcome=$(tail -n 1 "$output")
    else
        outcome="FAILED $(tail -n 1 "$output")"
        failed=1
        cat "$output"
    fi
    echo "round $round of $rounds: $outcome"
done
exit "$failed"
