"""What breaks beside the node's processes: each leaves driver, guest and hypervisor as it says, and clearing undoes it."""

import json
import re
import subprocess
import time
from collections.abc import Iterator

import pytest
from lab_access import Client, Inside, Sh, await_banner, banner

from fleetops.lab.api import Lab
from fleetops.lab.breakages import breakage
from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.control import run_in
from fleetops.lab.fleet import lab_host

pytestmark = pytest.mark.lab

MEMORY = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
ACTION = ("nvidia-smi", "--query-gpu=gpu_recovery_action", "--format=csv,noheader")
CONTAINER, VM, BARE = "node-174", "node-181", "node-190"
SILENT_S = 0.5


@pytest.fixture
def broken(lab: Lab, request: pytest.FixtureRequest) -> Iterator[BrokenNode]:
    """The node, broken as the test's parameters say; cleared afterwards, and then as good as new."""
    kind, name = request.param
    node = BrokenNode(lab.folder, name)
    breakage(kind).apply(lab.folder, name)
    yield node
    node.clear()
    assert banner(lab.ports[name]) == "SSH"
    assert all(used < 10 for used in used_mib(node))
    assert set(node.run(*ACTION).split()) == {"None"}
    assert node.run("nvidia-smi", "-L").count("GPU ") == len(node.host.minors)


def breaks(kind: str, *nodes: str) -> pytest.MarkDecorator:
    """Run a test with each of the nodes broken in that way."""
    return pytest.mark.parametrize("broken", [(kind, node) for node in nodes], indirect=True, ids=nodes)


def used_mib(node: BrokenNode) -> list[int]:
    return [int(line) for line in node.run(*MEMORY).split()]


def of_driver(node: BrokenNode) -> str:
    """The host on which the node's driver is."""
    return node.host.hypervisor if node.host.kind == "lxc" else node.name


def reset(node: BrokenNode) -> subprocess.CompletedProcess[str]:
    """Reset the node's GPUs as one does it by hand; the answer of the reset itself."""
    host, minors = of_driver(node), ",".join(map(str, node.host.minors))
    node.run("nvidia-smi", "-pm", "0", "-i", minors, host=host)
    node.run("sleep", "0.2", host=host)  # the persistence daemon looks every now and then
    done = run_in(node.folder, host, ["nvidia-smi", "-r", "-i", minors])
    node.run("nvidia-smi", "-pm", "1", "-i", minors, host=host)
    return done


