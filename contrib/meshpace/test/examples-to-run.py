#! /usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Read by ns-3's test.py: (example, whether it is run, whether under valgrind).
cpp_examples = [
    ("meshpace-chain --duration=5", "True", "False"),
    ("meshpace-upload --duration=5", "True", "False"),
]
python_examples = []
