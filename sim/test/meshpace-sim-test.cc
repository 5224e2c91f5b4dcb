/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ns3/test.h"

/**
 * @file
 * meshpace-sim-test: runs one test suite of sim/ (`--suite=NAME`), or lists them (`--list`).
 */

int
main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
