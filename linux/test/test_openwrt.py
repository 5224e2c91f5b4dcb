# SPDX-License-Identifier: GPL-2.0-only
"""
The package for OpenWrt, as far as it can be tried without one: UCI becomes the gateway's TOML, the
init script asks procd for what it should, the Makefile installs what there is. What that does not
show says packaging/openwrt/README.md.
"""

import copy
import json
import os
import re
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
from harness.confined import UNITS, values
from harness.gateway import PATIENCE_S
from harness.openwrt import FILES, PACKAGE, STAND_INS, Router, Table, Uci, checked, every_key
from harness.replay import ROOT

pytestmark = pytest.mark.skipif(
    not shutil.which("busybox"), reason="no busybox; run scripts/setup.sh test"
)
GATEWAY = {"enabled": "1", "mesh": "bat0"}


@pytest.fixture
def router(tmp_path: Path) -> Router:
    return Router(tmp_path)


def fault(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_every_key_can_be_given_in_uci(router: Router) -> None:
    """Else a key, the next one too, cannot be set on OpenWrt, or arrives as something else."""
    wanted = every_key()
    assert {"mesh", "queue", "web", "host", "group", "radio", "node"} <= wanted.keys()
    # A list of nothing is not given in UCI.
    wanted = {key: ["wan"] if one == [] else one for key, one in wanted.items()}
    done = router.toml(Uci.of(wanted))
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout) == wanted


def one_way(configuration: Table, of: str) -> Table:
    """Without what rules each other out: metres or degrees, lengths of hops or the nodes there."""
    left = copy.deepcopy(configuration)
    [host], [here] = left["host"], left["node"]
    drop = {"metres": ("latitude", "longitude"), "degrees": ("x_m", "y_m")}[of]
    here = {key: one for key, one in here.items() if key not in drop}
    left["node"] = [here, {**here, "address": "10.1.0.9"}]
    if of == "metres":
        del host["hop_m"]
        host["way"] = ["10.1.0.9"]
    else:
        del host["way"]
        host["mbps"] = [11.0, 5.5, 2.0]
    left["wired"] = ["wan", "wwan0"]
    return left


@pytest.mark.parametrize("of", ["metres", "degrees"])
def test_the_program_takes_what_is_written(router: Router, of: str, tmp_path: Path) -> None:
    """Else a router's gateway does not start, whatever UCI says."""
    wanted = one_way(every_key(), of)
    token = tmp_path / "web-token"
    token.write_text("00112233445566778899aabbccddeeff\n")
    token.chmod(0o600)
    wanted["web"]["token_file"] = str(token)
    done = router.toml(Uci.of(wanted))
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout) == wanted
    said = checked(done.stdout, tmp_path)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "\\",
        '\\"\\n',
        'it\'s "the\\school"',
        "a\nmesh = 'b'",
        "\n",
        "tab\tand\rreturn",
        "\x01\x1b[2J\x7f",
        "$(reboot)`reboot`${PATH}",
        "*",
        "a  b ",
        "# no comment",
        "]]\n[web]\nlisten = '0.0.0.0:1'",
        "-n",
        "-e \\x41",
        "Schüle 学校",
        "%s%n",
    ],
    ids=repr,
)
def test_what_is_said_stays_what_it_is(router: Router, text: str) -> None:
    """Else a value of UCI could become another key, a command, or an end of the file."""
    group = {"name": text, "addresses": [text, "10.1.7.0/24"]}
    done = router.toml(Uci([("group", group), ("gateway", {**GATEWAY, "metrics": text})]))
    assert done.returncode == 0, done.stderr
    written = tomllib.loads(done.stdout)
    assert written == {
        "mesh": "bat0",
        "release": "observe",
        "metrics": text,
        "group": [group],
    }


def gateway(**keys: object) -> Uci:
    return Uci([("gateway", {**GATEWAY, **keys})])


