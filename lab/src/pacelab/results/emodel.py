# SPDX-License-Identifier: GPL-2.0-only
"""The E-model of ITU-T G.107 (06/2015): how good a call is, from its delay and its losses.

All that G.107 asks for and a network does not decide has its default there. The codec is G.711 with
its own concealment of losses (appendix I of G.711), echo is cancelled at both ends.
"""

from __future__ import annotations

import math

R_DEFAULT = 93.2  # G.107, 7.7: without delay and loss
IE_G711 = 0.0  # G.113, appendix I, table I.3: impairment by the codec itself ...
BPL_G711_CONCEALED = 25.1  # ... and its robustness against random losses, with concealment
NOTICED_MS = 100.0  # G.107, table 1: mT; a shorter delay impairs nothing
RANDOM = 1.0  # G.107, BurstR: losses that do not depend on each other


def delay_impairment(delay_ms: float) -> float:
    """Idd of a one-way delay from mouth to ear: G.107, eq. (7-27) and (7-28), with sT = 1."""
    if delay_ms <= NOTICED_MS:
        return 0.0
    x = math.log2(delay_ms / NOTICED_MS)
    return 25 * (math.pow(1 + x**6, 1 / 6) - 3 * math.pow(1 + (x / 3) ** 6, 1 / 6) + 2)


def loss_impairment(loss: float) -> float:
    """Ie,eff of a share of packets that are lost, 0 .. 1: G.107, eq. (7-29)."""
    percent = 100 * loss
    return IE_G711 + (95 - IE_G711) * percent / (percent / RANDOM + BPL_G711_CONCEALED)


def rating(delay_ms: float, loss: float) -> float:
    """R, 0 .. 93.2."""
    return max(R_DEFAULT - delay_impairment(delay_ms) - loss_impairment(loss), 0.0)


def mos(r: float) -> float:
    """The mean opinion score, 1 .. 4.5, that belongs to R: G.107, annex B.

    The cubic dips below 1 for R under 6.5, where G.107 does not mean it.
    """
    if r >= 100:
        return 4.5
    return max(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6, 1.0)
