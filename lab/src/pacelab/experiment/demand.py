# SPDX-License-Identifier: GPL-2.0-only
"""What persons ask of a mesh, for an estimate of what its simulation costs."""

from __future__ import annotations

from collections.abc import Sequence

# Of what a person does, the most that it asks for: packets of SEGMENT_BYTES a second, and how many
# there are for one of these, with its ACK or answer: a page of 41 kB in 40 s; the highest bit rate
# of video; 50 datagrams each way; a look-up in 5 s. Bulk asks for all that the wires carry.
SEGMENT_BYTES = 1460
ASKS_PER_S = {
    "web": (41e3 / SEGMENT_BYTES / 40, 2),
    "video": (7800e3 / 8 / SEGMENT_BYTES, 2),
    "call": (50.0, 2),
    "lookups": (1 / 5, 2),
}


def asked_per_s(does: Sequence[str], wired_mbps: float) -> float:
    """Packets a second of what a person does, those that answer included, while he is there."""
    all_of_it = (wired_mbps * 1e6 / 8 / SEGMENT_BYTES, 2)
    return sum(rate * each for rate, each in (ASKS_PER_S.get(what, all_of_it) for what in does))
