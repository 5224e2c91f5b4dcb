#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs FOLDER/run, a shell script, in Debian's kernel for MIPS under QEMU: little endian, 32 bits, one processor,
# no BTF, as routers have it. FOLDER is a copy there, and the working folder. There are busybox and bpftool, and
# nothing of this machine. Output and exit status pass through, once the script has ended.
# usage: linux/test/vm/mipsel.sh [-t SECONDS] [-m MIB] [-o RESULTS] FOLDER
#   -t  time limit (300); exit status 124 when it is over
#   -m  memory (512)
#   -o  folder for what the script left in /out/result
# Exit status: the script's; 124 time limit; 125 the machine did not get that far (its console is shown).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm/mipsel
limit=300 memory=512 out=

fail() { echo "vm/mipsel: $2" >&2; exit "$1"; }
usage() { sed -n '/^# usage/,/^# Exit/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

while getopts t:m:o: option; do
    case $option in
    t) limit=$OPTARG ;;
    m) memory=$OPTARG ;;
    o) out=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 1 ] || usage
[ -f "$1/run" ] || fail 2 "no $1/run"
[ -f "$store/prepared" ] || fail 125 "the machine is not prepared; run ${here##*/}/mipsel-setup.sh"

control=$(mktemp -d)
machine=
finish() {
    if [ -n "$machine" ]; then kill -TERM "$machine" 2>/dev/null && wait "$machine" || true; fi
    rm -rf "$control"
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

# The kernel unpacks one archive after another.
mkdir -p "$control/tree" "$control/left"
cp -rL "$1" "$control/tree/given"
(cd "$control/tree" && find . | cpio -o -H newc --quiet) >"$control/given.cpio"
cat "$store/initramfs.cpio" "$control/given.cpio" >"$control/initramfs.cpio"

timeout -k 5 "$limit" "$store/host/usr/bin/qemu-system-mipsel" \
    -M malta -cpu 24Kf -m "$memory" -nodefaults -no-user-config -no-reboot -display none \
    -kernel "$store/vmlinuz" -initrd "$control/initramfs.cpio" \
    -append 'console=ttyS0 quiet loglevel=4 panic=-1' \
    -serial "file:$control/console" -serial "file:$control/results" </dev/null &
machine=$!
status=0
wait "$machine" || status=$?
machine=

if ! tar -C "$control/left" -xzf "$control/results" 2>/dev/null || ! [ -s "$control/left/status" ]; then
    [ "$status" = 124 ] && fail 124 "time limit of $limit s is over"
    tail -n 30 "$control/console" >&2 || true
    fail 125 "the machine stopped before the script ended (QEMU's exit status $status)"
fi
if [ -n "$out" ]; then
    mkdir -p "$out"
    cp -r "$control/left/result/." "$out"
fi
cat "$control/left/stdout"
cat "$control/left/stderr" >&2
exit "$(cat "$control/left/status")"
