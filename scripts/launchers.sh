#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Writes the launchers in bin/. They find the project from their own place and run from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
cat >bin/pacelab <<'LAUNCHER'
#!/usr/bin/env bash
root=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$root/.venv/bin/python" -m pacelab "$@"
LAUNCHER
chmod +x bin/pacelab
ln -sfn ../build/cargo/release/meshpace bin/meshpace
