"""PCI devices that would not be reset, or came back wrong, when they were handed to a VM or taken back from it.

A reset that fails is only a warning to Proxmox, which starts the VM all the same (qemu-server, PCI.pm); the kernel's log
tells. `not ready Nms after FLR; giving up` leaves the device dead until the host is rebooted or power-cycled
(seen in patmagauran/i915ovmfPkg issue 23, bryansteiner/gpu-passthrough-tutorial issue 39).
"""

import re
from collections.abc import Iterable

from fleetops.checks.support.kernel_news import log_read, lost_lines, news
from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.checks.support.saying import listed
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.kernel import KERNEL_LOG, KernelLine
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight

_NAME = "passthrough-warnings"
_DEVICE = re.compile(r"(?<![0-9a-f])([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_DEAD = re.compile(
    r"not ready [0-9]+ms after .*giving up|[Uu]nable to change power state from D3cold|device inaccessible"
)
_BAD = re.compile(
    r"not ready [0-9]+ms after|reset recovery|timed out waiting for pending transaction"
    r"|vfio.*(?:fail|error|timed? ?out)|refused to change power state"
)
_HEALED = re.compile(r"vfio-pci .*: reset done")


def judge(sight: HypervisorSight) -> list[Finding]:
    """Devices that are dead, from the whole boot; what went wrong and passed, since the last sweep."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, KERNEL_LOG):
        return unknown
    what = news(host, host.facts)
    if what is None:
        return []
    dead = _dead(what.all_lines)
    passed = {_device(line): line for line in what.lines if _BAD.search(line.text)}
    findings = lost_lines(_NAME, host, host.facts, what)
    if dead:
        said = listed(f"{line.text} ({what.ago(line)})" for line in dead.values())
        evidence = f"{said}; dead until {host.name} is rebooted or power-cycled, which a person does"
        run = f"lspci -nnk -s {next(iter(dead)) or '0000:'}"
        findings.append(told(_NAME, host, Severity.CRITICAL, "device not reset", evidence, run=run))
    if troubled := {device: line for device, line in passed.items() if device not in dead}:
        evidence = f"{what.since}: {listed(f'{line.text} ({what.ago(line)})' for line in troubled.values())}"
        findings.append(told(_NAME, host, Severity.WARNING, "reset warnings", evidence, run="lspci -nnk"))
    return findings


def _dead(lines: Iterable[KernelLine]) -> dict[str, KernelLine]:
    """Device -> the last line that gave it up, unless a later reset of it came to its end."""
    dead: dict[str, KernelLine] = {}
    for line in lines:
        if _DEAD.search(line.text):
            dead[_device(line)] = line
        elif _HEALED.search(line.text):
            dead.pop(_device(line), None)
    return dead


def _device(line: KernelLine) -> str:
    match = _DEVICE.search(line.text)
    return match[1] if match else ""


def remember(sight: HypervisorSight) -> Remembered:
    """When the kernel's log was last read."""
    return log_read(sight.facts)


CHECK = HypervisorCheck(name=_NAME, title="devices are reset when guests get them", judge=judge, latched=True)
