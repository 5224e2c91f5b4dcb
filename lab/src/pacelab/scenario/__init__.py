# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: what a file may say, checked and resolved into what the simulator is given."""

from pacelab.scenario.resolver import load, resolve

__all__ = ["load", "resolve"]
