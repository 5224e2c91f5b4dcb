#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets up, builds and runs every test: the law, the ns-3 models, pacelab (with the real simulator).
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo "== $1 ($((SECONDS / 60)) min)"; }

# Seconds after which a test, further attempts included, counts as stuck and says where it stands; the
# longest needs a third.
patience=900

step 'set-up and build'
scripts/setup.sh test
# The sanitizers' compiler is found when the build is configured.
cmake -S . -B build -G Ninja --log-level=WARNING
cmake --build build
scripts/cargo.sh build --release --quiet
scripts/launchers.sh

step 'core and sim'
ctest --test-dir build --output-on-failure --parallel "$(nproc)"

step 'gateway: style, types, unit tests'
scripts/cargo.sh fmt --all --check
scripts/cargo.sh clippy --quiet --all-targets -- -D warnings
scripts/cargo.sh test --quiet
(
    cd linux/test
    style=../../lab/pyproject.toml
    ../../.venv/bin/ruff check --config $style .
    ../../.venv/bin/ruff format --config $style --check .
    ../../.venv/bin/mypy --config-file $style .
)

step 'gateway: in network namespaces, and in other kernels'
linux/test/vm/setup.sh
# Tests mostly wait for packets, so two for each processor share it well. Those marked `alone`
# measure the machine itself: they follow, one by one.
native=(.venv/bin/python -m pytest -q -rfER --timeout $patience --durations 8 linux/test --ignore=linux/test/vm)
"${native[@]}" -m 'not alone' -n "$((2 * $(nproc)))" --dist loadgroup
"${native[@]}" -m alone

step 'pacelab: style, types, tests'
cd lab
../.venv/bin/ruff check .
../.venv/bin/ruff format --check .
../.venv/bin/mypy src tests
../.venv/bin/python -m pytest -q -rfER --timeout $patience --durations 8
