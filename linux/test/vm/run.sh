#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs a command inside a Debian kernel under QEMU (no KVM needed). The command sees this machine's
# files (what it writes is forgotten), the same working folder, and is root. In the kernel for arm64 it sees a
# Debian's for arm64 instead (arm64-setup.sh). cgroup2, bpffs and tracefs are mounted. Its output and exit status
# pass through.
# usage: linux/test/vm/run.sh [-p] [-k 5.10|6.1|6.12|arm64] [-t SECONDS] [-m MIB] [-s CPUS] [-o FOLDER] [-b DEBIAN]
#                             COMMAND [ARG]...
#   -k  kernel (6.1)        -t  time limit (120); exit status 124 when it is over
#   -m  memory (1024)       -s  processors (1)
#   -o  folder for results: read-write inside as $OUT, the only thing that stays
#   -b  boots the Debian in that folder by its systemd, which runs the command as a service; it sees that Debian's files,
#       among them has to be /lib/modules of this kernel
#   -p  before all other work of this machine, if that is permitted: for measurements of time
# Exit status: the command's; 124 time limit; 125 the machine did not get that far (its console is shown).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(cd "$here/../../.." && pwd)/build/vm
kernel=6.1 limit=120 memory=1024 cpus=1 out= booted=
first=()

fail() { echo "vm/run: $2" >&2; exit "$1"; }
usage() { sed -n '/^# usage/,/^# Exit/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

while getopts pk:t:m:s:o:b: option; do
    case $option in
    k) kernel=$OPTARG ;;
    t) limit=$OPTARG ;;
    m) memory=$OPTARG ;;
    s) cpus=$OPTARG ;;
    o) out=$OPTARG ;;
    b) booted=$OPTARG ;;
    p) if chrt --rr 1 true 2>/dev/null; then first=(chrt --rr 1); fi ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
case $kernel in
5.10 | 6.1 | 6.12) emulator=qemu-system-x86_64 files=/ modules=$store/$kernel/lib/modules folder=$PWD setup="setup.sh $kernel" ;;
# The second one is being prepared.
arm64 | arm64.new)
    emulator=$store/$kernel/host/usr/bin/qemu-system-aarch64
    files=$store/$kernel/root modules=/lib/modules folder=/ setup=arm64-setup.sh
    ;;
*) fail 2 "kernel '$kernel' unknown; expected 5.10, 6.1, 6.12 or arm64" ;;
esac
if [ -n "$booted" ]; then
    [ -x "$booted/lib/systemd/systemd" ] || fail 2 "no systemd in $booted; install it there"
    files=$booted modules=/lib/modules folder=/
fi
[ -f "$store/$kernel/prepared" ] || fail 125 "kernel $kernel is not prepared; run ${here##*/}/$setup"
command -v "$emulator" >/dev/null || fail 125 "no $emulator; install qemu-system-x86"

control=$(mktemp -d)
machine=
finish() {
    if [ -n "$machine" ]; then kill -TERM "$machine" 2>/dev/null && wait "$machine" || true; fi
    rm -rf "$control"
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

if [ -n "$out" ]; then
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
else
    out=$control/out
    mkdir "$out"
fi
cp "$here/stage2.sh" "$control/stage2"
printf '%q ' exec "$@" >"$control/command"
printf 'modules=%q\nfolder=%q\nbooted=%q\n' "$modules" "$folder" "$booted" >"$control/settings"

case $emulator in
*x86_64)
    # Threads of emulated processors in parallel race when the kernel patches its own code: it traps on a
    # breakpoint that it has just removed, and panics ("int3" in netif_rx_internal, a known fault of QEMU).
    # So they take turns, in which one waits for the other's answer: one alone is a quarter faster than two.
    processor=(-accel tcg,thread=single -cpu max) console=ttyS0
    ;;
*)
    # Signing pointers by QARMA, as "max" does, is emulated in software at each call.
    processor=(-M virt -accel tcg -cpu 'max,pauth-impdef=on') console=ttyAMA0
    ;;
esac
# Emulated processors gain nothing from mitigations, nor tests from cleared pages; the clock is this machine's. Whether the
# timer's interrupt comes is not tested: on a loaded machine an emulated one comes too late, and the kernel gives up.
readonly CMDLINE="console=$console quiet loglevel=4 panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check
    net.ifnames=0 random.trust_cpu=on cgroup_no_v1=all init_on_alloc=0"
qemu=(
    "${first[@]}" timeout -k 5 "$limit" "$emulator"
    "${processor[@]}" -smp "$cpus" -m "$memory"
    -nodefaults -no-user-config -no-reboot -display none
    -kernel "$store/$kernel/vmlinuz" -initrd "$store/$kernel/initramfs.cpio" -append "$(echo $CMDLINE)"
    -chardev "file,id=console,path=$control/console" -serial chardev:console
    -device virtio-serial
    -chardev file,id=stdout,path=/dev/stdout,append=on -device virtserialport,chardev=stdout,nr=1
    -chardev file,id=stderr,path=/dev/stderr,append=on -device virtserialport,chardev=stderr,nr=2
    -fsdev "local,id=host,path=$files,security_model=none,readonly=on,multidevs=remap"
    -device virtio-9p-pci,fsdev=host,mount_tag=host
    -fsdev "local,id=control,path=$control,security_model=none"
    -device virtio-9p-pci,fsdev=control,mount_tag=control
    -fsdev "local,id=out,path=$out,security_model=none"
    -device virtio-9p-pci,fsdev=out,mount_tag=out
)
# QEMU opens them anew, which fails when one is a socket: give it pipes.
"${qemu[@]}" </dev/null > >(exec cat) 2> >(exec cat >&2) &
machine=$!
status=0
wait "$machine" || status=$?
machine=

if [ -s "$control/status" ]; then
    exit "$(cat "$control/status")"
elif [ "$status" = 124 ]; then
    fail 124 "time limit of $limit s is over"
fi
tail -n 30 "$control/console" >&2 || true
fail 125 "the machine stopped before the command ended (QEMU's exit status $status)"
