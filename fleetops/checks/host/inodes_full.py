"""A file system without free inodes makes no file however much room is left; caches of small files use them up."""

from fleetops.checks.support.fullness import disks, filled
from fleetops.checks.support.machine import Machine, gaps, of_node
from fleetops.model.disk import FILE_SYSTEMS
from fleetops.model.finding import Check, Finding, Observation

NAME = "inodes-full"


def judge_machine(machine: Machine) -> list[Finding]:
    """Nothing to say of one that makes inodes as it needs them (btrfs, ZFS)."""
    if unknown := gaps(NAME, machine, FILE_SYSTEMS):
        return unknown
    counted = [
        (
            one.inodes_used_percent,
            f"{one.mount} has {one.inodes_free or 0:,} of {one.inodes or 0:,} inodes left",
        )
        for one in disks(machine)
        if one.inodes_used_percent is not None
    ]
    return filled(NAME, machine, "inodes used up", counted, limits="inodes", run="df -i")


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="the host's disks have inodes", judge=judge, sweeps_only=True)
