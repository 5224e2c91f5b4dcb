# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: what is compared, how often it runs, on which cores."""
