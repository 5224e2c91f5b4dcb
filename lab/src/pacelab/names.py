# SPDX-License-Identifier: GPL-2.0-only
"""Names in the order in which a person counts."""

from __future__ import annotations

import re


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts gap-fig9 before gap-fig10."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]