FAULTS = {
    "unknown key": (gateway(pase="1"), ["@gateway[0].pase is unknown; known", "release"]),
    "unknown section": (Uci([("hosts", {"hops": "1"})]), ['"hosts" is unknown', "host group"]),
    "key of another section": (gateway(hops="2"), ["@gateway[0].hops is unknown"]),
    "the key after next": (
        Uci([("host", {"address": "10.1.0.1"}), ("host", {"adress": "x"})]),
        ["@host[1].adress", "address"],
    ),
    "option for a list": (
        gateway(wired="wan"),
        ['@gateway[0].wired is a list; write: list wired "wan"'],
    ),
    "list for an option": (gateway(law=["even"]), ['write: option law "even"']),
    "no number": (gateway(max_flows="many"), ['max_flows = "many" is no number']),
    "number of the shell's": (gateway(max_flows="0x10"), ["max_flows"]),
    "number and more": (gateway(max_flows="1\nlaw = 'off'"), ["max_flows", "\\u000a"]),
    "list with no number": (Uci([("host", {"mbps": ["1", "fast"]})]), ['@host[0].mbps = "fast"']),
    "neither": (gateway(shares="maybe"), ['shares = "maybe" is neither; write 1 or 0']),
    "two of one": (
        Uci([("radio", {"cw": "15"}), ("radio", {"cw": "31"})]),
        ["@radio[1]", "uci delete meshpace.@radio[1]"],
    ),
    "no mesh": (Uci([("gateway", {"enabled": "1"})]), ["uci set meshpace.@gateway[0].mesh=bat0"]),
    "nothing": (Uci(), ["uci set meshpace.@gateway[0].mesh=bat0"]),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_one_line(router: Router, what: str) -> None:
    """Else what somebody meant is left out without a word."""
    uci, parts = FAULTS[what]
    said = fault(router.toml(uci))
    assert said.startswith("meshpace: /etc/config/meshpace: ")
    for part in parts:
        assert part in said, said


def test_no_package_of_uci_is_one_line(router: Router) -> None:
    assert "uci export meshpace" in fault(router.run(FILES / "meshpace-toml"))


@pytest.mark.parametrize(
    ("value", "read"), [("1", True), ("on", True), ("off", False), ("no", False)]
)
def test_yes_and_no_as_uci_has_them(router: Router, value: str, read: bool) -> None:
    done = router.toml(gateway(shares=value))
    assert tomllib.loads(done.stdout)["shares"] is read


def test_what_is_empty_is_not_given(router: Router) -> None:
    """So uci set X= takes a key out, as everywhere in UCI."""
    done = router.toml(gateway(law="", queue="", retreat="", release="", wired=[""]))
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout) == {"mesh": "bat0", "release": "observe"}


def test_nothing_paces_by_itself(router: Router) -> None:
    """Else who installs the package, or names the mesh and no more, has a gateway that paces."""
    shipped = Uci.read((FILES / "meshpace.config").read_text())
    [(kind, keys)] = shipped.sections
    assert (kind, keys) == ("gateway", {"enabled": "0", "release": "observe"})
    for given in (keys, {}):
        done = router.toml(Uci([("gateway", {**given, "mesh": "bat0"})]))
        assert tomllib.loads(done.stdout)["release"] == "observe"


def test_the_program_knows_such_a_file(router: Router) -> None:
    """Else `meshpace try --stay` says that it paces for good, and it does until the next start."""
    source = (ROOT / "linux/crates/meshpace/src/operate/release_line.rs").read_text()
    known = re.search(r'GENERATED: &str = "(.*)";', source)
    assert known
    first = router.toml(gateway()).stdout.splitlines()[0]
    assert first.startswith(f"{known[1]}UCI; to pace: uci set meshpace.@gateway[0].release=auto; ")


def test_what_the_shipped_file_shows_is_right(router: Router, tmp_path: Path) -> None:
    """Else who takes the "#" away has a fault."""
    text = (FILES / "meshpace.config").read_text()
    shown = "\n".join(
        line[1:] if line[1:].lstrip().startswith(("config", "option", "list")) else line
        for line in text.splitlines()
    )
    done = router.toml(Uci.read(shown))
    assert done.returncode == 0, done.stderr
    assert checked(done.stdout, tmp_path).returncode == 0
    assert tomllib.loads(done.stdout).keys() == {"mesh", "wired", "release", "web", "host", "group"}


class Service(Router):
    """The init script, with folders and programs of the test's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.folder / "bin").mkdir()
        script = (FILES / "meshpace.init").read_text()
        self.var = self.folder / "var"
        self.bpffs = self.folder / "bpffs"
        places = {
            "/usr/libexec/meshpace-toml": f"busybox ash {FILES}/meshpace-toml",
            "/usr/bin/meshpace": f"{self.folder}/bin/meshpace",
            "/var/etc": f"{self.var}/etc",
            "echo /run/meshpace": f"echo {self.var}/run",
            "/sys/fs/bpf": str(self.bpffs),
            "END_S=30": "END_S=2",
        }
        for place, other in places.items():
            assert place in script, place
            script = script.replace(place, other)
        (self.folder / "meshpace.init").write_text(script)
        self.program("exit 0")

    def program(self, body: str) -> None:
        """What stands for the gateway's program; it notes how it was called."""
        file = self.folder / "bin/meshpace"
        file.write_text(f'#!/bin/sh\necho "called $*" >>{self.folder}/asked\n{body}\n')
        file.chmod(0o755)

    def call(self, action: str) -> "subprocess.CompletedProcess[str]":
        common = STAND_INS / "root/etc/rc.common"
        return self.run(common, self.folder / "meshpace.init", action)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_a_service_that_is_not_enabled_asks_for_nothing(service: Service) -> None:
    service.configure(Uci.read((FILES / "meshpace.config").read_text()))
    done = service.call("start")
    assert done.returncode == 0, done.stderr
    asked = service.asked()
    assert "procd set" in asked
    assert "procd_add_reload_trigger meshpace" in asked
    assert not [line for line in asked if "instance" in line or "called" in line]


