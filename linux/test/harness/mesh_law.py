# SPDX-License-Identifier: GPL-2.0-only
"""MAP's equations (2) to (14) in floating point, from the paper: what hosts must come to."""

import itertools
import math
from dataclasses import dataclass

SEGMENT, ACK = 1500, 52  # bytes with IP header, timestamps on
ACK_FRAME, RTS_FRAME, CTS_FRAME = 14, 20, 14


@dataclass(frozen=True)
class MapRadio:
    """What [radio] states; the time of what is 0 does not count."""

    signal_dbm: float
    sense_dbm: float = -82.0
    exponent: float = 3.0
    base_mbps: float = 11.0
    cw: int = 4
    slot_us: int = 9
    rts_cts: bool = False

    @property
    def table(self) -> dict[str, object]:
        """As the configuration has it."""
        return {
            "signal_dbm": self.signal_dbm,
            "sense_dbm": self.sense_dbm,
            "path_loss_exponent": self.exponent,
            "base_mbps": self.base_mbps,
            "cw": self.cw,
            "slot_us": self.slot_us,
            "rts_cts": self.rts_cts,
        }

    @property
    def h_cs(self) -> int:
        """Eq. (6), (7), hops equally long; 33 where more than 32 hops are in range."""
        hops = itertools.count(1)
        out = (
            k
            for k in hops
            if k > 32 or self.signal_dbm - 10 * self.exponent * math.log10(k) < self.sense_dbm
        )
        return next(out)

    def _link_ms(self, transmission_ms: float) -> float:
        """The middle of the bounds in eq. (9), (10)."""
        control = ACK_FRAME + (RTS_FRAME + CTS_FRAME if self.rts_cts else 0)
        least = control * 8 / (self.base_mbps * 1e3)
        return least + 1.5 * (transmission_ms + self.cw * self.slot_us / 1e3)

    def interval_ms(self, rtt_ms: float, cov: float, hops: int, mbps: float) -> float:
        """1/R by eq. (8), (11), (12), (14)."""
        data_ms, ack_ms = SEGMENT * 8 / (mbps * 1e3), ACK * 8 / (mbps * 1e3)
        spent_ms = data_ms + ack_ms + self._link_ms(data_ms) + self._link_ms(ack_ms)
        queueing_ms = max(0.0, rtt_ms / hops - spent_ms) / 2
        oid_ms = min(self.h_cs + 1, hops) * (queueing_ms + data_ms)
        return oid_ms * (1 + 2 * cov)
