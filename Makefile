# SPDX-License-Identifier: GPL-2.0-only
# The ways into the project. Each target sets up what it needs; nothing else has to be run first.
.PHONY: demo check test test-full build bench gateway packages clean

demo: build
	@bin/pacelab demo

build: bin/pacelab
	@cmake --build build
	@scripts/cargo.sh build --release
	@bin/meshpace generate build/share

# The gateway alone, without Python and the simulator.
gateway:
	@scripts/setup.sh gateway
	@scripts/cargo.sh build --release
	@mkdir -p bin
	@ln -sfn ../build/cargo/release/meshpace bin/meshpace
	@bin/meshpace generate build/share

# Its packages, into build/packages: of Debian, and archives for other systems. Root only.
packages:
	@scripts/setup.sh packages
	@packaging/packages.sh

# No root, no clock, minutes: what to run before every commit.
check:
	@scripts/test.sh check

# Everything that must hold; what CI runs.
test:
	@scripts/test.sh test

# And all that goes by the clock, long counts, whole test sets in all other kernels: before a release.
test-full:
	@scripts/test.sh full

# Speed: simulated seconds per CPU second, the law's share, how busy a campaign keeps the cores.
bench: build
	@.venv/bin/python lab/bench/speed.py

bin/pacelab: scripts/setup.sh scripts/launchers.sh lab/requirements.txt CMakeLists.txt
	@scripts/setup.sh
	@cmake -S . -B build -G Ninja --log-level=WARNING
	@scripts/launchers.sh

clean:
	rm -rf build bin
