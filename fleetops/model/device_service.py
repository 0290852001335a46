"""Services of a machine that hold its GPUs for the driver's sake."""

from dataclasses import dataclass

from fleetops.model.fact import Key


def system_unit(cgroup: str) -> str:
    """The systemd service of the system's that a cgroup path lies in; "" for a user's, a container's, or none."""
    names = cgroup.strip("/").split("/")
    own = names[0] == "system.slice" and len(names) > 1 and names[1].endswith(".service")
    return names[1] if own else ""


@dataclass(frozen=True, kw_only=True)
class DeviceService:
    """A running systemd service that holds or polls the GPUs for the driver's sake.

    Attributes:
        main_pid: its main process; None where it has none now.
    """

    unit: str
    main_pid: int | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceServices:
    """The services that hold the GPUs on whoever owns their driver, and the NVSwitches that it has."""

    services: tuple[DeviceService, ...] = ()
    switches: int = 0

    @property
    def units(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.unit for one in self.services)


DEVICE_SERVICES: Key[DeviceServices] = Key("device-services")
