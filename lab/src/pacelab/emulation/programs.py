# SPDX-License-Identifier: GPL-2.0-only
"""The programs that a run starts, as ``make build`` makes them."""

from pacelab.simulator import DEFAULT_PROGRAM, ROOT

MESHPACE = ROOT / "bin" / "meshpace"
MESH = DEFAULT_PROGRAM.with_name("meshpace-mesh")
