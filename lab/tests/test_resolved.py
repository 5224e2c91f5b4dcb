# SPDX-License-Identifier: GPL-2.0-only
"""What the simulator is handed stays what it was, byte for byte, unless somebody means a change."""

import json

from resolved import KEPT, digests


def test_every_scenario_file_is_simulated_as_before() -> None:
    """Else a change of pacelab would simulate something else than results/ is of."""
    kept, present = json.loads(KEPT.read_text(encoding="utf-8")), digests()
    changed = sorted(name for name in kept.keys() | present if kept.get(name) != present.get(name))
    assert not changed, "if it is meant: python tests/resolved.py >tests/resolved.json, in lab/"
