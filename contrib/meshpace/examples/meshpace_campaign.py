#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A campaign of meshpace-chain by SEM: what a near and a far download get, by law.

After pip install sem==0.3.9.1; a later call makes only the runs that RESULTS lacks:

    python3 contrib/meshpace/examples/meshpace_campaign.py NS3 RESULTS --runs 10
"""

import argparse
import re
from pathlib import Path

import sem

RATES = ["near_kbps", "far_kbps"]


def rates_kbps(result: dict[str, dict[str, str]]) -> list[float]:
    """What meshpace-chain prints, RESULT near=... far=...; kbit/s."""
    return [float(rate) for rate in re.findall(r"=([0-9.e+]+)", result["output"]["stdout"])]


def main() -> None:
    """Makes the runs that are missing, and prints the mean of each law and length."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("ns3", help="an ns-3 tree that has this module")
    options.add_argument("results", help="a folder of the campaign's own")
    options.add_argument("--runs", type=int, default=5, help="seeds of each case")
    options.add_argument("--hops", type=int, nargs="+", default=[2, 3, 4])
    options.add_argument("--duration", type=float, default=30, help="of both downloads, s")
    asked = options.parse_args()
    cases = {"law": ["off", "gap", "even"], "hops": asked.hops, "duration": [asked.duration]}
    if not Path(asked.ns3, "ns3").is_file():
        options.exit(2, f"{asked.ns3}: is no ns-3 tree; name the folder that has ./ns3\n")
    if asked.runs < 1 or min(asked.hops) < 2:
        options.exit(2, "--runs is 1 or more, --hops 2 or more\n")
    campaign = sem.CampaignManager.new(asked.ns3, "meshpace-chain", asked.results, check_repo=False)
    campaign.run_missing_simulations(cases, runs=asked.runs)
    found = campaign.get_results_as_dataframe(rates_kbps, RATES, cases, asked.runs)
    print(found.groupby(["hops", "law"])[RATES].mean().round().to_string())


if __name__ == "__main__":
    main()
