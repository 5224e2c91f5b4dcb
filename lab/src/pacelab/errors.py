# SPDX-License-Identifier: GPL-2.0-only
"""What can go wrong by no fault of pacelab's; each message is one line: what, where, the remedy."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad input or usage: exit status 2."""


class RunError(Exception):
    """A run failed: exit status 1."""


class InconclusiveError(Exception):
    """A run shows nothing, neither good nor bad: exit status 77."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest known one, else all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    apart = "; " if any("," in name for name in names) else ", "
    return f'did you mean "{close[0]}"?' if close else f"known: {apart.join(names)}"
