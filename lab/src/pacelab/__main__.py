# SPDX-License-Identifier: GPL-2.0-only
"""Entry point of ``python -m pacelab``."""

import sys

from pacelab.cli import main

sys.exit(main())
