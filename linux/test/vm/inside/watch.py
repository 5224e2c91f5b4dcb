# SPDX-License-Identifier: GPL-2.0-only
"""Release by sch_fq: others may replace the qdisc, or the interface with it."""

from conftest import StartGateway
from harness import net
from harness.gateway import Gateway, until

# What takes longer never comes: the daemon looks once a second, of an emulated machine.
PATIENCE_S = 30


def root(network: net.Network) -> str:
    """Kind of the mesh interface's root qdisc."""
    return network.gateway.run("tc", "qdisc", "show", "dev", "mesh0", "root").split()[1]


def is_fq(network: net.Network, gateway: Gateway) -> bool:
    status = gateway.status()
    return root(network) == "fq" and (status["release"], status["state"]) == ("fq", "ready")


def test_the_qdisc_is_put_back_or_its_loss_told(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, release="fq", law="even")
    assert is_fq(network, gateway)
    network.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "root")
    until(lambda: is_fq(network, gateway), PATIENCE_S, gateway)
    gateway.logged("took qdisc fq away")
    # What somebody chose, as SQM does, stays.
    choice = ("tc", "qdisc", "replace", "dev", "mesh0", "root", "handle", "9:", "pfifo")
    network.gateway.run(*choice, "limit", "50")
    until(lambda: "not fq any more" in gateway.status()["state"], PATIENCE_S, gateway)
    assert (gateway.status()["release"], root(network)) == ("observe", "pfifo")
    network.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "root")
    until(lambda: is_fq(network, gateway), PATIENCE_S, gateway)
    assert gateway.stop() == 0
    assert root(network) == "noqueue"


def test_an_interface_made_anew_has_fq_again(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, release="fq", law="even")
    network.gateway.ip("link", "del", "mesh0")
    until(lambda: "waiting for mesh0" in gateway.status()["state"], PATIENCE_S, gateway)
    net.veth(network.gateway, "mesh0", network.host, "eth0")
    until(lambda: is_fq(network, gateway), PATIENCE_S, gateway)
    assert gateway.stop() == 0
    assert root(network) == "noqueue"