def test_what_the_service_asks_procd_for(service: Service) -> None:
    """Else it does not start, is not started anew after a change, or has too many rights."""
    service.configure(Uci([("gateway", GATEWAY), ("web", {"token_file": "/etc/meshpace/token"})]))
    done = service.call("start")
    assert done.returncode == 0, done.stderr
    file = service.var / "etc/meshpace/gateway.toml"
    assert tomllib.loads(file.read_text())["mesh"] == "bat0"
    assert list(file.parent.iterdir()) == [file]
    program = service.folder / "bin/meshpace"
    asked = service.asked()
    for line in (
        f"called config check {file}.new",
        f"procd_set_param command {program} gateway --config {file}",
        f"procd_set_param file {file} {program}",
        f"procd_set_param env MESHPACE_RUN={service.var}/run",
        "procd_set_param respawn",
        "procd_set_param no_new_privs 1",
        "procd_set_param capabilities /etc/capabilities/meshpace.json",
        "procd_add_jail meshpace procfs sysfs ronly",
        f"procd_add_jail_mount {file.parent} /usr/sbin/nft",
        f"procd_add_jail_mount_rw {service.var}/run",
        "procd_add_jail_mount /etc/meshpace/token",
        "procd_add_reload_trigger meshpace",
    ):
        assert line in asked, asked
    assert stat.S_IMODE((service.var / "run").stat().st_mode) == 0o700


@pytest.mark.parametrize("who", ["script", "program"])
def test_a_fault_leaves_what_runs_alone(service: Service, who: str) -> None:
    """Else a word mistyped ends a gateway that runs."""
    service.configure(gateway())
    assert service.call("start").returncode == 0
    file = service.var / "etc/meshpace/gateway.toml"
    before = file.read_text()
    service.asked()
    if who == "script":
        service.configure(gateway(pase="1"))
    else:
        service.program("echo 'no such law' >&2; exit 2")
    done = service.call("reload")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    asked = service.asked()
    assert "procd set" not in asked
    assert [line for line in asked if line.startswith("logger -t meshpace -p daemon.err")]
    assert file.read_text() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_service_that_is_disabled_ends_whatever_else_is_wrong(service: Service) -> None:
    """Else who switches it off for a fault of its configuration cannot."""
    service.configure(gateway(enabled="0", pase="1"))
    assert service.call("reload").returncode == 0
    asked = service.asked()
    assert "procd set" in asked
    assert "procd_open_instance" not in " ".join(asked)


def notes(service: Service, *meshes: str) -> None:
    (service.var / "run").mkdir(parents=True)
    for mesh in meshes:
        (service.var / f"run/{mesh}.changes").touch()


def prerm(tmp_path: Path, service: Service, **settings: str) -> list[str]:
    """The package's script for its removal, and what it called."""
    made(tmp_path, "scripts")
    script = (tmp_path / "prerm").read_text()
    init = f"busybox ash {STAND_INS}/root/etc/rc.common {service.folder}/meshpace.init"
    assert script.startswith("#!/bin/sh\n")
    assert "/etc/init.d/meshpace" in script
    (tmp_path / "prerm").write_text(
        script.replace("/etc/init.d/meshpace", f"env IPKG_INSTROOT={STAND_INS}/root {init}")
    )
    done = service.run(tmp_path / "prerm", **{"IPKG_INSTROOT": "", **settings})
    assert done.returncode == 0, done
    return service.asked()


def test_removal_puts_back(service: Service, tmp_path: Path) -> None:
    """Else rules, qdiscs and a congestion control stay without the program that knows of them."""
    notes(service, "bat0", "mesh1")
    service.bpffs.joinpath("meshpace").mkdir(parents=True)
    assert prerm(tmp_path, service) == [
        "procd delete",
        "called gateway --clean --mesh bat0",
        "called gateway --clean --mesh mesh1",
        "called sender off",
    ]


