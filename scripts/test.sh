#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets up, builds once, and runs the tests of a tier (linux/test/README.md says what is in which).
# usage: scripts/test.sh [check|test|full|smoke]    check: no root and no clock, minutes; test (the default): all that
#                                                   must hold; full: and long counts, all that goes by the clock, all
#                                                   other kernels; smoke: of test what goes by the clock, without a build
set -euo pipefail
cd "$(dirname "$0")/.."
tier=${1:-test}
case $tier in check | test | full | smoke) ;; *) sed -n '/^# usage/,/^#  /s/^# //p' "$0" >&2; exit 2 ;; esac
# Seconds after which a test, further attempts included, counts as stuck and says where it stands; the
# longest needs a third, at its full length more.
patience=900
[ "$tier" = full ] && patience=3600

# Which tests a tier has, as pytest's -m. Those that go by the clock have virtual time's beside them, but for a
# few of the real thing (marked smoke).
chosen='smoke or not measured'
[ "$tier" = full ] && chosen='measured or not measured'
[ "$tier" = smoke ] && chosen=smoke

step() { echo "== $1 ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; }

logs=$PWD/build/test
mkdir -p "$logs"
export ATTEMPTS=${ATTEMPTS:-$logs/first-attempts}
: >"$ATTEMPTS"
declare -A group
finish() {
    for one in "${group[@]}"; do kill -- "-$one" 2>/dev/null || true; done
    step 'failed at the first attempt'
    if [ -s "$ATTEMPTS" ]; then cat "$ATTEMPTS"; else echo none; fi
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

# beside NAME COMMAND...: runs it in the background.
beside() {
    local name=$1
    shift
    # In a process group of its own, so that what it starts can be ended with it.
    set -m
    (
        SECONDS=0
        "$@"
        echo "($name took $SECONDS s)"
    ) >"$logs/$name.log" 2>&1 </dev/null &
    group[$name]=$!
    set +m
}

# ended NAME...: waits for each and shows what it printed; the first that failed ends everything.
ended() {
    local name status
    for name in "$@"; do
        status=0
        wait "${group[$name]}" || status=$?
        unset "group[$name]"
        step "$name"
        cat "$logs/$name.log"
        [ $status = 0 ] || { echo "$name FAILED" >&2; exit 1; }
    done
}

# idly COMMAND...: with the processors' time that nobody else wants. What goes by the clock runs on undisturbed,
# for the scheduler lets such work wait as soon as anybody else wakes up.
idly() {
    chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 "$BASHPID" >/dev/null
    "$@"
}

build_core_and_sim() {
    # The sanitizers' compiler is found when the build is configured.
    cmake -S . -B build -G Ninja --log-level=WARNING
    cmake --build build --target all tests
}

build_gateway() {
    scripts/cargo.sh build --release
    scripts/launchers.sh
}

core_and_sim() { ctest --test-dir build --output-on-failure --parallel "$(nproc)" "$@"; }

rust() {
    scripts/cargo.sh fmt --all --check
    scripts/cargo.sh clippy --all-targets -- -D warnings
    scripts/cargo.sh test --quiet
}

# styles FOLDER SOURCE...: Python's style and types
styles() (
    style=$PWD/lab/pyproject.toml
    ruff=$PWD/.venv/bin/ruff mypy=$PWD/.venv/bin/mypy
    cd "$1"
    shift
    "$ruff" check --config "$style" .
    "$ruff" format --config "$style" --check .
    "$mypy" --config-file "$style" "$@"
)

python() {
    styles linux/test .
    styles scripts .
    styles sim/test .
    styles contrib/meshpace/examples .
    styles lab src tests
}

# tests FOLDER ARGUMENT...
tests() (
    pytest=("$PWD/.venv/bin/python" -m pytest -p attempts -q -rfE --timeout "$patience" --durations 8)
    # pacelab of this checkout, in whichever .venv was made.
    export PYTHONPATH=$PWD/scripts:$PWD/lab/src
    cd "$1"
    shift
    "${pytest[@]}" "$@"
)

lab() { tests lab -n "$(nproc)" -m "$1"; }

check() {
    step 'set-up and build'
    scripts/setup.sh build
    build_core_and_sim
    build_gateway
    beside lab lab 'not simulates and not emulates'
    beside python python
    beside rust rust
    step 'core and sim'
    core_and_sim -LE slow
    step 'BPF: the verifier, and the traces replayed, where root is there'
    tests linux/test test_verifier.py test_replay.py
    ended lab python rust
}

# What takes nothing but processors: it is built beside what waits for packets, too.
simulated() {
    build_core_and_sim
    core_and_sim
    lab "($chosen) and not emulates"
}

# native OPTION...: the gateway and the sender, in network namespaces
native() {
    step 'gateway and sender, in network namespaces'
    # They mostly wait for packets, so two for each processor share it well.
    tests linux/test --ignore=vm -m "($chosen) and not alone" -n "$((2 * $(nproc)))" --dist loadgroup "$@"
    step 'what measures the machine itself, and other kernels'
    tests linux/test --ignore=vm -m "($chosen) and alone" "$@"
}

emulated() {
    step 'emulated runs'
    tests lab -m "($chosen) and emulates"
}

everything() {
    local long=()
    [ "$tier" = full ] && long=(--full)
    step 'set-up and build'
    scripts/setup.sh test
    beside kernels linux/test/vm/setup.sh
    build_gateway
    ended kernels
    beside simulated idly simulated
    beside rust idly rust
    beside python idly python
    native "${long[@]}"
    ended rust python simulated
    emulated
}

smoke() {
    native
    emulated
}

case $tier in
check) check ;;
smoke) smoke ;;
*) everything ;;
esac
