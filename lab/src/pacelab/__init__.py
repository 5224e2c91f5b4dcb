# SPDX-License-Identifier: GPL-2.0-only
"""pacelab: the laboratory of meshpace.

Scenario files in, results with confidence intervals, figures and reports out.
"""

__version__ = "0.1.0"
