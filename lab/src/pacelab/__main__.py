# SPDX-License-Identifier: GPL-2.0-only
"""Entry point of ``python -m pacelab``."""

import sys

try:
    from pacelab.cli import main
except KeyboardInterrupt:  # it takes a second, and nothing has begun
    sys.exit("\npacelab: interrupted")

sys.exit(main())
