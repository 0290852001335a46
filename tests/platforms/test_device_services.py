"""Services that hold the GPUs: stopped for the reset, back afterwards whatever happens; strangers refuse."""

import os
import signal
import subprocess
import time
from dataclasses import replace

import pytest
from machines import bare, own_gpus, vm
from node_scenes import NODE, gpu, gpus, hypervisor_readings, missing, observe, process

from fleetops.model.device_service import DEVICE_SERVICES, DeviceService, DeviceServices, system_unit
from fleetops.model.errors import Refused
from fleetops.model.fact import Gap, Missing
from fleetops.model.gpu import DRIVER_UNRESPONSIVE, GPUS
from fleetops.model.guest import CLAIMS, GUESTS, HOST_HOLDERS, DeviceClaim, HostHolder
from fleetops.model.machine import HOLDERS, Holder
from fleetops.platforms import all_platforms
from fleetops.platforms.support.reset_call import reset_action, units_of

PERSISTENCED = DeviceService(unit="nvidia-persistenced.service", main_pid=812)
FABRIC_MANAGER = DeviceService(unit="nvidia-fabricmanager.service", main_pid=840)
NONE = DeviceServices()
LXC, VM, BARE = (all_platforms()[kind] for kind in ("lxc", "vm", "bare"))


def container(*held: HostHolder, services=NONE):
    beside = {
        **hypervisor_readings(), CLAIMS: (DeviceClaim(guest_id=174, kind="lxc", minors=(0, 1)),), GUESTS: (),
        HOST_HOLDERS: held, DEVICE_SERVICES: services,
    }  # fmt: skip
    return observe(node=replace(NODE, gpus=2), on_hypervisor=beside)


def held_on_host(comm, pid=812, unit=""):
    return HostHolder(pid=pid, comm=comm, path="/dev/nvidia0", guest_id=None, unit=unit)


@pytest.mark.parametrize(
    ("holder", "services", "units"),
    [
        (held_on_host("nvidia-persiste"), DeviceServices(services=(PERSISTENCED,)), [PERSISTENCED.unit]),
        (held_on_host("nv-hostengine", unit="site-dcgm.service"), DeviceServices(), ["site-dcgm.service"]),
        (held_on_host("nvidia-persiste"), DeviceServices(), []),
        (held_on_host("nv-fabricmanage"), DeviceServices(switches=4), []),
        (
            held_on_host("nv-fabricmanage", pid=840),
            DeviceServices(services=(FABRIC_MANAGER,), switches=4),
            [],
        ),
    ],
    ids=[
        "known by its unit",
        "known by its name",
        "lets go when persistence mode goes",
        "fabric manager by hand",
        "fabric manager goes on",
    ],
)
def test_a_service_that_holds_a_containers_gpus_is_stopped_on_the_host(holder, services, units):
    observation = container(holder, services=services)
    assert LXC.tenants(observation) == ""
    assert list(units_of(LXC.reset(observation, gpus(1).gpus))) == units


@pytest.mark.parametrize(
    ("holder", "told"),
    [
        (held_on_host("nv-hostengine"), "it serves the driver and is no service of systemd: stop it on pve-01 first"),
        (held_on_host("python3", unit="train.service"), "process 812 (python3) of the host itself holds /dev/nvidia0"),
    ],
    ids=["nothing would bring it back", "somebody's work"],
)  # fmt: skip
def test_a_holder_that_could_not_be_brought_back_refuses(holder, told):
    assert told in LXC.tenants(container(holder))


def test_which_services_hold_them_must_be_known():
    with pytest.raises(Refused, match="services that hold GPUs could not be read"):
        LXC.reset(container(services=missing()), gpus(1).gpus)


def test_a_driver_that_hangs_is_for_a_person():
    hangs = Missing(Gap.TIMED_OUT, "nvidia-smi (pid 7) in D for 20 s", reason=DRIVER_UNRESPONSIVE)
    observation = observe(on_hypervisor={**hypervisor_readings(), GPUS: hangs})
    with pytest.raises(Refused, match="the GPU driver of pve-01 hangs") as refused:
        LXC.gpus(observation)
    assert refused.value.hint.startswith("a person reboots pve-01")


@pytest.mark.parametrize("machine", [vm, bare])
def test_on_a_node_with_its_own_driver_they_are_stopped_there(machine):
    daemon = process(60, "nv-hostengine", "nv-hostengine", cgroup="/system.slice/nvidia-dcgm.service")
    loose = process(61, "nv-hostengine", "nv-hostengine")
    held = {HOLDERS: (Holder(pid=60, tid=60, path="/dev/nvidia0"),)}
    platform = VM if machine is vm else BARE
    observation = machine(daemon, facts=held)
    assert platform.in_the_way(observation) == ""
    assert units_of(platform.reset(observation, own_gpus().gpus)) == ("nvidia-dcgm.service",)
    both = {HOLDERS: (*held[HOLDERS], Holder(pid=61, tid=61, path="/dev/nvidia1"))}
    assert "process 61 (nv-hostengine)" in platform.in_the_way(machine(daemon, loose, facts=both))


