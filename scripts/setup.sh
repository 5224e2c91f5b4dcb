#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs what the build needs and is not there yet: Debian packages, and a virtual
# environment .venv with the pinned ns-3 wheel and pacelab's pinned dependencies.
# usage: scripts/setup.sh [gateway|packages|build|test]
#     gateway: what compiles the gateway; packages: what makes its packages; neither with Python;
#     build (the default): gateway, simulator and laboratory; test: all, and what only tests use
set -euo pipefail
cd "$(dirname "$0")/.."

readonly NS3_WHEEL='ns3==3.44.post0'
fail() { echo "setup: $1" >&2; exit 1; }
tier=${1:-build}

# clang compiles BPF, libclang reads the law's headers for Rust, libbpf needs libelf.
gateway=(gcc libc6-dev make clang libclang1-14 libelf-dev zlib1g-dev pkg-config linux-libc-dev ca-certificates)
# The compilers for packages are in a Debian of their own (packaging/packages.sh).
packages=(git mmdebstrap ca-certificates)
build=(g++ cmake ninja-build nlohmann-json3-dev libtcmalloc-minimal4 python3-venv)
# Emulated runs: network namespaces, and the programs whose flows are measured.
build+=(iproute2 iptables iperf3 curl)
# The sanitizers' run time; what the gateway's tests set up here, and in other kernels under QEMU; systemd
# for its systemd-analyze, which judges the units without running; real QUIC; a browser for the page.
test=(libclang-rt-14-dev bpftool iputils-ping nftables systemd qemu-system-x86 busybox-static kmod cpio xz-utils
    iw batctl ngtcp2-client openssl chromium)
# What judges packages, and runs those for another processor.
test+=(debhelper lintian qemu-user-static)
case $tier in
gateway) wanted=("${gateway[@]}") ;;
packages) wanted=("${packages[@]}") ;;
build) wanted=("${gateway[@]}" "${build[@]}") ;;
test) wanted=("${gateway[@]}" "${packages[@]}" "${build[@]}" "${test[@]}") ;;
*) sed -n '/^# usage/,/^set/{/^#/s/^# //p}' "$0" >&2; exit 2 ;;
esac
# Debian's own cargo is too old; the one that it builds browsers with is not.
cargo_works() { cargo --version 2>/dev/null | awk '{ split($2, v, "."); exit !(v[1] > 1 || v[2] >= 85) }'; }
cargo_works || wanted+=(cargo-web rustc-web)
# What judges Rust's format and lints is in packages of its own there.
of_debian() { ! cargo_works || [ "$(command -v cargo)" = /usr/bin/cargo ]; }
case $tier in build | test) ! of_debian || wanted+=(rustfmt-web rust-web-clippy) ;; esac

missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
        missing+=("$package")
done
as_root=()
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            fail "packages missing: ${missing[*]}; install them as root with apt-get, then run again"
        as_root=(sudo)
    fi
    echo "setup: installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

[ "$tier" = gateway ] || [ "$tier" = packages ] && exit

# The wheel of ns-3 is built for CPython 3.11, Debian 12's own.
python=$(command -v python3.11 || command -v python3) || fail "no python3; install python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    fail "$python is not Python 3.11, for which the ns-3 wheel is built; install python3.11"

stamp=$({ echo "$NS3_WHEEL"; cat lab/requirements.txt; pwd; } | sha256sum)
if [ "$(cat .venv/installed 2>/dev/null)" != "$stamp" ]; then
    echo "setup: installing ns-3 and pacelab's libraries into .venv"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --no-compile)
    # Without its Python bindings' compiler (cppyy) the wheel is one copy of files: seconds, not minutes.
    "${pip[@]}" "$NS3_WHEEL"
    "${pip[@]}" -r lab/requirements.txt
    # pacelab itself runs from the source tree.
    echo "$PWD/lab/src" >"$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/pacelab.pth"
    echo "$stamp" >.venv/installed
fi

# QUIC's server, unpacked: the installed package would run it as a service. Its libraries are the client's.
if [ "${1:-build}" = test ] && [ ! -x build/quic/usr/sbin/gtlsserver ]; then
    echo "setup: unpacking ngtcp2-server into build/quic"
    mkdir -p build/quic
    (cd build/quic && { apt-get download -qq ngtcp2-server 2>/dev/null ||
        { "${as_root[@]}" apt-get update -qq && apt-get download -qq ngtcp2-server; }; } &&
        dpkg-deb -x ngtcp2-server_*.deb . && rm ngtcp2-server_*.deb) ||
        fail "ngtcp2-server cannot be unpacked; see what 'apt-get download ngtcp2-server' says"
fi
