# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of the native tests: networks, gateways, and what every test may rely on."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import namespace, net, record
from harness.gateway import PROGRAM, Gateway

HERE = Path(__file__).parent
# A fault of the code fails three times, a busy machine does not. Nothing else is ever run again.
MEASURED = "measured: goes by the clock, which a busy machine may spoil; has two more attempts"
# `make test` leaves the others that are measured to `make test-full` (scripts/test.sh).
SMOKE = "smoke: of what is measured one of the few that are in `make test`, too"
SENDER = "sender: has `meshpace sender` on, of which a machine has one; such tests take turns"
LONG = "long: not in `make test`; runs with --full"
ALONE = "alone: measures the machine, or changes what belongs to all of it; nothing runs beside it"
# The longest begin first, else one of them is left to run while other workers have nothing to do.
LONGEST = ("test_shares", "test_airtime", "test_identity", "test_content")
StartGateway = Callable[..., Gateway]


def pytest_configure(config: pytest.Config) -> None:
    """A script's background job ignores Ctrl-C, and so would all programs that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for marker in (MEASURED, SMOKE, SENDER, LONG, ALONE):
        config.addinivalue_line("markers", marker)
    folder = config.getoption("--record")
    # Processes that tests are spread over report to the first, which alone writes.
    if folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recording(record.collector(folder)))


class Recording:
    """What pytest tells as tests end, for the collector of figures."""

    def __init__(self, collector: record.Collector) -> None:
        self.collector = collector

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.collector.add(report)
        self.collector.write()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="the long tests at their full length (20 minutes)"
    )
    parser.addoption(
        "--record",
        type=Path,
        metavar="DIR",
        help="write the figures that tests measure, medians of all rounds (--count), into DIR",
    )
    parser.addoption(
        "--release",
        default="nfqueue,htb,observe",
        help="ways of release, by commas, of the tests that hold for every one",
    )
    parser.addoption(
        "--usual-release", default="htb", help="the way of release of tests that name none"
    )
    parser.addoption(
        "--law",
        default="even,gap",
        help="laws, by commas, of the tests that hold for every one; the first is the default's",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `release` or `law` runs with each of them."""
    for name in ("release", "law"):
        if name in metafunc.fixturenames and name not in parametrized(metafunc):
            metafunc.parametrize(name, metafunc.config.getoption(f"--{name}").split(","))


def parametrized(metafunc: pytest.Metafunc) -> set[str]:
    """Arguments for which the test names its own values."""
    return {m.args[0] for m in metafunc.definition.iter_markers("parametrize")}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without root or namespaces nothing here can run: every test says so."""
    long = [item for item in items if item.get_closest_marker("long")]
    if long and not config.getoption("--full"):
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: item.path.stem not in LONGEST)
    mine = [item for item in items if item.path.parent == HERE]
    obstacle = namespace.obstacle() if mine else None
    for item in mine if obstacle else []:
        item.add_marker(pytest.mark.skip(reason=obstacle or ""))
    for item in items:
        if item.get_closest_marker("measured"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        if item.get_closest_marker("sender"):
            # One worker of pytest-xdist takes them all, so that none waits for another's sender.
            item.add_marker(pytest.mark.xdist_group("sender"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Several workers run side by side: what has to be alone says so instead of measuring them."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    if workers > 1 and item.get_closest_marker("alone"):
        pytest.fail("is marked `alone`: with -n run `-m 'not alone'`, then `-m alone` without -n")


def pytest_sessionstart() -> None:
    """Workers of pytest-xdist leave this to the process that started them."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        namespace.remove_stale()


@pytest.fixture(name="record")
def recorder(request: pytest.FixtureRequest) -> record.Recorder:
    """record(figure, unit, value, wanted) keeps what a test measured; see harness/record.py."""
    return record.Recorder(request.node.user_properties)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the long tests run at their full length."""
    return bool(request.config.getoption("--full"))


@pytest.fixture
def network() -> Iterator[net.Network]:
    """A wired host, a gateway, a mesh host."""
    with net.routed() as made:
        yield made


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[StartGateway]:
    """
    start(network, release=usual, **configuration) -> a gateway that is ready.
    What still runs at the end of the test is ended.
    """
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM.name} is not built; run `make build`")
    started: list[Gateway] = []

    usual = request.config.getoption("--usual-release")

    def begin(network: net.Network, release: str = usual, **config: object) -> Gateway:
        gateway = Gateway(network.gateway, tmp_path, release, config)
        started.append(gateway)
        return gateway.start()

    yield begin
    for gateway in started:
        gateway.end()
        print("\n".join(gateway.log[-40:]))