def test_a_daemon_inside_a_container_is_not_touched_from_outside():
    exporter = process(60, "dcgm-exporter", "dcgm-exporter")
    observation = observe(exporter, facts={HOLDERS: (Holder(pid=60, tid=60, path="/dev/nvidia0"),)})
    assert "process 60 (dcgm-exporter) in node-174 holds /dev/nvidia0" in LXC.in_the_way(observation)


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("/system.slice/nvidia-dcgm.service", "nvidia-dcgm.service"),
        ("/system.slice/nvidia-dcgm.service/worker", "nvidia-dcgm.service"),
        ("/user.slice/user-0.slice/session-3.scope", ""),
        ("/user.slice/user-0.slice/user@0.service/app.slice/mine.service", ""),
        ("/lxc/174/ns/system.slice/nvidia-dcgm.service", ""),
        ("/system.slice", ""),
        ("", ""),
    ],
)
def test_a_unit_is_the_systems_own(cgroup, unit):
    assert system_unit(cgroup) == unit


TOOL = """#!/bin/sh
echo "${0##*/} $*" >> "$CALLS"
case "${0##*/} $*" in
    *is-active*idle.service) exit 3 ;;
    "$FAILS") exit 1 ;;
    *--gpu-reset*) eval "$RESET" ;;
esac
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose nvidia-smi and systemctl write down their calls; `$FAILS` names one that fails."""
    for name in ("nvidia-smi", "systemctl"):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(TOOL)
        tool.chmod(0o755)
    for name, value in {"CALLS": str(tmp_path / "calls"), "FAILS": "nothing", "RESET": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def argv(host, *units):
    words = list(reset_action("pve-01", (gpu(0, persistence=True),), units).command.argv)
    words[6] = str(host / "run")
    return words


def calls(host):
    return (host / "calls").read_text().splitlines()


IN_ORDER = [
    "systemctl --quiet is-active -- a.service", "systemctl stop -- a.service",
    "systemctl --quiet is-active -- b.service", "systemctl stop -- b.service",
    "nvidia-smi -pm 0 -i GPU-0", "nvidia-smi --gpu-reset -i GPU-0",
    "systemctl start -- a.service b.service", "nvidia-smi -pm 1 -i GPU-0",
]  # fmt: skip


@pytest.mark.parametrize(("what", "status"), [("true", 0), ("exit 255", 255)])
def test_services_are_stopped_before_and_started_after_whatever_the_reset_says(
    host, monkeypatch, what, status
):
    monkeypatch.setenv("RESET", what)
    done = subprocess.run(argv(host, "a.service", "b.service"), check=False, capture_output=True)
    assert done.returncode == status
    assert calls(host) == IN_ORDER


def test_one_that_was_stopped_by_somebody_else_meanwhile_stays_stopped(host):
    subprocess.run(argv(host, "idle.service"), check=True, capture_output=True)
    assert not [call for call in calls(host) if "start" in call or " stop " in call]


def test_one_that_cannot_be_stopped_leaves_the_gpus_alone_and_the_others_running(host, monkeypatch):
    monkeypatch.setenv("FAILS", "systemctl stop -- b.service")
    done = subprocess.run(argv(host, "a.service", "b.service"), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "b.service could not be stopped\n")
    assert calls(host)[4:] == ["systemctl start -- a.service b.service", "nvidia-smi -pm 1 -i GPU-0"]


def test_one_that_does_not_start_again_is_said(host, monkeypatch):
    monkeypatch.setenv("FAILS", "systemctl start -- a.service")
    done = subprocess.run(argv(host, "a.service"), check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "services NOT restored:  a.service" in done.stderr


def test_at_the_deadline_of_a_hanging_reset_systemd_is_told_and_not_waited_for(host, monkeypatch):
    monkeypatch.setenv("RESET", "exec sleep 60")
    running = subprocess.Popen(
        argv(host, "a.service"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not ((host / "calls").exists() and "--gpu-reset" in (host / "calls").read_text()):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGTERM)
    running.communicate(timeout=20)
    assert running.returncode == 143
    assert calls(host)[-2:] == ["systemctl --no-block start -- a.service", "nvidia-smi -pm 1 -i GPU-0"]
