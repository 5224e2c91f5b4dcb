#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets up, builds and runs every test: the law, the ns-3 models, pacelab (with the real simulator).
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo "== $1"; }

step 'set-up and build'
scripts/setup.sh test
# The sanitizers' compiler is found when the build is configured.
cmake -S . -B build -G Ninja --log-level=WARNING
cmake --build build
scripts/launchers.sh

step 'core and sim'
ctest --test-dir build --output-on-failure --parallel "$(nproc)"

step 'pacelab: style and types'
cd lab
../.venv/bin/ruff check .
../.venv/bin/ruff format --check .
../.venv/bin/mypy src tests

step 'pacelab: tests'
../.venv/bin/python -m pytest -q
