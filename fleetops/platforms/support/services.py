"""Services that hold the GPUs for the driver's sake: which are stopped for a reset, and who keeps it from working."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetops.engines.support.protected import COMM_LENGTH, serves_driver
from fleetops.facts.device_services import FABRIC_MANAGER
from fleetops.model.device_service import DEVICE_SERVICES, DeviceServices
from fleetops.model.fact import Facts
from fleetops.platforms.support.known import known

_BORNE = frozenset(name[:COMM_LENGTH] for name in ("nvidia-persistenced", "nv-fabricmanager"))


@dataclass(frozen=True)
class DeviceUser:
    """A process that has a GPU's device file open, on the host that owns the driver. `unit` "" where it is in none."""

    pid: int
    comm: str
    path: str
    unit: str


def units_to_stop(facts: Facts, users: Iterable[DeviceUser]) -> tuple[str, ...]:
    """Systemd units that a reset stops and starts again: those known by name, and those of known daemons among `users`.

    Fabric Manager goes on: Ampere's NVSwitch machines need it for the reset, later ones do not mind it.
    """
    running = _running(facts)
    units = {*running.units, *(one.unit for one in users if one.unit and serves_driver(one.comm))}
    return tuple(sorted(units - {FABRIC_MANAGER}))


def is_borne(user: DeviceUser, facts: Facts) -> bool:
    """Whether a reset goes on beside it: its service is stopped and restored, or is Fabric Manager.

    The persistence daemon lets go of a GPU whose persistence mode is switched off, which a reset does, and Fabric Manager
    is never stopped: both whoever started them.
    """
    if user.comm in _BORNE:
        return True
    running = _running(facts)
    by_pid = {one.main_pid: one.unit for one in running.services}
    unit = by_pid.get(user.pid) or user.unit
    return unit in running.units or bool(unit and serves_driver(user.comm))


def told(user: DeviceUser, whose: str, host: str) -> str:
    """Who it is, and what to do about one that serves the driver and that no unit would bring back."""
    mend = (
        f"; it serves the driver and is no service of systemd: stop it on {host} first"
        if serves_driver(user.comm)
        else ""
    )
    return f"process {user.pid} ({user.comm}) of {whose} holds {user.path}{mend}"


def _running(facts: Facts) -> DeviceServices:
    return known(facts, DEVICE_SERVICES, "the services that hold GPUs", "holders")