def test_removal_waits_for_what_still_ends(service: Service, tmp_path: Path) -> None:
    notes(service, "bat0")
    gone = service.folder / "gone"
    service.program(f"[ -e {gone} ] || {{ touch {gone}; echo 'a gateway runs'; exit 1; }}")
    assert prerm(tmp_path, service)[1:] == ["called gateway --clean --mesh bat0"] * 2


def test_removal_does_not_wait_for_ever(service: Service, tmp_path: Path) -> None:
    notes(service, "bat0")
    service.program("echo 'a gateway runs'; exit 1")
    assert len(prerm(tmp_path, service)[1:]) == 3


@pytest.mark.parametrize("settings", [{"PKG_UPGRADE": "1"}, {"IPKG_INSTROOT": "/image"}], ids=str)
def test_an_upgrade_and_an_image_change_nothing(
    service: Service, tmp_path: Path, settings: dict[str, str]
) -> None:
    notes(service, "bat0")
    assert prerm(tmp_path, service, **settings) == []


def test_the_capabilities_are_those_of_the_unit() -> None:
    """Those, the fewest that work, are what test_units.py runs the gateway with."""
    sets = json.loads((FILES / "meshpace.json").read_text())
    assert sets.keys() == {"bounding", "effective", "permitted", "inheritable", "ambient"}
    [unit] = values(UNITS / "meshpace.service", "CapabilityBoundingSet")
    for names in sets.values():
        assert sorted(names) == sorted(unit.split())


def made(out: Path, target: str) -> str:
    """A target of the package's Makefile, between stand-ins for what it includes."""
    done = subprocess.run(
        ["make", "--silent", "-C", PACKAGE, f"TOPDIR={STAND_INS}/sdk", f"OUT={out}", target],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: str = done.stdout
    return told


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def test_the_makefile_says_what_it_is(tmp_path: Path) -> None:
    told = made(tmp_path, "variables")
    cargo = tomllib.loads((ROOT / "linux/Cargo.toml").read_text())
    version = cargo["workspace"]["package"]["version"]
    assert f"PKG_NAME=meshpace PKG_VERSION={version} PKG_BUILD_DEPENDS=rust/host" in told
    assert "CONFFILES=/etc/config/meshpace" in told
    # What doctor and `sender status` name as missing modules.
    needed = ["ifb", "inet-diag", "sched-core", "sched-bpf", "nft-queue"]
    assert {f"+kmod-{module}" for module in needed} <= set(told.split())


def test_the_makefile_installs_what_there_is(tmp_path: Path) -> None:
    """Else the package lacks a file, or a script cannot be run."""
    program = tmp_path / "ipkg-install/bin/meshpace"
    program.parent.mkdir(parents=True)
    program.touch()
    made(tmp_path, "install")
    root = tmp_path / "root"
    found = {
        str(file.relative_to(root)): f"{stat.S_IMODE(file.stat().st_mode):o}"
        for file in root.rglob("*")
        if file.is_file()
    }
    assert found == {
        "usr/bin/meshpace": "755",
        "usr/libexec/meshpace-toml": "755",
        "etc/init.d/meshpace": "755",
        "etc/config/meshpace": "600",
        "etc/capabilities/meshpace.json": "644",
    }
    shipped = {file.name for file in FILES.iterdir()}
    assert len(shipped) == len(found) - 1, "a file that the Makefile forgets"
    # The init script calls them there.
    init = (root / "etc/init.d/meshpace").read_text()
    for path in (
        "/usr/bin/meshpace",
        "/usr/libexec/meshpace-toml",
        "/etc/capabilities/meshpace.json",
    ):
        assert path in init


def test_cargo_builds_what_linux_cargo_toml_says(tmp_path: Path) -> None:
    """The feed's profile unwinds: a thread that fails would leave a gateway that does half."""
    made(tmp_path, "prepare")
    told = variables(made(tmp_path, "compile"))
    package = Path(told["CARGO_PATH"])
    assert (package / "Cargo.toml").exists()
    assert (package / "../../Cargo.lock").exists()
    assert (package / "../../../core/include/meshpace/meshpace.h").exists()
    release = tomllib.loads((ROOT / "linux/Cargo.toml").read_text())["profile"]["release"]
    assert told["CARGO_PROFILE_RELEASE_PANIC"] == release["panic"]
    # Cargo's own defaults of a release, which Cargo.toml does not change.
    assert told["CARGO_PROFILE_RELEASE_OPT_LEVEL"] == str(release.get("opt-level", 3))
    assert (
        told["CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS"]
        == str(release.get("overflow-checks", False)).lower()
    )
    assert told["PATH"].split(os.pathsep)[0] == "/llvm-bpf/bin/"
