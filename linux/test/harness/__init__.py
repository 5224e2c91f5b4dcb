# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the gateway stand on: namespaces, links, transfers, captures, the program."""
