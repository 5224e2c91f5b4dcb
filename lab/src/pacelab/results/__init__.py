# SPDX-License-Identifier: GPL-2.0-only
"""Results: statistics, verdicts, tables, figures, reports. Nothing here runs anything."""
