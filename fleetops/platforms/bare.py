"""Bare metal: the node owns its driver, and its power is a person's business."""

from fleetops.platforms.base import Platform
from fleetops.platforms.support.known import on_node
from fleetops.platforms.support.node_driver import daemons_in_the_way, own_gpus, reset, reset_host

PLATFORM = Platform(
    kind="bare",
    guards=("identity", "protected", "display", "mig", "attempts"),
    reset_host=reset_host,
    driver_facts=on_node,
    gpus=own_gpus,
    tenants=lambda _: "",
    in_the_way=daemons_in_the_way,
    reset=reset,
)
