# SPDX-License-Identifier: GPL-2.0-only
"""A scenario with real kernels and the real gateway, over a mesh that ns-3 runs in real time."""
