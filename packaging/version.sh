#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The version of the program and of its packages, from the one place that has it.
sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$(dirname "$0")/../linux/Cargo.toml"
