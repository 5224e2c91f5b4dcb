#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs cargo on the workspace in linux/, with its output beside everything else that is built.
# usage: scripts/cargo.sh build|test|clippy|fmt [ARGUMENT]...
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CARGO_TARGET_DIR=$root/build/cargo
cd linux
command=$1
shift
[ "$command" = fmt ] || set -- --locked "$@"
exec cargo "$command" "$@"