def power(node: BrokenNode, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
    tool = "pct" if node.host.kind == "lxc" else "qm"
    argv = [tool, verb, str(node.host.guest_id), *options]
    return run_in(node.folder, node.host.hypervisor, argv)


def restart(node: BrokenNode) -> None:
    for verb in ("stop", "start"):
        assert power(node, verb).returncode == 0


def resources(sh: Sh, hypervisor: str) -> dict[int, dict[str, object]]:
    told = json.loads(sh(hypervisor, "pvesh get /cluster/resources --type vm --output-format json"))
    return {each["vmid"]: each for each in told}


@breaks("no-banner", CONTAINER, VM)
def test_no_banner_until_the_guest_is_restarted(lab: Lab, broken: BrokenNode) -> None:
    port = lab.ports[broken.name]
    assert banner(port, SILENT_S) == "silence"
    assert "running" in power(broken, "status").stdout
    restart(broken)
    await_banner(port, "SSH")


@breaks("no-banner", BARE)
def test_no_banner_on_bare_metal(lab: Lab, broken: BrokenNode) -> None:
    assert banner(lab.ports[BARE], SILENT_S) == "silence"


@breaks("nvidia-smi-hangs", CONTAINER, VM)
def test_whoever_asks_the_driver_hangs_in_the_kernel(broken: BrokenNode, sh: Sh) -> None:
    host = of_driver(broken)
    states = "sed -n 's/^.*(nvidia-smi) \\(.\\).*/\\1/p' /proc/[0-9]*/stat"
    assert sh(host, states) == "D", "the monitoring's"
    sh(broken.name, "nvidia-smi >/dev/null 2>&1 &")
    deadline = time.monotonic() + 10
    while sh(host, states).split() != ["D", "D"]:
        assert time.monotonic() < deadline, sh(host, states)
    sh(broken.name, "kill $(sed -n 's/^\\([0-9]*\\) (nvidia-smi).*/\\1/p' /proc/[0-9]*/stat)")
    assert sh(host, states).split() == ["D", "D"], "SIGTERM does nothing"
    if broken.host.kind == "vm":
        restart(broken)
        sh("pve-02", "until qm agent 181 ping; do sleep 0.1; done")
        assert used_mib(broken) == [4, 0], "it went with the VM"


@breaks("one-gpu-lost", CONTAINER, VM)
def test_one_gpu_lost_is_missing_from_the_list(broken: BrokenNode, lab: Lab, sh: Sh) -> None:
    listed = sh(broken.name, "nvidia-smi -L").splitlines()
    assert listed[0].startswith("Unable to determine the device handle for GPU 0000:1A:00.0: GPU is lost.")
    assert len(listed) == len(broken.host.minors)
    assert re.search(
        r"NVRM: Xid \(PCI:0000:1a:00\): 79, .* GPU has fallen off the bus\.", sh(broken.name, "dmesg")
    )
    if broken.host.kind == "vm":
        restart(broken)
        await_banner(lab.ports[VM], "SSH")
        assert sh(VM, "nvidia-smi -L").count("UUID") == 2
        assert "Xid" not in sh(VM, "dmesg")


@breaks("one-gpu-wants-reset", CONTAINER, BARE)
def test_one_gpu_wants_a_reset_and_a_reset_contents_it(broken: BrokenNode, sh: Sh) -> None:
    actions = broken.run(*ACTION).split()
    assert [minor for minor, action in enumerate(actions) if action == "Reset"] == [1]
    assert "154, GPU recovery action changed from 0x0 (None) to 0x1" in sh(broken.name, "dmesg")
    assert reset(broken).returncode == 0
    assert set(broken.run(*ACTION).split()) == {"None"}


@breaks("reset-in-use", CONTAINER, VM)
def test_a_reset_is_refused_while_the_daemon_has_the_gpus(broken: BrokenNode, inside: Inside, sh: Sh) -> None:
    host = of_driver(broken)
    assert "nvidia-persiste" in sh(host, "cat /proc/[0-9]*/comm")
    done = inside(host, "nvidia-smi", "-r", "-i", str(broken.host.minors[1]))
    assert (done.returncode, "In use by another client" in done.stdout) == (255, True)
    assert used_mib(broken)[1] > 90_000
    assert reset(broken).returncode == 0
    assert used_mib(broken)[1] < 10
    broken.clear()
    assert "nvidia-persiste" not in sh(host, "cat /proc/[0-9]*/comm")
    mode = sh(host, "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader")
    assert set(mode.split()) == {"Enabled"}


@breaks("reset-fails", CONTAINER, VM, BARE)
def test_no_reset_frees_it(broken: BrokenNode) -> None:
    done = reset(broken)
    assert done.returncode == 255
    assert "could not be reset:\n  GPU 00000000:1A:00.0: " in done.stdout
    assert used_mib(broken)[1] > 90_000
    if broken.host.kind == "vm":
        assert power(broken, "stop").returncode == 0
        assert "failed to reset PCI device '0000:42:00.0'" in power(broken, "start").stderr
        broken.run("sh", "-c", "until qm agent 181 ping; do sleep 0.1; done", host="pve-02")
        assert used_mib(broken)[1] > 90_000


@breaks("vram-needs-restart", CONTAINER)
def test_a_container_must_be_stopped_for_the_reset(broken: BrokenNode, lab: Lab) -> None:
    assert reset(broken).returncode == 0
    assert [minor for minor, used in enumerate(used_mib(broken)) if used > 90_000] == [1, 4, 7]
    power(broken, "stop")
    assert reset(broken).returncode == 0
    power(broken, "start")
    await_banner(lab.ports[CONTAINER], "SSH")
    assert all(used < 10 for used in used_mib(broken))


@breaks("vram-needs-restart", VM)
def test_a_vm_gives_it_back_with_its_start(broken: BrokenNode, lab: Lab) -> None:
    assert reset(broken).returncode == 0
    assert used_mib(broken)[1] > 90_000
    restart(broken)
    await_banner(lab.ports[VM], "SSH")
    assert all(used < 10 for used in used_mib(broken))


@breaks("stop-lies", VM)
def test_a_stop_that_lies_is_undone(broken: BrokenNode, lab: Lab, sh: Sh) -> None:
    pid = sh("pve-02", "cat /run/qemu-server/181.pid")
    assert power(broken, "stop").returncode == 0
    assert "stopped" in power(broken, "status").stdout
    assert sh("pve-02", f"grep ^State: /proc/{pid}/status").split()[1] == "D"
    assert power(broken, "start").returncode != 0
    await_banner(lab.ports[VM], "refused")


@breaks("stop-blocks", CONTAINER)
def test_a_stop_that_blocks_keeps_the_lock(broken: BrokenNode, lab: Lab, sh: Sh) -> None:
    assert power(broken, "shutdown", "--timeout", "1").stderr == "container did not stop\n"
    assert banner(lab.ports[CONTAINER]) == "SSH"
    assert sh("pve-01", "timeout 1 pct stop 174 || echo $?") == "124"
    await_banner(lab.ports[CONTAINER], "refused")
    sh("pve-01", "setsid pct stop 174 >/dev/null 2>&1 & sleep 0.5")
    assert "running" in power(broken, "status").stdout
    active = json.loads(sh("pve-01", "pvesh get /nodes/localhost/tasks --source active --output-format json"))
    assert [each["type"] for each in active if "endtime" not in each] == ["vzstop"]
    broken.clear()
    assert "pct" not in sh("pve-01", "cat /proc/[0-9]*/comm").split()
    active = json.loads(sh("pve-01", "pvesh get /nodes/localhost/tasks --source active --output-format json"))
    assert [each["type"] for each in active if "endtime" not in each] == []
    assert "running" in power(broken, "status").stdout


@breaks("never-returns", CONTAINER, VM)
def test_a_guest_that_never_returns_runs_and_refuses(broken: BrokenNode, lab: Lab) -> None:
    port = lab.ports[broken.name]
    assert banner(port) == "SSH"
    restart(broken)
    assert "running" in power(broken, "status").stdout
    await_banner(port, "refused")
    if broken.host.kind == "vm":
        assert run_in(lab.folder, "pve-02", ["qm", "agent", "181", "ping"]).returncode != 0


@breaks("lock-file-timeout", VM)
def test_a_vms_held_lock_file_is_waited_for(broken: BrokenNode, sh: Sh) -> None:
    said = sh("pve-02", "timeout 1 qm stop 181 2>&1 || echo $?")
    assert said.split("\n") == ["trying to acquire lock...", "124"]
    assert sh("pve-02", "flock -n /var/lock/qemu-server/lock-181.conf true || echo held") == "held"
    broken.clear()
    sh("pve-02", "flock -n /var/lock/qemu-server/lock-181.conf true")


@breaks("lock-file-timeout", CONTAINER)
def test_a_held_lock_file_is_waited_for_and_named(broken: BrokenNode, lab: Lab) -> None:
    done = power(broken, "stop")
    path = "/run/lock/lxc/pve-config-174.lock"
    assert done.returncode != 0
    assert done.stderr == f"trying to acquire lock...\ncan't lock file '{path}' - got timeout\n"
    assert banner(lab.ports[broken.name], SILENT_S) == "silence"


@breaks("ha-managed", CONTAINER, VM)
def test_an_ha_managed_guest_is_only_asked_to_stop(broken: BrokenNode, sh: Sh) -> None:
    managed = resources(sh, broken.host.hypervisor)[broken.host.guest_id or 0]
    assert managed["hastate"] == "started"
    done = power(broken, "stop")
    assert (done.returncode, done.stdout.startswith("Requesting HA stop for ")) == (0, True)
    assert "running" in power(broken, "status").stdout
    broken.clear()
    assert "hastate" not in resources(sh, broken.host.hypervisor)[broken.host.guest_id or 0]


@breaks("shared-gpu", CONTAINER)
def test_a_shared_gpu_is_in_the_neighbours_configuration(broken: BrokenNode, sh: Sh) -> None:
    assert used_mib(broken)[1] > 90_000
    assert "dev99: /dev/nvidia1" in sh("pve-01", "pct config 175")
    broken.clear()
    assert "dev99" not in sh("pve-01", "cat /etc/pve/lxc/175.conf")


@breaks("wrong-machine", CONTAINER, BARE)
def test_another_machine_answers_with_the_right_key(broken: BrokenNode, ssh: Client) -> None:
    def answers() -> str:
        _, output, _ = ssh(broken.name).exec_command("cat /etc/machine-id")
        told: str = output.read().decode().strip()
        return told

    assert answers() in {lab_host(CONTAINER).machine_id, lab_host(BARE).machine_id} - {broken.host.machine_id}
    broken.clear()
    assert answers() == broken.host.machine_id


@breaks("driver-mismatch", CONTAINER, VM)
def test_a_mismatch_is_the_nodes_own(broken: BrokenNode, inside: Inside) -> None:
    done = inside(broken.name, "nvidia-smi", "-q", "-x")
    assert "Driver/library version mismatch" in done.stdout
    assert done.returncode != 0
    if broken.host.kind == "lxc":
        assert inside("pve-01", "nvidia-smi", "-L").returncode == 0
        assert inside("node-175", "nvidia-smi", "-L").returncode == 0
